"""The built engine as processes: one command, or a server."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "packages" / "agent-eval" / "dist" / "engine" / "main.cjs"
NODE = ["node", "--max-semi-space-size=4", str(ENGINE)]

RUBRIC: dict[str, Any] = {
    "name": "plain",
    "description": "Judges plainness.",
    "systemPrompt": "Judge how plain the text is.",
    "dimensions": [{"id": "quality", "description": "The text is plain."}],
}


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def run(
    *args: str,
    env: dict[str, str],
    stdin: str = "",
    cwd: Path | None = None,
    timeout: float = 60,
) -> Ran:
    """Runs `agent-eval` to its end."""
    done = subprocess.run(
        [*NODE, *args],
        env=env,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        timeout=timeout,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


class Server:
    """`agent-eval serve` on a free port."""

    def __init__(self, env: dict[str, str], *args: str) -> None:
        self.process = subprocess.Popen(
            [*NODE, "serve", "--port", "0", *args],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("agent-eval listening on "), line or self.process.communicate()[1]
        self.url = line.split()[-1]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> Ran:
        """Ends the server and tells what it said."""
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=30)
        return Ran(self.process.returncode, out, err)


@pytest.fixture
def server(engine_env: dict[str, str]) -> Iterator[Server]:
    """A server that judges with the fake endpoint."""
    running = Server(engine_env)
    yield running
    if running.process.poll() is None:
        running.stop()


@pytest.fixture
def free_home(tmp_path: Path) -> Path:
    """An empty folder for local models."""
    return tmp_path / "home"


def judge_params(content: str = "The cat sat.", **more: object) -> str:
    """A judge request with a rubric of its own, as JSON."""
    return json.dumps({"rubric": RUBRIC, "content": content, **more})
