"""The documented results of an evaluation."""

from typing import Any

from osmosis_ai.rollout.eval.evaluation import Contender, Evaluation, Outcome
from osmosis_ai.rollout.eval.statistics import figures_of


def document(evaluation: Evaluation, outcome: Outcome, threshold: float) -> dict[str, Any]:
    """Config, summary, rows and, with a baseline, a summary of each model.

    The summary is that of the primary model alone.
    """
    contenders = evaluation.contenders
    primary = contenders[0]
    config: dict[str, Any] = {
        "model": primary.name,
        "n_runs": evaluation.n,
        "pass_threshold": threshold,
        "eval_fns": [one.name for one in evaluation.functions],
    }
    if len(contenders) > 1:
        config["baseline_model"] = contenders[1].name
    everything = [run for runs in outcome.runs.values() for run in runs]
    summary: dict[str, Any] = {
        "total_rows": len(evaluation.rows),
        "total_runs": len(everything),
        "stopped_early": outcome.stop_reason is not None,
    }
    if outcome.stop_reason is not None:
        summary["stop_reason"] = outcome.stop_reason
    summary["eval_fns"] = _figures(evaluation, outcome, primary, threshold)
    summary["total_tokens"] = sum(run["tokens"] for run in everything)
    summary["total_duration_ms"] = outcome.duration_ms
    made = {"config": config, "summary": summary, "rows": _rows(evaluation, outcome)}
    if len(contenders) > 1:
        made["model_summaries"] = [
            _model_summary(evaluation, outcome, one, threshold) for one in contenders
        ]
    return made


def _rows(evaluation: Evaluation, outcome: Outcome) -> list[dict[str, Any]]:
    rows = []
    for row in evaluation.rows:
        of_all = [outcome.runs.get((one.tag or "", row.index), []) for one in evaluation.contenders]
        rows.append({"row_index": row.index, "runs": [run for runs in of_all for run in runs]})
    return rows


def _model_summary(
    evaluation: Evaluation, outcome: Outcome, contender: Contender, threshold: float
) -> dict[str, Any]:
    runs = [run for (tag, _), of in outcome.runs.items() if tag == contender.tag for run in of]
    return {
        "model": contender.name,
        "model_tag": contender.tag,
        "total_runs": len(runs),
        "total_tokens": sum(run["tokens"] for run in runs),
        "eval_fns": _figures(evaluation, outcome, contender, threshold),
    }


def _figures(
    evaluation: Evaluation, outcome: Outcome, contender: Contender, threshold: float
) -> dict[str, Any]:
    figures = {}
    for function in evaluation.functions:
        by_row = [
            [run["scores"][function.name] for run in runs]
            for row in evaluation.rows
            if (runs := outcome.runs.get((contender.tag or "", row.index)))
        ]
        figures[function.name] = figures_of(by_row, evaluation.n, threshold)
    return figures
