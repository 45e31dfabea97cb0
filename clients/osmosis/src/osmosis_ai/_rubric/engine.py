"""The clients that every evaluation of a process shares."""

import asyncio
import os
import sys
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from osmosis_ai._environment import engine_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_eval_rpc import AsyncClient, Client

T = TypeVar("T")

#: How long the end of a process waits for the engine to end.
_END_S = 3.0


class _Shared(Generic[T]):
    """One thing a process and cache, made on use, and anew when the environment says otherwise.

    The engine reads its environment when it starts; a base URL that is set later must not go to
    the address of before. What is in use elsewhere lives on until it is no longer held.
    """

    def __init__(self, make: "Callable[[str | None], T]") -> None:
        self._make = make
        self._lock = threading.Lock()
        self._held: dict[str | None, tuple[object, T]] = {}

    def get(self, cache: str | None) -> T:
        for_what = (os.getpid(), engine_settings())
        held = self._held.get(cache)
        if held is not None and held[0] == for_what:
            return held[1]
        with self._lock:
            held = self._held.get(cache)
            if held is None or held[0] != for_what:
                held = self._held[cache] = (for_what, self._make(cache))
            return held[1]

    def forget(self) -> None:
        """Makes others next time, also in a process forked while a thread held the lock."""
        self._lock = threading.Lock()
        self._held = {}


class _Loop:
    """An event loop in a thread of its own, with the client for coroutines of every other loop."""

    def __init__(self, cache: str | None) -> None:
        from agent_eval_rpc import AsyncClient  # noqa: PLC0415 - slow to import

        self.client = AsyncClient(transport="subprocess", cache=cache)
        self._loop = asyncio.new_event_loop()
        # The thread holds loop and client, and not this object: it ends with it.
        thread = threading.Thread(
            target=_turn, args=(self._loop, self.client), name="osmosis-rubrics", daemon=True
        )
        thread.start()
        # Not at the end of the interpreter: threads can do no more then, and the client's own
        # finalizer ends the engine.
        weakref.finalize(self, _end, self._loop, thread).atexit = False

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)


def _turn(loop: asyncio.AbstractEventLoop, client: "AsyncClient") -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.run_until_complete(client.close())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if loop.is_closed() or not thread.is_alive():
        return
    loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join(_END_S)


def _client(cache: str | None) -> "Client":
    from agent_eval_rpc import Client  # noqa: PLC0415 - slow to import

    # Always the engine's own process: keys must not cross HTTP to a server.
    return Client(transport="subprocess", cache=cache)


_clients = _Shared(_client)
_loops = _Shared(_Loop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_clients.forget)
    os.register_at_fork(after_in_child=_loops.forget)


def client(cache: str | None = None) -> "Client":
    """The client for ordinary code, safe in every thread; one for each file of verdicts."""
    return _clients.get(cache)


async def loaded() -> None:
    """Imports what an evaluation needs, in a thread: it takes a while, the first time."""
    if "agent_eval_rpc.async_client" not in sys.modules:
        await asyncio.to_thread(import_module, "agent_eval_rpc.async_client")


async def run_on_shared(
    work: "Callable[[AsyncClient], Coroutine[Any, Any, T]]", cache: str | None = None
) -> T:
    """Runs a coroutine with the client for event loops; cancelling it cancels the call."""
    shared = _loops.get(cache)
    # Held until then, so that it does not end when another takes its place meanwhile.
    return await asyncio.wrap_future(shared.submit(work(shared.client)))
