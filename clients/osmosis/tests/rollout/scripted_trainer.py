"""A trainer that does as it is told, and the servers of a test around it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn

from osmosis_ai.rollout import (
    RolloutAgentLoop,
    RolloutClientSettings,
    RolloutContext,
    RolloutResult,
    RolloutServerSettings,
    RolloutSettings,
)
from osmosis_ai.rollout.connections import shared_transport
from osmosis_ai.rollout.server.app import create_app

CHAT, COMPLETED = "/v1/chat/completions", "/v1/rollout/completed"
ANSWER = {
    "choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
}
FAST = RolloutSettings(
    client=RolloutClientSettings(
        retry_base_delay=0.1, retry_max_delay=1, timeout_seconds=1, max_retries=2
    ),
    server=RolloutServerSettings(shutdown_grace_seconds=2),
)


@dataclass
class Request:
    """One request the trainer got."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Trainer:
    """Answers requests of each path by its own list of steps, then with 200.

    A step has ``status`` (200), ``headers``, ``body`` (what follows JSON dumps), ``text``, and
    ``how``: ``"drop"`` closes the connection without an answer, ``"hang"`` never answers.
    """

    steps: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    open: int = 0
    came: asyncio.Event = field(default_factory=asyncio.Event)

    def got(self, path: str) -> list[Any]:
        """Bodies of the requests to a path."""
        return [one.body for one in self.requests if one.path == path]

    @property
    def terminals(self) -> list[Any]:
        """Terminal messages; attempts at the same one are one."""
        return list({json.dumps(body): body for body in self.got(COMPLETED)}.values())

    async def terminal(self, count: int = 1) -> list[Any]:
        """Waits until so many terminal messages came, and a little longer for one too many."""
        while len(self.terminals) < count:
            self.came.clear()
            await asyncio.wait_for(self.came.wait(), 20)
        await asyncio.sleep(0.05)
        assert len(self.terminals) == count, self.terminals
        return self.terminals

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = [line.split(": ", 1) for line in head[1:] if line]
        headers = {name.lower(): value for name, value in pairs}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        path = head[0].split()[1]
        self.requests.append(Request(path, headers, json.loads(raw)))
        self.came.set()
        script = self.steps.get(path, [])
        step = script.pop(0) if script else {}
        if step.get("how") == "hang":
            await asyncio.sleep(60)
        if step.get("how") == "drop":
            return False
        default = ANSWER if path == CHAT else {"status": "ok"}
        body = step.get("text", json.dumps(step.get("body", default))).encode()
        lines = [f"HTTP/1.1 {step.get('status', 200)} Said"]
        if step.get("status") != 204:
            lines.append(f"content-length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in step.get("headers", {}).items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        writer.write(b"" if step.get("status") == 204 else body)
        await writer.drain()
        return True


@contextlib.asynccontextmanager
async def trainer(**steps: list[dict[str, Any]]) -> AsyncIterator[Trainer]:
    """A trainer with steps for ``chat`` and ``completed``."""
    made = Trainer({CHAT: steps.get("chat", []), COMPLETED: steps.get("completed", [])})
    server = await asyncio.start_server(made._serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()


class Agent(RolloutAgentLoop):
    """Takes turns, each through the trainer's model."""

    name = "agent"

    def __init__(
        self,
        turns: int = 1,
        then: Callable[[RolloutContext, list[Any]], Any] | None = None,
        tools: Any = (),
    ) -> None:
        self.turns = turns
        self.then = then
        self.tools = tools
        self.runs = 0
        self.asked_for_tools = 0

    def get_tools(self, request: Any) -> Any:
        self.asked_for_tools += 1
        return self.tools(request) if callable(self.tools) else list(self.tools)

    async def run(self, ctx: RolloutContext) -> RolloutResult:
        self.runs += 1
        messages = list(ctx.request.messages)
        for _ in range(self.turns):
            result = await ctx.chat(messages)
            messages.append(result.message)
        if self.then is None:
            return ctx.complete(messages)
        ended = self.then(ctx, messages)
        return await ended if isinstance(ended, Coroutine) else ended


@dataclass
class Served:
    """A rollout server of a test."""

    http: httpx.AsyncClient
    server: uvicorn.Server
    task: "asyncio.Task[None]"
    app: Any

    async def init(self, trainer_url: str, rollout_id: str = "r1", **more: Any) -> httpx.Response:
        """Starts a rollout."""
        headers = more.pop("headers", {})
        body = {
            "rollout_id": rollout_id,
            "server_url": trainer_url,
            "messages": [{"role": "user", "content": "hi"}],
            "completion_params": {},
            **more,
        }
        return await self.http.post("/v1/rollout/init", json=body, headers=headers)

    async def stop(self) -> None:
        """Stops the server as a signal would."""
        self.server.should_exit = True
        await self.task


@contextlib.asynccontextmanager
async def served(agent: Any, **options: Any) -> AsyncIterator[Served]:
    """Serves an agent on a free port until the block ends."""
    options.setdefault("settings", FAST)
    app = create_app(agent, **options)
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    task = asyncio.create_task(server.serve())
    while not server.started:
        assert not task.done()
        await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    # One pool of httpx looks at every connection for each request: 500 at once take half a minute.
    spread = shared_transport(tls=False, keepalive=4)
    url = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=url, timeout=20, transport=spread) as http:
        one = Served(http, server, task, app)
        try:
            yield one
        finally:
            await one.stop()
