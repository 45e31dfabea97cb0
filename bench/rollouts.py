"""Rollouts a second against a trainer that answers at once, and what a turn costs.

The server is a process of its own, so that its CPU time is its own.

Usage: python bench/rollouts.py [--rollouts 1024] [--at-once 256] [--turns 5] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import uvicorn
from client_latency import BareCall, p50s_ms, started
from osmosis_ai.rollout import OsmosisLLMClient, RolloutAgentLoop, create_app
from osmosis_ai.rollout.connections import shared_transport
from rows import Row, print_rows, row

BENCH = Path(__file__).resolve().parent
MESSAGES = [{"role": "user", "content": "Which job is the slowest?"}]
GOAL_CHAT_MS = 1.0


class Turns(RolloutAgentLoop):
    """Takes a number of turns."""

    name = "turns"

    def __init__(self, turns: int) -> None:
        self.turns = turns

    def get_tools(self, request: Any) -> list[Any]:
        """None."""
        return []

    async def run(self, ctx: Any) -> Any:
        """Runs the conversation."""
        messages = list(ctx.request.messages)
        for _ in range(self.turns):
            messages.append((await ctx.chat(messages)).message)
        return ctx.complete(messages)


def serve(turns: int) -> None:
    """The server: prints its port."""
    app = create_app(Turns(turns), max_concurrent=10_000)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", access_log=False))

    async def run() -> None:
        task = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        print(json.dumps({"port": server.servers[0].sockets[0].getsockname()[1]}), flush=True)
        await task

    asyncio.run(run())


async def rollouts(url: str, trainer: str, count: int, at_once: int, name: str) -> float:
    """Starts rollouts, so many at once, and waits for their ends; gives the seconds."""
    transport = shared_transport(tls=False, keepalive=64)
    async with httpx.AsyncClient(transport=transport, base_url=url, timeout=60) as http:
        done = int((await http.get("/health")).json()["completed_rollouts"])
        started_at = time.perf_counter()
        begun = 0
        while True:
            health = (await http.get("/health")).json()
            if health["completed_rollouts"] - done == count:
                return time.perf_counter() - started_at
            more = min(at_once - health["active_rollouts"], count - begun)
            bodies = [
                {
                    "rollout_id": f"{name}-{begun + number}",
                    "server_url": trainer,
                    "messages": MESSAGES,
                    "completion_params": {},
                }
                for number in range(max(0, more))
            ]
            answers = await asyncio.gather(
                *(http.post("/v1/rollout/init", json=body) for body in bodies)
            )
            assert all(answer.status_code == 202 for answer in answers)
            begun += len(bodies)
            await asyncio.sleep(0.02)


async def chat_ms(trainer: str, calls: int) -> float:
    """Median of one turn of the client by itself."""
    spent = []
    async with OsmosisLLMClient(trainer, "bench") as client:
        for number in range(calls + 100):
            before = time.perf_counter()
            await client.chat_completions(MESSAGES)
            if number >= 100:
                spent.append((time.perf_counter() - before) * 1000)
    return statistics.median(spent)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollouts", type=int, default=1024)
    parser.add_argument("--at-once", type=int, default=256)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    given = parser.parse_args()
    if given.serve:
        serve(given.turns)
        return 0
    environment = dict(os.environ)
    rows: list[Row] = []
    server = [sys.executable, __file__, "--serve", "--turns", str(given.turns)]
    provider = ["node", str(BENCH / "fake-provider.mjs")]
    with started(provider, environment) as line, started(server, environment) as told:
        trainer = json.loads(line)["url"].removesuffix("/v1")
        url = f"http://127.0.0.1:{json.loads(told)['port']}"
        pid = next(one.pid for one in psutil.Process().children() if "--serve" in one.cmdline())
        asyncio.run(rollouts(url, trainer, 128, 64, "warm"))
        before = sum(psutil.Process(pid).cpu_times()[:2])
        seconds = asyncio.run(rollouts(url, trainer, given.rollouts, given.at_once, "run"))
        spent = sum(psutil.Process(pid).cpu_times()[:2]) - before
        turns = given.rollouts * given.turns
        body = json.dumps({"model": "default", "messages": MESSAGES}).encode()
        (bare,) = p50s_ms([BareCall(trainer, body)], 1000)
        chat = asyncio.run(chat_ms(trainer, 1000))
        rows += [
            row(
                f"rollouts of {given.turns} turns, {given.at_once} at once",
                given.rollouts / seconds,
                "/s",
            ),
            row("turns", turns / seconds, "/s"),
            row("CPU of the server, for each turn", 1000 * spent / turns, "ms"),
            row("`chat_completions` above the trainer, p50", chat - bare, "ms", GOAL_CHAT_MS),
        ]
    print_rows(rows, as_json=given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
