"""Functions that score what an agent did."""

import asyncio
import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from osmosis_ai.rollout.eval.datasets import Row
from osmosis_ai.rollout.eval.errors import EvalFnError


@dataclass(frozen=True)
class EvalFunction:
    """A function by the name of where it was found.

    Attributes:
        name: ``module:function``.
        function: The function.
        whole: Whether it takes the whole conversation, else only the last answer.
    """

    name: str
    function: Callable[..., Any]
    whole: bool

    async def score(self, messages: Sequence[dict[str, Any]], row: Row) -> float:
        """Scores a conversation; a function that is not async runs in a thread.

        Raises:
            EvalFnError: It raised, or gave no finite number.
        """
        if self.whole:
            call = functools.partial(
                self.function,
                messages=list(messages),
                ground_truth=row.ground_truth,
                metadata=row.columns,
            )
        else:
            call = functools.partial(
                self.function,
                solution_str=last_answer(messages),
                ground_truth=row.ground_truth,
                extra_info=row.columns,
            )
        try:
            given = await (call() if _is_async(self.function) else asyncio.to_thread(call))
            if inspect.isawaitable(given):
                given = await given
        except Exception as error:
            raise EvalFnError(f"{self.name} raised {type(error).__name__}: {error}") from error
        if not isinstance(given, int | float):
            kind = type(given).__name__
            raise EvalFnError(f"{self.name} must return a number, got {kind}")
        if not math.isfinite(given):
            raise EvalFnError(f"{self.name} must return a finite number, got {given}")
        return float(given)


def eval_function(name: str, function: object) -> EvalFunction:
    """An evaluation function, by its first parameter: ``solution_str`` or ``messages``.

    Raises:
        EvalFnError: It has neither.
    """
    if not callable(function):
        raise EvalFnError(f"'{name}' is not a function")
    parameters = list(inspect.signature(function).parameters)
    first = parameters[0] if parameters else None
    if first not in {"solution_str", "messages"}:
        raise EvalFnError(
            f"'{name}' must have 'solution_str' or 'messages' as its first parameter, got {first!r}"
        )
    return EvalFunction(name, function, whole=first == "messages")


def last_answer(messages: Sequence[dict[str, Any]]) -> str:
    """The last text of the model, empty where there is none."""
    for message in reversed(messages):
        content = message.get("content")
        if message.get("role") == "assistant" and isinstance(content, str):
            return content
    return ""


def _is_async(function: Callable[..., Any]) -> bool:
    called = function.func if isinstance(function, functools.partial) else function
    if inspect.iscoroutinefunction(called):
        return True
    return inspect.iscoroutinefunction(type(called).__call__)
