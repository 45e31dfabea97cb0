"""What the end-to-end tests share: the built engine, served and spoken to by real clients."""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from fixtures import API_KEY, MODEL
from model_server import ModelServer

from agent_eval_rpc import AsyncClient, Client
from agent_eval_rpc._locate import find_node
from support import ROOT, AsyncFacade

ENGINE = ROOT / "packages" / "agent-eval" / "dist" / "engine" / "main.cjs"
KINDS = ["sync http", "async http", "sync subprocess", "async subprocess"]

needs_engine = pytest.mark.skipif(not ENGINE.exists(), reason="run `pnpm build` first")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A scripted model endpoint that every engine started from here asks."""
    with ModelServer() as server:
        configure(monkeypatch, server.url)
        yield server


def configure(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Points engines started from here at a model endpoint."""
    monkeypatch.setenv("AGENT_EVAL_LLM_BASE_URL", url)
    monkeypatch.setenv("AGENT_EVAL_LLM_API_KEY", API_KEY)
    monkeypatch.setenv("AGENT_EVAL_LLM_MODEL", MODEL)


@contextlib.contextmanager
def serve(*options: str, **environment: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Runs `agent-eval serve`; gives its address and its process."""
    with subprocess.Popen(
        [find_node(), str(ENGINE), "serve", "--port", "0", *options],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None
            yield found[0], process
        finally:
            process.kill()


@contextlib.contextmanager
def fake_process(default: dict[str, Any]) -> Iterator[str]:
    """The scripted endpoint in a process of its own, for tests of many calls."""
    script = ROOT / "tests" / "fakes" / "model_server.py"
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            where = json.loads(process.stdout.readline())
            import httpx

            body = {"steps": [], "default": default}
            with httpx.Client(verify=False, trust_env=False) as client:
                client.post(f"{where['control']}/script", json=body).raise_for_status()
            yield where["url"]
        finally:
            process.kill()


@contextlib.contextmanager
def client_of(kind: str, *serve_options: str, **options: Any) -> Iterator[Client]:
    """A client of one of KINDS; an asynchronous one looks like the other."""
    form, transport = kind.split()
    options["transport"] = transport
    with contextlib.ExitStack() as stack:
        if transport == "http":
            options["base_url"] = stack.enter_context(serve(*serve_options))[0]
        else:
            options["cli_path"] = ENGINE
        if form == "sync":
            yield stack.enter_context(Client(**options))
            return
        loop = asyncio.new_event_loop()
        client: Any = AsyncFacade(AsyncClient(**options), loop)
        try:
            yield client
        finally:
            client.close()
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()
