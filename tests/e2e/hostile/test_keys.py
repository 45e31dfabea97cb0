"""No key shows in anything that the engine or a client of it writes, says, or hands on."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from engine import ENGINE, RUBRIC, Server, judge_params, run

if TYPE_CHECKING:
    from model_server import ModelServer

PASSWORD = "canary-pw-5d1c"
PARAMETER = "canary-param-77aa01"


def canary(name: str) -> str:
    return f"sk-canary-{name.lower().replace('_', '-')}-9f8e7d6c5b4a"


class Provider(NamedTuple):
    """How one provider is configured, and what it is sent."""

    base_url: str
    key: str
    model: str


PROVIDERS = [
    Provider("AGENT_EVAL_LLM_BASE_URL", "AGENT_EVAL_LLM_API_KEY", "m"),
    Provider("OPENAI_BASE_URL", "OPENAI_API_KEY", "m"),
    Provider("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "anthropic/m"),
    Provider("GEMINI_BASE_URL", "GEMINI_API_KEY", "gemini/m"),
    Provider("GEMINI_BASE_URL", "GOOGLE_API_KEY", "gemini/m"),
    Provider("XAI_BASE_URL", "XAI_API_KEY", "xai/m"),
    Provider("OPENROUTER_BASE_URL", "OPENROUTER_API_KEY", "openrouter/m"),
    Provider("CEREBRAS_BASE_URL", "CEREBRAS_API_KEY", "cerebras/m"),
    Provider("AZURE_BASE_URL", "AZURE_API_KEY", "azure/m"),
]
KEYS = sorted({provider.key for provider in PROVIDERS})
SECRETS = [*map(canary, KEYS), PASSWORD, PARAMETER]


class Home:
    """Folders of their own for a process, and all that was heard from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.heard: dict[str, bytes] = {}
        for name in ("home", "tmp", "cache"):
            (folder / name).mkdir()

    def env(self, base: dict[str, str], **more: str) -> dict[str, str]:
        """An environment with every key in it."""
        for name in ("AGENT_EVAL_LLM_BASE_URL", "AGENT_EVAL_LLM_API_KEY", "AGENT_EVAL_LLM_MODEL"):
            base = {key: value for key, value in base.items() if key != name}
        return {
            **base,
            **{name: canary(name) for name in KEYS},
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "AGENT_EVAL_CACHE": str(self.folder / "cache" / "verdicts.db"),
            "AGENT_EVAL_ATTEMPTS": "2",
            **more,
        }

    def hear(self, name: str, *said: str | bytes) -> None:
        """Keeps what was said."""
        parts = [part.encode() if isinstance(part, str) else part for part in said]
        self.heard[name] = self.heard.get(name, b"") + b"\n".join(parts)

    def check(self) -> None:
        """Fails where any spelling of a secret was said or written."""
        for file in self.folder.rglob("*"):
            if file.is_file():
                self.hear(str(file), file.read_bytes())
        found = [
            (where, spelling)
            for where, said in self.heard.items()
            for secret in SECRETS
            for spelling in spellings(secret)
            if spelling in said
        ]
        assert found == []


def spellings(secret: str) -> set[bytes]:
    pair = base64.b64encode(f"user:{secret}".encode())
    plain = {secret, urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1]}
    return {text.encode() for text in plain} | {base64.b64encode(secret.encode()), pair}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """Checked when the test is done."""
    place = Home(tmp_path)
    yield place
    place.check()


def echoes(*secrets: str) -> list[dict[str, Any]]:
    """Answers that repeat what opens the endpoint, in every place there is."""
    said = " ".join(secrets)
    headers = [["x-echo", said], ["www-authenticate", said]]
    error = {"message": f"{said} is wrong", "type": said, "code": said, "param": said}
    refused = {"headers": headers, "reply": {"json": {"error": error}}}
    verdict = {"rationale": said, "dimensions": {"quality": 0.5}, "failureModes": [said]}
    return [
        {"headers": headers, "reply": {"verdict": {**verdict, "wins": [said]}}},
        {"status": 401, **refused},
        {"status": 404, **refused},
        {"status": 400, **refused},
        {"status": 500, "times": 2, "reply": {"raw": f"<html>{said}</html>"}},
        {"reply": {"content": f"no verdict, but {said}"}, "times": 2},
    ]


@pytest.mark.parametrize("provider", PROVIDERS, ids=[provider.key for provider in PROVIDERS])
def test_no_answer_brings_a_key_out(
    engine_env: dict[str, str], model_server: ModelServer, home: Home, provider: Provider
) -> None:
    key = canary(provider.key)
    env = home.env(engine_env, **{provider.base_url: f"{model_server.origin}?sig={PARAMETER}"})
    if provider.key == "GOOGLE_API_KEY":
        del env["GEMINI_API_KEY"]
    steps = echoes(key, PARAMETER)
    model_server.script(steps)
    texts = [f"text {number}" for number in range(len(steps))]
    asked = [judge_params(text, model=provider.model, includeRaw=True) for text in texts]
    first, *others = asked
    for command, stdin in (("rpc", first), ("rpc-batch", "\n".join(others))):
        done = run(command, "judge", "--debug", env=env, stdin=stdin)
        assert "***" in done.out, "what is hidden was there to see"
        home.hear(command, done.out, done.err)
    sent = {value for request in model_server.requests() for _, value in request["headers"]}
    assert any(key in value for value in sent), "the key opened the endpoint"
    assert not any(key in json.dumps([r["path"], r["body"]]) for r in model_server.requests())
    strange = set(map(canary, KEYS)) - {key}
    assert not any(other in value for other in strange for value in sent)


