"""The cache that a Python client names for the engine it starts."""

import pickle
from pathlib import Path

import pytest
from engine import RUBRIC
from model_server import ModelServer

from agent_eval_rpc import Client, Rubric


def test_a_client_names_the_file(
    engine_env: dict[str, str],
    model_server: ModelServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in engine_env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    rubric = Rubric.model_validate(RUBRIC)
    with Client(transport="subprocess", cache=Path("verdicts.db")) as client:
        assert client.judge("The cat sat.", rubric=rubric).cached is False
        assert client.judge("The cat sat.", rubric=rubric).cached is True
        assert client.judge("The cat sat.", rubric=rubric, cache="bypass").cached is False
        copied = pickle.loads(pickle.dumps(client))
    assert (tmp_path / "verdicts.db").is_file()
    with copied:
        assert copied.judge("The cat sat.", rubric=rubric).cached is True
    assert model_server.stats()["calls"] == 2
