"""Real clients, the real engine, a scripted model: both forms over both transports."""

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
from model_server import ModelServer

from agent_eval_rpc import (
    AgentEvalError,
    AuthenticationError,
    Client,
    ConfigurationError,
    DeadlineExceededError,
    FailureMode,
    JudgeError,
    ProviderChoice,
    ProviderError,
    Rubric,
    RubricDimension,
    RubricNotFoundError,
    TransportError,
    ValidationError,
)
from agent_eval_rpc.models import OrderFailure, PanelFailure, PanelVerdict
from e2e import ENGINE, KINDS, client_of, needs_engine, provider, serve
from support import vectors

__all__ = ["provider"]

pytestmark = needs_engine
TEXT = "The retry budget is checked before each provider call."
QUALITY = Rubric.from_criteria("The text is clear.")


def sendable() -> list[Any]:
    """Wrong requests that a transport can carry: objects without infinities."""
    cases = [one for one in vectors("request-validation") if not one.values[0]["ok"]]
    return [
        one
        for one in cases
        if isinstance(one.values[0]["params"], dict) and "Infinity" not in json.dumps(one.values[0])
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_documented_snippets_run(provider: ModelServer, kind: str) -> None:
    with client_of(kind) as client:
        result = client.judge(content=TEXT, rubric_name="anti-slop")
        assert 0 <= result.composite <= 1
        assert result.dimensions
        assert result.rubric_version.startswith("anti-slop@sha256-rfc8785:")
        assert (result.model, result.cached, result.attempts) == ("fake-model", False, 1)
        assert result.usage is not None
        rubric = Rubric(
            name="commit-message",
            description="Checks whether a commit message explains why the change exists.",
            systemPrompt="Score the commit message using the supplied response schema.",
            dimensions=[
                RubricDimension(
                    id="explains_why",
                    description="The message states the reason for the change.",
                    weight=1.0,
                ),
            ],
            failureModes=[
                FailureMode(
                    id="what-only", description="The message states the edit without its reason."
                ),
            ],
        )
        result = client.judge(content="fix retry accounting", rubric=rubric)
        assert result.dimensions == {"explains_why": 0.8}
        assert result.composite == pytest.approx(0.8)
        names = {one.name: one.rubric_version for one in client.list_rubrics().rubrics}
        detail = client.get_rubric("anti-slop")
        assert isinstance(detail.rubric, Rubric)
        assert names["anti-slop"] == detail.rubric_version
        version = client.version()
        assert version.wire_version.startswith("1.")
        assert version.version


@pytest.mark.parametrize("kind", KINDS)
def test_options_reach_the_model(provider: ModelServer, kind: str) -> None:
    with client_of(kind) as client:
        result = client.judge(
            "Naïve \ud83d text",
            rubric=QUALITY,
            context={"question": "Why \u2028 so?"},
            model="other",
            temperature=0.5,
            seed=7,
            max_tokens=321,
            include_raw=True,
        )
    (request,) = provider.requests()
    body = request["body"]
    assert (body["model"], body["temperature"], body["seed"]) == ("other", 0.5, 7)
    assert 321 in body.values()
    prompt = json.dumps(body["messages"], ensure_ascii=False)
    assert "Naïve \ufffd text" in prompt
    assert "Why \u2028 so?" in prompt
    assert result.raw is not None
    assert json.loads(result.raw)["dimensions"] == {"quality": 0.8}


@pytest.mark.parametrize("kind", KINDS)
def test_one_limited_request_is_tried_again_by_the_engine_alike(
    provider: ModelServer, kind: str
) -> None:
    limited = {"match": {"bodyContains": "row 0"}, "status": 429}
    provider.script([limited], {"mode": "hash"})
    with client_of(kind) as client:
        got = [client.judge(f"row {i}", rubric=QUALITY) for i in range(4)]
    assert [one.attempts for one in got] == [2, 1, 1, 1]
    assert provider.calls == 5
    assert len({one.composite for one in got}) > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("step", "cls", "code"),
    [
        ({"status": 401}, ProviderError, "provider_auth"),
        ({"reply": {"content": "Verdict: fine, I think."}}, JudgeError, "judge_malformed"),
    ],
)
def test_what_goes_wrong_at_the_model_is_typed(
    provider: ModelServer, kind: str, step: dict[str, Any], cls: type[AgentEvalError], code: str
) -> None:
    provider.script([{**step, "times": "forever"}])
    with client_of(kind) as client, pytest.raises(cls) as caught:
        client.judge("x", rubric=QUALITY)
    assert (caught.value.code, caught.value.status, caught.value.retryable) == (code, 502, False)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_rubric_names_its_neighbours(provider: ModelServer, kind: str) -> None:
    with client_of(kind) as client:
        for run in (
            lambda: client.judge("x", rubric_name="anti-slob"),
            lambda: client.get_rubric("anti-slob"),
        ):
            with pytest.raises(RubricNotFoundError, match="anti-slop"):
                run()
    assert provider.calls == 0


