"""``osmosis eval-rubric``: evaluates the records of a file by a rubric of another."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from osmosis_ai.cli.exits import LOW_SCORE, UNSCORED, stopping_by_signal
from osmosis_ai.cli.options import Fresh
from osmosis_ai.errors import CLIError


def eval_rubric(  # noqa: PLR0913, PLR0917 - the options of the command
    rubric_id: Annotated[str, typer.Option("--rubric", "-r", help="Id of the rubric.")],
    data: Annotated[Path, typer.Option("--data", "-d", help="JSONL file of records.")],
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="Runs of each record.")] = 1,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="YAML file of rubrics.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Result file, or a folder for it.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", "-b", help="Result file to compare with.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1024, help="Evaluations at once.")] = 32,
    fresh: Fresh = False,
    min_average: Annotated[
        float | None, typer.Option(help="Exit with 4 when the average is lower.")
    ] = None,
    max_failures: Annotated[
        int | None, typer.Option(min=0, help="Exit with 5 when more runs fail.")
    ] = None,
) -> None:
    """Evaluate records by a rubric, many at once.

    A run that is broken off is taken up by the same command: what was evaluated is not evaluated
    again.
    """
    from osmosis_ai.eval_rubric import report  # noqa: PLC0415 - slow to import
    from osmosis_ai.eval_rubric.baseline import load_baseline  # noqa: PLC0415
    from osmosis_ai.eval_rubric.console import lines  # noqa: PLC0415
    from osmosis_ai.eval_rubric.records import load_records  # noqa: PLC0415
    from osmosis_ai.journal import Journal  # noqa: PLC0415
    from osmosis_ai.text_files import write_json  # noqa: PLC0415

    chosen, config_path = _chosen(rubric_id, data, config)
    records = load_records(data, chosen.id)
    figures = None if baseline is None else (baseline, load_baseline(baseline))
    file, partial, identifier = report.places(output, chosen.id)
    journal = Journal(partial, fresh=fresh)
    whole = False
    try:
        runs = _run(chosen, records, number, journal, concurrency)
        made = report.document(
            chosen, records, runs, number=number, config_path=config_path, data_path=data,
            identifier=identifier, baseline=figures,
        )  # fmt: skip
        write_json(file, made)
        whole = True
    finally:
        journal.close(remove=whole)
    for line in lines(made):
        typer.echo(line)
    typer.echo(f"Results: {file}")
    _end(made["overall_statistics"], min_average, max_failures)


def _chosen(rubric_id: str, data: Path, config: Path | None) -> tuple[Any, Path]:
    """The rubric and its file; everything that can be wrong with them is found first."""
    from osmosis_ai.eval_rubric.suite import find_config, load_suite  # noqa: PLC0415
    from osmosis_ai.rubric_eval import MissingAPIKeyError, ensure_api_key_available  # noqa: PLC0415

    wanted = rubric_id.strip()
    if not wanted:
        raise CLIError("The rubric id must not be empty.")
    if not data.is_file():
        what = "is not a file" if data.exists() else "does not exist"
        raise CLIError(f"Data path '{data}' {what}.")
    path = find_config(config, data)
    suite = load_suite(path)
    if wanted not in suite:
        ids = ", ".join(sorted(suite))
        raise CLIError(f"Rubric '{wanted}' not found in '{path}'. Available IDs: {ids}")
    try:
        ensure_api_key_available(suite[wanted].model_info)
    except (MissingAPIKeyError, TypeError) as error:
        raise CLIError(str(error)) from error
    return suite[wanted], path


def _run(config: Any, records: list[Any], number: int, journal: Any, concurrency: int) -> Any:
    from osmosis_ai.cli.bar import progress_bar  # noqa: PLC0415 - slow to import
    from osmosis_ai.eval_rubric.runner import run_records  # noqa: PLC0415

    with progress_bar("Evaluating", number * len(records)) as bar:
        work = run_records(
            config, records, number,
            journal=journal, concurrency=concurrency,
            progress=lambda run: bar(failed=run["status"] != "success"),
        )  # fmt: skip
        return asyncio.run(stopping_by_signal(work))


def _end(figures: dict[str, Any], min_average: float | None, max_failures: int | None) -> None:
    failures = figures["failure_count"]
    if max_failures is not None and failures > max_failures:
        typer.echo(f"{failures} runs failed, more than {max_failures}.", err=True)
        raise typer.Exit(UNSCORED)
    average = figures["average"]
    if min_average is None:
        return
    if average is None:
        typer.echo("No run gave a score.", err=True)
        raise typer.Exit(UNSCORED)
    if average < min_average:
        typer.echo(f"The average {average:.4f} is lower than {min_average}.", err=True)
        raise typer.Exit(LOW_SCORE)
