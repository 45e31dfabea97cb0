"""JSON for the wire from what agents hand over."""

import json
import math
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
        return strict_json(_plain(value, 100))


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return value if math.isfinite(value) else None
    if depth == 0:
        return str(type(value).__name__)
    if isinstance(value, Mapping):
        return {str(name): _plain(one, depth - 1) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one, depth - 1) for one in value]
    return str(value)
