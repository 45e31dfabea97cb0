"""What a client holds open: its way to the engine."""

import threading
from typing import Any

from agent_eval_rpc._options import Options
from agent_eval_rpc._protocol import closed_error
from agent_eval_rpc._transports import forks
from agent_eval_rpc._transports.auto import Choice, choose
from agent_eval_rpc._transports.base import HTTP_CALLS, STDIO_CALLS, Transport
from agent_eval_rpc._transports.stdio import Connector, StdioTransport


class Line:
    """An open way to the engine."""

    def __init__(self, kind: str, via: Transport, reason: str, limit: int) -> None:
        self.kind = kind
        self.via = via
        self.reason = reason
        self.limit = limit
        self.slots = threading.BoundedSemaphore(limit)

    def why(self) -> str:
        """The reason for this way, with what was learned since."""
        return self.reason + (self.via.note() if isinstance(self.via, StdioTransport) else "")


class State:
    """What a client holds open; apart from it, so that it can be closed once it is forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: Line | None = None
        self._closed = False
        forks.watch(self)

    def connect(self, options: Options, settings: Any) -> Line:
        """The way to the engine, chosen on the first call."""
        with self._lock:
            if self._closed:
                raise closed_error()
            if self._line is None:
                if options.custom:
                    why = "a transport object was given"
                    self._line = Line("custom", options.transport, why, STDIO_CALLS)
                else:
                    self._line = _open(choose(settings))
            return self._line

    def close(self) -> None:
        """Closes it for good."""
        with self._lock:
            self._closed = True
            line, self._line = self._line, None
        if line is not None:
            line.via.close()

    def abandon(self) -> None:
        """Closes what a forgotten client opened; a transport of the caller's is theirs to close."""
        if self._line is not None and self._line.kind != "custom":
            self.close()

    def after_fork(self) -> None:
        """Makes new locks: another thread may have held them."""
        self._lock = threading.Lock()
        if self._line is not None:
            self._line.slots = threading.BoundedSemaphore(self._line.limit)


def _open(choice: Choice) -> Line:
    if isinstance(choice.via, Connector):
        return Line(choice.kind, StdioTransport(choice.via), choice.reason, STDIO_CALLS)
    return Line(choice.kind, choice.via, choice.reason, HTTP_CALLS)
