"""A pool of connections made of small ones.

httpx looks at every connection of a pool for each request it sends and each answer it gets: with 64
connections that takes several times longer than the call itself. A few small pools, the least busy
one first, leave a single caller on one of them and spread many.
"""

import contextlib
import threading
import time

import httpcore
import httpx

from agent_eval_rpc._transports.streams import Backend

POOLS = 16
_FAULTS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)


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
    """Sends through the least busy of several small pools.

    They are httpcore's own: httpx's take no sockets of ours, which keep to the deadline.
    """

    def __init__(self, *, connections: int, keepalive_s: float, tls: bool) -> None:
        context = httpx.create_ssl_context(verify=tls)
        each = connections // POOLS
        self._backend = Backend()
        self._pools = [
            httpcore.ConnectionPool(
                ssl_context=context,
                max_connections=each,
                max_keepalive_connections=each,
                keepalive_expiry=keepalive_s,
                network_backend=self._backend,
            )
            for _ in range(POOLS)
        ]
        self._load = _Load()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and reads its whole answer, all within the timeout of one read."""
        timeouts = request.extensions["timeout"]
        self._backend.clock.end = time.monotonic() + timeouts["read"]
        index = self._load.take()
        try:
            return _send(self._pools[index], request)
        except _FAULTS as error:
            # httpx has each by the same name.
            raise getattr(httpx, type(error).__name__)(str(error)) from error
        finally:
            self._load.give(index)

    def after_fork(self) -> None:
        """Closes the sockets and nothing else: they are the parent's."""
        self._backend.close_all()

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


def _send(pool: httpcore.ConnectionPool, request: httpx.Request) -> httpx.Response:
    url = request.url
    target = httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )
    answer = pool.handle_request(
        httpcore.Request(
            request.method,
            target,
            headers=request.headers.raw,
            content=request.read(),
            extensions=request.extensions,
        )
    )
    with contextlib.closing(answer):
        content = answer.read()
    return httpx.Response(
        answer.status, headers=answer.headers, content=content, extensions=answer.extensions
    )


def _limits(connections: int, keepalive_s: float) -> httpx.Limits:
    each = connections // POOLS
    return httpx.Limits(
        max_connections=each, max_keepalive_connections=each, keepalive_expiry=keepalive_s
    )
