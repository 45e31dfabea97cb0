"""Calls over the engine's stdin and stdout."""

import asyncio
import contextlib
import subprocess
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, cast

from agent_eval_rpc._json import encode
from agent_eval_rpc._locate import Engine, find_engine
from agent_eval_rpc._protocol import (
    closed_error,
    deadline_error,
    error_from,
    mismatch,
    parse_json,
    warn_of_version,
)
from agent_eval_rpc._transports import forks
from agent_eval_rpc._transports.loops import PerLoop
from agent_eval_rpc._transports.session import NoHelloError, Session, SessionGoneError
from agent_eval_rpc.errors import TransportError

#: Exit code of a command that does not know an option: an engine without sessions.
USAGE = 2
#: How many processes an engine without sessions may run at a time.
MAX_PROCESSES = 4


class OneShot:
    """An engine without sessions: one process a call."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._slots = threading.BoundedSemaphore(MAX_PROCESSES)

    def call(self, method: str, params: dict[str, Any], timeout_s: float) -> object:
        """Runs ``rpc METHOD`` and reads its one line."""
        with self._slots:
            try:
                done = subprocess.run(  # noqa: S603 - the engine we looked up
                    [*self._engine.argv, "rpc", method],
                    input=encode(params),
                    capture_output=True,
                    timeout=timeout_s,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise deadline_error(timeout_s) from None
            except OSError as error:
                raise TransportError(f"Cannot run the engine: {error}.") from error
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

    def __init__(self, cli_path: str | None) -> None:
        self._cli_path = cli_path
        self._lock = threading.Lock()
        self._current: Session | OneShot | None = None
        self._closed = False
        forks.watch(self)

    def running(self) -> "Session | OneShot | None":
        """The engine if it is running, without waiting for anything."""
        current = self._current
        return None if isinstance(current, Session) and not current.alive else current

    def connect(self) -> Session | OneShot:
        """The running engine, started if need be.

        Raises:
            TransportError: There is no engine, or it does not start.
        """
        with self._lock:
            if self._closed:
                raise closed_error()
            current = self.running()
            if current is None:
                current = self._current = self._start()
            return current

    def note(self) -> str:
        """What there is to say about how the engine runs."""
        one_shot = isinstance(self._current, OneShot)
        return "; this engine has no sessions: one process a call" if one_shot else ""

    def close(self) -> None:
        """Ends the engine."""
        with self._lock:
            self._closed = True
            current, self._current = self._current, None
        if isinstance(current, Session):
            current.close()

    def after_fork(self) -> None:
        """Leaves the engine to the parent process; the next call starts another."""
        self._lock = threading.Lock()
        if isinstance(self._current, Session):
            self._current.after_fork()
            self._current = None

    def _start(self) -> Session | OneShot:
        engine = find_engine(self._cli_path)
        failure: NoHelloError | None = None
        for _ in range(2):
            session = Session(engine.argv)
            try:
                warn_of_version(session.greet())
            except NoHelloError as error:
                failure = error
                if error.exit_code in (None, USAGE):
                    break
            except BaseException:
                session.close()
                raise
            else:
                return session
        one_shot = OneShot(engine)
        with contextlib.suppress(Exception):
            if mismatch(one_shot.call("version", {}, 10.0)) is None:
                return one_shot
        raise TransportError(
            f"The engine ({engine.source}: {' '.join(engine.argv)}) does not start. {failure}",
            details={"exitCode": failure.exit_code if failure else None},
        )


class StdioTransport:
    """Calls of a ``Client`` over stdio."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    def call(self, method: str, params: dict[str, Any], timeout_s: float) -> object:
        """Sends one call and waits for its answer."""
        for _ in range(2):
            engine = self._connector.connect()
            if isinstance(engine, OneShot):
                return engine.call(method, params, timeout_s)
            with contextlib.suppress(SessionGoneError):
                return self._wait(engine, *engine.submit(method, params), timeout_s)
        raise _gone()

    @staticmethod
    def _wait(session: Session, call_id: int, future: "Future[object]", timeout_s: float) -> object:
        try:
            return future.result(timeout_s)
        except FutureTimeoutError:
            if future.done():
                return future.result()
            raise deadline_error(timeout_s) from None
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
        for _ in range(2):
            engine = await self._connect()
            if isinstance(engine, OneShot):
                return await asyncio.to_thread(engine.call, method, params, timeout_s)
            with contextlib.suppress(SessionGoneError):
                return await self._wait(engine, *engine.submit(method, params), timeout_s)
        raise _gone()

    async def _connect(self) -> "Session | OneShot":
        engine = self._connector.running()
        if engine is not None:
            return engine
        # Starting a process takes a while: on a thread, and once for all who wait.
        async with self._gate.get():
            engine = self._connector.running()
            if engine is None:
                engine = await asyncio.to_thread(self._connector.connect)
            return engine

    @staticmethod
    async def _wait(
        session: Session, call_id: int, future: "Future[object]", timeout_s: float
    ) -> object:
        waiter = asyncio.wrap_future(future)
        try:
            return await asyncio.wait_for(waiter, timeout_s)
        except asyncio.TimeoutError:
            if not waiter.cancelled():
                raise
            raise deadline_error(timeout_s) from None
        finally:
            session.cancel(call_id)

    def note(self) -> str:
        """What there is to say about how the engine runs."""
        return self._connector.note()

    async def aclose(self) -> None:
        """Ends the engine."""
        await asyncio.to_thread(self._connector.close)


def _gone() -> TransportError:
    return TransportError("The engine ended as soon as it was started: try again.")
