"""JSON as the wire takes it: well-formed text and finite numbers."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

MAX_DEPTH = 200
MAX_INTEGER = 2**53 - 1

JsonValue = object
Container = Mapping[object, object] | Sequence[object]


class Issue(NamedTuple):
    """One thing wrong with a value.

    Attributes:
        path: Keys and list positions joined by dots, empty for the value itself.
        message: What is wrong with it.
    """

    path: str
    message: str


def join_path(*parts: object) -> str:
    """Joins keys and positions to a path, leaving empty parts out."""
    return ".".join(str(part) for part in parts if part != "")


def encode(value: JsonValue) -> bytes:
    """Writes compact UTF-8; raises ValueError on NaN and infinities."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def well_formed(text: str) -> str:
    """Replaces lone surrogates, which UTF-8 cannot carry, by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def to_json_value(value: object, issues: list[Issue], path: str = "", depth: int = 0) -> JsonValue:
    """Copies a value into plain JSON types and notes every part that JSON cannot say."""
    match value:
        case str():
            return well_formed(str(value))
        case None | bool():
            return value
        case int() | float():
            return _number(value, issues, path)
        case Mapping() | list() | tuple():
            return _container(cast("Container", value), issues, path, depth)
        case _:
            kind = type(value).__name__
            issues.append(Issue(path, f"is a {kind}, which JSON cannot say: convert it first"))
            return None


def _container(value: Container, issues: list[Issue], path: str, depth: int) -> JsonValue:
    if depth >= MAX_DEPTH:
        issues.append(Issue(path, "is nested too deeply or contains itself"))
        return None
    if isinstance(value, Mapping):
        return _object(value, issues, path, depth + 1)
    return [
        to_json_value(item, issues, join_path(path, i), depth + 1) for i, item in enumerate(value)
    ]


def _number(value: float, issues: list[Issue], path: str) -> float:
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        issues.append(Issue(path, f"is {value}, which JSON cannot say"))
        return 0
    if abs(value) > sys.float_info.max:
        issues.append(Issue(path, "is too large a number for JSON: send it as text"))
    return int(value)


def _object(
    value: Mapping[object, object], issues: list[Issue], path: str, depth: int
) -> dict[str, JsonValue]:
    copy: dict[str, JsonValue] = {}
    for key, item in value.items():
        at = f"{path}.{key}" if path else str(key)
        if isinstance(key, str):
            copy[well_formed(key)] = to_json_value(item, issues, at, depth)
        else:
            issues.append(Issue(at, "has a key that is not text"))
    return copy
