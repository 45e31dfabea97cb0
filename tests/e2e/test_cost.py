"""What verdicts cost, from the command line to a budget in Python."""

import json
from pathlib import Path

import pytest
from engine import ENGINE, RUBRIC, judge_params, run
from model_server import ModelServer

from agent_eval_rpc import Client, Rubric
from agent_eval_rpc.errors import BudgetExceededError

USAGE = {"prompt_tokens": 1000, "completion_tokens": 500}


@pytest.fixture
def priced_env(engine_env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """An engine that has a price for the fake model: a tenth of a cent a call."""
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"fake-model": {"input": 0.5, "output": 1}}), encoding="utf-8")
    return {**engine_env, "AGENT_EVAL_PRICES": str(file)}


def script(model_server: ModelServer) -> None:
    verdict = {"rationale": "r", "dimensions": {"quality": 0.5}}
    model_server.script([{"times": "forever", "reply": {"verdict": verdict}, "usage": USAGE}])


def test_a_verdict_says_what_it_cost(
    engine_env: dict[str, str], priced_env: dict[str, str], model_server: ModelServer
) -> None:
    script(model_server)
    priced = run("rpc", "judge", env=priced_env, stdin=judge_params())
    assert json.loads(priced.out)["result"]["usage"]["costUsd"] == pytest.approx(0.001)
    unknown = run("rpc", "judge", env=engine_env, stdin=judge_params())
    assert json.loads(unknown.out)["result"]["usage"]["costUsd"] is None


def test_a_second_question_is_paid_too(
    priced_env: dict[str, str], model_server: ModelServer
) -> None:
    verdict = {"rationale": "r", "dimensions": {"quality": 0.5}}
    model_server.script(
        [
            {"reply": {"content": "no verdict"}, "usage": USAGE},
            {"reply": {"verdict": verdict}, "usage": USAGE},
        ]
    )
    done = run("rpc", "judge", env=priced_env, stdin=judge_params())
    assert json.loads(done.out)["result"]["usage"]["costUsd"] == pytest.approx(0.002)


@pytest.mark.parametrize("text", ["not JSON", '{"m": {"input": -1, "output": 1}}', None])
def test_a_bad_price_file_is_refused(
    engine_env: dict[str, str], tmp_path: Path, text: str | None
) -> None:
    file = tmp_path / "prices.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    done = run("rpc", "judge", "--prices", str(file), env=engine_env, stdin=judge_params())
    assert done.code == 1
    error = json.loads(done.out)["error"]
    assert error["code"] == "validation_error"
    assert "prices.json" in error["message"]


def test_money_ends_a_run(
    priced_env: dict[str, str], model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(model_server)
    for name, value in priced_env.items():
        monkeypatch.setenv(name, value)
    rubric = Rubric.model_validate(RUBRIC)
    with Client(transport="subprocess", cli_path=ENGINE) as client:
        texts = [f"text {i}" for i in range(500)]
        outcomes = list(
            client.judge_many(
                texts, rubric=rubric, max_cost_usd=0.02, concurrency=4, on_error="return"
            )
        )
    scored = [one for one in outcomes if one.result is not None]
    # Twenty calls are paid for; what is in flight when the money ends is paid too.
    assert 20 <= len(scored) <= 20 + 4
    assert all(isinstance(one.error, BudgetExceededError) for one in outcomes[len(scored) :])
