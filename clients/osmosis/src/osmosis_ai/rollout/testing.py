"""A trainer for tests: it answers like a model, and keeps the ends of rollouts."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import FastAPI

    from osmosis_ai.rollout.client import OsmosisLLMClient

ToolCallGenerator = Callable[[dict[str, Any]], list[dict[str, Any]] | None]

_WORDS = ("calculate", "add", "sum", "plus", "subtract", "multiply", "divide")


class RolloutCompletionTracker:
    """Keeps terminal messages, and tells when one came, also from another thread's event loop.

    Attributes:
        event: Set once a message came.
        responses: The messages, in the order they came.
    """

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.responses: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._waiting: list[asyncio.AbstractEventLoop] = []

    def record(self, response: dict[str, Any]) -> None:
        """Keeps a message."""
        with self._lock:
            self.responses.append(response)
            elsewhere = [one for one in self._waiting if one is not _running_loop()]
            if not elsewhere:
                self.event.set()
            for one in elsewhere:
                one.call_soon_threadsafe(self.event.set)

    def clear(self) -> None:
        """Forgets all."""
        self.responses.clear()
        self.event.clear()

    async def wait(self, timeout: float = 5.0) -> bool:
        """Waits for a message, at most so many seconds; whether one came."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._waiting.append(loop)
        try:
            await asyncio.wait_for(self.event.wait(), timeout)
        except asyncio.TimeoutError:
            # A wait of no time at all has not looked yet.
            return self.event.is_set()
        finally:
            with self._lock:
                self._waiting.remove(loop)
        return True


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def fake_token_ids(count: int) -> list[int]:
    """Token ids from 0 to ``count`` - 1."""
    return list(range(count))


def fake_prompt_token_ids(messages: list[dict[str, Any]]) -> list[int]:
    """Token ids of a prompt, ten for each message and at least ten."""
    return list(range(max(10, 10 * len(messages))))


def create_mock_trainer_app(
    tracker: RolloutCompletionTracker | None = None,
    tool_call_generator: ToolCallGenerator | None = None,
) -> "FastAPI":
    """Makes a trainer.

    Its model calls the tool ``add`` when a user's message asks for arithmetic, and else answers
    with a fixed sentence.

    Args:
        tracker: Told of each terminal message.
        tool_call_generator: Gives the tool calls for the last message, None for none.

    Raises:
        ImportError: FastAPI is not installed.
    """
    try:
        from fastapi import FastAPI, HTTPException  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        message = 'FastAPI is required for a mock trainer: pip install "osmosis-ai[server]"'
        raise ImportError(message) from error

    app = FastAPI(title="Mock trainer")
    completed: dict[str, dict[str, Any]] = {}
    generate = tool_call_generator or _arithmetic

    @app.post("/v1/chat/completions")
    async def chat(request: dict[str, Any]) -> dict[str, Any]:
        return _completion(request, generate)

    @app.post("/v1/rollout/completed")
    async def complete(response: dict[str, Any]) -> dict[str, str]:
        completed[response["rollout_id"]] = response
        if tracker is not None:
            tracker.record(response)
        return {"status": "ok"}

    @app.get("/v1/rollout/completed/{rollout_id}")
    async def get_completed(rollout_id: str) -> dict[str, Any]:
        if rollout_id not in completed:
            raise HTTPException(404, "No such rollout")
        return completed[rollout_id]

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "healthy", "service": "mock-trainer"}

    return app


def _completion(request: dict[str, Any], generate: ToolCallGenerator) -> dict[str, Any]:
    messages = request["messages"]
    last = messages[-1] if messages else {}
    calls = generate(last)
    if calls:
        message: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
    elif last.get("role") == "tool":
        message = {"role": "assistant", "content": "The tool says: " + str(last.get("content"))}
    else:
        message = {"role": "assistant", "content": "All right."}
    prompt, answer = fake_prompt_token_ids(messages), fake_token_ids(8)
    return {
        "id": f"mock-{request.get('rollout_id', '')}",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model", "default"),
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        ],
        "usage": {
            "prompt_tokens": len(prompt),
            "completion_tokens": len(answer),
            "total_tokens": len(prompt) + len(answer),
        },
        "token_ids": answer,
        "logprobs": [-0.1] * len(answer),
        "prompt_token_ids": prompt,
    }


def _arithmetic(last: dict[str, Any]) -> list[dict[str, Any]] | None:
    text = str(last.get("content") or "").lower()
    if last.get("role") != "user" or not any(word in text for word in _WORDS):
        return None
    function = {"name": "add", "arguments": json.dumps({"a": 5, "b": 3})}
    return [{"id": "call_mock_add", "type": "function", "function": function}]


def patch_httpx_for_mock_trainer(client: Any, monkeypatch: Any) -> None:
    """Has rollouts of this process speak to a mock trainer without a network.

    Args:
        client: A FastAPI ``TestClient`` of the mock trainer.
        monkeypatch: Pytest's fixture.
    """
    import httpx  # noqa: PLC0415 - slow to import

    from osmosis_ai.rollout.client import OsmosisLLMClient  # noqa: PLC0415 - avoids a cycle

    def get_transport(self: "OsmosisLLMClient") -> httpx.AsyncBaseTransport:
        if self._transport is None:
            self._transport = httpx.ASGITransport(app=client.app)
        return self._transport

    monkeypatch.setattr(OsmosisLLMClient, "_get_transport", get_transport)
