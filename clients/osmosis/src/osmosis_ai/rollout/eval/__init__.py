"""Runs agents on a dataset, without a trainer."""
