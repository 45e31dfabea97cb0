"""Calls over the engine's stdin and stdout."""

import asyncio
import contextlib
import re
import subprocess
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, cast

from agent_eval_rpc._json import encode
from agent_eval_rpc._locate import Engine, find_engine
from agent_eval_rpc._protocol import (
    after_start,
    closed_error,
    error_from,
    mismatch,
    parse_json,
    warn_of_version,
)
from agent_eval_rpc._settings import caching_environment
from agent_eval_rpc._transports import forks
from agent_eval_rpc._transports.clock import Deadline
from agent_eval_rpc._transports.loops import PerLoop
from agent_eval_rpc._transports.session import NoHelloError, Session, SessionGoneError
from agent_eval_rpc.errors import (
    AgentEvalError,
    DeadlineExceededError,
    EngineStartError,
    TransportError,
)

#: Exit code of a command that was called wrongly, or is set up wrongly.
USAGE = 2
#: How the engine ends when a setting is wrong.
REFUSAL = re.compile(r"error \(([a-z_]+)\): (.+)")
#: What a command says of an option it does not know: an engine without sessions.
UNKNOWN_OPTION = re.compile(
    r"(unknown|unrecogni[sz]ed|unexpected|invalid|no such) (option|argument|flag)"
    r"|\b(option|argument|flag)\b.*--session|^usage\b",
    re.IGNORECASE,
)
#: How long an engine without sessions has to tell its version.
VERSION_S = 10.0
#: How many processes an engine without sessions may run at a time.
MAX_PROCESSES = 4


