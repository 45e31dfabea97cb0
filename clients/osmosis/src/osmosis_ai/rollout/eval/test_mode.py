"""Runs an agent once on each row, to see that it works."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from osmosis_ai.rollout.core.base import RolloutAgentLoop
from osmosis_ai.rollout.eval.datasets import Row
from osmosis_ai.rollout.eval.model import ExternalLLMClient
from osmosis_ai.rollout.eval.one_rollout import RowRun, Sampling, Wrap, run_row


async def run_tests(
    loop: RolloutAgentLoop,
    rows: Sequence[Row],
    model: ExternalLLMClient,
    sampling: Sampling,
    progress: Callable[[RowRun], None],
    wrap: Wrap | None = None,
) -> dict[str, Any]:
    """Runs the agent on each row, one after another; stops where no row can do better.

    Returns:
        The documented results: ``summary`` and ``results``.
    """
    started = time.monotonic()
    runs: list[RowRun] = []
    for row in rows:
        run = await run_row(loop, row, model, sampling, f"test-{row.index}", wrap)
        runs.append(run)
        progress(run)
        if run.systemic:
            break
    passed = sum(run.success for run in runs)
    return {
        "summary": {
            "total": len(runs),
            "passed": passed,
            "failed": len(runs) - passed,
            "total_duration_ms": (time.monotonic() - started) * 1000,
            "total_tokens": sum(run.token_usage["total_tokens"] for run in runs),
        },
        "results": [_result(run) for run in runs],
    }


def _result(run: RowRun) -> dict[str, Any]:
    return {
        "row_index": run.row_index,
        "success": run.success,
        "error": run.error,
        "duration_ms": run.duration_ms,
        "token_usage": run.token_usage,
        "reward": run.reward,
        "finish_reason": run.finish_reason,
    }
