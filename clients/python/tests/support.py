"""Things that several tests use."""

import asyncio
import http.server
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_eval_rpc import AsyncClient, Client, __version__
from agent_eval_rpc._generated.methods import PACKAGE, WIRE_VERSION

ROOT = Path(__file__).resolve().parents[3]


def vectors(name: str) -> list[Any]:
    """Cases that both languages read; those of one language only name it."""
    cases = json.loads((ROOT / "tests" / "vectors" / f"{name}.json").read_text("utf-8"))
    return [
        pytest.param(case, id=case["name"])
        for case in cases
        if "python" in case.get("languages", ["python"])
    ]


def result(rationale: str = "r", **fields: Any) -> dict[str, Any]:
    """A verdict as the engine gives it."""
    return {
        "composite": 0.5,
        "dimensions": {"quality": 0.5},
        "failureModes": [],
        "wins": [],
        "rationale": rationale,
        "rubricVersion": "r@sha256-rfc8785:00",
        "model": "m",
        "durationMs": 3,
        "usage": {"inputTokens": 1, "outputTokens": 2, "costUsd": None},
        "cached": False,
        "attempts": 1,
        "judgeVersion": "v",
        "scoreMode": "text",
        "replyMode": "json_schema",
        "droppedParams": [],
        "warnings": [],
        "notAssessed": [],
        **fields,
    }


def info(**fields: Any) -> dict[str, Any]:
    """What an engine says about itself."""
    return {
        "package": PACKAGE,
        "version": __version__,
        "wireVersion": WIRE_VERSION,
        "apiSurface": ["judge", "version"],
        **fields,
    }


class AsyncFacade:
    """An AsyncClient that a test uses like a Client."""

    def __init__(self, client: AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
        self._client = client
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._client, name)
        if not callable(value):
            if value is None:
                self._loop.run_until_complete(self._client.resolve())
            return getattr(self._client, name)
        return lambda *args, **kwargs: self._loop.run_until_complete(value(*args, **kwargs))


def script(folder: Path, mode: str) -> Path:
    """Writes an engine of ours that behaves as the mode says; see stand_in.py."""
    path = folder / f"engine-{mode}"
    path.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        f"import stand_in\nstand_in.main({mode!r}, {str(folder)!r})\n",
        "utf-8",
    )
    path.chmod(0o755)
    return path


Reply = tuple[int, dict[str, str], bytes]


class Server:
    """An HTTP server on loopback that answers as a function says, and keeps what it was sent."""

    def __init__(self, answer: Callable[[str, bytes], Reply | None]) -> None:
        requests: list[tuple[str, dict[str, str], bytes]] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                requests.append((self.path, dict(self.headers.items()), body))
                reply = answer(self.path, body)
                if reply is None:
                    self.close_connection = True
                    return
                status, headers, content = reply
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = _answer

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.requests = requests

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True
            # More callers at a time than the usual 5 that may wait.
            request_queue_size = 512

        self._server = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def reply(value: object, status: int = 200, **headers: str) -> Reply:
    """A JSON answer."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return status, {"content-type": "application/json", **named}, json.dumps(value).encode()


def error(code: str, message: str = "m") -> dict[str, Any]:
    """An error as the engine gives it."""
    return {"error": {"code": code, "message": message, "details": {}}}


def ask(client: Client) -> str:
    """Judges and closes; another process can import this."""
    with client:
        return client.judge("x", rubric_name="r").rationale
