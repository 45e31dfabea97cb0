"""What callers pass, checked in the documented order and turned into a judgement of the engine."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from osmosis_ai._rubric.providers import (
    LOCAL,
    api_key_of,
    default_timeout_s,
    endpoint_of,
    model_of,
    provider_of,
)

if TYPE_CHECKING:
    from agent_eval_rpc import Rubric

SCORE: Final = "score"


class _Unset(float):
    """A default that reads like its number, and still tells that the caller gave none."""


DEFAULT_MIN: Final = _Unset(0.0)
DEFAULT_MAX: Final = _Unset(1.0)


@dataclass(frozen=True)
class Asking:
    """How a model is to be asked, the same for many texts.

    Attributes:
        provider: The provider as the caller calls it.
        model: The model as the caller calls it.
        options: Options of the engine's judgement, the texts excepted.
        low: Lowest score.
        high: Highest score.
        original_input: The request that was answered, unless a text says otherwise.
        timeout_s: Deadline of one judgement in seconds.
    """

    provider: str
    model: str
    options: dict[str, Any]
    low: float
    high: float
    original_input: str | None
    timeout_s: float


def asking(
    rubric: object,
    model_info: Mapping[str, Any],
    score_min: float | None,
    score_max: float | None,
    timeout: float | None,
    *,
    solution: object = None,
) -> Asking:
    """Checks everything that is the same for many texts; with ``solution``, that one text too.

    Raises:
        TypeError: An argument is of the wrong type, or blank.
        ValueError: The range of scores or the timeout is not usable.
        MissingAPIKeyError: There is no key for the provider.
        ProviderRequestError: The engine does not speak to that provider.
    """
    provider, model = provider_of(model_info), model_of(model_info)
    key = api_key_of(model_info, provider)
    text = filled(rubric, "rubric")
    if solution is not None:
        filled(solution, "solution_str")
    low = _bound("score_min", score_min, DEFAULT_MIN, model_info)
    high = _bound("score_max", score_max, DEFAULT_MAX, model_info)
    if not low < high:
        raise ValueError(f"score_max must be greater than score_min, got {low} and {high}")
    endpoint = endpoint_of(model_info, provider, model, key)
    options: dict[str, Any] = {
        "rubric": engine_rubric(text, _text(model_info, "system_prompt"), low, high),
        "model": endpoint.model,
        "provider": endpoint.provider,
        "reasoning_effort": _text(model_info, "reasoning_effort"),
    }
    if provider == LOCAL:
        options["score_mode"] = "checks"
    return Asking(
        provider=provider,
        model=model,
        options={name: value for name, value in options.items() if value is not None},
        low=low,
        high=high,
        original_input=_text(model_info, "original_input"),
        timeout_s=_seconds(timeout, model_info, provider, model),
    )


def texts_of(
    asked: Asking,
    solution: object,
    ground_truth: object,
    original_input: object,
    metadata: object,
) -> dict[str, Any]:
    """The texts of one judgement, as the engine takes them.

    Raises:
        TypeError: One of them is of the wrong type, or the solution is blank.
    """
    context: dict[str, Any] = {}
    question = _optional(original_input, "original_input") or asked.original_input
    if question is not None:
        context["question"] = question
    reference = _optional(ground_truth, "ground_truth")
    if reference is not None:
        context["reference"] = reference
    if metadata is not None:
        if not isinstance(metadata, Mapping):
            raise TypeError(f"'metadata' must be a dict or None, got {type(metadata).__name__}")
        if metadata:
            context["metadata"] = _jsonable(metadata)
    texts: dict[str, Any] = {"content": filled(solution, "solution_str")}
    return {**texts, "context": context} if context else texts


def filled(value: object, name: str) -> str:
    """A text that is not blank.

    Raises:
        TypeError: It is something else.
    """
    if not isinstance(value, str) or not value.strip():
        got = "a blank string" if isinstance(value, str) else type(value).__name__
        raise TypeError(f"'{name}' must be a non-empty string, got {got}")
    return value


def _optional(value: object, name: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"'{name}' must be a string or None, got {type(value).__name__}")
    return value if value.strip() else None


def _text(model_info: Mapping[str, Any], name: str) -> str | None:
    value = model_info.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"model_info '{name}' must be a string, got {type(value).__name__}")
    return value.strip() or None


def _bound(name: str, given: float | None, default: _Unset, model_info: Mapping[str, Any]) -> float:
    # Compared by identity: a caller who passes 0.0 means it.
    value: Any = model_info.get(name) if given is None or given is default else given
    if value is None:
        value = float(default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"'{name}' must be a number, got {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"'{name}' must be finite, got {value}")
    return float(value)


def _seconds(
    timeout: float | None, model_info: Mapping[str, Any], provider: str, model: str
) -> float:
    value: Any = timeout if timeout is not None else model_info.get("timeout") or None
    if value is None:
        return default_timeout_s(provider, model)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"'timeout' must be a number of seconds, got {type(value).__name__}")
    if not math.isfinite(value) or value <= 0:
        raise ValueError(f"'timeout' must be a number of seconds above 0, got {value}")
    return float(value)


def _jsonable(metadata: Mapping[Any, Any]) -> Any:
    """Metadata as JSON has it; where that can't be done, each value as text."""
    try:
        return json.loads(json.dumps(dict(metadata), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return {str(name): str(value) for name, value in metadata.items()}


@lru_cache(maxsize=256)
def engine_rubric(text: str, system_prompt: str | None, low: float, high: float) -> "Rubric":
    """A written rubric as the engine takes it: one score on the caller's own range."""
    from agent_eval_rpc import Rubric  # noqa: PLC0415 - pydantic is slow to import

    parts = [] if system_prompt is None else [system_prompt]
    parts.append(f"You are an impartial judge. Score strictly by this rubric:\n{text.strip()}")
    check = {
        "question": f"Is the text good by this rubric?\n{text.strip()}",
        "expect": "yes",
    }
    dimension = {
        "id": SCORE,
        "description": "How well the text does by the rubric above.",
        "min": low,
        "max": high,
        "checks": [check],
    }
    return Rubric.model_validate(
        {
            "name": "reward",
            "description": "A reward by a written rubric.",
            "systemPrompt": "\n\n".join(parts),
            "dimensions": [dimension],
        }
    )
