"""Settings of rollouts: defaults, limits, and where each value comes from."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from osmosis_ai.rollout import (
    AppState,
    OsmosisLLMClient,
    RolloutClientSettings,
    RolloutServerSettings,
    RolloutSettings,
    config,
    configure,
    get_settings,
    reset_settings,
)

CLIENT, SERVER, ALL = RolloutClientSettings, RolloutServerSettings, RolloutSettings
PREFIX = {
    CLIENT: "OSMOSIS_ROLLOUT_CLIENT_", SERVER: "OSMOSIS_ROLLOUT_SERVER_", ALL: "OSMOSIS_ROLLOUT_",
}  # fmt: skip
# Class, field, default, least and most, as documented.
FIELDS: list[tuple[Any, str, float, float, float]] = [
    (CLIENT, "timeout_seconds", 300, 1, 3600),
    (CLIENT, "max_retries", 3, 0, 10),
    (CLIENT, "complete_rollout_retries", 2, 0, 10),
    (CLIENT, "retry_base_delay", 1, 0.1, 60),
    (CLIENT, "retry_max_delay", 30, 1, 300),
    (CLIENT, "max_connections", 100, 1, 1000),
    (CLIENT, "max_keepalive_connections", 20, 1, 100),
    (SERVER, "max_concurrent_rollouts", 100, 1, 10_000),
    (SERVER, "record_ttl_seconds", 3600, 60, 86_400),
    (SERVER, "cleanup_interval_seconds", 60, 10, 3600),
    (SERVER, "request_timeout_seconds", 600, 10, 3600),
    (SERVER, "registration_readiness_timeout_seconds", 10, 1, 60),
    (SERVER, "registration_readiness_poll_interval_seconds", 0.2, 0.05, 5),
    (SERVER, "registration_shutdown_timeout_seconds", 30, 1, 300),
    (ALL, "max_metadata_size_bytes", 2**20, 1024, 100 * 2**20),
]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    reset_settings()
    yield
    reset_settings()


@pytest.mark.parametrize(("kind", "name", "default", "least", "most"), FIELDS)
def test_each_setting(
    kind: type[BaseModel], name: str, default: float, least: float, most: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    assert getattr(kind(), name) == default
    variable = PREFIX[kind] + name.upper()
    for edge in (least, most):
        assert getattr(kind(**{name: edge}), name) == edge
        monkeypatch.setenv(variable, str(edge))
        assert getattr(kind(), name) == edge
    for beyond in (least - 0.01, most + 1, float("nan"), float("inf"), "many"):
        with pytest.raises(ValidationError, match=name):
            kind(**{name: beyond})
        monkeypatch.setenv(variable, str(beyond))
        with pytest.raises(ValidationError, match=name):
            kind()
    assert getattr(kind(**{name: most}), name) == most


def test_code_beats_environment_beats_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert RolloutClientSettings().max_retries == 3
    Path(".env").write_text("osmosis_rollout_client_max_retries=4\nOTHER=1\n")
    assert RolloutClientSettings().max_retries == 4
    monkeypatch.setenv("OSMOSIS_ROLLOUT_CLIENT_MAX_RETRIES", "5")
    assert RolloutClientSettings().max_retries == 5
    assert RolloutClientSettings(max_retries=6).max_retries == 6
    monkeypatch.setenv("OSMOSIS_ROLLOUT_CLIENT_MAX_RETRIES", "")
    Path(".env").unlink()
    assert RolloutClientSettings().max_retries == 3


def test_A14_the_file_is_the_one_where_the_user_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, retries in (("a", 7), ("b", 8)):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".env").write_text(f"OSMOSIS_ROLLOUT_CLIENT_MAX_RETRIES={retries}\n")
        monkeypatch.chdir(tmp_path / name)
        assert RolloutClientSettings().max_retries == retries


def test_a_name_that_is_none_is_refused_in_code_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError, match="max_retrys"):
        RolloutClientSettings(max_retrys=1)  # type: ignore[call-arg]
    monkeypatch.setenv("OSMOSIS_ROLLOUT_CLIENT_MAX_RETRYS", "1")
    assert RolloutClientSettings().max_retries == 3


def test_the_settings_of_the_process() -> None:
    first = get_settings()
    assert get_settings() is first
    reset_settings()
    assert get_settings() is not first
    own = RolloutSettings(client=RolloutClientSettings(max_retries=0))
    configure(own)
    assert get_settings() is own
    assert OsmosisLLMClient("http://x", "r").max_retries == 0
    assert config.get_settings is get_settings


def test_of_many_threads_all_get_the_same_settings() -> None:
    gate = threading.Barrier(8)
    found: list[RolloutSettings] = []

    def get() -> None:
        gate.wait(10)
        found.append(get_settings())

    threads = [threading.Thread(target=get) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 8
    assert {id(one) for one in found} == {id(get_settings())}


def test_L10_what_is_given_to_a_client_or_a_server_beats_the_settings() -> None:
    settings = RolloutSettings(
        client=RolloutClientSettings(timeout_seconds=5, max_retries=1, complete_rollout_retries=1),
        server=RolloutServerSettings(max_concurrent_rollouts=7, record_ttl_seconds=70),
    )
    client = OsmosisLLMClient("http://x//", "r", "k", 9, 0, 0, settings)
    assert (client.timeout_seconds, client.max_retries, client.complete_rollout_retries) == (
        9,
        0,
        0,
    )
    assert (client.server_url, client.rollout_id, client.api_key) == ("http://x", "r", "k")
    client = OsmosisLLMClient("http://x", "r", settings=settings)
    assert (client.timeout_seconds, client.max_retries, client.complete_rollout_retries) == (
        5,
        1,
        1,
    )

    async def test() -> None:
        # Nothing and 0 both stand for the setting.
        for given in (None, 0):
            state = AppState(given, given, settings)
            assert (state.max_concurrent, state.record_ttl) == (7, 70)
        state = AppState(2, 1.5, settings)
        assert (state.max_concurrent, state.record_ttl) == (2, 1.5)

    asyncio.run(test())


def test_a_blank_variable_hides_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("OSMOSIS_ROLLOUT_CLIENT_MAX_RETRIES=4\n")
    monkeypatch.setenv("OSMOSIS_ROLLOUT_CLIENT_MAX_RETRIES", " ")
    assert RolloutClientSettings().max_retries == 4
