"""The one place of the Python package version; equal to the npm version."""

__version__ = "0.1.0"
