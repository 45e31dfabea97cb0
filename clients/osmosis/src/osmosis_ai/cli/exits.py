"""Exit codes, and how a signal ends a run."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

#: Scores are lower than asked for.
LOW_SCORE = 4
#: The judge, or the model, failed more often than allowed.
UNSCORED = 5


class StoppedBySignal(Exception):  # noqa: N818 - an ending, not a fault
    """A signal ended the run in an orderly way.

    Attributes:
        code: Exit code that says which.
    """

    def __init__(self, which: signal.Signals) -> None:
        super().__init__(which.name)
        self.code = 128 + which


async def stopping_by_signal(work: Coroutine[Any, Any, T]) -> T:
    """Runs work that SIGINT and SIGTERM cancel in an orderly way; a second one ends at once.

    Raises:
        StoppedBySignal: One came.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    came: list[signal.Signals] = []

    def stop(which: signal.Signals) -> None:
        if came:
            os._exit(128 + which)
        came.append(which)
        task.cancel()

    handled = [signal.SIGINT, signal.SIGTERM]
    with contextlib.suppress(NotImplementedError, RuntimeError):
        for one in handled:
            loop.add_signal_handler(one, stop, one)
    try:
        return await task
    except asyncio.CancelledError:
        if not came:
            raise
        raise StoppedBySignal(came[0]) from None
    finally:
        with contextlib.suppress(NotImplementedError, RuntimeError):
            for one in handled:
                loop.remove_signal_handler(one)
