"""Spans as a collector receives them: OTLP over HTTP, to a small receiver on loopback."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from engine import judge_params, run
from model_server import ModelServer

Env = dict[str, str]
Span = dict[str, Any]


class Receiver(ThreadingHTTPServer):
    """Keeps what is posted to it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.posts: list[tuple[str, str]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def spans(self) -> list[Span]:
        """All spans, in the order of their ends."""
        return [
            span
            for path, body in self.posts
            if path == "/v1/traces"
            for resource in json.loads(body)["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.server.posts.append((self.path, self.body().decode()))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def body(self) -> bytes:
        """The body, which comes in chunks."""
        if "content-length" in self.headers:
            return self.rfile.read(int(self.headers["content-length"]))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def traced_env(engine_env: Env, receiver: Receiver) -> Env:
    return {**engine_env, "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}


def facts(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in attributes}


def test_a_judgement_is_a_span_with_one_event_around_a_model_call(
    traced_env: Env, receiver: Receiver
) -> None:
    done = run("rpc", "judge", env=traced_env, stdin=judge_params())
    rationale = json.loads(done.out)["result"]["rationale"]
    call, judgement = receiver.spans()
    assert judgement["name"] == "judge"
    assert call["name"] == "chat fake-model"
    assert call["parentSpanId"] == judgement["spanId"]
    assert facts(call["attributes"])["gen_ai.usage.input_tokens"] > 0
    (event,) = judgement["events"]
    assert event["name"] == "gen_ai.evaluation.result"
    assert facts(event["attributes"]) == {
        "gen_ai.evaluation.name": "plain",
        "gen_ai.evaluation.score.value": 0.8,
        "gen_ai.evaluation.score.label": "scored",
    }
    sent = "".join(body for _, body in receiver.posts)
    for hidden in (rationale, "The cat sat.", traced_env["AGENT_EVAL_LLM_API_KEY"]):
        assert hidden not in sent


def test_content_is_sent_when_asked_for(traced_env: Env, receiver: Receiver) -> None:
    env = {**traced_env, "AGENT_EVAL_OTEL_CONTENT": "1"}
    done = run("rpc", "judge", env=env, stdin=judge_params())
    event = receiver.spans()[1]["events"][0]
    explanation = facts(event["attributes"])["gen_ai.evaluation.explanation"]
    assert explanation == json.loads(done.out)["result"]["rationale"]


def test_a_failure_is_an_event_with_its_code(
    traced_env: Env, receiver: Receiver, model_server: ModelServer
) -> None:
    model_server.script([], default={"reply": {"message": {"refusal": "No."}}})
    run("rpc", "judge", env=traced_env, stdin=judge_params())
    judgement = receiver.spans()[-1]
    (event,) = judgement["events"]
    assert facts(event["attributes"]) == {
        "gen_ai.evaluation.name": "plain",
        "error.type": "judge_refused",
    }
    assert judgement["status"]["code"] == 2


def test_it_can_be_switched_off(traced_env: Env, receiver: Receiver) -> None:
    run("rpc", "judge", env={**traced_env, "AGENT_EVAL_OTEL": "0"}, stdin=judge_params())
    assert receiver.posts == []


def test_a_collector_that_is_gone_costs_no_verdict(engine_env: Env) -> None:
    env = {**engine_env, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    done = run("rpc", "judge", env=env, stdin=judge_params())
    assert json.loads(done.out)["result"]["composite"] == 0.8
