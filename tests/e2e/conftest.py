"""Fixtures of the end-to-end tests: the built engine as real processes, the fake endpoint on loopback."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "fakes"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from engine import free_home, server
from fixtures import engine_env, model_server

__all__ = ["engine_env", "free_home", "model_server", "server"]
