"""One connection to the fake endpoint: reads requests, plays steps, answers the control path."""

from __future__ import annotations

import json
import selectors
import socket
import struct
import threading
import time
from io import BufferedReader
from typing import Any, Protocol

from model_dialects import dialect_of
from model_reply import build_answer
from model_wire import Answer, Json, head, timeline

CONTROL = "/__control/"
TOGETHER_SECONDS = 30


class GoneError(Exception):
    """The other side has closed the connection."""


class Script(Protocol):
    """What a connection needs from the server."""

    closing: threading.Event

    def note(self, request: Json, *, first: bool) -> Json:
        """Records a request and chooses its step."""

    def finish(self, request: Json, outcome: str) -> None:
        """Records how a request ended."""

    def answer_control(self, method: str, action: str, body: bytes) -> Json | None:
        """Answers a control request; None for a path that is not there."""


class Connection:
    """One keep-alive connection, served by one thread."""

    def __init__(self, server: Script, sock: socket.socket) -> None:
        self._server = server
        self._sock = sock
        self._input: BufferedReader = sock.makefile("rb")
        self._counted = False

    def run(self) -> None:
        """Serves requests until one side closes."""
        with self._input:
            while True:
                received = self._read_request()
                if received is None:
                    return
                method, path, headers, raw = received
                if path.startswith(CONTROL):
                    self._control(method, path[len(CONTROL) :], raw)
                elif not self._call(method, path, headers, raw):
                    return

    def _read_request(self) -> tuple[str, str, list[list[str]], bytes] | None:
        words = self._input.readline().decode("latin-1").split()
        if len(words) != 3:
            return None
        method, path, _ = words
        headers: list[list[str]] = []
        while (line := self._input.readline()).strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers.append([name.strip(), value.strip()])
        named = {name.lower(): value for name, value in headers}
        if named.get("transfer-encoding", "").lower() == "chunked":
            return method, path, headers, self._read_chunked()
        size = int(named.get("content-length", "0"))
        body = self._input.read(size)
        return (method, path, headers, body) if len(body) == size else None

    def _read_chunked(self) -> bytes:
        body = b""
        while size := int(self._input.readline().split(b";")[0], 16):
            body += self._input.read(size)
            self._input.readline()
        self._input.readline()
        return body

    def _call(self, method: str, path: str, headers: list[list[str]], raw: bytes) -> bool:
        """Plays a step; says whether the connection may carry another request."""
        body = _parsed(raw)
        request: Json = {
            "method": method,
            "path": path,
            "headers": headers,
            "body": body,
            "outcome": "pending",
        }
        step = self._server.note(request, first=not self._counted)
        self._counted = True
        if "_gate" in step:
            try:
                step["_gate"].wait(TOGETHER_SECONDS)
            except threading.BrokenBarrierError:
                self._server.finish(request, "dropped")
                return False
        answer = build_answer(_plain(step, method, path), body, path)
        keep = "drop" not in step and not _says_close([*answer.headers, *headers])
        if step.get("drop") == "rst":
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            *early, (pause, last) = timeline(step, answer)
            for wait, data in early:
                self._pause(wait)
                self._sock.sendall(data)
            self._pause(pause)
            # Before the last byte: who has the answer must find it recorded.
            self._server.finish(request, "dropped" if "drop" in step else "answered")
            self._sock.sendall(last)
        except (GoneError, OSError):
            self._server.finish(request, "client-gone")
            return False
        return keep

    def _pause(self, milliseconds: float) -> None:
        """Waits, and notices at once that the other side has gone."""
        until = time.monotonic() + milliseconds / 1000
        with selectors.DefaultSelector() as selector:
            selector.register(self._sock, selectors.EVENT_READ)
            while (left := until - time.monotonic()) > 0:
                if not selector.select(left):
                    return
                if not self._sock.recv(1, socket.MSG_PEEK):
                    raise GoneError
                # The next request is here already, so the socket has nothing more to tell.
                if self._server.closing.wait(until - time.monotonic()):
                    raise GoneError

    def _control(self, method: str, action: str, raw: bytes) -> None:
        try:
            value = self._server.answer_control(method, action, raw)
            status = 404 if value is None else 200
        except ValueError as error:
            status, value = 400, _error(str(error))
        body = json.dumps(value or {}).encode()
        answer = Answer(status, [("content-type", "application/json")], body)
        self._sock.sendall(head(answer, chunked=False) + body)


def _plain(step: Json, method: str, path: str) -> Json:
    """The step with the reply that fits method, path and status when it gives none."""
    if "reply" in step:
        return step
    bare = path.partition("?")[0]
    if step.get("status", 200) >= 400:
        return {**step, "reply": {"json": _error(f"scripted status {step['status']}")}}
    known = bare.endswith("/models")
    if method == "POST":
        known = bare.endswith("/chat/completions") or dialect_of(path) is not None
    if not known:
        return {**step, "status": 404, "reply": {"json": _error(f"no such path: {bare}")}}
    if method == "GET":
        return {**step, "reply": {"json": {"object": "list", "data": []}}}
    return step


def _says_close(headers: list[Any]) -> bool:
    return any(name.lower() == "connection" and value.lower() == "close" for name, value in headers)


def _error(message: str) -> Json:
    return {"error": {"message": message, "type": "fake_error"}}


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")
