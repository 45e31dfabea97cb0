"""Options of a client."""

from pathlib import Path
from typing import Any

import pytest

from agent_eval_rpc import Client, ValidationError
from agent_eval_rpc._settings import Settings, resolve_settings


def settings(**given: Any) -> Settings:
    options: dict[str, Any] = {
        "base_url": None,
        "cli_path": None,
        "transport": "auto",
        "timeout_s": 200.0,
        "token": None,
        "max_retries": 2,
    }
    return resolve_settings(**{**options, **given})


def test_argument_then_environment_then_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings().base_url == "http://127.0.0.1:5005"
    assert settings().cli_path is None
    monkeypatch.setenv("AGENT_EVAL_BASE_URL", "http://127.0.0.1:6000/")
    monkeypatch.setenv("AGENT_EVAL_CLI", "/env/engine.cjs")
    monkeypatch.setenv("AGENT_EVAL_TOKEN", "from-env")
    found = settings()
    assert (found.base_url, found.cli_path, found.token) == (
        "http://127.0.0.1:6000",
        "/env/engine.cjs",
        "from-env",
    )
    found = settings(base_url="https://judge.example/a/", cli_path=Path("x.cjs"), token="arg")
    assert (found.base_url, found.cli_path, found.token) == (
        "https://judge.example/a",
        "x.cjs",
        "arg",
    )


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_EVAL_BASE_URL", "")
    monkeypatch.setenv("AGENT_EVAL_TOKEN", "")
    assert (settings().base_url, settings().token) == ("http://127.0.0.1:5005", None)


@pytest.mark.parametrize(
    "option",
    [
        {"transport": "stdio"},
        {"timeout_s": 0},
        {"timeout_s": -1},
        {"timeout_s": float("nan")},
        {"timeout_s": float("inf")},
        {"timeout_s": 86_401},
        {"timeout_s": True},
        {"timeout_s": "5"},
        {"timeout_s": None},
        {"max_retries": -1},
        {"max_retries": 1.5},
        {"base_url": "127.0.0.1:5005"},
        {"base_url": "ftp://127.0.0.1"},
        {"base_url": "http://"},
        {"base_url": "http://h:port"},
        {"base_url": "http://h/a b"},
        {"base_url": "http://h?x=1"},
        {"base_url": "http://[::1"},
        {"token": "two words"},
        {"token": "line\r\nx-other: 1"},
        {"token": "nön-ascii"},
    ],
)
def test_an_unusable_option_is_named(option: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(option))):
        Client(**option)


def test_secrets_show_nowhere() -> None:
    client = Client(token="sk-hidden", base_url="http://127.0.0.1:1")
    assert "sk-hidden" not in f"{client!r} {client.__dict__}"
    for option in ({"base_url": "http://u:sk-hidden@h"}, {"token": "sk-hidden x"}):
        with pytest.raises(ValidationError) as caught:
            Client(**option)  # type: ignore[arg-type]
        assert "sk-hidden" not in f"{caught.value!r}"


@pytest.mark.parametrize(
    ("url", "proxied"),
    [
        ("http://127.0.0.1:5005", False),
        ("http://127.8.9.1:5005", False),
        ("http://localhost:5005", False),
        ("http://[::1]:5005", False),
        ("http://judge.example", True),
        ("https://judge.example", False),
    ],
)
def test_loopback_never_goes_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch, url: str, proxied: bool
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert settings(base_url=url).proxied is proxied


def test_no_proxy_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "judge.example")
    assert settings(base_url="http://judge.example").proxied is False
