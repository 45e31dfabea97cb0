"""Judging many texts: what is sent, what came back, and when to stop."""
