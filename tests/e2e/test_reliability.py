"""What the engine learns from an endpoint, and how little it asks of a busy one."""

import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from engine import Server, judge_params
from model_server import ModelServer


def judge(server: Server, content: str, **more: object) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(
        f"{server.url}/v1/judge",
        data=judge_params(content, **more).encode(),
        headers={"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def refuse(text: str, message: str) -> dict[str, Any]:
    return {
        "match": {"bodyContains": text},
        "times": "forever",
        "status": 400,
        "reply": {"json": {"error": {"message": message}}, "encoding": "gzip"},
    }


NO_TEMPERATURE = refuse('"temperature"', "temperature may only be 1 here")
NO_MAX_TOKENS = refuse('"max_tokens"', "max_tokens is not supported, use max_completion_tokens")
NO_SCHEMA = refuse('"json_schema"', "response_format is not supported")


def test_what_is_refused_is_learnt_once(server: Server, model_server: ModelServer) -> None:
    model_server.script([NO_TEMPERATURE, NO_MAX_TOKENS, NO_SCHEMA])
    _, first = judge(server, "one", maxTokens=900)
    _, second = judge(server, "two", maxTokens=900)
    assert (first["attempts"], second["attempts"]) == (4, 1)
    for result in (first, second):
        assert result["composite"] == pytest.approx(0.8)
        assert result["droppedParams"] == ["temperature", "max_tokens"]
        assert result["replyMode"] == "tool_call"


def test_a_burst_of_first_calls_learns_once(server: Server, model_server: ModelServer) -> None:
    model_server.script([NO_TEMPERATURE, NO_SCHEMA])
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda n: judge(server, f"text {n}"), range(64)))
    assert {status for status, _ in answers} == {200}
    assert {answer["replyMode"] for _, answer in answers} == {"tool_call"}
    # Whoever held back longer than the engine's patience may have asked in vain too.
    assert 66 <= model_server.calls < 64 + 32


def test_an_endpoint_that_wants_rest_is_left_alone(
    server: Server, model_server: ModelServer
) -> None:
    model_server.script([{"status": 429, "headers": [["retry-after", "1800"]], "times": "forever"}])
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: judge(server, f"text {n}", timeoutMs=30_000), range(20)))
    assert {answer["error"]["code"] for _, answer in answers} == {"rate_limited"}
    assert model_server.calls == 1
