"""Rewards for trainers: one module and one extra each."""
