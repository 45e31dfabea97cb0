"""Whatever happens to a rollout, its trainer gets one terminal message."""

import asyncio
import json
import logging
import math
from pathlib import Path
from typing import Any

import pytest
from scripted_trainer import CHAT, COMPLETED, FAST, Agent, served, trainer

from osmosis_ai.rollout import RolloutResult

TOOL = {"type": "function", "function": {"name": "search"}}


def run(test: Any) -> None:
    asyncio.run(test())


@pytest.mark.parametrize(
    ("steps", "attempts"),
    [
        ([{"status": 400}], 1),
        ([{"status": 404, "text": "<html>"}], 1),
        ([{"status": 302}], 1),
        ([{"status": 500}], 2),
        ([{"status": 500}] * 5, 3),
        ([{"status": 429, "headers": {"retry-after": "0"}}], 2),
        ([{"status": 201}], 1),
        ([{"status": 204}], 1),
        ([{"how": "drop"}], 2),
        ([{"how": "drop"}] * 5, 3),
        ([{"how": "hang"}], 2),
    ],
)
def test_L1_and_L9_what_the_trainer_answers_changes_no_message(
    steps: list[dict[str, Any]], attempts: int
) -> None:
    async def test() -> None:
        async with trainer(completed=list(steps)) as one, served(Agent()) as server:
            assert (await server.init(one.url)).status_code == 202
            while server.app.state.rollouts.active_count:
                await asyncio.sleep(0.01)
            (terminal,) = one.terminals
            assert terminal["status"] == "COMPLETED"
            sent = [one for one in one.requests if one.path == COMPLETED]
            assert len(sent) == attempts
            assert {one.headers["idempotency-key"] for one in sent} == {"r1:completed"}

    run(test)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([{"status": 400, "text": "no such model"}], "status 400: no such model"),
        ([{"status": 503}] * 5, "status 503"),
        ([{"how": "drop"}] * 5, "POST http://127.0.0.1"),
        ([{"how": "hang"}] * 5, "no answer in time"),
        ([{"body": {"choices": []}}], "has no choices"),
        ([{"text": "<html>"}], "is not JSON"),
        ([{"status": 201}], "status 201"),
    ],
)
def test_L8_a_model_that_fails_ends_the_rollout(steps: list[dict[str, Any]], said: str) -> None:
    async def test() -> None:
        async with trainer(chat=list(steps)) as one, served(Agent()) as server:
            await server.init(one.url)
            (terminal,) = await one.terminal()
            assert (terminal["status"], terminal["finish_reason"]) == ("ERROR", "error")
            assert said in terminal["error_message"]

    run(test)


def failing(error: BaseException) -> Any:
    def then(ctx: Any, messages: list[Any]) -> Any:
        ctx.record_tool_call(latency_ms=5.0)
        raise error

    return then