def test_no_command_shows_a_key(
    engine_env: dict[str, str], model_server: ModelServer, home: Home
) -> None:
    address = model_server.origin.replace("//", f"//user:{PASSWORD}@")
    for base_url, model in [
        ("AGENT_EVAL_LLM_BASE_URL", "m"),
        ("ANTHROPIC_BASE_URL", "anthropic/m"),
    ]:
        env = home.env(engine_env, **{base_url: f"{address}/?token={PARAMETER}"})
        for name in ("AGENT_EVAL_LLM_API_KEY", "ANTHROPIC_API_KEY"):
            del env[name]
        env["AGENT_EVAL_LLM_MODEL"] = model
        for args in (["config"], ["config", "--json"], ["doctor"], ["doctor", "--json"]):
            done = run(*args, env=env)
            assert done.out != ""
            home.hear(" ".join(args), done.out, done.err)
        pair = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
        model_server.script(echoes(PASSWORD, PARAMETER, pair))
        for _ in range(3):
            done = run("judge", "--rubric", "anti-slop", "--debug", env=env, stdin="A text.")
            home.hear("judge", done.out, done.err)
        broken = {**env, base_url: f"not a URL {PASSWORD}"}
        done = run("judge", "--rubric", "anti-slop", "--debug", env=broken, stdin="A text.")
        assert done.code == 1
        home.hear("broken", done.out, done.err)


def call(home: Home, url: str, body: str | None = None) -> None:
    data = None if body is None else body.encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            home.hear("http", str(response.headers), response.read())
    except urllib.error.HTTPError as error:
        home.hear("http", str(error.headers), error.read())


def test_a_server_keeps_its_keys(
    engine_env: dict[str, str], model_server: ModelServer, home: Home
) -> None:
    env = home.env(engine_env, ANTHROPIC_BASE_URL=model_server.origin, AGENT_EVAL_DEBUG="1")
    server = Server(env, "--allow-request-provider")
    steps = echoes(canary("ANTHROPIC_API_KEY"))
    model_server.script([*steps, {"delayMs": 500}])
    for number in range(len(steps) + 1):
        params = judge_params(f"text {number}", model="anthropic/m")
        call(home, f"{server.url}/v1/judge", params)
    # A caller's own endpoint gets no key of the server's.
    own = {"name": "anthropic", "baseUrl": model_server.origin}
    call(home, f"{server.url}/v1/judge", judge_params("another", model="m", provider=own))
    last = model_server.requests()[-1]
    assert not any("canary" in value for _, value in last["headers"])
    for path in ("/metrics", "/v1/version", "/healthz", "/v1/nothing"):
        call(home, f"{server.url}{path}")
    call(home, f"{server.url}/v1/judge", '{"broken')
    hear_processes(home, server.process.pid)
    ended = server.stop()
    home.hear("server", ended.out, ended.err)


CLIENT = textwrap.dedent(
    """
    import logging, pickle, sys, traceback
    from agent_eval_rpc import Client, Rubric
    from agent_eval_rpc.errors import AgentEvalError

    logging.basicConfig(level=logging.DEBUG)
    rubric = Rubric.model_validate_json(sys.argv[1])
    with Client(transport="subprocess", cli_path=sys.argv[2]) as client:
        print(repr(client), vars(client))
        for number in range(7):
            try:
                print(client.judge(f"text {number}", rubric=rubric, model="anthropic/m"))
            except AgentEvalError as error:
                traceback.print_exc()
                print(repr(error), vars(error), pickle.dumps(error))
    """
)


def test_a_python_client_shows_none(
    engine_env: dict[str, str], model_server: ModelServer, home: Home
) -> None:
    env = home.env(engine_env, ANTHROPIC_BASE_URL=model_server.origin)
    model_server.script([{"delayMs": 1500}, *echoes(canary("ANTHROPIC_API_KEY"))])
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, json.dumps(RUBRIC), str(ENGINE)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        wait_for_call(model_server)
        assert hear_processes(home, process.pid) == 2, "the client and its engine"
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    assert b"ProviderAuthError" in out or b"provider_auth" in out, out.decode()
    home.hear("client", out, err)


def wait_for_call(model_server: ModelServer) -> None:
    deadline = time.monotonic() + 30
    while model_server.calls == 0:
        assert time.monotonic() < deadline, "no call came"
        time.sleep(0.02)


def hear_processes(home: Home, root: int) -> int:
    """Keeps the command lines of a process and all below it; says how many there are."""
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("there is no /proc here")
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
        except OSError:
            continue
    tree = [root]
    for parent in tree:
        tree.extend(pid for pid, above in parents.items() if above == parent)
    for pid in tree:
        home.hear(f"cmdline {pid}", Path(f"/proc/{pid}/cmdline").read_bytes())
    return len(tree)


def test_a_child_is_given_no_key(engine_env: dict[str, str], home: Home, tmp_path: Path) -> None:
    """Fetching a model starts package clients: here they write down what they were given."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("python3", "python", "pip", "uv"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nenv > "{tmp_path}/environ-{name}-$$"\nexit 1\n')
        program.chmod(0o755)
    # With a runtime at hand nothing but the model is looked for.
    runtime = tmp_path / "modules" / "node-llama-cpp"
    runtime.mkdir(parents=True)
    (runtime / "index.js").write_text("")
    addresses = {provider.base_url for provider in PROVIDERS}
    urls = dict.fromkeys(addresses, f"https://user:{PASSWORD}@m.example/v1")
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    env = home.env(engine_env, **urls, PATH=path, NODE_PATH=str(runtime.parent))
    done = run("model", "fetch", "qwen2.5-coder-1.5b", "--debug", env=env)
    assert done.code != 0
    assert list(tmp_path.glob("environ-*")), "no child was started"
    home.hear("fetch", done.out, done.err)