@pytest.mark.parametrize("kind", KINDS)
def test_no_model_configured_says_what_to_set(kind: str) -> None:
    with client_of(kind) as client, pytest.raises(ConfigurationError) as caught:
        client.judge("x", rubric=QUALITY)
    assert caught.value.code == "llm_not_configured"
    assert "AGENT_EVAL_LLM" in caught.value.message


@pytest.mark.parametrize("kind", KINDS)
def test_the_engines_own_deadline_comes_first(provider: ModelServer, kind: str) -> None:
    provider.script([{"delayMs": 20_000, "times": "forever"}])
    with client_of(kind) as client:
        client.version()
        with pytest.raises(DeadlineExceededError) as caught:
            client.judge("x", rubric=QUALITY, timeout_s=1.5)
    assert caught.value.status == 504
    assert caught.value.details.get("timeoutS") is None


@pytest.mark.parametrize("kind", ["sync http", "sync subprocess"])
@pytest.mark.parametrize("case", sendable())
def test_the_engine_refuses_what_the_client_would(
    engines: dict[str, Client], kind: str, case: dict[str, Any]
) -> None:
    transport = engines[kind]._state.connect(engines[kind]._options, engines[kind]._settings).via
    params = case["params"]
    with pytest.raises(ValidationError) as caught:
        transport.call("judge", params, 10.0)
    paths = sorted(issue["path"] for issue in caught.value.details["issues"])
    assert paths == sorted(case["paths"])


@pytest.fixture(scope="module")
def engines() -> Any:
    """One client of each transport, for many small questions."""
    with client_of("sync http") as http, client_of("sync subprocess") as stdio:
        yield {"sync http": http, "sync subprocess": stdio}


@pytest.mark.parametrize("kind", ["sync subprocess", "async subprocess"])
def test_a_request_may_bring_its_provider_over_stdio(kind: str) -> None:
    with ModelServer() as server, client_of(kind) as client:
        choice = ProviderChoice(base_url=server.url, api_key="sk-of-the-request")
        assert client.judge("x", rubric=QUALITY, model="m", provider=choice).composite > 0
        headers = dict(server.requests()[0]["headers"])
        assert "Bearer sk-of-the-request" in headers.values()


def test_a_server_killed_in_mid_call_is_one_clear_error(provider: ModelServer) -> None:
    provider.script([{"delayMs": 20_000, "times": "forever"}])
    with (
        serve() as (url, process),
        Client(base_url=url, transport="http", max_retries=0) as client,
    ):
        killer = threading.Thread(target=kill_once_asked, args=(provider, process.pid))
        client.version()
        killer.start()
        with pytest.raises(TransportError, match="broke during the call"):
            client.judge("x", rubric=QUALITY)
        killer.join()
        process.wait()
        with pytest.raises(TransportError, match=r"Nothing answers.*agent-eval serve"):
            client.judge("x", rubric=QUALITY)


def test_a_child_killed_in_mid_call_is_one_clear_error_and_then_replaced(
    provider: ModelServer,
) -> None:
    provider.script([{"delayMs": 20_000}])
    before = set(psutil.Process().children())
    with Client(cli_path=ENGINE, transport="subprocess") as client:
        client.version()
        (child,) = set(psutil.Process().children()) - before
        killer = threading.Thread(target=kill_once_asked, args=(provider, child.pid))
        killer.start()
        with pytest.raises(TransportError, match="exit code -9"):
            client.judge("x", rubric=QUALITY)
        killer.join()
        assert client.judge("x", rubric=QUALITY).composite == pytest.approx(0.8)


