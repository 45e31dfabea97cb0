"""What is sent, and how answers are read."""

import json
from typing import Any

import pytest

from agent_eval_rpc import JudgeResult, TransportError, ValidationError
from agent_eval_rpc._generated.methods import JUDGE, JUDGE_BATCH, METHODS, VERSION
from agent_eval_rpc._json import encode
from agent_eval_rpc._protocol import (
    get_rubric_call,
    http_request,
    judge_call,
    list_rubrics_call,
    mismatch,
    read_result,
    version_call,
    with_deadline,
)

INFO = {"package": "@tangle-network/agent-eval", "version": "9", "wireVersion": "1.9.3"}


def test_options_that_are_none_are_absent() -> None:
    call = judge_call({"content": "x", "rubric_name": "r", "model": None, "context": None})
    assert call.params == {"content": "x", "rubricName": "r"}


def test_one_rubric_is_required() -> None:
    with pytest.raises(ValidationError, match=r"rubric_name .* or rubric "):
        judge_call({"content": "x"})
    with pytest.raises(ValidationError, match="not both"):
        judge_call({"content": "x", "rubric_name": "r", "rubric": {}})


@pytest.mark.parametrize(
    ("left_s", "sent"),
    [(200.0, 199_000), (2.0, 1000), (1.0, 500), (0.001, 1), (86_400, 86_399_000)],
)
def test_the_engine_gets_a_second_less_than_the_client(left_s: float, sent: int) -> None:
    call = judge_call({"content": "x", "rubric_name": "r"})
    assert with_deadline(call, left_s)["timeoutMs"] == sent
    assert "timeoutMs" not in call.params
    assert with_deadline(version_call(), left_s) == {}


def test_paths_carry_their_parameters() -> None:
    call = get_rubric_call("a/b ?#%é")
    assert http_request(call.method.name, call.params) == (
        "GET",
        "/v1/rubrics/a%2Fb%20%3F%23%25%C3%A9",
        None,
    )
    assert http_request("listRubrics", list_rubrics_call().params) == ("GET", "/v1/rubrics", None)
    assert http_request("judge", {"a": 1}) == ("POST", "/v1/judge", {"a": 1})


def test_bodies_are_compact_utf8_on_one_line() -> None:
    assert encode({"a": "é\u2028\n"}) == '{"a":"é\u2028\\n"}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        encode({"a": float("nan")})


def test_an_answer_of_the_wrong_form_says_so() -> None:
    with pytest.raises(TransportError, match="Install matching versions") as caught:
        read_result(JUDGE, {"composite": 0.5})
    assert {"path": "rationale", "message": "is missing"} in caught.value.details["issues"]
    with pytest.raises(TransportError):
        read_result(VERSION, "text")


def test_a_composite_outside_its_range_is_refused() -> None:
    for composite in (1.5, float("nan")):
        with pytest.raises(TransportError):
            read_result(JUDGE, {"composite": composite})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (INFO, None),
        ({**INFO, "wireVersion": "2.0.0"}, "wire version 2.0.0"),
        ({**INFO, "package": "other"}, "another program"),
        ({**INFO, "wireVersion": 1}, "another program"),
        ({}, "another program"),
        ([], "another program"),
        ("ok", "another program"),
    ],
)
def test_only_an_engine_of_the_same_wire_major_is_talked_to(value: Any, reason: str | None) -> None:
    found = mismatch(value)
    assert found == reason if reason is None else reason in (found or "")


def test_the_method_table_is_that_of_the_contract() -> None:
    from support import ROOT

    generated = ROOT / "packages" / "contract" / "generated" / "methods.json"
    rows = json.loads(generated.read_text("utf-8"))["methods"]
    calls = [row for row in rows if not row["lines"]]
    assert {row["name"]: (row["http"], row["path"]) for row in calls} == {
        name: (method.http, method.path) for name, method in METHODS.items()
    }
    (lines,) = (row for row in rows if row["lines"])
    assert (lines["name"], lines["path"]) == (JUDGE_BATCH.name, JUDGE_BATCH.path)
    assert METHODS["judge"].result is JudgeResult
