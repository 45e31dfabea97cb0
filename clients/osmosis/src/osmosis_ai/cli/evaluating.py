"""How ``osmosis eval`` runs, shows and ends."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from osmosis_ai.cli.agents import run_to_end
from osmosis_ai.cli.bar import progress_bar
from osmosis_ai.cli.exits import LOW_SCORE, UNSCORED
from osmosis_ai.errors import CLIError
from osmosis_ai.journal import Journal, content_key
from osmosis_ai.rollout.eval.errors import EvalFnError, SystemicProviderError
from osmosis_ai.rollout.eval.eval_functions import EvalFunction, eval_function
from osmosis_ai.rollout.eval.evaluation import Evaluation, Outcome
from osmosis_ai.rollout.eval.loading import load_object
from osmosis_ai.rollout.eval.results import document
from osmosis_ai.text_files import write_json


def functions_of(names: Sequence[str]) -> list[EvalFunction]:
    """The functions that ``--eval-fn`` names.

    Raises:
        CLIError: One of them is no evaluation function.
    """
    try:
        return [eval_function(name, load_object(name)) for name in names]
    except EvalFnError as error:
        raise CLIError(str(error)) from error


def evaluate(
    options: dict[str, Any],
    threshold: float,
    *,
    dataset: Path,
    output: Path | None,
    fresh: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Runs what was not run before, and writes the results.

    Args:
        options: What ``Evaluation`` takes, but journal and progress.
        threshold: Lowest score that passes.
        dataset: The dataset, which names the journal where there is no output.
        output: Result file.
        fresh: Do not take up a run that was broken off.
        quiet: Show no bar.
    """
    journal = Journal(_partial(options, dataset, output), fresh=fresh)
    total = len(options["rows"]) * options["n"] * len(options["contenders"])
    whole = False
    try:
        with progress_bar("Evaluating", total, quiet=quiet) as bar:
            evaluation = Evaluation(
                **options, journal=journal, progress=lambda run: bar(failed=not run["success"])
            )
            outcome = run_to_end(lambda: _run(evaluation))
        made = document(evaluation, outcome, threshold)
        if output is not None:
            write_json(output, made)
        whole = outcome.stop_reason is None and all(
            run["success"] for runs in outcome.runs.values() for run in runs
        )
    finally:
        journal.close(remove=whole)
    return made


async def _run(evaluation: Evaluation) -> Outcome:
    try:
        for contender in evaluation.contenders:
            try:
                await contender.client.preflight()
            except SystemicProviderError as error:
                message = f"The model '{contender.name}' can't be used: {error}"
                raise CLIError(message) from error
        return await evaluation.run()
    finally:
        for contender in evaluation.contenders:
            await contender.client.close()


def _partial(options: dict[str, Any], dataset: Path, output: Path | None) -> Path:
    if output is not None:
        return output.with_name(f".{output.name}.partial.jsonl")
    name = content_key(str(dataset.resolve()), options["loop"].name)[:16]
    return Path.home() / ".cache" / "osmosis" / "eval" / f"{name}.partial.jsonl"


def show(made: dict[str, Any], output: Path | None) -> None:
    """Prints the figures."""
    for line in _lines(made):
        typer.echo(line)
    if output is not None:
        typer.echo(f"Results: {output}")


def _lines(made: dict[str, Any]) -> Iterator[str]:
    summary = made["summary"]
    yield f"{summary['total_runs']} runs of {summary['total_rows']} rows"
    if summary["stopped_early"]:
        yield f"Stopped early: {summary['stop_reason']}"
    models = made.get("model_summaries") or [{"model": made["config"]["model"], **summary}]
    for one in models:
        yield f"{one['model']}:"
        for name, figures in one["eval_fns"].items():
            known = [
                f"{key}={value:.4f}" for key, value in figures.items() if isinstance(value, float)
            ]
            unscored = [f"unscored={figures['unscored']}"] if figures["unscored"] else []
            yield f"  {name}: {' '.join([*known, *unscored]) or 'no scores'}"
    yield f"{summary['total_tokens']} tokens, {summary['total_duration_ms'] / 1000:.1f} s"


def end(made: dict[str, Any], min_mean: float | None, max_failures: int | None) -> None:
    """Ends with the code that the thresholds ask for."""
    failed = sum(not run["success"] for row in made["rows"] for run in row["runs"])
    if max_failures is not None and failed > max_failures:
        typer.echo(f"{failed} runs failed or have no score, more than {max_failures}.", err=True)
        raise typer.Exit(UNSCORED)
    for name, figures in made["summary"]["eval_fns"].items():
        if min_mean is None:
            return
        if figures["mean"] is None:
            typer.echo(f"{name} gave no score.", err=True)
            raise typer.Exit(UNSCORED)
        if figures["mean"] < min_mean:
            typer.echo(
                f"{name}: the mean {figures['mean']:.4f} is lower than {min_mean}.", err=True
            )
            raise typer.Exit(LOW_SCORE)
