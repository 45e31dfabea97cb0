"""Rubrics that add up to nothing, or are named to do harm."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from engine import RUBRIC, run

from agent_eval_rpc import Client, Rubric, ValidationError

if TYPE_CHECKING:
    from model_server import ModelServer


def dimension(name: str = "quality", **more: Any) -> dict[str, Any]:
    return {"id": name, "description": "d", **more}


def rubric(*dimensions: dict[str, Any]) -> dict[str, Any]:
    return {**RUBRIC, "dimensions": list(dimensions)}


WRONG = [
    (rubric(dimension(weight=0), dimension("b", weight=0)), "dimensions"),
    (rubric(dimension(weight=-1), dimension("b")), "weight"),
    (rubric(dimension(weight=1e-320), dimension("b", weight=0)), "dimensions"),
    (rubric(dimension(min=1, max=1)), "max"),
    (rubric(dimension(min=2, max=1)), "max"),
    (rubric(dimension("a"), dimension("a")), "id"),
    (rubric(dimension("")), "id"),
    (rubric(*(dimension(f"d{n}") for n in range(500))), "dimensions"),
    (rubric(), "dimensions"),
]


@pytest.mark.parametrize(("wrong", "field"), WRONG)
def test_H6_weights_that_add_up_to_nothing_cost_no_call(
    engine_env: dict[str, str], model_server: ModelServer, wrong: dict[str, Any], field: str
) -> None:
    params = json.dumps({"content": "x", "rubric": wrong})
    done = run("rpc", "judge", env=engine_env, stdin=params)
    error = json.loads(done.out)["error"]
    assert (done.code, error["code"]) == (1, "validation_error")
    paths = [issue["path"] for issue in error["details"]["issues"]]
    assert any(field in path for path in paths), paths
    with pytest.raises(ValidationError) as refused:
        Rubric.model_validate(wrong)
    assert any(field in issue["path"] for issue in refused.value.details["issues"])
    assert model_server.requests() == []


def test_H6_a_weight_that_is_no_number_costs_no_call(model_server: ModelServer) -> None:
    for weight in (math.nan, math.inf):
        with pytest.raises(ValidationError, match="weight"):
            Rubric.model_validate(rubric(dimension(weight=weight)))
    assert model_server.requests() == []


def test_H6_names_with_a_meaning_elsewhere_are_names(
    engine_env: dict[str, str], model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["__proto__", "constructor", "toString", "a.b", "hasOwnProperty"]
    odd = rubric(*(dimension(name) for name in names))
    scores = {name: n / 10 for n, name in enumerate(names)}
    verdict = {"rationale": "r", "dimensions": scores, "failureModes": [], "wins": []}
    model_server.script([{"reply": {"verdict": verdict}, "times": "forever"}])
    done = run("rpc", "judge", env=engine_env, stdin=json.dumps({"content": "x", "rubric": odd}))
    result = json.loads(done.out)["result"]
    assert result["dimensions"] == scores
    assert result["composite"] == pytest.approx(0.2)
    for name, value in engine_env.items():
        if name.startswith("AGENT_EVAL_"):
            monkeypatch.setenv(name, value)
    with Client(transport="subprocess") as client:
        judged = client.judge("x", rubric=Rubric.model_validate(odd))
    assert judged.dimensions == scores


def test_H6_as_many_dimensions_as_are_allowed(
    engine_env: dict[str, str], model_server: ModelServer
) -> None:
    most = rubric(*(dimension(f"d{n}") for n in range(200)))
    done = run("rpc", "judge", env=engine_env, stdin=json.dumps({"content": "x", "rubric": most}))
    assert len(json.loads(done.out)["result"]["dimensions"]) == 200
    assert len(model_server.requests()) == 1
