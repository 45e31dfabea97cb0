"""Figures of an earlier run, to compare with."""

import json
from pathlib import Path
from typing import Any

from osmosis_ai.errors import CLIError
from osmosis_ai.text_files import read_text

_TOP_LEVEL = ("average", "variance", "stdev")


def load_baseline(path: Path) -> dict[str, float]:
    """The numeric figures of a result file.

    Raises:
        CLIError: It is no result file.
    """
    if not path.exists():
        raise CLIError(f"Baseline path '{path}' does not exist.")
    if path.is_dir():
        raise CLIError(f"Baseline path '{path}' is a directory.")
    try:
        value: Any = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise CLIError(f"Failed to parse baseline JSON '{path}': {error}") from error
    figures = value.get("overall_statistics") if isinstance(value, dict) else None
    if figures is None and isinstance(value, dict):
        figures = {name: value[name] for name in _TOP_LEVEL if name in value}
    if not isinstance(figures, dict) or not figures:
        raise CLIError(
            f"Baseline '{path}' must include an 'overall_statistics' object "
            "or top-level statistics."
        )
    numbers = {
        str(name): float(figure)
        for name, figure in figures.items()
        if isinstance(figure, int | float) and not isinstance(figure, bool)
    }
    if not numbers:
        raise CLIError(f"Baseline '{path}' could not be parsed into numeric values.")
    return numbers
