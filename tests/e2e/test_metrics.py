"""What Prometheus reads from a server."""

import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from engine import Server, judge_params
from model_server import ModelServer

Env = dict[str, str]
TOKEN = "token-of-the-scrape"


def send(url: str, body: str | None = None, token: str | None = TOKEN) -> tuple[int, str]:
    headers = {"content-type": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, None if body is None else body.encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def samples(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@pytest.fixture
def metered(engine_env: Env, tmp_path: Path) -> Server:
    env = {**engine_env, "AGENT_EVAL_TOKEN": TOKEN, "AGENT_EVAL_CACHE": str(tmp_path / "v.db")}
    return Server(env)


def test_a_scrape_counts_what_happened(
    metered: Server, engine_env: Env, model_server: ModelServer
) -> None:
    judge = f"{metered.url}/v1/judge"
    assert send(judge, judge_params())[0] == 200
    usage = json.loads(send(judge, judge_params(cache="bypass"))[1])["usage"]
    assert json.loads(send(judge, judge_params())[1])["cached"] is True
    model_server.script([], default={"reply": {"message": {"refusal": "No."}}})
    assert send(judge, judge_params("Other."))[0] == 502
    status, text = send(f"{metered.url}/metrics")
    assert status == 200
    found = samples(text)
    assert found['agent_eval_judgements_total{outcome="scored"}'] == 3
    assert found['agent_eval_judgements_total{outcome="judge_refused"}'] == 1
    assert found['agent_eval_judgement_duration_seconds_count{outcome="scored"}'] == 3
    assert found['agent_eval_http_requests_total{method="judge",status="200"}'] == 3
    assert found['agent_eval_http_requests_total{method="judge",status="502"}'] == 1
    assert found['agent_eval_provider_calls_total{outcome="answered"}'] == 3
    assert found["agent_eval_provider_duration_seconds_count"] == 3
    assert found['agent_eval_tokens_total{kind="input"}'] >= 2 * usage["inputTokens"]
    assert found['agent_eval_cache_lookups_total{result="hit"}'] == 1
    assert found['agent_eval_cache_lookups_total{result="miss"}'] == 2
    assert found["agent_eval_provider_calls_running"] == 0
    assert found["agent_eval_provider_calls_waiting"] == 0
    priced = found["agent_eval_cost_usd_total"]
    assert priced > 0 or found["agent_eval_unpriced_calls_total"] == 3
    # Every sample belongs to a described metric.
    named = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    bases = {re.sub(r"_(sum|count|bucket)$", "", name.split("{")[0]) for name in found}
    assert bases <= named
    assert engine_env["AGENT_EVAL_LLM_API_KEY"] not in text
    assert metered.stop().code == 0


def test_a_scrape_needs_the_token(metered: Server) -> None:
    assert send(f"{metered.url}/metrics", token=None)[0] == 401
    assert send(f"{metered.url}/metrics", token="wrong")[0] == 401
    assert send(f"{metered.url}/metrics", "{}")[0] == 405
    assert metered.stop().code == 0
