"""The same question over every way in gives the same answer and costs the same calls."""

import asyncio
import json
import os
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from engine import RUBRIC, Server, judge_params, run
from fixtures import clean_environment
from model_server import ModelServer

from agent_eval_rpc import AsyncClient, Client, Rubric

Env = dict[str, str]
TEXTS = [f"text number {n}" for n in range(4)]
ONE_RATE_LIMIT = [{"status": 429, "reply": {"json": {"error": {"message": "slow down"}}}}]


@pytest.fixture
def settings(engine_env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process with the engine's settings, as a user of the client has them."""
    for name in set(os.environ) - set(clean_environment()):
        monkeypatch.delenv(name)
    for name, value in engine_env.items():
        monkeypatch.setenv(name, value)


def over_client(transport: str, server: Server, _env: Env) -> list[float]:
    with Client(transport=transport, base_url=server.url) as client:
        rubric = Rubric.model_validate(RUBRIC)
        return [client.judge(content=text, rubric=rubric).composite for text in TEXTS]


def over_async_client(transport: str, server: Server, _env: Env) -> list[float]:
    async def judge() -> list[float]:
        async with AsyncClient(transport=transport, base_url=server.url) as client:
            rubric = Rubric.model_validate(RUBRIC)
            results = await asyncio.gather(
                *(client.judge(content=text, rubric=rubric) for text in TEXTS)
            )
            return [result.composite for result in results]

    return asyncio.run(judge())


def over_http(_transport: str, server: Server, _env: Env) -> list[float]:
    scores = []
    for text in TEXTS:
        request = urllib.request.Request(
            f"{server.url}/v1/judge",
            data=judge_params(text).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            scores.append(json.load(response)["composite"])
    return scores


def over_batch(_transport: str, _server: Server, env: Env) -> list[float]:
    done = run("rpc-batch", "judge", env=env, stdin="\n".join(map(judge_params, TEXTS)))
    return [json.loads(line)["result"]["composite"] for line in done.out.splitlines()]


def over_session(_transport: str, _server: Server, env: Env) -> list[float]:
    calls: list[dict[str, Any]] = [
        {"id": n, "method": "judge", "params": json.loads(judge_params(text))}
        for n, text in enumerate(TEXTS)
    ]
    done = run("rpc", "--session", env=env, stdin="\n".join(map(json.dumps, calls)) + "\n")
    answers = [json.loads(line) for line in done.out.splitlines()[1:]]
    return [
        answer["result"]["composite"] for answer in sorted(answers, key=lambda answer: answer["id"])
    ]


def over_command(_transport: str, _server: Server, env: Env) -> list[float]:
    verdicts = [
        run("judge", "--rubric", "anti-slop", "--json", env=env, stdin=text) for text in TEXTS
    ]
    return [json.loads(done.out)["composite"] for done in verdicts]


@pytest.mark.parametrize(
    ("route", "transport"),
    [
        (over_client, "http"),
        (over_client, "subprocess"),
        (over_async_client, "http"),
        (over_async_client, "subprocess"),
        (over_http, ""),
        (over_batch, ""),
        (over_session, ""),
        (over_command, ""),
    ],
)
@pytest.mark.usefixtures("settings")
def test_one_rate_limit_costs_one_more_call(
    route: Callable[[str, Server, Env], list[float]],
    transport: str,
    model_server: ModelServer,
    server: Server,
    engine_env: Env,
) -> None:
    model_server.script(ONE_RATE_LIMIT)
    assert route(transport, server, engine_env) == [0.8] * 4
    assert model_server.calls == 5


def test_an_old_node_is_told_so(engine_env: Env, tmp_path: Any) -> None:
    preload = tmp_path / "old.cjs"
    preload.write_text("Object.defineProperty(process.versions, 'node', { value: '18.19.0' });")
    done = run("rpc", "version", env={**engine_env, "NODE_OPTIONS": f"--require {preload}"})
    assert done.code == 1
    assert done.out == ""
    assert done.err == "agent-eval needs Node.js 20 or newer; this is 18.19.0.\n"
