"""``osmosis test``: runs an agent once on each row of a dataset."""

from typing import Annotated, Any

import typer

from osmosis_ai.cli.options import (
    ApiKey,
    BaseUrl,
    Dataset,
    Debug,
    Limit,
    MaxTokens,
    MaxTurns,
    Mcp,
    ModuleOrNone,
    Offset,
    ResultFile,
    Temperature,
)
from osmosis_ai.errors import CLIError


def try_agent(  # noqa: PLR0913, PLR0917 - the options of the command
    dataset: Dataset,
    module: ModuleOrNone = None,
    mcp: Mcp = None,
    model: Annotated[str, typer.Option(help="provider/model; a bare name is OpenAI's.")] = (
        "gpt-5-mini"
    ),
    limit: Limit = None,
    offset: Offset = 0,
    row: Annotated[int | None, typer.Option(min=0, help="This row alone.")] = None,
    api_key: ApiKey = None,
    base_url: BaseUrl = None,
    max_turns: MaxTurns = 10,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    debug: Debug = False,
    output: ResultFile = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show the summary only.")] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Step through the turns.")
    ] = False,
) -> None:
    """Run an agent once on each row, to see that it works. Exits with 1 when a row failed."""
    from osmosis_ai.cli.agents import agent_of, rows_of, run_to_end  # noqa: PLC0415
    from osmosis_ai.rollout.eval.model import ExternalLLMClient  # noqa: PLC0415 - slow to import
    from osmosis_ai.rollout.eval.one_rollout import Sampling  # noqa: PLC0415
    from osmosis_ai.text_files import write_json  # noqa: PLC0415

    loop = agent_of(module, mcp)
    first, count = (offset, limit) if row is None else (row, 1)
    rows = rows_of(dataset, offset=first, limit=count)
    folder = f"./osmosis_debug/{loop.name}" if debug else None
    sampling = Sampling(max_turns, max_tokens, temperature, folder)
    client = ExternalLLMClient(model, api_key, base_url)

    made = run_to_end(lambda: _run(loop, rows, client, sampling, quiet, interactive))
    summary = made["summary"]
    typer.echo(
        f"{summary['passed']} of {summary['total']} rows passed, "
        f"{summary['total_tokens']} tokens, {summary['total_duration_ms'] / 1000:.1f} s"
    )
    if output is not None:
        write_json(output, made)
        typer.echo(f"Results: {output}")
    if summary["failed"]:
        raise typer.Exit(1)


async def _run(
    loop: Any, rows: list[Any], client: Any, sampling: Any, quiet: bool, interactive: bool
) -> dict[str, Any]:
    from osmosis_ai.rollout.eval.errors import SystemicProviderError  # noqa: PLC0415
    from osmosis_ai.rollout.eval.test_mode import run_tests  # noqa: PLC0415

    def tell(run: Any) -> None:
        if not quiet:
            state = "passed" if run.success else f"FAILED: {run.error}"
            typer.echo(f"Row {run.row_index}: {state}")

    async with client:
        try:
            await client.preflight()
        except SystemicProviderError as error:
            raise CLIError(f"The model can't be used: {error}") from error
        wrap = _stepped if interactive else None
        return await run_tests(loop, rows, client, sampling, tell, wrap)


def _stepped(model: Any, tools: list[Any]) -> Any:
    from osmosis_ai.rollout.eval.interactive import HELP, SteppedModel  # noqa: PLC0415

    typer.echo(HELP)
    shown = [one.model_dump(mode="json") for one in tools]
    return SteppedModel(model, shown, lambda: input("> "), typer.echo)
