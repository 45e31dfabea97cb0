"""What `osmosis_ai` costs: its import, and `evaluate_rubric` above the provider's own time.

Usage: python bench/rewards.py [--calls 1000] [--runs 15] [--json]
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

from client_latency import BareCall, clean_environment, p50s_ms, started
from import_cost import timed
from osmosis_ai import aevaluate_rubric, evaluate_rubric, evaluate_rubric_many
from rows import Row, print_rows, row

BENCH = Path(__file__).resolve().parent
RUBRIC = "Score how well the text tells what was changed and why."
TEXT = "The retry queue drops a job after 4 attempts; the counter is in the job row now."
GOAL_MS = 2.0
GOAL_IMPORT = 1.5


def import_rows(runs: int) -> list[Row]:
    """The import against that of the client it stands on."""
    statements = ("pass", "import agent_eval_rpc", "import osmosis_ai")
    times: dict[str, list[float]] = {one: [] for one in statements}
    for run in range(-2, runs):
        for statement in statements:
            spent = timed(statement)
            if run >= 0:
                times[statement].append(spent)
    empty, base, ours = (statistics.median(times[one]) for one in statements)
    return [
        row("interpreter with `import agent_eval_rpc`", base, "ms"),
        row("interpreter with `import osmosis_ai`", ours / base, "times that", GOAL_IMPORT),
        row("of which the interpreter alone", empty, "ms"),
    ]


def call_rows(calls: int, url: str) -> list[Row]:
    """One call at a time, in both forms, and many at once."""
    info = {"provider": "openai", "model": "fake-model", "base_url": url}
    body = {
        "model": "fake-model",
        "messages": [{"role": "user", "content": f"A reward by a written rubric {TEXT}"}],
    }
    bare, direct = p50s_ms(
        [
            BareCall(url, json.dumps(body).encode()),
            lambda: evaluate_rubric(RUBRIC, TEXT, info),
        ],
        calls,
    )

    async def one_by_one() -> float:
        spent = []
        for _ in range(calls):
            before = time.perf_counter()
            await aevaluate_rubric(RUBRIC, TEXT, info)
            spent.append((time.perf_counter() - before) * 1000)
        return statistics.median(spent)

    awaited = asyncio.run(one_by_one())
    before = time.perf_counter()
    rewards = evaluate_rubric_many(RUBRIC, [f"{TEXT} {n}" for n in range(5 * calls)], info)
    assert set(rewards) == {0.8}
    rate = len(rewards) / (time.perf_counter() - before)
    return [
        row("provider alone", bare, "ms"),
        row("`evaluate_rubric` above the provider, p50", direct - bare, "ms", GOAL_MS),
        row("`aevaluate_rubric` above the provider, p50", awaited - bare, "ms"),
        row("`evaluate_rubric_many`", rate, "rewards/s"),
    ]


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    given = parser.parse_args()
    rows = import_rows(given.runs)
    provider = ["node", str(BENCH / "fake-provider.mjs"), "--peers"]
    for name in set(os.environ) - set(clean_environment("")):
        del os.environ[name]
    with started(provider, dict(os.environ)) as line:
        rows += call_rows(given.calls, json.loads(line)["url"])
    print_rows(rows, as_json=given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
