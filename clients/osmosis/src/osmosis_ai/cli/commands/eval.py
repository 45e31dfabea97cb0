"""``osmosis eval``: runs an agent on a dataset and scores what it did."""

from typing import Annotated, Any

import typer

from osmosis_ai.cli.options import (
    ApiKey,
    BaseUrl,
    Dataset,
    Debug,
    Fresh,
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


def eval_agent(  # noqa: PLR0913, PLR0917 - the options of the command
    dataset: Dataset,
    eval_fn: Annotated[
        list[str], typer.Option("--eval-fn", help="module:function that scores; may be repeated.")
    ],
    model: Annotated[str, typer.Option(help="provider/model; a bare name is OpenAI's.")],
    module: ModuleOrNone = None,
    mcp: Mcp = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Runs of each row.")] = 1,
    pass_threshold: Annotated[float, typer.Option(help="Lowest score that passes.")] = 1.0,
    batch_size: Annotated[
        int, typer.Option("--batch-size", "--concurrency", min=1, help="Runs at once.")
    ] = 1,
    baseline_model: Annotated[str | None, typer.Option(help="A model to compare with.")] = None,
    baseline_base_url: Annotated[str | None, typer.Option(help="Its address.")] = None,
    baseline_api_key: Annotated[str | None, typer.Option(help="Its key.")] = None,
    limit: Limit = None,
    offset: Offset = 0,
    api_key: ApiKey = None,
    base_url: BaseUrl = None,
    max_turns: MaxTurns = 10,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    debug: Debug = False,
    output: ResultFile = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No bar.")] = False,
    fresh: Fresh = False,
    min_mean: Annotated[
        float | None, typer.Option(help="Exit with 4 when the mean of a function is lower.")
    ] = None,
    max_failures: Annotated[
        int | None, typer.Option(min=0, help="Exit with 5 when more runs fail or have no score.")
    ] = None,
) -> None:
    """Run an agent on a dataset and score what it did.

    A run that is broken off is taken up by the same command: what was scored is not run again.
    """
    from osmosis_ai.cli import evaluating  # noqa: PLC0415 - slow to import
    from osmosis_ai.cli.agents import agent_of, rows_of  # noqa: PLC0415
    from osmosis_ai.rollout.eval.evaluation import Contender  # noqa: PLC0415
    from osmosis_ai.rollout.eval.model import ExternalLLMClient  # noqa: PLC0415
    from osmosis_ai.rollout.eval.one_rollout import Sampling  # noqa: PLC0415

    loop = agent_of(module, mcp)
    rows = rows_of(dataset, offset=offset, limit=limit)
    folder = f"./osmosis_debug/{loop.name}" if debug else None
    primary = ExternalLLMClient(model, api_key, base_url)
    contenders = [Contender(None if baseline_model is None else "primary", model, primary)]
    if baseline_model is not None:
        other = ExternalLLMClient(baseline_model, baseline_api_key, baseline_base_url)
        contenders.append(Contender("baseline", baseline_model, other))
    elif baseline_base_url is not None or baseline_api_key is not None:
        raise CLIError("--baseline-base-url and --baseline-api-key need --baseline-model.")
    options: dict[str, Any] = {
        "loop": loop,
        "functions": evaluating.functions_of(eval_fn),
        "contenders": contenders,
        "rows": rows,
        "n": n,
        "sampling": Sampling(max_turns, max_tokens, temperature, folder),
        "concurrency": batch_size,
    }
    made = evaluating.evaluate(
        options, pass_threshold, dataset=dataset, output=output, fresh=fresh, quiet=quiet
    )
    evaluating.show(made, output)
    evaluating.end(made, min_mean, max_failures)
