"""How a rubric is evaluated by the engine."""
