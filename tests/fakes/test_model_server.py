"""The fake endpoint does what its script says: every other test leans on that."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer
from model_wire import ENCODERS

SCHEMA = {
    "type": "object",
    "properties": {
        "rationale": {"type": "string"},
        "dimensions": {
            "type": "object",
            "properties": {
                "quality": {"type": "number", "minimum": 0, "maximum": 1},
                "depth": {"type": "number", "minimum": 1, "maximum": 11},
            },
        },
        "failureModes": {"type": "array", "items": {"enum": ["vague"]}},
        "wins": {"type": "array", "items": {"enum": ["exact"]}},
    },
}
REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "text"}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "v", "schema": SCHEMA}},
}
VERDICT = {"rationale": "r", "dimensions": {"quality": 0.2}, "failureModes": [], "wins": []}


@pytest.fixture
def server(model_server: ModelServer) -> ModelServer:
    return model_server


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.getheaders()
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> Any:
        return self.json["choices"][0]["message"]


def connect(server: ModelServer, timeout: float = 10) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)


def ask(
    server: ModelServer,
    body: Any = REQUEST,
    path: str = "/v1/chat/completions",
    method: str = "POST",
) -> Answer:
    connection = connect(server)
    try:
        connection.request(method, path, body if isinstance(body, str) else json.dumps(body))
        return Answer(connection.getresponse())
    finally:
        connection.close()


def test_unscripted_request_gets_a_valid_verdict_for_its_schema(server: ModelServer) -> None:
    answer = ask(server)
    verdict = json.loads(answer.message["content"])
    assert verdict == {
        "rationale": "Scripted.",
        "dimensions": {"quality": 0.8, "depth": 9.0},
        "failureModes": [],
        "wins": [],
    }
    assert answer.json["choices"][0]["finish_reason"] == "stop"
    assert answer.json["model"] == "m"
    assert answer.json["usage"]["prompt_tokens"] > 0


def test_forced_tool_is_answered_with_its_arguments(server: ModelServer) -> None:
    tool = {"type": "function", "function": {"name": "verdict", "parameters": SCHEMA}}
    answer = ask(server, {"model": "m", "messages": [], "tools": [tool]})
    call = answer.message["tool_calls"][0]["function"]
    assert call["name"] == "verdict"
    assert json.loads(call["arguments"])["dimensions"]["depth"] == 9.0
    assert answer.json["choices"][0]["finish_reason"] == "tool_calls"


def test_prompt_names_the_dimensions_when_there_is_no_schema(server: ModelServer) -> None:
    lines = ['- "quality", a number from 0 to 10: how', '- "qua \\"x", a number from -1 to 1: y']
    messages = [{"role": "system", "content": "\n".join(["Score:", *lines])}]
    verdict = json.loads(ask(server, {"model": "m", "messages": messages}).message["content"])
    assert verdict["dimensions"] == {"quality": 8.0, 'qua "x': 0.6}


def test_hash_mode_depends_on_the_text_alone(server: ModelServer) -> None:
    server.script([], default={"mode": "hash"})
    texts = [f"text {index}" for index in range(20)]

    def scores(text: str) -> Any:
        body = {**REQUEST, "messages": [{"role": "user", "content": text}]}
        return json.loads(ask(server, body).message["content"])["dimensions"]

    first = [scores(text) for text in texts]
    assert first == [scores(text) for text in texts]
    assert len({value["quality"] for value in first}) > 10
    assert all(0 <= value["quality"] <= 1 and 1 <= value["depth"] <= 11 for value in first)


def test_steps_are_used_in_order_and_then_the_default(server: ModelServer) -> None:
    server.script([
        {"status": 503},
        {"status": 429, "headers": [["retry-after", "1"], ["retry-after", "2"]], "times": 2},
    ])  # fmt: skip
    answers = [ask(server) for _ in range(4)]
    assert [answer.status for answer in answers] == [503, 429, 429, 200]
    repeated = [value for name, value in answers[1].headers if name == "retry-after"]
    assert repeated == ["1", "2"]
    assert answers[0].json["error"]["message"] == "scripted status 503"


def test_a_step_is_taken_only_by_what_it_matches(server: ModelServer) -> None:
    server.script(
        [
            {"match": {"bodyContains": "poison"}, "status": 500, "times": "forever"},
            {"match": {"model": "other"}, "reply": {"content": "other"}, "times": "forever"},
            {"match": {"path": "/elsewhere"}, "reply": {"content": "here"}},
            {"match": {"method": "GET", "path": "/models"}, "reply": {"json": {"data": [1]}}},
        ]
    )
    poisoned = {**REQUEST, "messages": [{"role": "user", "content": "a poison ü"}]}
    assert [ask(server, poisoned).status for _ in range(3)] == [500, 500, 500]
    assert ask(server, {**REQUEST, "model": "other"}).message["content"] == "other"
    assert ask(server, path="/v1/elsewhere").message["content"] == "here"
    assert ask(server, method="GET", path="/v1/models").json == {"data": [1]}
    assert ask(server).status == 200


def test_paths_that_no_endpoint_has_are_not_found(server: ModelServer) -> None:
    assert ask(server, path="/chat").status == 404
    assert ask(server, path="/v1/chat/completions?api-version=1").status == 200
    assert ask(server, method="GET", path="/v1/models").json == {"object": "list", "data": []}


def test_replies_of_every_kind(server: ModelServer) -> None:
    server.script(
        [
            {"reply": {"verdict": VERDICT}},
            {"reply": {"content": "words"}, "finishReason": "length", "usage": None},
            {"reply": {"message": {"content": "", "refusal": "no"}}, "usage": "absent"},
            {"reply": {"json": {"choices": []}}, "usage": {"prompt_tokens": 1}},
            {"reply": {"raw": "<html>"}, "headers": [["content-type", "text/html"]]},
            {"reply": {"base64": "/wA="}, "headers": [["Content-Type", None]]},
            {"reply": {"raw": "\ud800"}},
        ]
    )
    assert json.loads(ask(server).message["content"]) == VERDICT
    words = ask(server).json
    assert words["choices"][0]["finish_reason"] == "length"
    assert words["usage"] is None
    refusal = ask(server)
    assert refusal.message == {"role": "assistant", "content": "", "refusal": "no"}
    assert "usage" not in refusal.json
    assert ask(server).json == {"choices": []}
    page = ask(server)
    assert (page.body, dict(page.headers)["content-type"]) == (b"<html>", "text/html")
    binary = ask(server)
    assert binary.body == b"\xff\x00"
    assert "content-type" not in dict(binary.headers)
    assert ask(server).body == b"\xed\xa0\x80"


def test_usage_can_be_given(server: ModelServer) -> None:
    server.script([{"usage": {"prompt_tokens": 5, "completion_tokens": None}}])
    assert ask(server).json["usage"] == {"prompt_tokens": 5, "completion_tokens": None}


def test_gzip_in_all_its_wrong_forms(server: ModelServer) -> None:
    raw = "x" * 5000
    server.script(
        [
            {"reply": {"raw": raw, "encoding": "gzip"}},
            {"reply": {"raw": raw, "encoding": "gzip", "encodingHeader": None}},
            {"reply": {"raw": raw}, "headers": [["content-encoding", "gzip"]]},
            {"reply": {"raw": raw, "encoding": "gzip", "keep": 0.5}},
        ]
    )
    whole = ask(server)
    assert gzip.decompress(whole.body).decode() == raw
    assert dict(whole.headers)["content-encoding"] == "gzip"
    silent = ask(server)
    assert gzip.decompress(silent.body).decode() == raw
    assert "content-encoding" not in dict(silent.headers)
    lying = ask(server)
    assert lying.body.decode() == raw
    assert dict(lying.headers)["content-encoding"] == "gzip"
    with pytest.raises(EOFError):
        gzip.decompress(ask(server).body)


NODE_READS = """
const zlib = require('node:zlib');
const { encoding, bodies } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
const read = { br: zlib.brotliDecompressSync, zstd: zlib.zstdDecompressSync,
  deflate: zlib.inflateSync }[encoding];
