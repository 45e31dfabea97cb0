"""The HTTP transport, and the choice between it and stdio."""

import contextlib
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_eval_rpc import (
    AuthenticationError,
    Client,
    DeadlineExceededError,
    ProviderError,
    RateLimitError,
    RubricNotFoundError,
    ServiceUnavailableError,
    TransportError,
)
from agent_eval_rpc._transports import auto
from agent_eval_rpc._transports.http import KEEPALIVE_S
from support import ROOT, Reply, Server, error, info, reply, result, script

Make = Callable[..., Client]
Answer = Callable[[str, bytes], Reply | None]


def engine(judge: Answer | None = None) -> Server:
    """A server that greets as ours does, and judges as told."""

    def answer(path: str, body: bytes) -> Reply | None:
        if path == "/v1/version":
            return reply(info())
        if judge is not None:
            return judge(path, body)
        return reply(result(json.loads(body)["content"]))

    return Server(answer)


def in_turn(*replies: Reply | None) -> Answer:
    left = list(replies)
    return lambda _path, _body: left.pop(0) if len(left) > 1 else left[0]


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_healthy_server_is_used(make_client: Make) -> None:
    with engine() as server:
        client = make_client(base_url=server.url + "/", token="t0ken")
        verdict = client.judge("naïve \u2028", rubric_name="r", context={"a": None}, timeout_s=10)
        assert verdict.rationale == "naïve \u2028"
        assert (client.transport, client.transport_reason) == (
            "http",
            f"a server answers at {server.url}",
        )
        path, headers, body = server.requests[-1]
        sent = json.loads(body)
        assert (path, headers["authorization"]) == ("/v1/judge", "Bearer t0ken")
        assert headers["content-type"] == "application/json"
        assert 8_900 <= sent.pop("timeoutMs") <= 9_000
        assert sent == {"content": "naïve \u2028", "rubricName": "r", "context": {"a": None}}
        assert [path for path, _, _ in server.requests] == ["/v1/version", "/v1/judge"]


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (reply({"name": "other"}), "another program answers there"),
        (reply(info(package="other")), "another program answers there"),
        (reply(info(wireVersion="2.0.0")), "wire version 2.0.0"),
        ((200, {"content-type": "text/html"}, b"<html>"), "is not an agent-eval"),
        ((404, {}, b"not here"), "is not an agent-eval"),
        ((500, {}, b""), "is not an agent-eval"),
        (None, "is not an agent-eval"),
    ],
)
def test_another_program_on_the_port_is_passed_over_by_auto_and_refused_by_http(
    make_client: Make, tmp_path: Path, greeting: Reply | None, reason: str
) -> None:
    with Server(lambda _path, _body: greeting) as server:
        client = make_client(base_url=server.url, cli_path=script(tmp_path, "echo"))
        assert client.judge("x", rubric_name="r").rationale == "x"
        assert client.transport == "subprocess"
        assert reason in client.transport_reason
        with pytest.raises(TransportError, match="Cannot use HTTP") as caught:
            make_client(base_url=server.url, transport="http").version()
        assert reason in caught.value.message


