"""What every test shares."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "fakes"))

from model_server import ModelServer

ENGINE = Path(__file__).resolve().parents[3] / "packages/agent-eval/dist/engine/main.cjs"
PREFIXES = ("AGENT_EVAL_", "OPENAI_", "AZURE_", "OSMOSIS_")
SUFFIXES = ("_API_KEY", "_BASE_URL")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests see no settings, keys and proxies of the person who runs them."""
    for name in list(os.environ):
        foreign = name.startswith(PREFIXES) or name.endswith(SUFFIXES)
        if foreign or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A scripted endpoint that stands for every provider, each spoken to in its own dialect."""
    assert ENGINE.exists(), "build the engine first: make build"
    with ModelServer() as server:
        for name in ("OPENAI", "ANTHROPIC", "GEMINI", "XAI", "OPENROUTER", "CEREBRAS", "AZURE"):
            monkeypatch.setenv(f"{name}_BASE_URL", server.url)
            monkeypatch.setenv(f"{name}_API_KEY", f"sk-fake-{name.lower()}-key")
        yield server