class OneShot:
    """An engine without sessions: one process a call."""

    def __init__(self, engine: Engine, cache: str | None = None) -> None:
        self._cache = cache
        self._engine = engine
        self._slots = threading.BoundedSemaphore(MAX_PROCESSES)

    def call(self, method: str, params: dict[str, Any], deadline: Deadline) -> object:
        """Runs ``rpc METHOD`` and reads its one line."""
        if not self._slots.acquire(timeout=deadline.left_s):
            raise deadline.error()
        try:
            done = subprocess.run(  # noqa: S603 - the engine we looked up
                [*self._engine.argv, "rpc", method],
                input=encode(params),
                capture_output=True,
                env=caching_environment(self._cache),
                timeout=deadline.left_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise deadline.error() from None
        except OSError as error:
            raise TransportError(f"Cannot run the engine: {error}.") from error
        finally:
            self._slots.release()
        lines = done.stdout.strip().splitlines()
        value = parse_json(lines[-1]) if lines else None
        answer = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if "result" in answer:
            return answer["result"]
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise error_from(answer.get("error")) or TransportError(
            f"The engine gave no answer (exit code {done.returncode}). It said: {said}",
            details={"exitCode": done.returncode},
        )


class Connector:
    """Starts the engine when it is needed, and again after it has died."""

    def __init__(self, cli_path: str | None, cache: str | None = None) -> None:
        self._cache = cache
        self._cli_path = cli_path
        self._lock = threading.Lock()
        self._current: Session | OneShot | None = None
        # One that has yet to greet: a caller without time leaves it to the next.
        self._starting: Session | None = None
        self._closed = False
        forks.watch(self)

    def running(self) -> "Session | OneShot | None":
        """The engine if it is running, without waiting for anything."""
        current = self._current
        return None if isinstance(current, Session) and not current.alive else current

    def connect(self, deadline: Deadline) -> Session | OneShot:
        """The running engine, started if need be.

        Raises:
            DeadlineExceededError: It takes longer; the next call finds it further on.
            TransportError: There is no engine, or it does not start.
        """
        lock = self._lock
        if not lock.acquire(timeout=deadline.left_s):
            raise deadline.error()
        try:
            if self._closed:
                raise closed_error()
            current = self.running()
            if current is None:
                current = self._current = self._start(deadline)
            return current
        finally:
            lock.release()

    def note(self) -> str:
        """What there is to say about how the engine runs."""
        one_shot = isinstance(self._current, OneShot)
        return "; this engine has no sessions: one process a call" if one_shot else ""

    def close(self) -> None:
        """Ends the engine."""
        with self._lock:
            self._closed = True
            open_ones = (self._current, self._starting)
            self._current = self._starting = None
        for one in open_ones:
            if isinstance(one, Session):
                one.close()

    def after_fork(self) -> None:
        """Leaves the engine to the parent process; the next call starts another."""
        self._lock = threading.Lock()
        # Their pipes they close themselves.
        self._starting = None
        if isinstance(self._current, Session):
            self._current = None

    def _start(self, deadline: Deadline) -> Session | OneShot:
        engine = find_engine(self._cli_path)
        try:
            return self._greeted(engine, deadline)
        except NoHelloError as error:
            failure = error
        if _lacks_sessions(failure):
            one_shot = OneShot(engine, self._cache)
            probe = Deadline(min(VERSION_S, deadline.left_s))
            # Where it does not even tell its version, what it said first counts.
            with contextlib.suppress(AgentEvalError):
                if mismatch(one_shot.call("version", {}, probe)) is None:
                    return one_shot
            if deadline.left_s == 0:
                raise deadline.error()
        raise _start_error(engine, failure)

    def _greeted(self, engine: Engine, deadline: Deadline) -> Session:
        """Starts a session; one death before the greeting is forgiven."""
        for last in (False, True):
            session = self._starting
            if session is None:
                session = self._starting = Session(engine.argv, caching_environment(self._cache))
            try:
                warn_of_version(session.greet(deadline))
            except DeadlineExceededError:
                raise
            except NoHelloError as error:
                self._starting = None
                if last or error.exit_code in (None, USAGE):
                    raise
            except BaseException:
                self._starting = None
                session.close()
                raise
            else:
                self._starting = None
                return session
        raise _gone()


class StdioTransport:
    """Calls of a ``Client`` over stdio."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    def call(self, method: str, params: dict[str, Any], timeout_s: float) -> object:
        """Sends one call and waits for its answer."""
        deadline = Deadline(timeout_s)
        for _ in range(2):
            engine = self._connector.connect(deadline)
            left = after_start(params, deadline.spent_s)
            if isinstance(engine, OneShot):
                return engine.call(method, left, deadline)
            with contextlib.suppress(SessionGoneError):
                return self._wait(engine, *engine.submit(method, left), deadline)
        raise _gone()

    @staticmethod
    def _wait(
        session: Session, call_id: int, future: "Future[object]", deadline: Deadline
    ) -> object:
        try:
            return future.result(deadline.left_s)
        except FutureTimeoutError:
            if future.done():
                return future.result()
            raise deadline.error() from None
        finally:
            # After an answer this does nothing.
            session.cancel(call_id)

    def note(self) -> str:
        """What there is to say about how the engine runs."""
        return self._connector.note()

    def close(self) -> None:
        """Ends the engine."""
        self._connector.close()


class AsyncStdioTransport:
    """Calls of an ``AsyncClient`` over stdio, on whatever loop is running."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._gate = PerLoop(asyncio.Lock)

    async def call(self, method: str, params: dict[str, Any], timeout_s: float) -> object:
        """Sends one call and waits for its answer."""
        deadline = Deadline(timeout_s)
        for _ in range(2):
            engine = self._connector.running() or await self._connect(deadline)
            left = after_start(params, deadline.spent_s)
            if isinstance(engine, OneShot):
                return await asyncio.to_thread(engine.call, method, left, deadline)
            with contextlib.suppress(SessionGoneError):
                return await self._wait(engine, *engine.submit(method, left), deadline)
        raise _gone()

    async def _connect(self, deadline: Deadline) -> "Session | OneShot":
        # Starting a process takes a while: on a thread, and once for all who wait.
        gate = self._gate.get()
        try:
            # Who holds the gate may have more time.
            await asyncio.wait_for(gate.acquire(), deadline.left_s)
        except asyncio.TimeoutError:
            raise deadline.error() from None
        try:
            engine = self._connector.running()
            if engine is None:
                engine = await asyncio.to_thread(self._connector.connect, deadline)
            return engine
        finally:
            gate.release()

    @staticmethod
    async def _wait(
        session: Session, call_id: int, future: "Future[object]", deadline: Deadline
    ) -> object:
        waiter = asyncio.wrap_future(future)
        try:
            return await asyncio.wait_for(waiter, deadline.left_s)
        except asyncio.TimeoutError:
            if not waiter.cancelled():
                raise
            raise deadline.error() from None
        finally:
            session.cancel(call_id)

    def note(self) -> str:
        """What there is to say about how the engine runs."""
        return self._connector.note()

    async def aclose(self) -> None:
        """Ends the engine."""
        await asyncio.to_thread(self._connector.close)


def _lacks_sessions(failure: NoHelloError) -> bool:
    """Whether the engine is one that knows no ``--session``, and not one that is set up wrongly."""
    if failure.exit_code is None:
        return True
    refused = any(REFUSAL.match(line) for line in failure.said)
    return not refused and any(UNKNOWN_OPTION.search(line) for line in failure.said)


def _start_error(engine: Engine, failure: NoHelloError) -> EngineStartError:
    where = f"The engine ({engine.source}: {' '.join(engine.argv)})"
    details: dict[str, Any] = {"exitCode": failure.exit_code}
    refusal = next(filter(None, map(REFUSAL.match, reversed(failure.said))), None)
    if refusal is None:
        return EngineStartError(f"{where} does not start. {failure}", details=details)
    code, message = refusal.groups()
    details["engineError"] = {"code": code, "message": message}
    return EngineStartError(f"{where} refuses to start: {message}", details=details)


def _gone() -> TransportError:
    return TransportError("The engine ended as soon as it was started: try again.")
