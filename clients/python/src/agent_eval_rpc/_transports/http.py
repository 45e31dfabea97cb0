"""Calls over HTTP, through one pooled httpx client."""

import asyncio
import ssl
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

import httpx

from agent_eval_rpc._json import encode
from agent_eval_rpc._protocol import (
    closed_error,
    deadline_error,
    http_error,
    http_request,
    mismatch,
    parse_json,
    warn_of_version,
)
from agent_eval_rpc._retry import REFUSED
from agent_eval_rpc._settings import Settings
from agent_eval_rpc._transports import forks
from agent_eval_rpc._transports.base import HTTP_CALLS
from agent_eval_rpc._transports.clock import Deadline
from agent_eval_rpc._transports.loops import PerLoop
from agent_eval_rpc._transports.pools import AsyncPools, Pools
from agent_eval_rpc.errors import AgentEvalError, DeadlineExceededError, TransportError

#: Well under the 75 s after which the server closes an idle connection, and the 60 s of many a
#: load balancer before it: a call must not meet one that is being closed.
KEEPALIVE_S = 50.0
CONNECT_S = 5.0


class HttpTransport:
    """Calls of a ``Client`` over HTTP."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._pools: Pools | None = None
        self._closed = False
        forks.watch(self)

    def call(self, method: str, params: dict[str, Any], timeout_s: float) -> object:
        """Sends one call and waits for its answer."""
        client = self._connect()
        deadline = Deadline(timeout_s)
        try:
            with client.stream(**_request(method, params, timeout_s)) as response:
                content = _whole(response, deadline)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _translate(error, self._settings, timeout_s) from error
        return _read(response, content)

    def lines(self, path: str, body: bytes, timeout_s: float) -> Iterator[str]:
        """Sends lines of JSON and gives those of the answer as they come.

        Args:
            path: Where to.
            body: The lines.
            timeout_s: How long the next line may take.

        Raises:
            AgentEvalError: The engine refused, could not be reached, or went away.
        """
        client = self._connect()
        try:
            with client.stream(**_lines_request(path, body, timeout_s)) as response:
                if response.status_code != 200:
                    raise _refusal(response, response.read())
                yield from response.iter_lines()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _translate(error, self._settings, timeout_s) from error

    def probe(self, timeout_s: float) -> AgentEvalError | None:
        """Asks for the version once; gives the reason why the server is not one to talk to.

        Raises:
            AuthenticationError: The server refused the token.
        """
        url = self._settings.base_url
        try:
            info = self.call("version", {}, timeout_s)
        except DeadlineExceededError:
            return TransportError(f"the server at {url} did not answer within {timeout_s:g} s")
        except TransportError as error:
            if error.details.get("reason") == REFUSED:
                return TransportError(f"no server at {url}", details=error.details)
            if error.status in (401, 403, 407):
                raise
            return TransportError(f"the server at {url} is not an agent-eval ({error.message})")
        reason = mismatch(info)
        if reason is not None:
            return TransportError(f"{reason} ({url})")
        warn_of_version(info)
        return None

    def close(self) -> None:
        """Closes the connections."""
        with self._lock:
            self._closed = True
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def after_fork(self) -> None:
        """Gives up the sockets, which are the parent's.

        Not by closing the client: that takes a lock, which another thread may have held.
        """
        self._lock = threading.Lock()
        pools, self._pools = self._pools, None
        self._client = None
        if pools is not None:
            pools.after_fork()

    def _connect(self) -> httpx.Client:
        with self._lock:
            if self._closed:
                raise closed_error()
            if self._client is None:
                pools = _pool_options(self._settings)
                self._pools = None if pools is None else Pools(**pools)
                self._client = httpx.Client(transport=self._pools, **_options(self._settings))
            return self._client


class AsyncHttpTransport:
    """Calls of an ``AsyncClient`` over HTTP; a new event loop gets new connections."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pool = PerLoop(lambda: _LoopPool(settings))
        self._closed = False
        forks.watch(self)

    async def call(self, method: str, params: dict[str, Any], timeout_s: float) -> object:
        """Sends one call and waits for its answer."""
        client = await self._connect()
        try:
            request = client.request(**_request(method, params, timeout_s))
            response = await asyncio.wait_for(request, timeout_s)
        except (httpx.HTTPError, httpx.InvalidURL, asyncio.TimeoutError) as error:
            raise _translate(error, self._settings, timeout_s) from error
        return _read(response, response.content)

    async def lines(self, path: str, body: bytes, timeout_s: float) -> AsyncIterator[str]:
        """Sends lines of JSON and gives those of the answer as they come."""
        client = await self._connect()
        try:
            async with client.stream(**_lines_request(path, body, timeout_s)) as response:
                if response.status_code != 200:
                    raise _refusal(response, await response.aread())
                async for line in response.aiter_lines():
                    yield line
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _translate(error, self._settings, timeout_s) from error

    async def aclose(self) -> None:
        """Closes the connections."""
        self._closed = True
        await self._pool.get().aclose()

    def after_fork(self) -> None:
        """Gives up the sockets, which are the parent's."""
        self._pool = PerLoop(lambda: _LoopPool(self._settings))

    async def _connect(self) -> httpx.AsyncClient:
        if self._closed:
            raise closed_error()
        return await self._pool.get().open()


