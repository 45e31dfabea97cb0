"""A server that was killed and started again."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from scripted_trainer import CHAT, COMPLETED, Agent, trainer

from osmosis_ai.rollout import create_app
from osmosis_ai.rollout.server import records
from osmosis_ai.rollout.server.records import Records, RecordsError

HERE = Path(__file__).parent
PATHS = os.pathsep.join([str(HERE), str(HERE.parent)])


class Server:
    """The process, on one port, with one file."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.file = folder / "rollouts.sqlite"
        self.http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", timeout=20)

    async def start(self, turn_s: float) -> None:
        script = str(HERE / "restarted_server.py")
        self.process = subprocess.Popen(
            [sys.executable, script, str(self.port), str(self.file), str(turn_s)],
            env={**os.environ, "PYTHONPATH": PATHS},
        )
        for _ in range(400):
            assert self.process.poll() is None
            try:
                await self.http.get("/health")
            except httpx.TransportError:
                await asyncio.sleep(0.05)
            else:
                return
        raise AssertionError("the server did not start")

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        return self.process.wait(20)

    async def init(self, url: str, rollout_id: str, **more: Any) -> httpx.Response:
        body = {"rollout_id": rollout_id, "server_url": url, "messages": [], **more}
        return await self.http.post("/v1/rollout/init", json={**body, "completion_params": {}})


def test_a_killed_server_runs_nothing_twice_and_tells_what_it_left_open(tmp_path: Path) -> None:
    async def test() -> None:
        server = Server(tmp_path)
        async with trainer() as one:
            await server.start(0)
            first = await server.init(one.url, "done", idempotency_key="k")
            assert first.status_code == 202
            await one.terminal()
            server.end(signal.SIGKILL)
            await server.start(60)
            # It ended before the kill: the same answer, no second run.
            again = await server.init(one.url, "done", idempotency_key="k")
            assert (again.status_code, again.json()) == (202, first.json())
            await server.init(one.url, "open")
            await server.init(one.url, "with key", api_key="secret-canary")
            while len(one.got(CHAT)) < 3:
                await asyncio.sleep(0.01)
            server.end(signal.SIGKILL)
            await server.start(60)
            # A trainer without a key is told at once, one with a key when it asks again.
            ended = {end["rollout_id"]: end for end in await one.terminal(2)}
            assert "restarted" in ended["open"]["error_message"]
            for _ in range(2):
                answer = await server.init(one.url, "with key", api_key="secret-canary")
                assert answer.status_code == 202
            assert (await server.init(one.url, "open")).status_code == 202
            ended = {end["rollout_id"]: end for end in await one.terminal(3)}
            assert ended["with key"]["status"] == "ERROR"
            assert ended["done"]["status"] == "COMPLETED"
            assert len(one.got(CHAT)) == 3
            keys = [
                one.headers.get("authorization") for one in one.requests if one.path == COMPLETED
            ]
            assert keys == [None, None, "Bearer secret-canary"]
            assert server.end(signal.SIGTERM) in {0, -signal.SIGTERM}
            files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
            assert b"secret-canary" not in files
            assert server.file.stat().st_mode & 0o077 == 0
        await server.http.aclose()

    asyncio.run(test())


def test_a_record_that_can_not_be_used_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_LOCK_S", 0.1)
    file = tmp_path / "deep" / "rollouts.sqlite"
    first = Records(file)
    with pytest.raises(RecordsError, match="in use by another server"):
        create_app(Agent(), record_path=file)
    first.close()
    Records(file).close()
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(RecordsError, match="is no record of rollouts"):
        Records(file)
    with pytest.raises(RecordsError, match="can't be written"):
        Records(tmp_path)


def test_a_message_that_was_on_its_way_is_sent_again_unchanged(tmp_path: Path) -> None:
    async def test() -> None:
        server = Server(tmp_path)
        async with trainer(completed=[{"how": "hang"}]) as one:
            await server.start(0)
            await server.init(one.url, "r")
            while not one.got(COMPLETED):
                await asyncio.sleep(0.01)
            server.end(signal.SIGKILL)
            await server.start(0)
            while len(one.got(COMPLETED)) < 2:
                await asyncio.sleep(0.01)
            (terminal,) = await one.terminal()
            assert terminal["status"] == "COMPLETED"
            server.end(signal.SIGTERM)
        await server.http.aclose()

    asyncio.run(test())
