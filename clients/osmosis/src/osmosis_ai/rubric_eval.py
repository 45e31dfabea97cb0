"""Rewards by a written rubric, judged by a model through the engine."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from osmosis_ai._rubric.arguments import DEFAULT_MAX, DEFAULT_MIN, asking, texts_of
from osmosis_ai._rubric.failures import failure
from osmosis_ai._rubric.providers import (
    DEFAULT_API_KEY_ENV,
    DEFAULT_REQUEST_TIMEOUT_SECONDS,
    LOCAL,
    LOCAL_AT_ONCE,
    api_key_of,
    provider_of,
)
from osmosis_ai._rubric.results import details_of, score_of
from osmosis_ai.rubric_types import (
    MissingAPIKeyError,
    ModelInfo,
    ModelNotFoundError,
    ProviderRequestError,
    RewardRubricRunResult,
)

if TYPE_CHECKING:
    from agent_eval_rpc import JudgeResult
    from typing_extensions import Unpack

    from osmosis_ai._rubric.many import Batch, ManyOptions, Solution

__all__ = [
    "DEFAULT_API_KEY_ENV",
    "DEFAULT_REQUEST_TIMEOUT_SECONDS",
    "MissingAPIKeyError",
    "ModelInfo",
    "ModelNotFoundError",
    "ProviderRequestError",
    "RewardRubricRunResult",
    "aevaluate_rubric",
    "aevaluate_rubric_many",
    "ensure_api_key_available",
    "evaluate_rubric",
    "evaluate_rubric_many",
]


def ensure_api_key_available(model_info: Mapping[str, Any]) -> None:
    """Looks for the key before anything is sent.

    Raises:
        TypeError: ``model_info`` names no provider.
        MissingAPIKeyError: There is no key for it; the message says which variable to set.
    """
    api_key_of(model_info, provider_of(model_info))


@overload
def evaluate_rubric(
    rubric: str,
    solution_str: str,
    model_info: "ModelInfo | Mapping[str, Any]",
    ground_truth: str | None = None,
    original_input: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    score_min: float = DEFAULT_MIN,
    score_max: float = DEFAULT_MAX,
    timeout: float | None = None,
    return_details: Literal[False] = False,
) -> float: ...
@overload
def evaluate_rubric(
    rubric: str,
    solution_str: str,
    model_info: "ModelInfo | Mapping[str, Any]",
    ground_truth: str | None = None,
    original_input: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    score_min: float = DEFAULT_MIN,
    score_max: float = DEFAULT_MAX,
    timeout: float | None = None,
    *,
    return_details: Literal[True],
) -> RewardRubricRunResult: ...
def evaluate_rubric(  # noqa: PLR0913, PLR0917 - the documented parameters
    rubric: str,
    solution_str: str,
    model_info: "ModelInfo | Mapping[str, Any]",
    ground_truth: str | None = None,
    original_input: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    score_min: float = DEFAULT_MIN,
    score_max: float = DEFAULT_MAX,
    timeout: float | None = None,
    return_details: bool = False,
) -> float | RewardRubricRunResult:
    """Has a model score a text by a rubric.

    The engine asks, reads the reply strictly and retries what can be retried within ``timeout``; a
    judge that failed raises, and is never a score. Safe in threads; in a coroutine use
    ``aevaluate_rubric``.

    Args:
        rubric: What a good text does, in plain words.
        solution_str: The text.
        model_info: The model that judges, see ``ModelInfo``.
        ground_truth: What the right answer would be.
        original_input: The request that the text answers.
        metadata: Anything else the judge should see; what is not JSON is shown as text.
        score_min: Lowest score; default 0.0, or that of ``model_info``.
        score_max: Highest score; default 1.0, or that of ``model_info``.
        timeout: Seconds for the whole judgement; default that of ``model_info``, else 30 to 60 by
            provider and model, and 180 for a local one.
        return_details: Give the explanation and the reply too.

    Returns:
        The score, from ``score_min`` to ``score_max``; or a dict with ``score``, ``explanation``,
        ``raw`` and ``raw_payload``.

    Raises:
        TypeError: An argument is of the wrong type, or blank.
        ValueError: The range of scores or the timeout is not usable.
        MissingAPIKeyError: There is no key for the provider.
        ModelNotFoundError: The provider has no such model.
        ProviderRequestError: The judge gave no score; ``.code`` and ``.detail`` say why.
    """
    from agent_eval_rpc import AgentEvalError  # noqa: PLC0415 - slow to import

    from osmosis_ai._rubric.engine import client  # noqa: PLC0415 - slow to import

    asked = asking(rubric, model_info, score_min, score_max, timeout, solution=solution_str)
    texts = texts_of(asked, solution_str, ground_truth, original_input, metadata)
    raw = True if return_details else None
    try:
        result = client().judge(
            **texts, **asked.options, include_raw=raw, timeout_s=asked.timeout_s
        )
    except AgentEvalError as error:
        raise failure(error, asked.provider, asked.model) from error
    return details_of(result) if return_details else score_of(result)


async def aevaluate_rubric(  # noqa: PLR0913, PLR0917 - the documented parameters
    rubric: str,
    solution_str: str,
    model_info: "ModelInfo | Mapping[str, Any]",
    ground_truth: str | None = None,
    original_input: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    score_min: float = DEFAULT_MIN,
    score_max: float = DEFAULT_MAX,
    timeout: float | None = None,
    return_details: bool = False,
) -> float | RewardRubricRunResult:
    """``evaluate_rubric`` for coroutines, in any event loop; cancelling it cancels the call."""
    from osmosis_ai._rubric.engine import loaded, run_on_shared  # noqa: PLC0415 - slow to import

    await loaded()
    from agent_eval_rpc import AgentEvalError, AsyncClient  # noqa: PLC0415 - slow to import

    asked = asking(rubric, model_info, score_min, score_max, timeout, solution=solution_str)
    texts = texts_of(asked, solution_str, ground_truth, original_input, metadata)
    raw = True if return_details else None

    async def judge(client: AsyncClient) -> "JudgeResult":
        return await client.judge(
            **texts, **asked.options, include_raw=raw, timeout_s=asked.timeout_s
        )

    try:
        result = await run_on_shared(judge)
    except AgentEvalError as error:
        raise failure(error, asked.provider, asked.model) from error
    return details_of(result) if return_details else score_of(result)


def evaluate_rubric_many(
    rubric: str,
    solutions: "Iterable[Solution]",
    model_info: "ModelInfo | Mapping[str, Any]",
    **options: "Unpack[ManyOptions]",
) -> list[Any]:
    """Has a model score many texts by one rubric, many at once.

    Args:
        rubric: What a good text does, in plain words.
        solutions: Texts, or mappings with ``solution_str`` and perhaps ``ground_truth``,
            ``original_input`` and ``metadata``.
        model_info: The model that judges.
        **options: ``score_min``, ``score_max``, ``timeout`` (of each) and ``return_details`` as for
            ``evaluate_rubric``, and

            - ``on_error`` (``"raise"``): the first failure ends the run; ``"return"`` puts the
              exception in its place.
            - ``concurrency`` (96): judgements at once.
            - ``progress``: a bar on stderr, by default where that is a terminal and tqdm is
              installed; or a function of texts finished, texts failed and dollars spent.
            - ``cache``: file that remembers verdicts.

    Returns:
        Exactly one outcome for each text, in order: what ``evaluate_rubric`` would give, or, with
        ``on_error="return"``, its exception.

    Raises:
        TypeError: An argument is of the wrong type, or there is no such option.
        ValueError: The range of scores or the timeout is not usable.
        MissingAPIKeyError: There is no key for the provider.
        ProviderRequestError: A judge gave no score.
    """
    from osmosis_ai._rubric.engine import client  # noqa: PLC0415 - slow to import

    batch, run = _batch(rubric, solutions, model_info, options)
    for outcome in client(_cache(options)).judge_many(batch.judgements, **run):
        batch.put(outcome)
    return batch.outcomes()


async def aevaluate_rubric_many(
    rubric: str,
    solutions: "Iterable[Solution]",
    model_info: "ModelInfo | Mapping[str, Any]",
    **options: "Unpack[ManyOptions]",
) -> list[Any]:
    """``evaluate_rubric_many`` for coroutines, in any event loop."""
    from osmosis_ai._rubric.engine import loaded, run_on_shared  # noqa: PLC0415 - slow to import

    await loaded()
    from agent_eval_rpc import AsyncClient  # noqa: PLC0415 - slow to import

    batch, run = _batch(rubric, solutions, model_info, options)

    async def judge(client: AsyncClient) -> None:
        async for outcome in client.judge_many(batch.judgements, **run):
            batch.put(outcome)

    await run_on_shared(judge, _cache(options))
    return batch.outcomes()


def _batch(
    rubric: str,
    solutions: "Iterable[Solution]",
    model_info: Mapping[str, Any],
    options: "ManyOptions",
) -> "tuple[Batch, dict[str, Any]]":
    from osmosis_ai._rubric.many import Batch, ManyOptions  # noqa: PLC0415 - slow to import

    strangers = sorted(set(options) - set(ManyOptions.__annotations__))
    if strangers:
        raise TypeError(
            f"evaluate_rubric_many() got an unexpected keyword argument {strangers[0]!r}"
        )
    on_error = options.get("on_error", "raise")
    if on_error not in {"raise", "return"}:
        raise ValueError(f'\'on_error\' must be "raise" or "return", got {on_error!r}')
    low, high = options.get("score_min", DEFAULT_MIN), options.get("score_max", DEFAULT_MAX)
    asked = asking(rubric, model_info, low, high, options.get("timeout"))
    detailed = bool(options.get("return_details"))
    batch = Batch(asked, solutions, detailed=detailed, keep_errors=on_error == "return")
    given: Mapping[str, Any] = {**options}
    run = {name: given[name] for name in ("concurrency", "progress") if name in given}
    if asked.provider == LOCAL:
        run["concurrency"] = min(run.get("concurrency", LOCAL_AT_ONCE), LOCAL_AT_ONCE)
    return batch, {**batch.options, **run}


def _cache(options: "ManyOptions") -> str | None:
    cache = options.get("cache")
    return None if cache is None else os.path.abspath(os.fspath(cache))