def kill_once_asked(provider: ModelServer, pid: int) -> None:
    while provider.calls == 0:
        threading.Event().wait(0.01)
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "environment",
    [
        {"NODE_OPTIONS": "--trace-warnings --trace-deprecation"},
        {"DEBUG": "*", "NODE_DEBUG": "http,net"},
        {"AGENT_EVAL_DEBUG": "1"},
        {"AGENT_EVAL_TIMEOUT_MS": "5000", "FORCE_COLOR": "3"},
    ],
)
def test_the_pipe_carries_nothing_but_the_protocol(
    provider: ModelServer, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with Client(cli_path=ENGINE, transport="subprocess") as client:
        texts = ["one\u2028two", "x" * 3_900_000]
        for text in texts:
            assert client.judge(text, rubric=QUALITY).composite == pytest.approx(0.8)


def test_an_invalid_setting_of_the_engine_is_an_error_with_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENT_EVAL_CONCURRENCY", "many")
    with (
        Client(cli_path=ENGINE, transport="subprocess") as client,
        pytest.raises(AgentEvalError, match="AGENT_EVAL_CONCURRENCY"),
    ):
        client.judge("x", rubric=QUALITY)


def test_a_token_is_sent_and_a_wrong_one_refused(provider: ModelServer, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("t0ken-of-the-server\n")
    with serve("--token-file", str(secret)) as (url, _):
        with Client(base_url=url, token="t0ken-of-the-server") as client:
            assert client.judge("x", rubric=QUALITY).composite == pytest.approx(0.8)
        for wrong in ("wrong", None):
            with Client(base_url=url, token=wrong) as client:
                with pytest.raises(AuthenticationError) as caught:
                    client.judge("x", rubric=QUALITY)
                assert (caught.value.code, client.transport) == ("unauthorized", "http")


def test_auto_finds_a_server_and_falls_back_without_one(provider: ModelServer) -> None:
    with serve() as (url, process):
        with Client(base_url=url) as client:
            assert client.transport == "http"
        process.kill()
        process.wait()
        with Client(base_url=url, cli_path=ENGINE) as client:
            assert client.judge("x", rubric=QUALITY).composite == pytest.approx(0.8)
            assert client.transport_reason == f"no server at {url}"


@pytest.mark.parametrize("kind", KINDS)
def test_two_texts_are_compared_in_both_orders(provider: ModelServer, kind: str) -> None:
    # Left to itself the endpoint always prefers the first place.
    with client_of(kind) as client:
        result = client.compare(TEXT, "Synergy.", rubric=QUALITY)
        assert (result.winner, result.flipped, result.consistency) == ("tie", True, 0)
        assert [one.first for one in result.order] == ["a", "b"]
        assert (result.lengths.a, result.lengths.b) == (len(TEXT), 8)
        provider.script([{"status": 404}], default={"reply": {"json": {"winner": "nobody"}}})
        with pytest.raises(AgentEvalError) as caught:
            client.compare(TEXT, "Synergy.", rubric_name="anti-slop", swap=False)
        assert caught.value.code == "model_not_found"


def test_an_order_that_failed_keeps_its_error(provider: ModelServer) -> None:
    said = {"message": {"content": '{"rationale": "r", "winner": "second"}'}}
    provider.script([{"status": 401}], default={"reply": said})
    with client_of("sync subprocess") as client:
        result = client.compare("one", "two", rubric=QUALITY, samples=1)
        assert result.winner is None
        assert "singleOrder" in result.warnings
        failed = [one for one in result.order if isinstance(one, OrderFailure)]
        assert [one.error.code for one in failed] == ["provider_auth"]


(DIMENSION,) = QUALITY.dimensions


def says(score: float, **more: Any) -> dict[str, Any]:
    """A step that answers with that score."""
    verdict = {"rationale": f"It is {score}.", "dimensions": {DIMENSION.id: score}}
    return {"reply": {"verdict": verdict}, "times": "forever", **more}


@pytest.mark.parametrize("kind", KINDS)
def test_a_panel_names_who_failed(provider: ModelServer, kind: str) -> None:
    provider.script(
        [
            says(0.2, match={"model": "a"}),
            says(0.6, match={"model": "b"}),
            {"match": {"model": "c"}, "status": 401, "times": "forever"},
        ]
    )
    with client_of(kind) as client:
        result = client.judge("x", rubric=QUALITY, models=["a", "b", "c"], samples=2)
        assert result.composite == pytest.approx(0.4)
        assert result.agreement == pytest.approx(1 - 1.6 / 6)
        assert result.stdev == pytest.approx(0.4 / 3**0.5)
        assert result.samples is not None
        given = [one for one in result.samples if isinstance(one, PanelVerdict)]
        failed = [one for one in result.samples if isinstance(one, PanelFailure)]
        assert [one.composite for one in given] == [0.2, 0.2, 0.6, 0.6]
        assert [(one.model, one.error.code) for one in failed] == [("c", "provider_auth")] * 2
        with pytest.raises(JudgeError) as caught:
            client.judge("x", rubric=QUALITY, models=["a", "c"])
    assert caught.value.code == "judge_no_quorum"
    # Once "c" has failed nothing waits for "a", which may have answered before.
    assert caught.value.details["given"] in {0, 1}


@pytest.mark.parametrize("kind", KINDS)
def test_samples_and_modes_reach_the_model(provider: ModelServer, kind: str) -> None:
    provider.script([says(0.2), says(0.9)])
    with client_of(kind) as client:
        client.judge("x", rubric=QUALITY, samples=3, pool="median", quorum=2, seed=5)
        result = client.judge("x", rubric=QUALITY, score_mode="logprobs")
    bodies = [request["body"] for request in provider.requests()]
    assert sorted(body["seed"] for body in bodies[:3]) == [5, 6, 7]
    assert bodies[3]["top_logprobs"] == 20
    assert result.score_mode == "text"
    assert any("fell back" in warning for warning in result.warnings)


@pytest.mark.parametrize("kind", ["sync http", "sync subprocess"])
def test_many_texts_with_several_samples_each(provider: ModelServer, kind: str) -> None:
    provider.script([says(0.5)])
    with client_of(kind) as client:
        outcomes = list(client.judge_many(["a", "b"], rubric=QUALITY, samples=3))
    assert [len(one.result.samples or []) for one in outcomes if one.result] == [3, 3]
    assert provider.calls == 6


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_go_together_is_refused_unsent(kind: str) -> None:
    with client_of(kind) as client:
        for options in ({"model": "a", "models": ["b"]}, {"models": ["a", "a"]}, {"quorum": 2}):
            with pytest.raises(ValidationError):
                client.judge("x", rubric=QUALITY, **options)


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city":"Kiel"}'},
}


def tool_loop() -> list[dict[str, Any]]:
    """A model that asks a tool first."""
    asks = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    return [
        {"reply": {"message": asks}, "finishReason": "tool_calls"},
        {"reply": {"message": {"role": "assistant", "content": "It rains in Kiel."}}},
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_chat_with_tools(provider: ModelServer, kind: str) -> None:
    provider.script(tool_loop())
    messages: list[Any] = [{"role": "user", "content": "What is the weather in Kiel?"}]
    with client_of(kind) as client:
        first = client.chat(messages, tools=[WEATHER], temperature=0)
        (choice,) = first.choices
        (call,) = choice.message.tool_calls or []
        assert (choice.finish_reason, call.function.name) == ("tool_calls", "weather")
        assert call.function.arguments == '{"city":"Kiel"}'
        messages.append({"role": "assistant", "tool_calls": [CALL]})
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "rain"})
        last = client.chat(messages, tools=[WEATHER])
    assert last.choices[0].message.content == "It rains in Kiel."
    assert last.usage is not None
    assert last.usage.total_tokens > 0
    assert last.cost_usd is None
    assert provider.requests()[1]["body"]["messages"] == messages
