"""Figures over the scores of agents."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

PASS_AT = (1, 3, 5, 10)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that one of ``k`` runs passes, of which ``c`` of ``n`` did: 1 - C(n-c, k) / C(n, k).

    The unbiased estimator of Chen et al., "Evaluating large language models trained on code",
    2021.

    Args:
        n: Runs.
        c: Runs that passed, 0 to ``n``.
        k: Runs to draw; where it is ``n`` or more, one pass is enough.
    """
    if c == 0:
        return 0.0
    if n <= k:
        return 1.0
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def figures_of(
    scores_by_row: Sequence[Sequence[float | None]], n: int, threshold: float
) -> dict[str, Any]:
    """Mean, population deviation and range of scores, and pass@k where rows were run often.

    Args:
        scores_by_row: For each row the scores of its runs: 0.0 where the agent failed, None where
            its score is not known; those count in nothing.
        n: Runs of each row that were meant to be; missing ones have not passed.
        threshold: Lowest score that passes.
    """
    scores = [one for row in scores_by_row for one in row if one is not None]
    unscored = sum(one is None for row in scores_by_row for one in row)
    made: dict[str, Any] = dict.fromkeys(("mean", "std", "min", "max"))
    if scores:
        mean = statistics.fmean(scores)
        spread = math.sqrt(statistics.pvariance(scores, mean))
        made = {"mean": mean, "std": spread, "min": min(scores), "max": max(scores)}
    made["unscored"] = unscored
    if n > 1:
        for k in (k for k in PASS_AT if k <= n):
            rows = [_row_pass(row, n, k, threshold) for row in scores_by_row]
            known = [one for one in rows if one is not None]
            made[f"pass_at_{k}"] = statistics.fmean(known) if known else None
    return made


def _row_pass(row: Sequence[float | None], n: int, k: int, threshold: float) -> float | None:
    unknown = sum(one is None for one in row)
    if unknown == n:
        return None
    passed = sum(one is not None and one >= threshold for one in row)
    return pass_at_k(n - unknown, passed, k)
