"""What `Client.judge` adds to the provider's own time, over HTTP and over stdio.

Usage: python bench/client_latency.py [--calls 2000] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

from rows import Row, print_rows, row

from agent_eval_rpc import Client

BENCH = Path(__file__).resolve().parent
ENGINE = Path(
    os.environ.get("BENCH_ENGINE", BENCH.parent / "packages/agent-eval/dist/engine/main.cjs")
)
WARM_UP = 1000
TEXT = (
    "The retry queue drops a job after 4 attempts. We moved the counter into the job row, so a "
    "worker that restarts no longer forgets it; the nightly import of 12 March went from 31 lost "
    "rows to none."
)
GOALS_MS = {"HTTP": 1.2, "stdio": 0.8}


def clean_environment(provider_url: str) -> dict[str, str]:
    """The environment without settings and keys of the person who runs the benchmark."""
    mine = re.compile(r"^(AGENT_EVAL_|OPENAI_|NODE_OPTIONS$)|_API_KEY$|_proxy$", re.IGNORECASE)
    return {
        **{name: value for name, value in os.environ.items() if not mine.search(name)},
        "AGENT_EVAL_LLM_BASE_URL": provider_url,
        "AGENT_EVAL_LLM_API_KEY": "sk-fake",
        "AGENT_EVAL_LLM_MODEL": "fake-model",
    }


@contextmanager
def started(command: list[str], environment: dict[str, str]) -> Iterator[str]:
    """A process that runs for the block; gives its first line of output."""
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        try:
            line = child.stdout.readline().strip()
            if not line:
                raise SystemExit(f"{command[1]} ended before it was ready")
            yield line
        finally:
            child.terminate()


class BareCall:
    """One call of the provider over a plain socket: what is left is the provider's own time."""

    def __init__(self, provider: str, body: bytes) -> None:
        address = urlsplit(provider)
        self._socket = socket.create_connection((address.hostname or "", address.port or 80))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
        self._request = head.encode() + body

    def __call__(self) -> None:
        """Send the request and read the whole answer."""
        self._socket.sendall(self._request)
        head, _, body = self._socket.recv(65536).partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += self._socket.recv(65536)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def p50s_ms(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """The median time of each call. They take turns, since a machine gets slower and faster."""
    times: list[list[float]] = [[] for _ in calls]
    for index in range(-WARM_UP, rounds):
        for call, spent in zip(calls, times, strict=True):
            before = time.perf_counter()
            call()
            if index >= 0:
                spent.append((time.perf_counter() - before) * 1000)
    return [statistics.median(spent) for spent in times]


def measure(provider: str, server: str, rounds: int) -> list[Row]:
    """The rows of the result table."""
    http = Client(base_url=server, transport="http")
    stdio = Client(cli_path=ENGINE, transport="subprocess")
    with http, stdio:
        stdio.judge(TEXT, rubric_name="anti-slop")
        with urlopen(provider.removesuffix("/v1") + "/last") as newest:
            bare = BareCall(provider, newest.read())
        judges = [partial(client.judge, TEXT, rubric_name="anti-slop") for client in (http, stdio)]
        own, *spent = p50s_ms([bare, *judges], rounds)
        bare.close()
    rows = [row("the provider itself, p50", own, "ms")]
    for (name, goal), p50 in zip(GOALS_MS.items(), spent, strict=True):
        rows.append(row(f"`Client.judge` over {name}, above that", p50 - own, "ms", goal))
    return rows


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    given = parser.parse_args()
    node = ["node", "--max-semi-space-size=4"]
    with started(["node", str(BENCH / "fake-provider.mjs")], dict(os.environ)) as line:
        provider = json.loads(line)["url"]
        environment = clean_environment(provider)
        os.environ.clear()
        os.environ.update(environment)
        with started([*node, str(ENGINE), "serve", "--port", "0"], environment) as ready:
            rows = measure(provider, ready.rsplit(" ", 1)[-1], given.calls)
    print_rows(rows, as_json=given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
