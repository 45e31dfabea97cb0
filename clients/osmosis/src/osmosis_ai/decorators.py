"""The decorators of reward functions: what they check when a function is made and called."""

import functools
import inspect
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, overload

from osmosis_ai._annotations import (
    is_plain,
    is_plain_or_none,
    is_text,
    is_text_or_none,
    named,
    resolved_hints,
)

P = ParamSpec("P")
R = TypeVar("R")

_EMPTY = inspect.Parameter.empty
_NAMES = ("solution_str", "ground_truth", "extra_info")


@overload
def osmosis_reward(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def osmosis_reward(
    *, allow_nonfinite: bool = False, strict: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def osmosis_reward(
    function: Any = None, /, *, allow_nonfinite: bool = False, strict: bool = False
) -> Any:
    """Marks a function that computes a reward by itself.

    A function whose first parameter is ``solution_str`` must be
    ``(solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs) -> float``; any
    other is taken as it is. It may be ``async``. The keyword ``data_source`` is passed on only to
    a function that takes it.

    Args:
        function: The function.
        allow_nonfinite: Let NaN and infinity through, which are refused otherwise: one of them
            makes the mean of a whole batch worthless, and no JSON can hold it.
        strict: Refuse a function without ``**kwargs``, which later callers may pass more to.

    Raises:
        TypeError: When decorated, the signature is another one; when called, the function gives no
            float.
        ValueError: When called, the function gives NaN or infinity.
    """
    return _decorated(function, _Checks(_check_reward, None, allow_nonfinite, strict))


@overload
def osmosis_rubric(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def osmosis_rubric(
    *, allow_nonfinite: bool = False, strict: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def osmosis_rubric(
    function: Any = None, /, *, allow_nonfinite: bool = False, strict: bool = False
) -> Any:
    """Marks a function that has a model compute the reward.

    A function whose first parameter is ``solution_str`` must be
    ``(solution_str: str, ground_truth: str | None, extra_info: dict, **kwargs) -> float``, and its
    arguments are checked at each call; any other is taken as it is. It may be ``async``. The
    keyword ``data_source`` is passed on only to a function that takes it.

    Args:
        function: The function.
        allow_nonfinite: Let NaN and infinity through, as for ``osmosis_reward``.
        strict: Refuse a function without ``**kwargs``, as for ``osmosis_reward``.

    Raises:
        TypeError: When decorated, the signature is another one; when called, an argument is of the
            wrong type or missing, or the function gives no float.
        ValueError: When called, the function gives NaN or infinity.
    """
    return _decorated(function, _Checks(_check_rubric, _check_arguments, allow_nonfinite, strict))


@dataclass(frozen=True)
class _Shape:
    """What is known of a function when it is decorated."""

    name: str
    signature: inspect.Signature
    hints: dict[str, Any]

    @property
    def parameters(self) -> list[inspect.Parameter]:
        return list(self.signature.parameters.values())

    @property
    def classic(self) -> bool:
        """Whether it is one of the documented kind, whose signature is checked."""
        return bool(self.parameters) and self.parameters[0].name == _NAMES[0]

    @property
    def takes_any_keyword(self) -> bool:
        return any(one.kind is inspect.Parameter.VAR_KEYWORD for one in self.parameters)

    @property
    def takes_data_source(self) -> bool:
        named = any(one.name == "data_source" for one in self.parameters)
        return named or self.takes_any_keyword

    def hint(self, place: int) -> Any:
        return self.hints.get(self.parameters[place].name, _EMPTY)


@dataclass(frozen=True)
class _Checks:
    """What one of the decorators looks at."""

    signature: Callable[[_Shape], None]
    arguments: Callable[[_Shape, tuple[Any, ...], dict[str, Any]], None] | None
    allow_nonfinite: bool
    strict: bool


def _decorated(function: Callable[..., Any] | None, checks: _Checks) -> Any:
    if function is None:
        return functools.partial(_decorated, checks=checks)
    name = getattr(function, "__name__", type(function).__name__)
    signature = inspect.signature(function)
    shape = _Shape(name, signature, resolved_hints(signature, _called(function)))
    if shape.classic:
        checks.signature(shape)
        if checks.strict and not shape.takes_any_keyword:
            raise TypeError(f"{name} must take **kwargs, since it is decorated with strict=True")

    def before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not shape.takes_data_source:
            kwargs.pop("data_source", None)
        if shape.classic and checks.arguments is not None:
            checks.arguments(shape, args, kwargs)

    def after(reward: Any) -> Any:
        return _checked(shape, reward, checks.allow_nonfinite) if shape.classic else reward

    # An object with an async __call__ and a partial of an async function count as async too.
    if inspect.iscoroutinefunction(_called(function)):

        @functools.wraps(function)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            before(args, kwargs)
            return after(await function(*args, **kwargs))

        return run_async

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        before(args, kwargs)
        reward = function(*args, **kwargs)
        return _later(reward, after) if inspect.isawaitable(reward) else after(reward)

    return run


async def _later(reward: Awaitable[Any], after: Callable[[Any], Any]) -> Any:
    return after(await reward)


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function):
        return function
    return type(function).__call__


def _check_reward(shape: _Shape) -> None:
    _at_least_three(shape)
    name = shape.name
    if not is_plain(shape.hint(0), str):
        raise TypeError(f"{name}: {_must('solution_str', 'str', shape.hint(0))}")
    _named(shape, 1)
    if not is_plain(shape.hint(1), str):
        raise TypeError(f"{name}: {_must('ground_truth', 'str', shape.hint(1))}")
    _named(shape, 2)
    if not is_plain_or_none(shape.hint(2), dict):
        raise TypeError(f"{name}: {_must('extra_info', 'dict', shape.hint(2))}")
    if shape.parameters[2].default is _EMPTY:
        raise TypeError(f"{name}: parameter 'extra_info' must have a default value, such as None")


def _check_rubric(shape: _Shape) -> None:
    _at_least_three(shape)
    name = shape.name
    if not is_text(shape.hint(0)):
        raise TypeError(f"{name}: {_must('solution_str', 'str', shape.hint(0))}")
    _no_default(shape, 0)
    _named(shape, 1)
    if not is_text_or_none(shape.hint(1)):
        raise TypeError(f"{name}: {_must('ground_truth', 'str or str | None', shape.hint(1))}")
    _no_default(shape, 1)
    _named(shape, 2)


def _at_least_three(shape: _Shape) -> None:
    count = len(shape.parameters)
    if count < len(_NAMES):
        raise TypeError(
            f"{shape.name} must have at least 3 parameters ({', '.join(_NAMES)}), got {count}"
        )


def _named(shape: _Shape, place: int) -> None:
    wanted, name = _NAMES[place], shape.parameters[place].name
    if name != wanted:
        ordinal = ("First", "Second", "Third")[place]
        raise TypeError(f"{shape.name}: {ordinal} parameter must be named '{wanted}', got '{name}'")


def _no_default(shape: _Shape, place: int) -> None:
    if shape.parameters[place].default is not _EMPTY:
        raise TypeError(f"{shape.name}: parameter '{_NAMES[place]}' cannot have a default value")


def _must(parameter: str, kind: str, hint: Any) -> str:
    return f"parameter '{parameter}' must be annotated as {kind}, got {named(hint)}"


def _check_arguments(shape: _Shape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    bound = shape.signature.bind_partial(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    for name in _NAMES:
        if name not in given:
            raise TypeError(f"{shape.name}: '{name}' argument is required")
    if not isinstance(given["solution_str"], str):
        raise TypeError(
            f"{shape.name}: 'solution_str' must be a string, got "
            f"{type(given['solution_str']).__name__}"
        )
    truth = given["ground_truth"]
    if truth is not None and not isinstance(truth, str):
        raise TypeError(
            f"{shape.name}: 'ground_truth' must be a string or None, got {type(truth).__name__}"
        )


def _checked(shape: _Shape, reward: Any, allow_nonfinite: bool) -> Any:
    if not isinstance(reward, float):
        raise TypeError(f"{shape.name} must return a float, got {type(reward).__name__}")
    if not allow_nonfinite and not math.isfinite(reward):
        raise ValueError(
            f"{shape.name} must return a finite float, got {reward}; "
            "to keep such rewards, decorate it with allow_nonfinite=True"
        )
    return reward
