"""What stands before a rollout server: the key, before anything is read, and the size of a body."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from osmosis_ai.rollout.server.api_key import key_in_header, validate_api_key

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

GUARDED = frozenset({"/v1/rollout/init", "/platform/health"})
_DROPPED_BYTES = 4 * 1024 * 1024
_DROPPING_S = 5.0
UNAUTHORIZED = {"detail": "Invalid or missing API key"}


class Guard:
    """Answers a request without its key before its body is read, and one whose body is too large.

    Args:
        app: The application behind it.
        api_key: The key, None for a server that asks for none.
        max_body_bytes: Largest body.
    """

    def __init__(self, app: App, api_key: str | None, max_body_bytes: int) -> None:
        self._app = app
        self._api_key = api_key
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Passes on what is allowed."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if _route(scope) in GUARDED and not self._authorized(headers):
            await _answer(send, 401, UNAUTHORIZED, {b"www-authenticate": b"Bearer"})
            return
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._max_body_bytes:
            await self._refuse_size(receive, send)
            return
        await self._limited(scope, receive, send)

    def _authorized(self, headers: dict[bytes, bytes]) -> bool:
        if self._api_key is None:
            return True
        return validate_api_key(key_in_header(headers.get(b"authorization")), self._api_key)

    async def _refuse_size(self, receive: Receive, send: Send) -> None:
        # First what is still coming: a sender that is cut off sees no answer.
        await _drop_rest(receive)
        detail = {"detail": f"The body is larger than {self._max_body_bytes} bytes"}
        await _answer(send, 413, detail, {b"connection": b"close"})

    async def _limited(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Counts a body that does not say its length, and ends the request where it is too long."""
        size = 0
        answered = False

        async def counted() -> Message:
            nonlocal size, answered
            message = await receive()
            if message["type"] == "http.request":
                size += len(message.get("body", b""))
                if size > self._max_body_bytes and not answered:
                    answered = True
                    await self._refuse_size(receive, send)
                    return {"type": "http.disconnect"}
            return message

        async def unless_answered(message: Message) -> None:
            if not answered:
                await send(message)

        await self._app(scope, counted, unless_answered)


def _route(scope: MutableMapping[str, Any]) -> str:
    """The path within this application, which may be mounted below another."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root) :] if root and path.startswith(root) else path


async def _drop_rest(receive: Receive) -> None:
    """Takes what is still being sent, for a while."""
    dropped = 0

    async def drop() -> None:
        nonlocal dropped
        more = True
        while more and dropped < _DROPPED_BYTES:
            message = await receive()
            dropped += len(message.get("body", b""))
            more = bool(message.get("more_body"))

    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(drop(), _DROPPING_S)


async def _answer(
    send: Send, status: int, content: dict[str, str], headers: dict[bytes, bytes]
) -> None:
    body = json.dumps(content).encode()
    named = {
        b"content-type": b"application/json",
        b"content-length": str(len(body)).encode(),
        **headers,
    }
    await send({"type": "http.response.start", "status": status, "headers": list(named.items())})
    await send({"type": "http.response.body", "body": body})
