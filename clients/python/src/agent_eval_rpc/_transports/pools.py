"""A pool of connections made of small ones.

httpx looks at every connection of a pool for each request it sends and each answer it gets: with 64
connections that takes several times longer than the call itself. A few small pools, the least busy
one first, leave a single caller on one of them and spread many.
"""

import contextlib
import threading

import httpx

POOLS = 16


class _Load:
    """How many calls each pool carries."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = [0] * POOLS

    def take(self) -> int:
        with self._lock:
            index = min(range(POOLS), key=self._counts.__getitem__)
            self._counts[index] += 1
            return index

    def give(self, index: int) -> None:
        with self._lock:
            self._counts[index] -= 1


class Pools(httpx.BaseTransport):
    """Sends through the least busy of several small pools."""

    def __init__(self, *, connections: int, keepalive_s: float, tls: bool) -> None:
        context = httpx.create_ssl_context(verify=tls)
        limits = _limits(connections, keepalive_s)
        self._pools = [httpx.HTTPTransport(verify=context, limits=limits) for _ in range(POOLS)]
        self._load = _Load()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and reads its whole answer."""
        index = self._load.take()
        try:
            response = self._pools[index].handle_request(request)
            response.read()
        finally:
            self._load.give(index)
        return response

    def close(self) -> None:
        """Closes every connection."""
        with contextlib.ExitStack() as stack:
            for pool in self._pools:
                stack.callback(pool.close)


class AsyncPools(httpx.AsyncBaseTransport):
    """The same for asyncio."""

    def __init__(self, *, connections: int, keepalive_s: float, tls: bool) -> None:
        context = httpx.create_ssl_context(verify=tls)
        limits = _limits(connections, keepalive_s)
        self._pools = [
            httpx.AsyncHTTPTransport(verify=context, limits=limits) for _ in range(POOLS)
        ]
        self._load = _Load()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and reads its whole answer."""
        index = self._load.take()
        try:
            response = await self._pools[index].handle_async_request(request)
            await response.aread()
        finally:
            self._load.give(index)
        return response

    async def aclose(self) -> None:
        """Closes every connection."""
        async with contextlib.AsyncExitStack() as stack:
            for pool in self._pools:
                stack.push_async_callback(pool.aclose)


def _limits(connections: int, keepalive_s: float) -> httpx.Limits:
    each = connections // POOLS
    return httpx.Limits(
        max_connections=each, max_keepalive_connections=each, keepalive_expiry=keepalive_s
    )