const texts = bodies.map((body) => read?.(Buffer.from(body, 'base64')).toString());
process.stdout.write(JSON.stringify(texts));
"""


ZSTD_BODIES_READ = "0a58369806ff3ac1ae9dd8a87eee3743711898d3aaf2367c17c4fe81bc73fd8e"


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate"])
def test_other_encodings_are_read_by_a_real_decoder(encoding: str) -> None:
    texts = ["x" * size for size in [0, 10, 65_519, 65_520, 65_521, 65_536, 200_000]]
    bodies = [b64encode(ENCODERS[encoding](text.encode())).decode() for text in texts]
    read = subprocess.run(
        ["node", "-e", NODE_READS],
        input=json.dumps({"encoding": encoding, "bodies": bodies}).encode(),
        capture_output=True,
        check=True,
        timeout=60,
    ).stdout
    if encoding == "zstd" and json.loads(read) == [None] * len(texts):
        # Node 20 has no zstd: then at least these are the bytes that a newer Node has read.
        assert hashlib.sha256("".join(bodies).encode()).hexdigest() == ZSTD_BODIES_READ
    else:
        assert json.loads(read) == texts


def test_requests_are_recorded(server: ModelServer) -> None:
    ask(server)
    ask(server, "not JSON")
    first, second = server.requests()
    assert (first["method"], first["path"]) == ("POST", "/v1/chat/completions")
    assert first["body"] == REQUEST
    assert second["body"] == "not JSON"
    assert ["Host", f"127.0.0.1:{server.port}"] in first["headers"]
    assert 0 <= first["time"] <= second["time"]
    assert {first["outcome"], second["outcome"]} == {"answered"}
    assert (server.calls, server.connections) == (2, 2)
    server.reset()
    assert (server.calls, server.connections, server.requests()) == (0, 0, [])


def test_a_connection_carries_many_requests(server: ModelServer) -> None:
    connection = connect(server)
    for _ in range(5):
        connection.request("POST", "/v1/chat/completions", json.dumps(REQUEST))
        assert Answer(connection.getresponse()).status == 200
    connection.close()
    assert (server.calls, server.connections) == (5, 1)


def test_chunked_requests_are_read(server: ModelServer) -> None:
    connection = connect(server)
    parts = iter([b'{"model":', b'"m","messages":[]}'])
    connection.request("POST", "/v1/chat/completions", parts, encode_chunked=True)
    assert Answer(connection.getresponse()).status == 200
    connection.close()
    assert server.requests()[0]["body"] == {"model": "m", "messages": []}


def test_connection_close_is_honoured(server: ModelServer) -> None:
    server.script([{"headers": [["connection", "close"]]}])
    connection = connect(server)
    connection.request("POST", "/v1/chat/completions", json.dumps(REQUEST))
    with connection.sock.dup() as copy:
        assert Answer(connection.getresponse()).status == 200
        connection.close()
        copy.settimeout(5)
        while copy.recv(65_536):
            pass
    assert server.calls == 1


@pytest.mark.parametrize(
    ("step", "least"),
    [
        ({"delayMs": 300}, 0.3),
        ({"headersThenDelayMs": 300}, 0.3),
        ({"chunks": {"count": 4, "delayMs": 100}}, 0.3),
        ({"chunks": {"count": 4}}, 0),
    ],
)
def test_delays_are_kept_and_the_answer_is_whole(
    server: ModelServer, step: dict[str, Any], least: float
) -> None:
    server.script([step])
    started = time.monotonic()
    assert json.loads(ask(server).message["content"])["dimensions"]["quality"] == 0.8
    assert least <= time.monotonic() - started < least + 5


def test_headers_come_before_their_delay(server: ModelServer) -> None:
    server.script([{"headersThenDelayMs": 60_000}])
    connection = connect(server)
    connection.request("POST", "/v1/chat/completions", json.dumps(REQUEST))
    assert connection.getresponse().status == 200
    connection.close()


def received(server: ModelServer) -> bytes:
    """What arrives on a plain socket until the connection ends."""
    body = json.dumps(REQUEST).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        sock.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body)
        )
        sock.sendall(body)
        data = b""
        while piece := sock.recv(65_536):
            data += piece
        return data


def test_drops(server: ModelServer) -> None:
    drops = ["before-headers", "after-headers", "mid-body"]
    server.script([{"drop": drop} for drop in [*drops, "rst"]])
    assert received(server) == b""
    head, _, rest = received(server).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert rest == b""
    head, _, rest = received(server).partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    assert len(rest) == length // 2
    with pytest.raises(ConnectionResetError):
        received(server)
    assert [request["outcome"] for request in server.requests()] == ["dropped"] * 4


def test_a_client_that_goes_away_is_noticed_at_once(server: ModelServer) -> None:
    server.script([{"delayMs": 60_000}, {"chunks": {"count": 2, "delayMs": 60_000}}])
    for index in range(2):
        connection = connect(server)
        connection.request("POST", "/v1/chat/completions", json.dumps(REQUEST))
        wait_for(lambda count=index + 1: server.calls == count)
        connection.close()
        wait_for(lambda last=index: server.requests()[last]["outcome"] == "client-gone")
    wait_for(lambda: server.stats()["open"] == 0)


def wait_for(condition: Any, seconds: float = 5) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.005)


def test_sixty_four_connections_at_once(server: ModelServer) -> None:
    server.script([], default={"delayMs": 500})
    with ThreadPoolExecutor(64) as pool:
        started = time.monotonic()
        statuses = list(pool.map(lambda _: ask(server).status, range(64)))
    assert statuses == [200] * 64
    assert time.monotonic() - started < 10
    assert server.calls == server.connections == 64


def test_requests_are_held_until_they_are_together(server: ModelServer) -> None:
    server.script([{"together": 16, "times": 16}])
    with ThreadPoolExecutor(16) as pool:
        early = [pool.submit(ask, server) for _ in range(15)]
        wait_for(lambda: server.calls == 15)
        assert not any(answer.done() for answer in early)
        assert ask(server).status == 200
        assert [answer.result(timeout=10).status for answer in early] == [200] * 15
    assert ask(server).status == 200


def test_a_new_script_drops_those_that_are_held(server: ModelServer) -> None:
    server.script([{"together": 2}])
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(ask, server)
        wait_for(lambda: server.calls == 1)
        server.script([])
        with pytest.raises(http.client.RemoteDisconnected):
            held.result(timeout=10)


def test_close_ends_what_is_being_served() -> None:
    server = ModelServer()
    server.script([], default={"delayMs": 60_000})
    failures: list[BaseException] = []

    def call() -> None:
        try:
            ask(server)
        except (OSError, http.client.HTTPException) as error:
            failures.append(error)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    wait_for(lambda: server.calls == 4)
    started = time.monotonic()
    server.close()
    for caller in callers:
        caller.join(timeout=5)
    assert time.monotonic() - started < 2
    assert len(failures) == 4
    with pytest.raises(ConnectionRefusedError):
        ask(server)


@pytest.mark.parametrize(
    ("step", "named"),
    [
        ({"stauts": 500}, "stauts"),
        ({"reply": {"contents": "x"}}, "contents"),
        ({"reply": {"content": "x", "raw": "y"}}, "one of"),
        ({"reply": {"raw": "y", "encoding": "zip"}}, "zip"),
        ({"match": {"body": "x"}}, "body"),
        ({"drop": "now"}, "now"),
        ({"times": 0}, "times"),
        ({"together": 0}, "together"),
        ({"mode": "random"}, "random"),
        ({"chunks": {"size": 1}}, "size"),
        ("oops", "object"),
    ],
)
def test_a_step_with_a_mistake_is_refused(server: ModelServer, step: Any, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        server.script([step])
    refused = ask(server, [step], path="/__control/script")
    assert refused.status == 400
    assert named in refused.json["error"]["message"]


def test_control_path(server: ModelServer) -> None:
    script = {"steps": [{"status": 500}], "default": {"reply": {"content": "default"}}}
    assert ask(server, script, path="/__control/script").status == 200
    assert ask(server).status == 500
    assert ask(server).message["content"] == "default"
    stats = ask(server, "", path="/__control/requests", method="GET").json
    assert (stats["calls"], stats["connections"], len(stats["requests"])) == (2, 2, 2)
    assert ask(server, "", path="/__control/reset").status == 200
    assert server.calls == 0
    assert ask(server).status == 200
    assert ask(server, "", path="/__control/nothing").status == 404


def test_engine_environment(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    for name in ("OPENAI_API_KEY", "XAI_API_KEY", "AGENT_EVAL_PORT", "https_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "somebody's own")
    env = request.getfixturevalue("engine_env")
    server = request.getfixturevalue("model_server")
    assert "somebody's own" not in env.values()
    assert env["AGENT_EVAL_LLM_BASE_URL"] == server.url
    assert env["AGENT_EVAL_LLM_API_KEY"]
    assert env["AGENT_EVAL_LLM_MODEL"]
    assert "PATH" in env


def test_as_a_program(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"reply": {"content": "from the file"}}]))
    program = Path(__file__).with_name("model_server.py")
    child = subprocess.Popen(
        [sys.executable, str(program), "--until-eof", "--script", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        line = json.loads(child.stdout.readline())
        request = urllib.request.Request(f"{line['url']}/chat/completions", b"{}")
        with urllib.request.urlopen(request, timeout=10) as response:
            answer = json.load(response)
        assert answer["choices"][0]["message"]["content"] == "from the file"
        with urllib.request.urlopen(f"{line['control']}/requests", timeout=10) as response:
            assert json.load(response)["calls"] == 1
        child.stdin.close()
        assert child.wait(timeout=10) == 0
