"""Works through a list, several at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def work_through(
    items: Iterable[T], at_once: int, work: Callable[[T], Awaitable[object]]
) -> None:
    """Does the work of every item; the first exception, or being cancelled, ends all of it.

    Args:
        items: What there is to do; taken as it is needed.
        at_once: How many are worked on at once.
        work: Does one.
    """
    queue = iter(items)

    async def take() -> None:
        for item in queue:
            await work(item)

    workers = [asyncio.ensure_future(take()) for _ in range(at_once)]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
