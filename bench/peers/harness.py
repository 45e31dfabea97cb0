"""What the peers' benchmarks share: the texts, the clock, and one line of JSON at the end."""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable

Judge = Callable[[str], Awaitable[float]]


def options() -> argparse.Namespace:
    """The command line of every peer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True, help="base URL of the provider, with /v1")
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--warm-up", type=int, default=64)
    parser.add_argument("--in-flight", type=int, default=64)
    return parser.parse_args()


def text(number: int) -> str:
    """A text to judge; no two are alike, so that no cache answers."""
    return (
        f"Note {number}: the retry queue drops a job after 4 attempts. We moved the counter into "
        "the job row, so a worker that restarts no longer forgets it; the nightly import went "
        "from 31 lost rows to none."
    )


def cpu_s() -> float:
    """CPU time of this process and of the children it has waited for, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def report(calls: int, seconds: float, cpu: float) -> None:
    """Prints what bench/peers.mjs reads."""
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {"calls": calls, "seconds": seconds, "cpuMs": cpu * 1000 / calls, "peakMb": peak_mb}
    print(json.dumps(result), flush=True)


async def _series(judge: Judge, first: int, calls: int, in_flight: int) -> None:
    numbers = iter(range(first, first + calls))

    async def worker() -> None:
        for number in numbers:
            score = await judge(text(number))
            if not 0 < score <= 1:
                sys.exit(f"a wrong score: {score}")

    await asyncio.gather(*(worker() for _ in range(in_flight)))


def run(make_judge: Callable[[str], Judge]) -> None:
    """Measures a judge: an async function of a text that gives a score above 0, at most 1."""
    given = options()

    async def measure() -> None:
        judge = make_judge(given.url)
        await _series(judge, 0, given.warm_up, given.in_flight)
        cpu, started = cpu_s(), time.perf_counter()
        await _series(judge, given.warm_up, given.calls, given.in_flight)
        report(given.calls, time.perf_counter() - started, cpu_s() - cpu)

    asyncio.run(measure())
