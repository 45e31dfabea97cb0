"""What commands that run agents have in common."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from osmosis_ai.errors import CLIError
from osmosis_ai.rollout.core.base import RolloutAgentLoop
from osmosis_ai.rollout.eval.datasets import Row, read_rows
from osmosis_ai.rollout.eval.errors import DatasetParseError, DatasetValidationError

T = TypeVar("T")


def agent_of(module: str | None, mcp: Path | None) -> RolloutAgentLoop:
    """The agent that ``--module`` or ``--mcp`` names.

    Raises:
        CLIError: Neither or both are given, or there is no such agent.
    """
    if (module is None) == (mcp is None):
        raise CLIError("Name the agent with either --module MODULE:LOOP or --mcp FOLDER.")
    if mcp is not None:
        from osmosis_ai.rollout.eval.mcp import load_mcp_agent  # noqa: PLC0415 - an optional extra

        return load_mcp_agent(mcp)
    from osmosis_ai.rollout.eval.loading import load_agent_loop  # noqa: PLC0415 - slow to import

    return load_agent_loop(str(module))


def rows_of(dataset: Path, *, offset: int, limit: int | None) -> list[Row]:
    """The rows of a dataset.

    Raises:
        CLIError: It can't be read, or holds none.
    """
    try:
        rows = list(read_rows(dataset, offset=offset, limit=limit))
    except (FileNotFoundError, DatasetParseError, DatasetValidationError) as error:
        raise CLIError(str(error)) from error
    if not rows:
        raise CLIError(f"'{dataset}' has no rows from {offset} on.")
    return rows


def run_to_end(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs work that signals may end."""
    import asyncio  # noqa: PLC0415 - slow to import

    from osmosis_ai.cli.exits import stopping_by_signal  # noqa: PLC0415 - slow to import

    return asyncio.run(stopping_by_signal(work()))
