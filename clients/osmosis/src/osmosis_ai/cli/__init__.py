"""The command ``osmosis``."""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; gives its exit code.

    Args:
        argv: The arguments, those of the process if none are given.
    """
    from osmosis_ai.cli.program import run  # noqa: PLC0415 - slow to import

    return run(argv)
