"""Judges many texts with a cache, is killed in the middle, and judges them again.

Prints how many results there are at the end, how many of those that were answered before the kill
were judged twice, and what client and engine held in memory. Exits with 1 unless both were
killed, every text has its result, in order and right, none was judged twice, and memory stayed
below 200 MB.

usage: python bench/soak/resume.py [--items 100000] [--kill-after 40000] [--fault-share 0.05]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import IO, TYPE_CHECKING

import psutil

from agent_eval_rpc import Client, Rubric, RubricDimension

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
MOST_MB = 200
SECOND_KEY = "key-of-the-second-run"


def text_of(number: int) -> str:
    """The text of an item, as in items.mjs."""
    return f"Item {number}: the retry queue drops a job after 4 attempts; the import lost no row."


def score_of(number: int) -> float:
    """The only right score of an item, as in items.mjs."""
    return (number * 7919 % 1001) / 1000


def judge(items: int, cache: str) -> None:
    """Judges the items; prints for each its number, what came of it, and whether it was cached."""
    rubric = Rubric(
        name="soak",
        description="One scale.",
        system_prompt="You judge texts.",
        dimensions=[RubricDimension(id="quality", description="How good the text is.")],
    )
    texts = (text_of(number) for number in range(items))
    with Client(transport="subprocess", cache=cache) as client:
        for outcome in client.judge_many(texts, rubric=rubric, on_error="return"):
            if outcome.result is None:
                print(outcome.index, outcome.error.code if outcome.error else "nothing", 0)
            else:
                score = outcome.result.dimensions["quality"]
                right = "right" if score == score_of(outcome.index) else "wrong"
                print(outcome.index, right, int(outcome.result.cached))


class Run:
    """The judging process, the engine it started, and what they hold at most."""

    def __init__(self, items: int, cache: str, env: dict[str, str]) -> None:
        command = [sys.executable, __file__, "--items", str(items), "--judge", cache]
        self.process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.killed: list[str] = []
        self.client_mb = 0.0
        self.engine_mb = 0.0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._measure)
        self._watch.start()

    def lines(self) -> Iterator[tuple[int, str, bool]]:
        """Each outcome as it comes."""
        stdout: IO[str] | None = self.process.stdout
        assert stdout is not None
        for line in stdout:
            # A killed process leaves half a line.
            if line.endswith("\n"):
                index, what, cached = line.split()
                yield int(index), what, cached == "1"

    def kill(self) -> None:
        """Kills engine and client at once."""
        client = psutil.Process(self.process.pid)
        # The engine has a session of its own, so no signal to the client's group reaches it. It
        # goes first: an engine that sees its client gone would end in good order.
        for name, process in [
            *(("engine", child) for child in client.children()),
            ("client", client),
        ]:
            process.kill()
            self.killed.append(name)

    def wait(self) -> None:
        """Waits for its end."""
        self.process.wait()
        self._over.set()
        self._watch.join()

    def _measure(self) -> None:
        while not self._over.wait(0.5):
            with contextlib.suppress(psutil.Error):
                client = psutil.Process(self.process.pid)
                self.client_mb = max(self.client_mb, client.memory_info().rss / 2**20)
                for child in client.children():
                    self.engine_mb = max(self.engine_mb, child.memory_info().rss / 2**20)


def main() -> int:
    """Runs twice, and compares."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--kill-after", type=int)
    parser.add_argument("--fault-share", default="0.05")
    parser.add_argument("--judge", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.judge is not None:
        judge(options.items, options.judge)
        return 0
    kill_after = options.kill_after or options.items * 2 // 5
    provider = subprocess.Popen(
        ["node", str(HERE / "faulty-provider.mjs"), "--fault-share", options.fault_share],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert provider.stdout is not None
    said = json.loads(provider.stdout.readline())
    url = said["url"]
    env = {**os.environ, "AGENT_EVAL_LLM_BASE_URL": url, "AGENT_EVAL_LLM_MODEL": "soak-model"}
    try:
        with tempfile.TemporaryDirectory() as folder:
            cache = str(Path(folder) / "verdicts.db")
            first, answered = killed_run(options.items, kill_after, cache, env)
            second = Run(options.items, cache, {**env, "AGENT_EVAL_LLM_API_KEY": SECOND_KEY})
            return report(options.items, first, second, answered, said["counts"])
    finally:
        provider.kill()


def killed_run(
    items: int, kill_after: int, cache: str, env: dict[str, str]
) -> tuple[Run, set[int]]:
    """A run that is killed on the way, and the numbers that it answered."""
    run = Run(items, cache, env)
    answered = set()
    for index, what, _ in run.lines():
        if what == "right":
            answered.add(index)
        if len(answered) == kill_after and not run.killed:
            run.kill()
    run.wait()
    return run, answered


def asked_by_second(counts: str) -> set[int]:
    """The numbers that the second run asked the endpoint about, by the endpoint's own count."""
    # Requests of the killed engine may still arrive, so the second run has a key of its own.
    # Past any proxy of the environment: the endpoint is on loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{counts}?key={SECOND_KEY}") as response:
        return set(json.load(response)["asked"])


def report(items: int, first: Run, second: Run, answered: set[int], counts: str) -> int:
    """Lets the second run end, and says what came of both."""
    started = time.perf_counter()
    outcomes = list(second.lines())
    second.wait()
    seconds = time.perf_counter() - started
    asked = asked_by_second(counts)
    in_order = [index for index, _, _ in outcomes] == list(range(items))
    wrong = sum(what == "wrong" for _, what, _ in outcomes)
    unscored = sum(what not in ("right", "wrong") for _, what, _ in outcomes)
    twice = len(answered & asked)
    client_mb, engine_mb = (
        max(getattr(run, name) for run in (first, second)) for name in ("client_mb", "engine_mb")
    )
    for name, value in {
        "killed": " and ".join(first.killed) or "NOTHING",
        "answered before the kill": len(answered),
        "results at the end": f"{len(outcomes)}, {'in order' if in_order else 'OUT OF ORDER'}",
        "judged twice": twice,
        "silently wrong": wrong,
        "unscored": unscored,
        "from the cache": sum(cached for _, _, cached in outcomes),
        "asked in the second run": len(asked),
        "second run": f"{seconds:.0f} s, {items / seconds:.0f} a second",
        "memory at most": f"client {client_mb:.0f} MB, engine {engine_mb:.0f} MB",
    }.items():
        print(f"{name}: {value}")
    killed = first.killed == ["engine", "client"] and len(answered) < items
    # What was never measured is not small.
    flat = all(0 < most < MOST_MB for most in (client_mb, engine_mb))
    good = killed and in_order and twice == 0 and wrong == 0 and bool(asked) and flat
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
