"""A bar on stderr, where somebody looks."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Protocol


class Bar(Protocol):
    """Counts one more."""

    def __call__(self, *, failed: bool) -> None:
        """Counts one more, and whether it failed."""


@contextlib.contextmanager
def progress_bar(title: str, total: int, *, quiet: bool = False) -> Iterator[Bar]:
    """Shows how far a run is; without a terminal it shows nothing."""
    if quiet or not sys.stderr.isatty():
        yield _silent
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import (  # noqa: PLC0415 - slow to import
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failures]} failed"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total, failures=0)
        failures = 0

        def count(*, failed: bool) -> None:
            nonlocal failures
            failures += failed
            progress.update(task, advance=1, failures=failures)

        yield count


def _silent(*, failed: bool) -> None:
    """Counts nothing."""
