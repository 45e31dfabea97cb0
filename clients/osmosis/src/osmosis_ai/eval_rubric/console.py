"""What a run shows on a terminal."""

from collections.abc import Iterator
from typing import Any


def lines(made: dict[str, Any]) -> Iterator[str]:
    """The results of a run, a line at a time."""
    model = f"{made['provider']}/{made['model']}"
    yield f"Rubric '{made['rubric_id']}' with {model}, {made['number']} run(s) a record"
    for record in made["records"]:
        yield ""
        yield f"[{record['id']}]"
        for run in record["runs"]:
            yield from _run(run)
        if len(record["runs"]) > 1 or record["statistics"]["failure_count"]:
            yield f"  Summary: {_figures(record['statistics'])}"
    yield ""
    yield f"Overall: {_figures(made['overall_statistics'])}"
    comparison = made.get("baseline_comparison")
    if comparison:
        yield f"Baseline: {comparison['source_path']}"
        for name, delta in comparison["delta_statistics"].items():
            was = comparison["baseline_statistics"][name]
            current = made["overall_statistics"][name]
            yield f"  {name}: baseline={was:.4f} current={current:.4f} delta={delta:+.4f}"


def _run(run: dict[str, Any]) -> Iterator[str]:
    yield f"  Run {run['run_index']:02d} [{run['status'].upper()}]"
    if run["status"] == "success":
        yield f"    score: {run['score']:.4f}"
        yield f"    preview: {run['preview']}"
        yield f"    explanation: {' '.join(str(run['explanation']).split())}"
    else:
        yield f"    error: {run['error']}"
    yield f"    duration: {run['duration_seconds']:.2f}s"


def _figures(figures: dict[str, Any]) -> str:
    counts = (
        f"total={figures['total_runs']} success={figures['success_count']} "
        f"failures={figures['failure_count']}"
    )
    if figures["average"] is None:
        return counts
    numbers = " ".join(f"{name}={figures[name]:.4f}" for name in _SHOWN)
    return f"{numbers} {counts}"


_SHOWN = ("average", "variance", "stdev", "min", "max")
