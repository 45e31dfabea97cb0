"""One engine process and the calls in flight: ``agent-eval rpc --session``.

A thread writes, a thread reads, a thread keeps the last lines of stderr. Callers wait on futures,
so threads and tasks of any event loop can share a session.
"""

import collections
import contextlib
import itertools
import queue
import subprocess
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, cast

from agent_eval_rpc._json import encode
from agent_eval_rpc._protocol import error_from, mismatch, parse_json, too_large_error
from agent_eval_rpc._transports import forks
from agent_eval_rpc._transports.clock import Deadline
from agent_eval_rpc.errors import TransportError

HELLO_TIMEOUT_S = 15.0
CLOSE_TIMEOUT_S = 2.0
#: Lines before the greeting that are not ours, such as the banner of a wrapper script.
MAX_BANNER_LINES = 100
MAX_LINE_BYTES = 4 * 1024 * 1024
READ_BYTES = 1 << 18
STDERR_LINES = 20


class NoHelloError(Exception):
    """The process ended, or kept silent, before it greeted."""

    def __init__(self, message: str, exit_code: int | None, said: list[str]) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.said = said


class SessionGoneError(Exception):
    """The session ended before it took the call: another one may take it."""


class Session:
    """A running engine. Use from any thread."""

    def __init__(self, argv: list[str], environment: dict[str, str] | None = None) -> None:
        self._ids = itertools.count(1)
        self._pending: dict[int, Future[object]] = {}
        # Reentrant: a finaliser that closes the session may run while its thread holds the lock.
        self._lock = threading.RLock()
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._hello: Future[dict[str, Any]] = Future()
        self._closed = False
        self._stderr: collections.deque[str] = collections.deque(maxlen=STDERR_LINES)
        self._started = time.monotonic()
        self._process = self._spawn(argv, environment)
        # From here on, not from the greeting: a fork in between would keep the engine alive.
        forks.watch(self)
        self._threads = [
            threading.Thread(target=target, name=f"agent-eval-{target.__name__}", daemon=True)
            # The reader last: at the end of the engine it waits for the drain.
            for target in (self._drain, self._write, self._read)
        ]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _spawn(argv: list[str], environment: dict[str, str] | None) -> "subprocess.Popen[bytes]":
        try:
            # A session of its own: Ctrl-C reaches the caller only, who then closes the engine.
            return subprocess.Popen(  # noqa: S603 - the engine we looked up
                [*argv, "rpc", "--session"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise TransportError(
                f"Cannot run {argv[0]}: {error.strerror or error}.", details={"path": argv[0]}
            ) from error

    @property
    def alive(self) -> bool:
        """Whether calls can be sent."""
        return not self._closed

    @property
    def pid(self) -> int:
        """Process id of the engine."""
        return self._process.pid

    def greet(self, deadline: Deadline) -> dict[str, Any]:
        """Waits for the engine's first line and checks that it is one of ours.

        Args:
            deadline: The caller's; the engine's own is ``HELLO_TIMEOUT_S`` after its start.

        Raises:
            DeadlineExceededError: The caller's time is over; the engine may still greet.
            NoHelloError: The process ended or kept silent.
            TransportError: It is another program, or speaks another wire version.
        """
        engine_s = max(0.0, self._started + HELLO_TIMEOUT_S - time.monotonic())
        caller_s = deadline.left_s
        try:
            hello = self._hello.result(min(engine_s, caller_s))
        except FutureTimeoutError:
            if caller_s < engine_s:
                raise deadline.error() from None
            self.close()
            raise NoHelloError(
                f"The engine did not greet within {HELLO_TIMEOUT_S:g} s.", None, []
            ) from None
        reason = mismatch(hello)
        if reason is not None:
            self.close()
            raise TransportError(f"Cannot use this engine: {reason}. Install matching versions.")
        return hello

    def submit(self, method: str, params: dict[str, Any]) -> "tuple[int, Future[object]]":
        """Sends a call; the future gives its result or raises.

        Raises:
            SessionGoneError: The engine has ended.
            ValidationError: The call is larger than a line may be.
        """
        future: Future[object] = Future()
        call_id = next(self._ids)
        line = encode({"id": call_id, "method": method, "params": params}) + b"\n"
        if len(line) > MAX_LINE_BYTES:
            # The engine would refuse it without knowing whose it is.
            raise too_large_error(len(line), MAX_LINE_BYTES)
        with self._lock:
            if self._closed:
                raise SessionGoneError
            self._pending[call_id] = future
        self._outbox.put(line)
        return call_id, future

    def cancel(self, call_id: int) -> None:
        """Forgets a call and tells the engine to stop it."""
        with self._lock:
            known = self._pending.pop(call_id, None)
        if known is not None:
            self._outbox.put(_cancel_line(call_id))

    def close(self) -> None:
        """Ends the engine; calls in flight fail."""
        for call_id in self._fail("The client was closed while the call was in flight.", {}):
            self._outbox.put(_cancel_line(call_id))
        self._outbox.put(None)
        try:
            self._process.wait(CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            # A finaliser may run on one of these threads.
            if thread is not threading.current_thread():
                thread.join(CLOSE_TIMEOUT_S)

    def after_fork(self) -> None:
        """Closes the pipes in a forked process: they are the parent's, and so is the engine."""
        self._lock = threading.RLock()
        self._closed = True
        self._pending = {}
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        # Not our child: nothing to wait for, nothing to warn of.
        self._process.returncode = 0

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - asked for above
        with contextlib.suppress(OSError, ValueError):
            while (chunk := self._next_chunk()) is not None:
                view = memoryview(chunk)
                while view:
                    view = view[stdin.write(view) :]
        with contextlib.suppress(OSError):
            stdin.close()

    def _next_chunk(self) -> bytes | None:
        """Waits for a line and takes those already there along."""
        lines = [self._outbox.get()]
        with contextlib.suppress(queue.Empty):
            while lines[-1] is not None and len(lines) < 64:
                lines.append(self._outbox.get_nowait())
        if lines[-1] is None and len(lines) > 1:
            self._outbox.put(None)
        return b"".join(line for line in lines if line is not None) or None

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - asked for above
        banner: list[str] = []
        with stdout, contextlib.suppress(OSError, ValueError):
            parts: list[bytes] = []
            while data := stdout.read(READ_BYTES):
                *lines, rest = data.split(b"\n")
                for line in lines:
                    self._take(b"".join([*parts, line]), banner)
                    parts = []
                parts.append(rest)
        self._ended(banner)

    def _take(self, line: bytes, banner: list[str]) -> None:
        value = parse_json(line)
        message = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if not self._hello.done():
            hello = message.get("hello")
            if isinstance(hello, dict):
                self._hello.set_result(cast("dict[str, Any]", hello))
            elif len(banner) < MAX_BANNER_LINES:
                banner.append(line[:200].decode("utf-8", "replace"))
            else:
                self._process.kill()
            return
        call_id = message.get("id")
        with self._lock:
            future = self._pending.pop(call_id, None) if isinstance(call_id, int) else None
        if future is None or not future.set_running_or_notify_cancel():
            return
        if "result" in message:
            future.set_result(message["result"])
        else:
            error = error_from(message.get("error"))
            future.set_exception(error or TransportError("The engine answered without a result."))

    def _ended(self, banner: list[str]) -> None:
        """The engine closed its stdout: nothing more will be answered."""
        self._outbox.put(None)
        try:
            code: int | None = self._process.wait(CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._threads[0].join(CLOSE_TIMEOUT_S)
        last = " | ".join([*banner[-3:], *list(self._stderr)[-3:]])[:500]
        said = f" It said: {last}" if last else ""
        if not self._hello.done():
            message = f"The engine ended (exit code {code}) before it greeted.{said}"
            self._hello.set_exception(NoHelloError(message, code, [*banner, *self._stderr]))
        self._fail(f"The engine ended (exit code {code}).{said}", {"exitCode": code})

    def _fail(self, message: str, details: dict[str, Any]) -> list[int]:
        with self._lock:
            self._closed = True
            pending, self._pending = self._pending, {}
        for future in pending.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(TransportError(message, details=details))
        return list(pending)

    def _drain(self) -> None:
        """Keeps the engine from blocking on stderr, and its last lines for error messages."""
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101 - asked for above
        with stderr, contextlib.suppress(OSError, ValueError):
            rest = b""
            while data := stderr.read(READ_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                rest = rest[-1000:]
                self._stderr.extend(
                    line[:1000].decode("utf-8", "replace") for line in lines if line
                )
            if rest:
                self._stderr.append(rest.decode("utf-8", "replace"))


def _cancel_line(call_id: int) -> bytes:
    return encode({"id": call_id, "cancel": True}) + b"\n"
