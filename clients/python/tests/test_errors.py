"""The error tree and the table of codes."""

import copy
import pickle

import pytest

import agent_eval_rpc.errors as module
from agent_eval_rpc import AgentEvalError, DeadlineExceededError, TransportError, ValidationError
from agent_eval_rpc._generated.error_table import ROWS
from agent_eval_rpc._generated.errors import CLASSES
from agent_eval_rpc._protocol import error_from, http_error
from support import ROOT

PUBLIC = {name: getattr(module, name) for name in module.__all__}


@pytest.mark.parametrize("code", ROWS)
def test_every_code_gives_its_class_with_what_the_table_says(code: str) -> None:
    error = error_from({"code": code, "message": "m", "details": {"a": 1}})
    assert type(error) is CLASSES[code]
    assert error is not None
    assert (error.code, error.message, error.details) == (code, "m", {"a": 1})
    assert (error.status, error.retryable) == (ROWS[code].http, ROWS[code].retryable)


def test_every_class_is_public_and_drawn_in_the_tree() -> None:
    without_a_code = {AgentEvalError, module.EngineStartError}
    assert set(CLASSES.values()) == set(PUBLIC.values()) - without_a_code
    for name, cls in PUBLIC.items():
        assert name in (module.__doc__ or "")
        assert issubclass(cls, AgentEvalError)
        assert cls.__name__ == name


def test_the_tree_is_as_drawn() -> None:
    assert issubclass(ValidationError, ValueError)
    assert issubclass(module.RubricNeedsChecksError, ValidationError)
    assert issubclass(DeadlineExceededError, TimeoutError)
    assert issubclass(module.EngineStartError, TransportError)
    assert issubclass(module.RateLimitError, module.ProviderError)
    assert issubclass(module.ContextOverflowError, module.ProviderError)


def test_a_code_of_a_newer_engine_is_the_base_class() -> None:
    error = error_from({"code": "too_new", "message": "m", "details": {}})
    assert type(error) is AgentEvalError
    assert (error.code, error.status, error.retryable) == ("too_new", None, False)


@pytest.mark.parametrize("value", [None, [], "x", {}, {"code": 1, "message": "m"}, {"code": "c"}])
def test_what_is_no_error_body_is_not_taken_for_one(value: object) -> None:
    assert error_from(value) is None


@pytest.mark.parametrize("name", PUBLIC)
def test_errors_survive_pickling_and_copying(name: str) -> None:
    error = PUBLIC[name]("m", details={"a": [1]}, status=418)
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert (str(twin), twin.code, twin.details, twin.status, twin.retryable) == (
            "m",
            error.code,
            {"a": [1]},
            418,
            error.retryable,
        )


def test_an_answer_of_another_program_is_a_transport_error() -> None:
    error = http_error(502, b"<html>Bad gateway</html>", None)
    assert type(error) is TransportError
    assert (error.status, "Bad gateway" in error.message) == (502, True)


def test_the_wait_that_a_server_asks_for_is_kept() -> None:
    body = b'{"error": {"code": "overloaded", "message": "m", "details": {}}}'
    assert http_error(503, body, "2").details == {"retryAfterMs": 2000}
    assert http_error(503, body, "Wed, 21 Oct 2015 07:28:00 GMT").details == {}


def test_repr_shows_code_and_message_only() -> None:
    assert repr(TransportError("m", details={"token": "secret"})) == (
        "TransportError(code='transport_error', message='m')"
    )


def test_every_code_is_explained_for_users() -> None:
    page = ROOT / "docs" / "errors.md"
    if page.exists():
        text = page.read_text("utf-8")
        assert [code for code in ROWS if f"`{code}`" not in text] == []
