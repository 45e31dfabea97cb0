"""What `serve` logs on stderr: one line an event, in two formats, and never what was judged."""

import json
from typing import Any

import httpx
import pytest
from engine import Server, run
from model_server import ModelServer

Env = dict[str, str]
REQUEST = {"rubricName": "anti-slop", "content": "What is judged stays unsaid."}
KEY = "sk-of-the-log-test"


def logged(env: Env, *options: str, requests: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """Serves some requests; gives what stderr had, and the ids of the answers."""
    server = Server({**env, "AGENT_EVAL_LLM_API_KEY": KEY}, *options)
    ids = [
        httpx.request(
            one.get("verb", "POST"),
            server.url + one.get("path", "/v1/judge"),
            json=one.get("json", REQUEST),
            headers=one.get("headers"),
        ).headers["x-request-id"]
        for one in requests
    ]
    return server.stop().err, ids


def entries(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_each_request_is_a_line_with_its_id(engine_env: Env) -> None:
    options = ("--log-level", "info", "--log-format", "json")
    requests = [
        {"headers": {"x-request-id": "mine-17"}},
        {"json": {**REQUEST, "rubricName": "nobody"}},
        {"verb": "GET", "path": "/nowhere"},
    ]
    text, ids = logged(engine_env, *options, requests=requests)
    listening, *answers, stopping = entries(text)
    assert (listening["message"], stopping["message"]) == ("listening", "stopping")
    assert [one["requestId"] for one in answers] == ids
    assert ids[0] == "mine-17"
    assert [(one["level"], one["status"], one.get("code")) for one in answers] == [
        ("info", 200, None),
        ("info", 404, "rubric_not_found"),
        ("info", 404, "not_found"),
    ]
    assert [one.get("method") for one in answers] == ["judge", "judge", None]
    assert all(one["durationMs"] >= 0 and one["time"].endswith("Z") for one in answers)
    assert REQUEST["content"] not in text


def test_by_default_only_failures_are_said(engine_env: Env, model_server: ModelServer) -> None:
    text, _ = logged(engine_env, requests=[{}, {"json": {}}])
    assert text == ""
    body = json.dumps({"error": {"message": f"invalid key {KEY}"}})
    model_server.script([{"status": 401, "reply": {"raw": body}}])
    text, ids = logged(engine_env, requests=[{}])
    assert " warn  request method=judge " in text
    assert f"requestId={ids[0]}" in text
    assert "code=provider_auth" in text
    assert KEY not in text


def test_debug_has_each_judgement_and_call(engine_env: Env, model_server: ModelServer) -> None:
    options = ("--log-level", "debug", "--log-format", "json")
    model_server.script([{}, {"status": 404}])
    text, _ = logged(engine_env, *options, requests=[{}, {}])
    found = entries(text)
    calls = [one for one in found if one["message"] == "model call"]
    judgements = [one for one in found if one["message"] == "judgement"]
    assert [one["rubric"] for one in judgements] == ["anti-slop"] * 2
    assert (judgements[0]["composite"], judgements[0]["cached"]) == (0.8, False)
    assert judgements[1]["code"] == calls[1]["code"] == "model_not_found"
    assert (calls[0]["model"], calls[0]["attempts"]) == ("fake-model", 1)
    assert calls[0]["inputTokens"] > 0
    assert calls[0]["costUsd"] is None
    assert REQUEST["content"] not in text
    assert "Scripted." not in text


@pytest.mark.parametrize("flag", ["--log-level", "--log-format"])
def test_a_wrong_choice_is_refused(engine_env: Env, flag: str) -> None:
    done = run("serve", "--port", "0", flag, "loud", env=engine_env)
    assert done.code == 2
    assert flag in done.err
