"""Rows of the result table, in the form that run.mjs reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class Row(TypedDict):
    """One measured figure, and its goal where it has one."""

    name: str
    value: float
    unit: str
    goal: NotRequired[str]
    met: NotRequired[bool]


def row(name: str, value: float, unit: str, at_most: float | None = None) -> Row:
    """A figure that may be at most `at_most`."""
    if at_most is None:
        return {"name": name, "value": value, "unit": unit}
    met = value <= at_most
    return {"name": name, "value": value, "unit": unit, "goal": f"at most {at_most}", "met": met}


def print_rows(rows: list[Row], *, as_json: bool) -> None:
    """Print the rows for people, or as JSON for run.mjs."""
    if as_json:
        print(json.dumps(rows))
        return
    for one in rows:
        goal = f" ({one['goal']})" if "goal" in one else ""
        print(f"{one['name']}: {one['value']:.2f} {one['unit']}{goal}")
