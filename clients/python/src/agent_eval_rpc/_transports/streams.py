"""Sockets of httpcore that keep to the deadline of the call that uses them.

httpx's timeouts count for each read or write alone: a server that sends a byte now and then would
hold a call for ever.
"""

import ssl
import threading
import time
import weakref
from collections.abc import Iterable
from typing import Any

import httpcore

#: Written between two looks at the clock.
PIECE = 1 << 16


class Clock(threading.local):
    """When the call of this thread must be over; a call does its I/O on the caller's thread."""

    end = float("inf")

    def left_s(self, timeout: float | None, error: type[Exception]) -> float | None:
        """The time for the next step; raises the error when there is none."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise error("the deadline of the call has passed")
        return left if timeout is None else min(left, timeout)


class Stream(httpcore.NetworkStream):
    """A connection."""

    def __init__(self, inner: httpcore.NetworkStream, backend: "Backend") -> None:
        self._inner = inner
        self._backend = backend
        backend.streams.add(self)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Reads what is there, waiting for it no longer than the call may take."""
        left = self._backend.clock.left_s(timeout, httpcore.ReadTimeout)
        return self._inner.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Writes it all, or raises when the call has no time left."""
        for start in range(0, len(buffer), PIECE):
            left = self._backend.clock.left_s(timeout, httpcore.WriteTimeout)
            self._inner.write(buffer[start : start + PIECE], left)

    def close(self) -> None:
        """Closes the socket."""
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """The same connection, encrypted."""
        left = self._backend.clock.left_s(timeout, httpcore.ConnectTimeout)
        return Stream(self._inner.start_tls(ssl_context, server_hostname, left), self._backend)

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks about the socket."""
        return self._inner.get_extra_info(info)


class Backend(httpcore.SyncBackend):
    """Opens connections, and knows those that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.streams: weakref.WeakSet[Stream] = weakref.WeakSet()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Opens a connection, as long as the call has time."""
        left = self.clock.left_s(timeout, httpcore.ConnectTimeout)
        inner = super().connect_tcp(host, port, left, local_address, socket_options)
        return Stream(inner, self)

    def close_all(self) -> None:
        """Closes every socket without a lock, for a fork: a thread it lacks may hold one."""
        for stream in list(self.streams):
            stream.close()
