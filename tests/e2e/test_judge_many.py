"""`judge_many` of both clients, over both transports, against the real engine."""

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psutil
import pytest
from engine import ENGINE, RUBRIC, Server
from model_server import ModelServer

from agent_eval_rpc import (
    AgentEvalError,
    AsyncClient,
    Client,
    JudgeError,
    JudgeOutcome,
    Rubric,
    ValidationError,
)
from agent_eval_rpc.errors import BudgetExceededError

QUALITY = Rubric.model_validate(RUBRIC)
Many = Callable[..., list[JudgeOutcome]]


@pytest.fixture(params=["http", "subprocess"])
def options(
    request: pytest.FixtureRequest,
    engine_env: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[dict[str, Any]]:
    """How to reach the engine."""
    for name, value in engine_env.items():
        monkeypatch.setenv(name, value)
    if request.param == "subprocess":
        yield {"transport": "subprocess", "cli_path": str(ENGINE)}
        return
    server = Server(engine_env)
    yield {"transport": "http", "base_url": server.url}
    if server.process.poll() is None:
        server.stop()


@pytest.fixture(params=["threads", "asyncio"])
def many(request: pytest.FixtureRequest, options: dict[str, Any]) -> Many:
    """Runs `judge_many` to its end with either client."""

    def threads(items: Iterable[object], **how: Any) -> list[JudgeOutcome]:
        with Client(**options) as client:
            return list(client.judge_many(items, **{"rubric": QUALITY, **how}))

    def tasks(items: Iterable[object], **how: Any) -> list[JudgeOutcome]:
        async def main() -> list[JudgeOutcome]:
            async with AsyncClient(**options) as client:
                run = client.judge_many(items, **{"rubric": QUALITY, **how})
                return [outcome async for outcome in run]

        return asyncio.run(main())

    return threads if request.param == "threads" else tasks


def always(reply: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"times": "forever", "reply": reply, **more}


def verdict(score: float) -> dict[str, Any]:
    return {"verdict": {"rationale": "r", "dimensions": {"quality": score}}}


def when(text: str, **step: Any) -> dict[str, Any]:
    return {"match": {"bodyContains": text}, "times": "forever", **step}


def test_every_item_has_its_own_answer_in_order(many: Many, model_server: ModelServer) -> None:
    model_server.script([{"times": "forever", "mode": "hash"}])
    texts = [f"text {i % 50}" for i in range(700)]
    right = {one.item: one.result for one in many(texts[:50])}
    outcomes = many(texts)
    assert [one.index for one in outcomes] == list(range(700))
    assert [one.item for one in outcomes] == texts
    for one in outcomes:
        assert one.result is not None
        assert one.result.composite == right[one.item].composite  # type: ignore[union-attr]
    assert len({one.result.composite for one in outcomes if one.result}) > 20


def test_as_they_are_done(many: Many, model_server: ModelServer) -> None:
    model_server.script([when("slow one", delayMs=500, reply=verdict(0.1)), always(verdict(0.9))])
    outcomes = many(["slow one", *(f"text {i}" for i in range(20))], ordered=False)
    assert sorted(one.index for one in outcomes) == list(range(21))
    assert outcomes[0].index != 0


def test_items_of_every_kind(many: Many, model_server: ModelServer) -> None:
    model_server.script([always(verdict(0.5))])
    own = {**RUBRIC, "name": "of its own"}
    items: list[object] = [
        "a text",
        {"content": "with an id", "id": "first"},
        {"content": "with a rubric", "rubric": own, "rubric_name": None},
        {"content": "with context", "context": {"question": "why?"}, "id": 3},
        {"id": "no content"},
        "",
        17,
        {"content": "unknown", "colour": "red"},
    ]
    items[2] = {"content": "with a rubric", "rubric": own}
    outcomes = many(items, on_error="return")
    assert [one.id for one in outcomes] == [None, "first", None, 3, "no content", None, None, None]
    assert [one.scored for one in outcomes] == [True] * 4 + [False] * 4
    assert all(isinstance(one.error, ValidationError) for one in outcomes[4:])
    assert outcomes[2].result is not None
    assert outcomes[2].result.rubric_version.startswith("of its own@")
    assert model_server.stats()["calls"] == 4


def test_an_error_ends_the_run_or_is_returned(many: Many, model_server: ModelServer) -> None:
    script = [when("bad one", reply={"content": "no verdict"}), always(verdict(0.5))]
    texts = ["good", "bad one", "good too"]
    model_server.script(script)
    with pytest.raises(JudgeError) as caught:
        many(texts)
    assert caught.value.code == "judge_malformed"
    model_server.script(script)
    outcomes = many(texts, on_error="return")
    assert [one.scored for one in outcomes] == [True, False, True]
    assert outcomes[1].error is not None
    assert outcomes[1].error.code == "judge_malformed"


def test_calls_are_limited(many: Many, model_server: ModelServer) -> None:
    model_server.script([always(verdict(0.5))])
    outcomes = many([f"text {i}" for i in range(30)], max_calls=10, on_error="return")
    assert [one.scored for one in outcomes] == [True] * 10 + [False] * 20
    assert all(isinstance(one.error, BudgetExceededError) for one in outcomes[10:])
    assert model_server.stats()["calls"] == 10


def test_money_is_refused_without_a_price(many: Many, model_server: ModelServer) -> None:
    model_server.script([always(verdict(0.5))])
    with pytest.raises(ValidationError, match="max_calls"):
        many([f"text {i}" for i in range(30)], max_cost_usd=1.0)
    assert model_server.stats()["calls"] == 1
    outcomes = many(
        [f"text {i}" for i in range(5)], max_cost_usd=1.0, max_calls=3, on_error="return"
    )
    assert sum(one.scored for one in outcomes) == 3


def test_a_broken_run_stops_early(many: Many, model_server: ModelServer) -> None:
    model_server.script([always({"content": "no verdict"})])
    with pytest.raises(JudgeError, match="unscored"):
        many([f"text {i}" for i in range(2000)], on_error="return", max_unscored=5)
    # What was in flight was still asked, twice each; the rest was not.
    assert model_server.stats()["calls"] < 3500


@pytest.mark.parametrize(
    "wrong", [{"concurrency": 0}, {"on_error": "ignore"}, {"max_calls": -1}, {"timeout_s": -1}]
)
def test_options_are_checked(many: Many, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        many(["x"], **wrong)


def test_items_are_taken_as_needed(options: dict[str, Any], model_server: ModelServer) -> None:
    model_server.script([always(verdict(0.5))])
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield f"text {taken}"

    threads = threading.active_count()
    with Client(**options) as client:
        run = client.judge_many(endless(), rubric=QUALITY, concurrency=8)
        for _ in range(20):
            assert next(run).scored
        run.close()
        assert taken < 3000
        deadline = time.monotonic() + 20
        # The session of the engine has threads of its own, which stay until the client is closed.
        while threading.active_count() > threads + 4 and time.monotonic() < deadline:
            time.sleep(0.05)
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() == threads
    assert psutil.Process().children() == [] or options["transport"] == "http"


def test_async_items_and_a_run_that_is_left(
    options: dict[str, Any], model_server: ModelServer
) -> None:
    model_server.script([always(verdict(0.5))])

    async def main() -> int:
        async def texts() -> Any:
            for i in range(1000):
                await asyncio.sleep(0)
                yield f"text {i}"

        async with AsyncClient(**options) as client:
            run = client.judge_many(texts(), rubric=QUALITY)
            seen = 0
            async for outcome in run:
                assert outcome.scored
                seen += 1
                if seen == 10:
                    break
            await run.aclose()
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1


def test_a_server_killed_on_the_way(engine_env: dict[str, str], model_server: ModelServer) -> None:
    model_server.script([always(verdict(0.5), delayMs=50)])
    server = Server(engine_env)
    outcomes: list[JudgeOutcome] = []
    with Client(transport="http", base_url=server.url) as client:
        texts = [f"text {i}" for i in range(3000)]
        for outcome in client.judge_many(texts, rubric=QUALITY, on_error="return", ordered=False):
            outcomes.append(outcome)
            if len(outcomes) == 30:
                os.kill(server.process.pid, signal.SIGKILL)
    server.process.communicate()
    assert sorted(one.index for one in outcomes) == list(range(3000))
    errors = {one.error.code for one in outcomes if one.error is not None}
    assert errors == {"transport_error"}
    asked = [json.dumps(one["body"]) for one in model_server.requests()]
    assert len(asked) == len(set(asked))


def test_long_texts_over_http(engine_env: dict[str, str], model_server: ModelServer) -> None:
    """More than the sockets hold, both ways, and a server that waits for its reader."""
    model_server.script(
        [always({"verdict": {"rationale": "r" * 20_000, "dimensions": {"quality": 0.5}}})]
    )
    server = Server(engine_env)
    try:
        with Client(transport="http", base_url=server.url, timeout_s=60) as client:
            texts = (f"{i} " + "x" * 40_000 for i in range(400))
            assert sum(one.scored for one in client.judge_many(texts, rubric=QUALITY)) == 400
    finally:
        server.stop()


def test_tells_how_far_it_is(many: Many, model_server: ModelServer) -> None:
    model_server.script([when("bad one", reply={"content": "no"}), always(verdict(0.5))])
    told: list[tuple[int, int, float]] = []
    many(["a", "bad one", "b"], on_error="return", progress=lambda *now: told.append(now))
    assert told[-1] == (3, 1, 0.0)


def test_errors_are_typed(many: Many, model_server: ModelServer) -> None:
    model_server.script([{"times": "forever", "status": 401}])
    outcomes = many(["a", "b"], on_error="return")
    assert all(isinstance(one.error, AgentEvalError) for one in outcomes)
    assert {one.error.code for one in outcomes if one.error} == {"provider_auth"}