class _LoopPool:
    """The connections of one event loop."""

    def __init__(self, settings: Settings) -> None:
        pools = _pool_options(settings)
        self._client = httpx.AsyncClient(
            transport=None if pools is None else AsyncPools(**pools), **_options(settings)
        )
        self._life = self._live()
        self._opened = False

    async def open(self) -> httpx.AsyncClient:
        """The client, tied to the loop: as it ends it closes its asynchronous generators."""
        if not self._opened:
            self._opened = True
            await self._life.__anext__()
        return self._client

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._life.aclose()
        await self._client.aclose()

    async def _live(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await self._client.aclose()


def _options(settings: Settings) -> dict[str, Any]:
    headers = {"accept": "application/json"}
    if settings.token is not None:
        headers["authorization"] = f"Bearer {settings.token}"
    return {
        "base_url": settings.base_url,
        "headers": headers,
        "limits": httpx.Limits(
            max_connections=HTTP_CALLS,
            max_keepalive_connections=HTTP_CALLS,
            keepalive_expiry=KEEPALIVE_S,
        ),
        # Loading the system's certificates takes longer than a call: only for https.
        "verify": settings.proxied and settings.base_url.startswith("https:"),
        "trust_env": settings.proxied,
    }


def _pool_options(settings: Settings) -> dict[str, Any] | None:
    """How to make small pools; None behind a proxy, which httpx sets up with its own pool only."""
    if settings.proxied:
        return None
    tls = settings.base_url.startswith("https:")
    return {"connections": HTTP_CALLS, "keepalive_s": KEEPALIVE_S, "tls": tls}


def _request(method: str, params: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    verb, path, body = http_request(method, params)
    request: dict[str, Any] = {
        "method": verb,
        "url": path,
        "timeout": httpx.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s), pool=None),
    }
    if body is not None:
        request["content"] = encode(body)
        request["headers"] = {"content-type": "application/json"}
    return request


def _lines_request(path: str, body: bytes, timeout_s: float) -> dict[str, Any]:
    return {
        "method": "POST",
        "url": path,
        "content": body,
        "headers": {"content-type": "application/x-ndjson", "accept": "application/x-ndjson"},
        "timeout": httpx.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s), pool=None),
    }


def _whole(response: httpx.Response, deadline: Deadline) -> bytes:
    """Reads the body. Ours is there already; behind a proxy httpx limits each read alone."""
    parts: list[bytes] = []
    for part in response.iter_bytes():
        if deadline.left_s == 0:
            raise deadline.error()
        parts.append(part)
    return b"".join(parts)


def _read(response: httpx.Response, content: bytes) -> object:
    value = parse_json(content) if response.status_code == 200 else None
    if value is not None:
        return value
    raise _refusal(response, content)


def _refusal(response: httpx.Response, content: bytes) -> AgentEvalError:
    return http_error(response.status_code, content, response.headers.get("retry-after"))


def _translate(error: Exception, settings: Settings, timeout_s: float) -> AgentEvalError:
    """Turns httpx's error into ours."""
    url = settings.base_url
    if isinstance(error, httpx.ConnectTimeout):
        return TransportError(
            f"No connection to {url}: the host does not answer.", details={"reason": "unreachable"}
        )
    if isinstance(error, httpx.ConnectError):
        if _is_certificate_error(error):
            return TransportError(f"The certificate of {url} is not trusted: {error}")
        return TransportError(
            f"Nothing answers at {url}: start a server with `agent-eval serve`, or use "
            'transport="subprocess".',
            details={"reason": REFUSED},
        )
    if isinstance(error, (httpx.TimeoutException, asyncio.TimeoutError)):
        return deadline_error(timeout_s)
    what = str(error) or type(error).__name__
    return TransportError(
        f"The connection to {url} broke during the call ({what}): see whether the server is still "
        "running.",
        details={"reason": "connection_lost"},
    )


def _is_certificate_error(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False
