"""Lets the fake's own tests find its modules, whatever folder pytest was started in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fixtures import engine_env, model_server

__all__ = ["engine_env", "model_server"]
