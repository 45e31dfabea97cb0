"""Things that belong to one event loop, for objects that outlive loops."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Holds one thing for the running loop, and makes another when the loop is another."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._held: tuple[asyncio.AbstractEventLoop, T] | None = None

    def get(self) -> T:
        """The thing of the running loop."""
        loop = asyncio.get_running_loop()
        held = self._held
        if held is None or held[0] is not loop:
            held = self._held = (loop, self._make())
        return held[1]