def test_a_server_that_hangs_is_passed_over(
    make_client: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto, "PROBE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        client = make_client(base_url=url, cli_path=script(tmp_path, "echo"))
        assert client.judge("x", rubric_name="r").rationale == "x"
        assert client.transport_reason == f"the server at {url} did not answer within 0.2 s"


def test_no_server_means_stdio_for_auto_and_an_error_for_http(
    make_client: Make, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    client = make_client(base_url=url, cli_path=script(tmp_path, "echo"))
    assert client.transport_reason == f"no server at {url}"
    with pytest.raises(TransportError, match=r"no server.*agent-eval serve") as caught:
        make_client(base_url=url, transport="http", max_retries=0).version()
    assert (caught.value.retryable, caught.value.status) == (True, None)


def test_a_server_that_is_just_starting_is_waited_for(make_client: Make) -> None:
    port = closed_port()
    client = make_client(base_url=f"http://127.0.0.1:{port}", transport="http", max_retries=20)
    child: list[subprocess.Popen[bytes]] = []
    code = (
        "import sys, json, http.server as h\n"
        "class H(h.BaseHTTPRequestHandler):\n"
        "  def do_GET(self):\n"
        f"    self.send_response(200); self.end_headers(); self.wfile.write({reply(info())[2]!r})\n"
        "  def log_message(self, *a): pass\n"
        f"h.HTTPServer(('127.0.0.1', {port}), H).serve_forever()\n"
    )
    starter = threading.Timer(
        0.1, lambda: child.append(subprocess.Popen([sys.executable, "-c", code]))
    )
    starter.start()
    try:
        assert client.version().package == info()["package"]
    finally:
        starter.join()
        child[0].kill()
        child[0].wait()


def test_a_refused_token_is_an_error_and_no_reason_to_fall_back(
    make_client: Make, tmp_path: Path
) -> None:
    refusal = reply(error("unauthorized"), 401)
    with engine(lambda _path, _body: refusal) as server:
        client = make_client(base_url=server.url, cli_path=script(tmp_path, "echo"), token="wr0ng")
        with pytest.raises(AuthenticationError) as caught:
            client.judge("x", rubric_name="r")
        assert (caught.value.code, caught.value.status) == ("unauthorized", 401)
        assert "wr0ng" not in f"{caught.value!r}"
    with Server(lambda _path, _body: refusal) as guarded:
        client = make_client(base_url=guarded.url, cli_path=script(tmp_path, "echo"))
        with pytest.raises(AuthenticationError):
            client.judge("x", rubric_name="r")


@pytest.mark.parametrize(
    ("code", "status", "cls", "calls"),
    [
        ("rubric_not_found", 404, RubricNotFoundError, 1),
        ("provider_error", 502, ProviderError, 1),
        ("rate_limited", 503, RateLimitError, 1),
        ("timeout", 504, DeadlineExceededError, 1),
        ("overloaded", 503, ServiceUnavailableError, 3),
        ("service_unavailable", 503, ServiceUnavailableError, 3),
    ],
)
def test_errors_are_raised_and_only_what_was_not_taken_is_sent_again(
    make_client: Make, code: str, status: int, cls: type[Exception], calls: int
) -> None:
    with engine(lambda _path, _body: reply(error(code), status)) as server:
        client = make_client(base_url=server.url)
        with pytest.raises(cls):
            client.judge("x", rubric_name="r")
        assert len(server.requests) == 1 + calls


def test_a_busy_server_is_asked_again(make_client: Make) -> None:
    busy = reply(error("overloaded"), 503, retry_after="0")
    with engine(in_turn(busy, busy, reply(result("done")))) as server:
        assert make_client(base_url=server.url).judge("x", rubric_name="r").rationale == "done"
        assert len(server.requests) == 4


def test_a_wait_past_the_deadline_is_not_waited(make_client: Make) -> None:
    busy = reply(error("overloaded"), 503, retry_after="60")
    with engine(in_turn(busy)) as server:
        started = time.monotonic()
        with pytest.raises(ServiceUnavailableError) as caught:
            make_client(base_url=server.url).judge("x", rubric_name="r", timeout_s=30)
        assert time.monotonic() - started < 20
        assert caught.value.details == {"retryAfterMs": 60_000}


def test_a_connection_lost_during_a_call_is_not_sent_again(make_client: Make) -> None:
    with engine(in_turn(None)) as server:
        with pytest.raises(TransportError, match="broke during the call") as caught:
            make_client(base_url=server.url).judge("x", rubric_name="r")
        assert caught.value.details == {"reason": "connection_lost"}
        assert len(server.requests) == 2


def test_a_deadline_holds(make_client: Make) -> None:
    release = threading.Event()

    def slow(_path: str, _body: bytes) -> Reply | None:
        release.wait(20)
        return None

    with engine(slow) as server:
        client = make_client(base_url=server.url)
        try:
            with pytest.raises(DeadlineExceededError, match=r"within 0\.2 s") as caught:
                client.judge("x", rubric_name="r", timeout_s=0.2)
        finally:
            release.set()
        assert (caught.value.code, isinstance(caught.value, TimeoutError)) == ("timeout", True)


def trickle(start: bytes, stop: threading.Event) -> socket.socket:
    """A server that answers every connection with a byte now and then, for ever."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(one: socket.socket) -> None:
        with one, contextlib.suppress(OSError):
            one.sendall(start)
            while not stop.wait(0.05):
                one.sendall(b"x")

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                one, _ = listener.accept()
                threading.Thread(target=serve, args=(one,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener


# Behind a proxy httpx alone reads the headers.
@pytest.mark.parametrize(
    ("place", "proxied"), [("headers", False), ("body", False), ("body", True)]
)
def test_a_server_that_trickles_is_given_up_at_the_deadline(
    make_client: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, proxied: bool
) -> None:
    monkeypatch.setattr(auto, "PROBE_S", 0.4)
    end = b"\r\n" if place == "body" else b"x-slow: "
    stop = threading.Event()
    with trickle(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n" + end, stop) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        if proxied:
            monkeypatch.setenv("http_proxy", url)
            url = "http://judge.invalid"
        began = time.monotonic()
        client = make_client(base_url=url, cli_path=script(tmp_path, "echo"))
        assert client.transport_reason == f"the server at {url} did not answer within 0.4 s"
        assert time.monotonic() - began < 4
        stop.set()


def test_idle_connections_are_dropped_before_the_server_drops_them() -> None:
    listen = (ROOT / "packages" / "agent-eval" / "src" / "http" / "listen.ts").read_text("utf-8")
    found = re.search(r"KEEP_ALIVE_MS = ([\d_]+)", listen)
    assert found is not None
    assert 30 <= KEEPALIVE_S <= int(found[1]) / 1000 - 10


@pytest.mark.parametrize("answer", [(200, {}, b"<html>"), (200, {}, b""), (302, {}, b"")])
def test_an_answer_that_is_no_result_is_an_error(make_client: Make, answer: Reply) -> None:
    with engine(in_turn(answer)) as server, pytest.raises(TransportError):
        make_client(base_url=server.url).judge("x", rubric_name="r")


def test_redirects_are_not_followed_with_the_token(make_client: Make) -> None:
    with Server(lambda _path, _body: reply(info())) as other:
        away: Reply = (307, {"location": other.url + "/v1/judge"}, b"")
        with engine(in_turn(away)) as server:
            client = make_client(base_url=server.url, token="t0ken")
            with pytest.raises(TransportError, match="status 307"):
                client.judge("x", rubric_name="r")
        assert other.requests == []


def test_names_are_quoted_in_paths(make_client: Make) -> None:
    detail = {"rubric": None, "rubricVersion": "v"}
    with engine(in_turn(reply(detail))) as server:
        with pytest.raises(TransportError):
            make_client(base_url=server.url).get_rubric("../a b?c")
        assert server.requests[-1][0] == "/v1/rubrics/..%2Fa%20b%3Fc"


def test_a_server_with_a_path_prefix_works(make_client: Make) -> None:
    def answer(path: str, _body: bytes) -> Reply:
        return reply(info()) if path == "/judge/v1/version" else reply(result("prefixed"))

    with Server(answer) as server:
        client = make_client(base_url=f"{server.url}/judge/", transport="http")
        assert client.judge("x", rubric_name="r").rationale == "prefixed"
        assert server.requests[-1][0] == "/judge/v1/judge"


def test_a_closed_client_says_so(make_client: Make) -> None:
    with engine() as server:
        client = make_client(base_url=server.url)
        client.version()
        client.close()
        with pytest.raises(TransportError, match="closed"):
            client.version()


def test_a_proxy_is_used_for_other_hosts_only(
    make_client: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine() as proxy, engine() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        client: Any = make_client(base_url=server.url)
        assert client.judge("direct", rubric_name="r").rationale == "direct"
        assert proxy.requests == []

    def answer(path: str, _body: bytes) -> Reply:
        return reply(info() if path.endswith("/v1/version") else result("by proxy"))

    with Server(answer) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        client = make_client(base_url="http://judge.invalid", transport="http")
        assert client.judge("x", rubric_name="r").rationale == "by proxy"
        assert proxy.requests[-1][0] == "http://judge.invalid/v1/judge"