def returning(value: Any) -> Any:
    return lambda ctx, messages: value


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (failing(RuntimeError("out of ideas")), "out of ideas"),
        (failing(KeyError()), "KeyError"),
        (failing(ValueError("\ud800")), "?"),
        (failing(asyncio.CancelledError()), "cancelled"),
        (failing(SystemExit("bye")), "SystemExit: bye"),
        (failing(KeyboardInterrupt()), "KeyboardInterrupt"),
        (returning(None), "must return a RolloutResult"),
        (returning(RolloutResult("FINISHED", [], "stop")), "status must be one of"),
        (returning(RolloutResult("COMPLETED", [1], "stop")), "list of dicts"),  # type: ignore[list-item]
        (returning(RolloutResult("COMPLETED", [], "stop", reward="1")), "reward must be a number"),  # type: ignore[arg-type]
    ],
)
def test_L7_and_A19_an_agent_that_fails_is_told_with_what_it_had(
    then: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    # The report of a test can't hold half a character, which one of the errors is.
    caplog.set_level(logging.CRITICAL, "osmosis_ai")

    async def test() -> None:
        async with trainer() as one, served(Agent(turns=2, then=then)) as server:
            await server.init(one.url)
            (terminal,) = await one.terminal()
            assert terminal["status"] == "ERROR"
            assert said in terminal["error_message"]
            assert [m["role"] for m in terminal["final_messages"]] == ["user"] + ["assistant"] * 2
            assert terminal["metrics"]["num_llm_calls"] == 2
            assert terminal["metrics"]["total_latency_ms"] > 0

    run(test)


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_L16_a_reward_that_is_not_finite_is_an_error(reward: float) -> None:
    async def test() -> None:
        agent = Agent(then=lambda ctx, messages: ctx.complete(messages, reward=reward))
        async with trainer() as one, served(agent) as server:
            await server.init(one.url)
            (terminal,) = await one.terminal()
            assert "reward must be finite" in terminal["error_message"]
            assert "reward" not in terminal

    run(test)


def test_L16_messages_with_what_json_has_no_word_for_still_arrive() -> None:
    async def test() -> None:
        odd = {"role": "tool", "content": math.nan, "extra": {"at": Path("x"), "s": {1}}}
        agent = Agent(then=lambda ctx, messages: ctx.complete([*messages, odd]))
        async with trainer() as one, served(agent) as server:
            await server.init(one.url)
            (terminal,) = await one.terminal()
            sent = {"role": "tool", "content": None, "extra": {"at": "x", "s": [1]}}
            assert terminal["final_messages"][-1] == sent

    run(test)


def test_L2_tools_are_checked_before_anything_starts() -> None:
    async def test() -> None:
        agent = Agent(tools=[{"type": "function", "function": {"description": "no name"}}])
        async with trainer() as one, served(agent) as server:
            for _ in range(2):
                answer = await server.init(one.url)
                assert answer.status_code == 500
                assert "tool 0 is not valid: function.name" in answer.json()["detail"]
            agent.tools = [TOOL]
            assert (await server.init(one.url)).status_code == 202
            await one.terminal()
            assert agent.runs == 1

    run(test)


def test_L11_tools_may_take_their_time_and_may_be_async() -> None:
    async def test() -> None:
        import time

        async def later(request: Any) -> list[Any]:
            await asyncio.sleep(0)
            return [TOOL]

        def slow(request: Any) -> list[Any]:
            time.sleep(1.0)
            return [TOOL]

        async with trainer() as one, served(Agent(tools=slow)) as server:
            starting = asyncio.create_task(server.init(one.url))
            await asyncio.sleep(0.1)
            health = await server.http.get("/health")
            assert health.status_code == 200
            assert not starting.done()
            assert (await starting).status_code == 202
        async with trainer() as one, served(Agent(tools=later)) as server:
            assert (await server.init(one.url)).json()["tools"][0]["function"]["name"] == "search"

    run(test)


def test_L6_a_server_that_stops_ends_running_and_waiting_rollouts() -> None:
    async def test() -> None:
        reached = asyncio.Event()

        async def forever(ctx: Any, messages: list[Any]) -> Any:
            reached.set()
            await asyncio.sleep(3600)

        closed: list[int] = []

        async def on_shutdown() -> None:
            closed.append(len(one.terminals))

        agent = Agent(then=forever)
        async with trainer() as one:
            async with served(agent, max_concurrent=1, on_shutdown=on_shutdown) as server:
                await server.init(one.url, "running")
                await server.init(one.url, "waiting")
                await reached.wait()
                await server.stop()
            ended = {terminal["rollout_id"]: terminal for terminal in one.terminals}
            assert set(ended) == {"running", "waiting"}
            assert {terminal["status"] for terminal in ended.values()} == {"ERROR"}
            assert "told to stop" in ended["waiting"]["error_message"]
            assert len(ended["running"]["final_messages"]) == 2
            assert closed == [2]

    run(test)


def test_L6_an_agent_that_will_not_stop_is_left_behind() -> None:
    async def test() -> None:
        async def stubborn(ctx: Any, messages: list[Any]) -> Any:
            for _ in range(3):
                try:
                    await asyncio.sleep(2)
                except asyncio.CancelledError:
                    pass

        async with trainer() as one:
            async with served(Agent(then=stubborn)) as server:
                await server.init(one.url)
                await asyncio.sleep(0.2)
                await server.stop()
            assert len(one.terminals) == 1

    run(test)


def test_L10_a_rollout_has_a_time_limit_of_its_own_and_its_wait_does_not_count() -> None:
    async def test() -> None:
        settings = FAST.model_copy(deep=True)
        settings.server.request_timeout_seconds = 0.4

        async def slow(ctx: Any, messages: list[Any]) -> Any:
            await asyncio.sleep(0.25 if ctx.request.rollout_id != "late" else 30)
            return ctx.complete(messages)

        async with trainer() as one:
            async with served(Agent(then=slow), settings=settings, max_concurrent=1) as server:
                for name in ("first", "second", "late"):
                    await server.init(one.url, name)
                ended = {terminal["rollout_id"]: terminal for terminal in await one.terminal(3)}
            assert "within 0.4 seconds" in ended["late"]["error_message"]
            assert ended["second"]["metrics"]["total_latency_ms"] < 400

    run(test)


def test_A10_requests_of_one_key_are_one_rollout() -> None:
    async def test() -> None:
        agent = Agent(tools=[TOOL])
        async with trainer() as one, served(agent) as server:
            answers = await asyncio.gather(
                *(server.init(one.url, idempotency_key="k") for _ in range(20))
            )
            assert {answer.status_code for answer in answers} == {202}
            assert len({answer.text for answer in answers}) == 1
            await one.terminal()
            assert (await server.init(one.url, idempotency_key="k")).status_code == 202
            assert (agent.runs, agent.asked_for_tools) == (1, 1)
            health = (await server.http.get("/health")).json()
            assert health == {
                "status": "healthy",
                "agent_loop": "agent",
                "active_rollouts": 0,
                "completed_rollouts": 1,
            }

    run(test)


def test_L15_keys_and_rollouts_do_not_collide() -> None:
    async def test() -> None:
        async with trainer() as one, served(Agent()) as server:
            assert (await server.init(one.url, "a", idempotency_key="b")).status_code == 202
            assert (await server.init(one.url, "b")).json()["rollout_id"] == "b"
            other = await server.init(one.url, "c", idempotency_key="b")
            assert other.status_code == 409
            again = await server.init(one.url, "a", idempotency_key="new")
            assert again.status_code == 409
            # What was refused has left nothing behind.
            assert (await server.init(one.url, "c")).status_code == 202
            await one.terminal(3)

    run(test)


def test_the_queue_has_an_end() -> None:
    async def test() -> None:
        settings = FAST.model_copy(deep=True)
        settings.server.max_queued_rollouts = 1
        release = asyncio.Event()

        async def wait(ctx: Any, messages: list[Any]) -> Any:
            await release.wait()
            return ctx.complete(messages)

        agent = Agent(then=wait)
        async with trainer() as one:
            async with served(agent, settings=settings, max_concurrent=1) as server:
                for name in ("a", "b"):
                    assert (await server.init(one.url, name)).status_code == 202
                busy = await server.init(one.url, "c")
                assert busy.status_code == 503
                assert int(busy.headers["retry-after"]) > 0
                release.set()
                await one.terminal(2)
                assert (await server.init(one.url, "c")).status_code == 202
                await one.terminal(3)

    run(test)


def test_A13_tool_calls_that_are_null() -> None:
    async def test() -> None:
        message = {"role": "assistant", "content": "x", "tool_calls": None}
        answer = {"choices": [{"message": message}], "usage": None}

        async def look(ctx: Any, messages: list[Any]) -> Any:
            result = await ctx.chat(messages)
            assert (result.tool_calls, result.has_tool_calls) == ([], False)
            assert (result.usage, result.finish_reason) == ({}, "stop")
            return ctx.complete(messages)

        async with trainer(chat=[{"body": answer}]) as one:
            async with served(Agent(turns=0, then=look)) as server:
                await server.init(one.url)
                assert (await one.terminal())[0]["status"] == "COMPLETED"

    run(test)


def test_the_wire_to_the_trainer() -> None:
    async def test() -> None:
        async def talk(ctx: Any, messages: list[Any]) -> Any:
            await ctx.chat(messages, temperature=0.5, stop="END", tools=[1], seed=2, model="m")
            return ctx.complete(messages, reward=0.5)

        async with trainer() as one, served(Agent(turns=0, then=talk)) as server:
            await server.init(one.url + "///", api_key="trainer-key")
            await one.terminal()
            assert one.got(CHAT) == [
                {
                    "model": "m",
                    "messages": [{"role": "user", "content": "hi"}],
                    "rollout_id": "r1",
                    "temperature": 0.5,
                    "top_p": 1.0,
                    "max_tokens": 512,
                    "stop": ["END"],
                    "logprobs": True,
                }
            ]
            assert {r.headers["authorization"] for r in one.requests} == {"Bearer trainer-key"}
            assert one.got(COMPLETED)[0]["reward"] == 0.5

    run(test)


def test_a_key_of_the_trainer_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        echo = [{"status": 500, "text": "bad key trainer-key-canary"}] * 9
        async with trainer(chat=list(echo), completed=list(echo)) as one, served(Agent()) as server:
            await server.init(one.url, api_key="trainer-key-canary")
            while server.app.state.rollouts.active_count:
                await asyncio.sleep(0.01)
            assert "***" in one.terminals[0]["error_message"]
            assert "canary" not in json.dumps(one.terminals)
        assert "status 500" in caplog.text
        assert one.url in caplog.text
        assert "canary" not in caplog.text

    run(test)
