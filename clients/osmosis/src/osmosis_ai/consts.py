"""The version of the package; equal to those of the engine and its client."""

PACKAGE_VERSION = "0.1.0"
