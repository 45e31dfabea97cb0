"""The trainer for tests: an agent runs against it as its author would have it run."""

import asyncio
import threading
from typing import Any

import pytest
from fastapi.testclient import TestClient

from osmosis_ai import rollout
from osmosis_ai.rollout import testing, tools


class Adder(rollout.RolloutAgentLoop):
    """Adds by a tool, until the model calls none."""

    name = "adder"

    def get_tools(self, request: Any) -> Any:
        return [{"type": "function", "function": {"name": "add", "description": "Adds."}}]

    async def run(self, ctx: rollout.RolloutContext) -> rollout.RolloutResult:
        messages = list(ctx.request.messages)
        for _ in range(ctx.request.max_turns):
            result = await ctx.chat(messages)
            messages.append(result.message)
            if not result.has_tool_calls:
                return ctx.complete(messages, reward=1.0)
            messages += await tools.execute_tool_calls(result.tool_calls, self.execute)
            ctx.record_tool_call(2.5)
        return ctx.complete(messages, finish_reason="max_turns")

    async def execute(self, call: Any) -> dict[str, Any]:
        call_id, _, arguments = tools.get_tool_call_info(call)
        return tools.create_tool_result(call_id, str(arguments["a"] + arguments["b"]))


def body(text: str) -> dict[str, Any]:
    return {
        "rollout_id": "r", "server_url": "http://trainer", "completion_params": {},
        "messages": [{"role": "user", "content": text}],
    }  # fmt: skip


def asked(trainer: TestClient, *messages: Any, **more: Any) -> dict[str, Any]:
    sent = {"messages": list(messages), "rollout_id": "r", **more}
    answer = trainer.post("/v1/chat/completions", json=sent)
    assert answer.status_code == 200
    return answer.json()  # type: ignore[no-any-return]


def test_an_agent_runs_from_init_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = testing.RolloutCompletionTracker()
    trainer = TestClient(testing.create_mock_trainer_app(tracker))
    testing.patch_httpx_for_mock_trainer(trainer, monkeypatch)
    with TestClient(rollout.create_app(Adder())) as server:
        answer = server.post("/v1/rollout/init", json=body("What is 5 plus 3?"))
        assert answer.status_code == 202
        assert answer.json()["tools"][0]["function"]["name"] == "add"
        # The server's event loop is in another thread than this one.
        assert asyncio.run(tracker.wait())
    (ended,) = tracker.responses
    assert (ended["status"], ended["finish_reason"], ended["reward"]) == ("COMPLETED", "stop", 1.0)
    assert [one["role"] for one in ended["final_messages"]] == [
        "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert ended["final_messages"][2] == tools.create_tool_result("call_mock_add", "8")
    metrics = ended["metrics"]
    assert (metrics["num_llm_calls"], metrics["num_tool_calls"]) == (2, 1)
    assert (metrics["prompt_tokens"], metrics["tool_latency_ms"]) == (10 + 30, 2.5)
    assert trainer.get("/v1/rollout/completed/r").json() == ended
    assert trainer.get("/v1/rollout/completed/other").status_code == 404


@pytest.mark.parametrize(
    "word", ["calculate", "add", "sum", "plus", "subtract", "multiply", "divide"]
)
def test_arithmetic_has_the_model_call_its_tool(word: str) -> None:
    trainer = TestClient(testing.create_mock_trainer_app())
    answer = asked(trainer, {"role": "user", "content": f"Please {word.upper()} these"})
    (choice,) = answer["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert tools.get_tool_call_info(call) == ("call_mock_add", "add", {"a": 5, "b": 3})


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "Hello"}, {"role": "tool", "content": "add"},
        {"role": "assistant", "content": "add"}, {"role": "user", "content": None},
    ],
)  # fmt: skip
def test_A13_other_messages_have_a_short_reply(message: Any) -> None:
    answer = asked(TestClient(testing.create_mock_trainer_app()), message)
    read = rollout.CompletionsResponse.model_validate(answer)
    (choice,) = read.choices
    assert choice.finish_reason == "stop"
    assert rollout.parse_tool_calls(choice.message) == []
    assert 0 < len(rollout.get_message_content(choice.message)) < 100


def test_answers_have_the_whole_shape() -> None:
    trainer = TestClient(testing.create_mock_trainer_app())
    answer = asked(trainer, {"role": "user", "content": "Hello"}, model="own")
    assert (answer["object"], answer["model"]) == ("chat.completion", "own")
    usage = answer["usage"]
    assert answer["prompt_token_ids"] == testing.fake_prompt_token_ids([{}])
    assert usage["prompt_tokens"] == len(answer["prompt_token_ids"]) == 10
    assert usage["completion_tokens"] == len(answer["token_ids"]) == len(answer["logprobs"])
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert asked(trainer)["choices"][0]["message"]["role"] == "assistant"
    assert trainer.get("/health").json() == {"status": "healthy", "service": "mock-trainer"}


def test_tool_calls_of_ones_own() -> None:
    seen: list[Any] = []
    call = {"id": "own", "type": "function", "function": {"name": "look", "arguments": "{}"}}

    def generate(message: Any) -> Any:
        seen.append(message)
        return [call] if message.get("role") == "user" else None

    trainer = TestClient(testing.create_mock_trainer_app(tool_call_generator=generate))
    user, tool = {"role": "user", "content": "add"}, {"role": "tool", "content": "x"}
    message = asked(trainer, user)["choices"][0]["message"]
    assert (message["tool_calls"], message["content"]) == ([call], None)
    assert "tool_calls" not in asked(trainer, user, tool)["choices"][0]["message"]
    assert seen == [user, tool]


def test_what_a_tracker_keeps() -> None:
    tracker = testing.RolloutCompletionTracker()
    trainer = TestClient(testing.create_mock_trainer_app(tracker))
    for number in (1, 2):
        sent = {"rollout_id": f"r{number}", "status": "COMPLETED"}
        answer = trainer.post("/v1/rollout/completed", json=sent)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert [one["rollout_id"] for one in tracker.responses] == ["r1", "r2"]
    assert tracker.event.is_set()
    assert asyncio.run(tracker.wait(0))
    tracker.clear()
    assert (tracker.responses, tracker.event.is_set()) == ([], False)
    assert not asyncio.run(tracker.wait(0))


def test_a_tracker_wakes_every_waiter_also_from_another_thread() -> None:
    async def test(threaded: bool) -> None:
        tracker = testing.RolloutCompletionTracker()
        # Longer than the test may take: who is not woken is not saved by the time.
        waiters = [asyncio.ensure_future(tracker.wait(300)) for _ in range(2)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if threaded:
            thread = threading.Thread(target=tracker.record, args=({"a": 1},))
            thread.start()
            thread.join(10)
        else:
            tracker.record({"a": 1})
            assert tracker.event.is_set()
        assert await asyncio.gather(*waiters) == [True, True]

    for threaded in (False, True):
        # A loop in debug mode refuses to be touched from other threads.
        asyncio.run(asyncio.wait_for(test(threaded), 20), debug=True)


def test_token_ids() -> None:
    assert [testing.fake_token_ids(count) for count in (0, 3)] == [[], [0, 1, 2]]
    for count, expected in ((0, 10), (1, 10), (2, 20), (7, 70)):
        assert testing.fake_prompt_token_ids([{}] * count) == list(range(expected))
