"""What happens around the calls: forks, loops, threads, copies, and the end of the process."""

import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from agent_eval_rpc import (
    AsyncClient,
    Client,
    DeadlineExceededError,
    RubricNotFoundError,
    ValidationError,
)
from agent_eval_rpc._transports import forks
from agent_eval_rpc._transports.session import Session
from support import Server, ask, info, reply, result, script


@pytest.fixture(params=["http", "subprocess"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Options of a client for either transport."""
    if request.param == "subprocess":
        yield {"transport": "subprocess", "cli_path": str(script(tmp_path, "echo"))}
        return

    def answer(path: str, body: bytes) -> Any:
        import json

        if path == "/v1/version":
            return reply(info())
        return reply(result(json.loads(body)["content"]))

    with Server(answer) as server:
        yield {"transport": "http", "base_url": server.url}


def run_python(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def is_running(pid: int) -> bool:
    """Whether a process does anything; one that nobody has waited for is over too."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], limit_s: float = 10.0) -> bool:
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def forked_while(do: Callable[[], object]) -> float:
    """How long something takes while there is a fork that does nothing."""
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(write_end)
        os.read(read_end, 1)
        os._exit(0)
    began = time.monotonic()
    do()
    took = time.monotonic() - began
    os.close(read_end)
    os.close(write_end)
    os.waitpid(child, 0)
    return took


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize("ending", ["", "close", "raise"])
def test_the_interpreter_ends_quietly(place: dict[str, Any], form: str, ending: str) -> None:
    if form == "sync":
        code = f"""
        from agent_eval_rpc import Client
        client = Client(**{place!r})
        print(client.judge("x", rubric_name="r").rationale)
        {"client.close()" if ending == "close" else ""}
        {"raise SystemExit(3)" if ending == "raise" else ""}
        """
    else:
        code = f"""
        import asyncio
        from agent_eval_rpc import AsyncClient
        client = AsyncClient(**{place!r})
        async def main():
            print((await client.judge("x", rubric_name="r")).rationale)
            {"await client.close()" if ending == "close" else ""}
            {"raise SystemExit(3)" if ending == "raise" else ""}
        asyncio.run(main())
        """
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("x\n", "")
    assert done.returncode == (3 if ending == "raise" else 0)


def test_the_engine_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    engine = script(tmp_path, "echo")
    code = f"""
    import os, signal
    from agent_eval_rpc import Client
    client = Client(transport="subprocess", cli_path={str(engine)!r})
    client.version()
    os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run_python(code).returncode == -signal.SIGKILL
    pid = int((tmp_path / "starts").read_text().split()[0])
    assert wait_until(lambda: not is_running(pid))


def test_a_fork_gets_a_line_of_its_own(place: dict[str, Any], tmp_path: Path) -> None:
    with Client(**place) as client:
        assert client.judge("parent", rubric_name="r").rationale == "parent"
        read_end, write_end = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            said = "failed"
            try:
                said = client.judge("child", rubric_name="r").rationale
            finally:
                os.write(write_end, said.encode())
                client.close()
                os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end) as reader:
            assert reader.read() == "child"
        os.waitpid(child, 0)
        assert client.judge("parent again", rubric_name="r").rationale == "parent again"
    if place["transport"] == "subprocess":
        assert len((tmp_path / "starts").read_text().splitlines()) == 2


def test_a_fork_does_not_keep_the_engine_alive(tmp_path: Path) -> None:
    with Client(transport="subprocess", cli_path=script(tmp_path, "echo")) as client:
        client.version()
        pid = int((tmp_path / "starts").read_text().split()[0])
        # Were the pipe still open in the fork, only a kill after a wait would end the engine.
        assert forked_while(client.close) < 1.5
        assert not is_running(pid)


def test_a_fork_does_not_keep_an_engine_alive_that_has_yet_to_greet(tmp_path: Path) -> None:
    with Client(transport="subprocess", cli_path=script(tmp_path, "silent")) as client:
        with pytest.raises(DeadlineExceededError):
            client.judge("x", rubric_name="r", timeout_s=1)
        assert forked_while(client.close) < 1.5
    pid = int((tmp_path / "starts").read_text().split()[0])
    assert not is_running(pid)


def test_a_session_is_watched_before_its_engine_greets(tmp_path: Path) -> None:
    one = Session([str(script(tmp_path, "silent"))])
    assert one in forks._live
    one.close()


def test_a_fork_does_not_wait_for_a_lock_that_another_thread_held() -> None:
    def answer(_path: str, _body: bytes) -> Any:
        return reply(info())

    with Server(answer) as server:
        code = f"""
        import os, signal, threading, warnings
        from agent_eval_rpc import Client
        warnings.simplefilter("ignore", DeprecationWarning)
        client = Client(base_url={server.url!r}, transport="http")
        client.version()
        pools = client._state._line.via._client._transport._pools
        held, done = threading.Event(), threading.Event()
        def hold():
            for pool in pools:
                pool._optional_thread_lock.__enter__()
            held.set()
            done.wait()
            for pool in pools:
                pool._optional_thread_lock.__exit__()
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        child = os.fork()
        if child == 0:
            print(client.version().package, flush=True)
            os._exit(0)
        # An alarm of the child's own would come too late: it would hang inside of the fork.
        alarm = threading.Timer(20, os.kill, (child, signal.SIGKILL))
        alarm.start()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        alarm.cancel()
        done.set()
        thread.join()
        client.close()
        """
        done = run_python(code)
    assert (done.stdout, done.stderr) == (f"{info()['package']}\n0\n", "")


def test_a_client_goes_to_another_process(place: dict[str, Any]) -> None:
    with Client(**place) as client:
        client.version()
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            assert pool.submit(ask, client).result(60) == "x"


@pytest.mark.parametrize("cls", [Client, AsyncClient])
def test_copies_and_pickles_have_the_options_but_not_the_connections(cls: Any) -> None:
    client = cls(base_url="http://127.0.0.1:1", timeout_s=7, max_retries=0, token="sk-t0ken")
    for twin in (copy.copy(client), copy.deepcopy(client)):
        assert repr(twin) == repr(client)
        assert twin._settings.token == "sk-t0ken"
    data = pickle.dumps(client)
    assert b"t0ken" not in data
    assert pickle.loads(data)._settings.token is None


def test_a_pickled_client_finds_its_token_where_it_lands(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(Client(token="sk-here"))
    monkeypatch.setenv("AGENT_EVAL_TOKEN", "sk-there")
    assert pickle.loads(data)._settings.token == "sk-there"


async def many(client: AsyncClient, count: int) -> None:
    asked = [client.judge(f"text {i}", rubric_name="r") for i in range(count)]
    answers = await asyncio.gather(*asked)
    assert [one.rationale for one in answers] == [f"text {i}" for i in range(count)]


def test_one_async_client_serves_one_loop_after_another(place: dict[str, Any]) -> None:
    client = AsyncClient(**place)
    for _ in range(3):
        asyncio.run(many(client, 20))
    asyncio.run(client.close())


def test_uvloop_works_too(place: dict[str, Any]) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def main() -> None:
        async with AsyncClient(**place) as client:
            await many(client, 200)

    uvloop.run(main())


def test_the_ordinary_client_works_inside_a_running_loop(place: dict[str, Any]) -> None:
    async def cell() -> str:
        with Client(**place) as client:
            return client.judge("in a notebook", rubric_name="r").rationale

    assert asyncio.run(cell()) == "in a notebook"


def test_tasks_beyond_every_limit_get_their_own_answers(place: dict[str, Any]) -> None:
    async def main() -> int:
        async with AsyncClient(**place) as client:
            await many(client, 600)
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1


def test_a_cancelled_task_stops_its_call_and_no_other(tmp_path: Path) -> None:
    async def main() -> None:
        path = script(tmp_path, "echo")
        async with AsyncClient(transport="subprocess", cli_path=path) as client:
            await client.version()
            hanging = asyncio.create_task(client.judge("hang", rubric_name="r"))
            await many(client, 5)
            hanging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await hanging
            await many(client, 5)

    asyncio.run(main())
    assert (tmp_path / "cancelled").read_text() == "2"


class Recorder:
    """A transport of the user's own."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.closed = False

    def call(self, method: str, params: dict[str, Any], timeout_s: float) -> object:
        self.calls.append((method, params))
        if params.get("rubricName") == "missing":
            raise RubricNotFoundError("No such rubric.")
        return result("recorded")

    def close(self) -> None:
        self.closed = True


def test_a_transport_object_is_used_as_it_is() -> None:
    recorder = Recorder()
    with Client(transport=recorder, timeout_s=3) as client:
        assert client.judge(content="x", rubric_name="r").rationale == "recorded"
        assert client.transport == "custom"
        with pytest.raises(RubricNotFoundError):
            client.judge("x", rubric_name="missing")
        with pytest.raises(ValidationError):
            client.judge("", rubric_name="r")
    assert recorder.closed
    method, params = recorder.calls[0]
    assert (method, params.pop("timeoutMs") in range(1_990, 2_001)) == ("judge", True)
    assert params == {"content": "x", "rubricName": "r"}
    assert len(recorder.calls) == 2


def test_a_transport_object_is_closed_by_close_alone() -> None:
    recorder = Recorder()
    client = Client(transport=recorder)
    for make in (copy.copy, copy.deepcopy):
        twin = make(client)
        twin.judge("x", rubric_name="r")
        del twin
        gc.collect()
    assert not recorder.closed
    assert client.judge("x", rubric_name="r").rationale == "recorded"
    client.close()
    assert recorder.closed


def test_an_async_transport_object_is_used_as_it_is() -> None:
    class AsyncRecorder:
        async def call(self, method: str, params: dict[str, Any], timeout_s: float) -> object:
            return info()

        async def aclose(self) -> None:
            pass

    async def main() -> str:
        async with AsyncClient(transport=AsyncRecorder()) as client:
            return (await client.version()).package

    assert asyncio.run(main()) == info()["package"]
