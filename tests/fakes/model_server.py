"""A scripted endpoint that speaks OpenAI's chat completions over real HTTP on 127.0.0.1.

Paths of other dialects (`model_dialects.py`) are answered in those, by the same scripts.

Standard library only. From Python::

    with ModelServer() as server:
        server.script([{"status": 429, "headers": [["retry-after", "1"]], "times": 2}])
        ...  # point a client at server.url
        server.requests()

From anything else: ``python tests/fakes/model_server.py [--script FILE.json] [--port N]`` prints
``{"url": "http://127.0.0.1:PORT/v1", "control": "http://127.0.0.1:PORT/__control"}`` and has

- ``POST control/script`` with a list of steps, or ``{"steps": [...], "default": {...}}``;
- ``GET control/requests`` gives ``{"calls", "connections", "open", "requests": [...]}``;
- ``POST control/reset`` forgets script and requests.

A step is an object; every key may be left out::

    match               {bodyContains, path (its end), model, method}: only such requests take it
    times               how many requests it answers: 1, or "forever"
    status, headers     200; a list of pairs, repeats allowed, null drops a default header
    reply               one of {verdict}, {content}, {message}, {json}, {raw}, {base64}, and beside
                        it encoding (gzip, br, zstd, deflate), encodingHeader (null hides it) and
                        keep (0.5 sends the first half of the bytes)
    usage, finishReason of the chat completion; usage "absent" leaves it out
    mode                "fixed" or "hash": the scores of a reply that the step does not give
    together            n: answers only once n requests are here at once (30 s at most, else drops)
    delayMs             pause before the headers
    headersThenDelayMs  pause between headers and body
    chunks              {count, delayMs}: the body in pieces with a pause before each but the first
    drop                before-headers, after-headers, mid-body or rst: how the connection ends

A request takes the first step that matches and is not used up, else the default step: a valid
verdict made from the request's own schema (or tool, or prompt), 0.8 of every scale, or by "mode":
"hash" a place on it that only messages and id decide. A recorded request has method, path, headers
(pairs), body (JSON where it is JSON), time (seconds since the start) and outcome: "pending",
"answered", "dropped" or "client-gone". A new script replaces the old one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

from model_connection import CONTROL, Connection, GoneError
from model_reply import check_step

if TYPE_CHECKING:
    from model_wire import Json


class ModelServer:
    """The endpoint, in threads of this process."""

    def __init__(self, port: int = 0) -> None:
        self._lock = threading.Lock()
        self._steps: list[Json] = []
        self._default: Json = {}
        self._requests: list[Json] = []
        self._connections = 0
        self._open: dict[socket.socket, threading.Thread] = {}
        self._started = time.monotonic()
        self.closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.origin}/v1"
        self.control = f"{self.origin}{CONTROL}".rstrip("/")
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def script(self, steps: list[Json], default: Json | None = None) -> None:
        """Sets the steps for the requests to come, and the default when one is given."""
        prepared = [_prepared(step) for step in steps]
        prepared_default = None if default is None else _prepared(default)
        with self._lock:
            self._open_gates()
            self._steps = prepared
            if prepared_default is not None:
                self._default = prepared_default

    def requests(self) -> list[Json]:
        """What has arrived, in order."""
        with self._lock:
            return [dict(request) for request in self._requests]

    def stats(self) -> Json:
        """Counts and requests, as the control path gives them."""
        with self._lock:
            return {
                "calls": len(self._requests),
                "connections": self._connections,
                "open": len(self._open),
                "requests": [dict(request) for request in self._requests],
            }

    @property
    def calls(self) -> int:
        """Requests since the last reset."""
        with self._lock:
            return len(self._requests)

    @property
    def connections(self) -> int:
        """Connections that carried a request since the last reset."""
        with self._lock:
            return self._connections

    def reset(self) -> None:
        """Forgets script, requests and counts."""
        with self._lock:
            self._open_gates()
            self._steps, self._default, self._requests, self._connections = [], {}, [], 0

    def close(self) -> None:
        """Ends at once, whatever is being served."""
        with self._lock:
            self.closing.set()
            self._open_gates()
            serving = dict(self._open)
        for sock in [self._listener, *serving]:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in [self._acceptor, *serving.values()]:
            thread.join(timeout=5)

    def _open_gates(self) -> None:
        for step in [*self._steps, self._default]:
            if "_gate" in step:
                step["_gate"].abort()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            with self._lock:
                if self.closing.is_set():
                    sock.close()
                    return
                self._open[sock] = thread
                thread.start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            Connection(self, sock).run()
        except (OSError, GoneError):
            pass
        finally:
            with self._lock:
                self._open.pop(sock, None)
            sock.close()

    def answer_control(self, method: str, action: str, body: bytes) -> Json | None:
        """Answers a control request; None for a path that is not there."""
        if (method, action) == ("GET", "requests"):
            return self.stats()
        if (method, action) == ("POST", "reset"):
            self.reset()
            return {}
        if (method, action) == ("POST", "script"):
            script = json.loads(body)
            script = script if isinstance(script, dict) else {"steps": script}
            self.script(script.get("steps", []), script.get("default"))
            return {}
        return None

    def note(self, request: Json, *, first: bool) -> Json:
        """Records a request and chooses its step."""
        with self._lock:
            self._connections += first
            request["time"] = time.monotonic() - self._started
            self._requests.append(request)
            for step in self._steps:
                if step["_left"] != 0 and _matches(step.get("match", {}), request):
                    if step["_left"] != "forever":
                        step["_left"] -= 1
                    return step
            return self._default

    def finish(self, request: Json, outcome: str) -> None:
        """Records how a request ended."""
        with self._lock:
            request["outcome"] = outcome


def _prepared(step: Json) -> Json:
    """A checked copy with what is counted while it is used."""
    prepared = {**check_step(step), "_left": step.get("times", 1)}
    if "together" in step:
        prepared["_gate"] = threading.Barrier(step["together"])
    return prepared


def _matches(match: Json, request: Json) -> bool:
    if request["method"] != match.get("method", "POST"):
        return False
    body = request["body"]
    if "bodyContains" in match:
        text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        if match["bodyContains"] not in text:
            return False
    if "path" in match and not request["path"].endswith(match["path"]):
        return False
    return "model" not in match or (isinstance(body, dict) and body.get("model") == match["model"])


def main() -> None:
    """Serves until it is stopped."""
    parser = argparse.ArgumentParser(description="Scripted OpenAI-compatible endpoint for tests.")
    parser.add_argument("--script", help="JSON file with a list of steps")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--until-eof",
        action="store_true",
        help="stop when standard input ends, so as not to outlive the process that started it",
    )
    options = parser.parse_args()
    with ModelServer(options.port) as server:
        if options.script:
            with open(options.script, encoding="utf-8") as file:
                server.script(json.load(file))
        sys.stdout.write(json.dumps({"url": server.url, "control": server.control}) + "\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            if options.until_eof:
                sys.stdin.read()
            else:
                server.closing.wait()


if __name__ == "__main__":
    main()
