"""Figures over the scores of several runs."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

_KEYS = ("average", "variance", "stdev", "min", "max")


def statistics_of(scores: Sequence[float], total_runs: int) -> dict[str, Any]:
    """Average, population variance and deviation, and range of the scores there are.

    Args:
        scores: Scores of the runs that succeeded; failed ones count in no average.
        total_runs: How many runs there were.
    """
    counts = {
        "total_runs": total_runs,
        "success_count": len(scores),
        "failure_count": total_runs - len(scores),
    }
    if not scores:
        return {**dict.fromkeys(_KEYS), **counts}
    average = statistics.fmean(scores)
    variance = statistics.pvariance(scores, average)
    figures = (average, variance, math.sqrt(variance), min(scores), max(scores))
    return {**dict(zip(_KEYS, figures, strict=True)), **counts}


def delta_statistics(current: dict[str, Any], baseline: dict[str, float]) -> dict[str, float]:
    """Current minus baseline, for the figures that both have."""
    return {
        name: float(current[name]) - baseline[name]
        for name in baseline
        if isinstance(current.get(name), int | float)
    }
