"""Connections to trainers, shared by every rollout of an event loop."""

import asyncio
import threading
from weakref import WeakKeyDictionary

import httpx

from osmosis_ai._environment import proxy_for

#: httpx looks at every connection of a pool for each request, so a few small pools cost less.
_POOLS = 64
_KEEPALIVE_S = 30.0


class _Spread(httpx.AsyncBaseTransport):
    """Sends through the least busy of several small pools, without a limit of connections."""

    def __init__(self, *, tls: bool, keepalive: int) -> None:
        context = httpx.create_ssl_context(verify=tls)
        limits = httpx.Limits(
            max_connections=None,
            max_keepalive_connections=max(1, keepalive // 4),
            keepalive_expiry=_KEEPALIVE_S,
        )
        self._pools = [
            httpx.AsyncHTTPTransport(verify=context, limits=limits) for _ in range(_POOLS)
        ]
        self._busy = [0] * _POOLS

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and reads its whole answer."""
        index = min(range(_POOLS), key=self._busy.__getitem__)
        self._busy[index] += 1
        try:
            response = await self._pools[index].handle_async_request(request)
            await response.aread()
        finally:
            self._busy[index] -= 1
        return response

    async def aclose(self) -> None:
        """Closes every connection."""
        await asyncio.gather(*(pool.aclose() for pool in self._pools))


class _Shared(httpx.AsyncBaseTransport):
    """A part in the connections of a loop; the last one to close closes them."""

    def __init__(self, spread: _Spread, users: dict[bool, list["_Shared"]], tls: bool) -> None:
        self._spread = spread
        self._users = users
        self._tls = tls

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._spread.handle_async_request(request)

    async def aclose(self) -> None:
        users = self._users.get(self._tls, [])
        if self not in users:
            return
        users.remove(self)
        if not users:
            del self._users[self._tls]
            await self._spread.aclose()


_lock = threading.Lock()
_loops: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[bool, list[_Shared]]]" = (
    WeakKeyDictionary()
)


def transport_to(url: str, *, keepalive: int) -> httpx.AsyncBaseTransport:
    """Connections to a trainer; close them when they are no longer needed.

    They are a part in those of the running loop, or a pool of their own where the environment
    names a proxy for the address.

    Args:
        url: The trainer.
        keepalive: Idle connections that are kept, about four times over.
    """
    proxy = proxy_for(url)
    if proxy is not None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=keepalive)
        return httpx.AsyncHTTPTransport(proxy=proxy, limits=limits)
    return shared_transport(tls=url.startswith("https:"), keepalive=keepalive)


def shared_transport(*, tls: bool, keepalive: int) -> httpx.AsyncBaseTransport:
    """A part in the running loop's connections; close it when it is no longer needed.

    Args:
        tls: Whether addresses are https; without it no certificates are read.
        keepalive: Idle connections that are kept, about four times over.
    """
    loop = asyncio.get_running_loop()
    with _lock:
        users = _loops.setdefault(loop, {})
        parts = users.setdefault(tls, [])
        spread = parts[0]._spread if parts else _Spread(tls=tls, keepalive=keepalive)
        part = _Shared(spread, users, tls)
        parts.append(part)
        return part
