"""Fixtures of the end-to-end tests: the built engine as processes, the fake endpoint."""

from engine import free_home, server
from fixtures import engine_env, model_server

__all__ = ["engine_env", "free_home", "model_server", "server"]
