"""How calls reach the engine."""
