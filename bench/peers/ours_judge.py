"""Ours: `judge_many` of the Python client over a server."""

import time

import harness

from agent_eval_rpc import Client


def series(client: Client, first: int, calls: int) -> None:
    """Judges so many texts."""
    texts = (harness.text(number) for number in range(first, first + calls))
    for outcome in client.judge_many(texts, rubric_name="anti-slop", ordered=False):
        if outcome.result is None or not 0 < outcome.result.composite <= 1:
            raise SystemExit(f"a wrong score: {outcome}")


options = harness.options()
with Client(transport="http", base_url=options.url) as client:
    series(client, 0, options.warm_up)
    cpu, started = harness.cpu_s(), time.perf_counter()
    series(client, options.warm_up, options.calls)
    harness.report(options.calls, time.perf_counter() - started, harness.cpu_s() - cpu)
