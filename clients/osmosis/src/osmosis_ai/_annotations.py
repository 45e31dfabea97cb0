"""What the annotations and parameters of a reward function say."""

import inspect
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, ForwardRef, Union, get_args, get_origin

_EMPTY = inspect.Parameter.empty
_STRING_NAMES = frozenset({"str", "builtins.str"})


def resolved_hints(signature: inspect.Signature, function: Callable[..., object]) -> dict[str, Any]:
    """The annotations of a function's parameters, those written as text resolved where possible.

    Each by itself: a name that exists only while types are checked hides none of the others.

    Args:
        signature: Of the function.
        function: The function or method whose module knows the names.
    """
    names = {**vars(typing), **getattr(inspect.unwrap(function), "__globals__", {})}
    return {name: _resolved(one.annotation, names) for name, one in signature.parameters.items()}


def _resolved(hint: Any, names: dict[str, Any]) -> Any:
    if not isinstance(hint, str):
        return hint
    carrier = types.SimpleNamespace(__annotations__={"hint": hint})
    try:
        return typing.get_type_hints(carrier, globalns=names)["hint"]
    except Exception:  # noqa: BLE001 - an annotation may hold any expression
        return hint


def is_plain(hint: Any, kind: type) -> bool:
    """Whether an annotation is this very type."""
    return _bare(hint) is kind


def is_plain_or_none(hint: Any, kind: type) -> bool:
    """Whether an annotation is this very type, perhaps with None beside it."""
    return is_plain(hint, kind) or [_bare(one) for one in _without_none(hint)] == [kind]


def is_text(hint: Any) -> bool:
    """Whether an annotation means text: ``str``, a subclass of it, or its name."""
    hint = _bare(hint)
    if isinstance(hint, ForwardRef):
        hint = hint.__forward_arg__
    if isinstance(hint, str):
        return hint in _STRING_NAMES
    return hint is not _EMPTY and isinstance(hint, type) and issubclass(hint, str)


def is_text_or_none(hint: Any) -> bool:
    """Whether an annotation means text, perhaps with None beside it."""
    members = _without_none(hint)
    return is_text(hint) or (len(members) == 1 and is_text(members[0]))


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _without_none(hint: Any) -> list[Any]:
    """Members of a union that has None among them; nothing for any other annotation."""
    hint = _bare(hint)
    if get_origin(hint) not in {Union, types.UnionType}:
        return []
    members = get_args(hint)
    return [one for one in members if one is not type(None)]


def named(hint: Any) -> str:
    """An annotation as a message shows it."""
    if hint is _EMPTY:
        return "no annotation"
    return hint.__name__ if isinstance(hint, type) else str(hint)
