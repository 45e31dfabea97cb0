"""Pytest fixtures around the fake endpoint, for the root tests and those of the Python client."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from model_server import ModelServer

API_KEY = "sk-fake-1234567890"
MODEL = "fake-model"

# A setting of the person who runs the tests must not reach the engine.
SETTINGS = ("AGENT_EVAL_", "OPENAI_", "AZURE_", "NODE_OPTIONS")
PROVIDER_SETTINGS = ("_API_KEY", "_BASE_URL")


def clean_environment() -> dict[str, str]:
    """This process's environment without settings, keys and proxies."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(SETTINGS)
        and not name.lower().endswith("_proxy")
        and not name.endswith(PROVIDER_SETTINGS)
    }


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A fake endpoint of this test's own."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def engine_env(model_server: ModelServer) -> dict[str, str]:
    """Environment for an engine process that judges with the fake endpoint."""
    return {
        **clean_environment(),
        "AGENT_EVAL_LLM_BASE_URL": model_server.url,
        "AGENT_EVAL_LLM_API_KEY": API_KEY,
        "AGENT_EVAL_LLM_MODEL": MODEL,
    }
