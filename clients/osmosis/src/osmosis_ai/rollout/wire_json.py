"""JSON for the wire from what agents hand over."""

import json
from collections.abc import Mapping
from typing import Any


def strict_json(value: Any) -> bytes:
    """JSON of a value.

    Raises:
        ValueError: It holds what JSON has no word for.
    """
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def lenient_json(value: Any) -> bytes:
    """JSON of a value, with null for NaN and infinity, and text for what JSON has no word for.

    The terminal message of a rollout must reach the trainer whatever the agent has put into it.
    """
    try:
        return strict_json(value)
    except ValueError:
        return strict_json(_plain(value, 100, frozenset()))


def text_of(value: object) -> str:
    """A value as text, its type's name where it has no text."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - whatever an agent's class raises
        return type(value).__name__


def _plain(value: Any, depth: int, around: frozenset[int]) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return value if _has_digits(value) else None
    if not isinstance(value, Mapping | list | tuple | set | frozenset):
        return text_of(value)
    # What holds itself twice would double at every level.
    if depth == 0 or id(value) in around:
        return type(value).__name__
    inner = around | {id(value)}
    if isinstance(value, Mapping):
        return {text_of(name): _plain(one, depth - 1, inner) for name, one in value.items()}
    return [_plain(one, depth - 1, inner) for one in value]


def _has_digits(number: float) -> bool:
    """Whether JSON writes a number out; Python refuses integers of thousands of digits."""
    try:
        json.dumps(number, allow_nan=False)
    except ValueError:
        return False
    return True
