"""Evaluates the records of a file by a rubric of another, as ``osmosis eval-rubric`` does."""
