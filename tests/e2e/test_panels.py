"""Panels and score modes from the command line."""

import json

from engine import run
from model_server import ModelServer

Env = dict[str, str]


def test_a_panel_for_people(engine_env: Env, model_server: ModelServer) -> None:
    model_server.script(
        [{"match": {"model": "b"}, "status": 401, "times": "forever"}], default={"mode": "fixed"}
    )
    flags = ("--rubric", "anti-slop", "--models", "a, b,c", "--quorum", "2")
    done = run("judge", *flags, env=engine_env, stdin="The cat sat.")
    assert done.code == 0, done.err
    for line in ("3 verdicts:", "  b  none (provider_auth)", "standard deviation 0.00"):
        assert line in done.out
    assert "warning: 1 of 3 verdicts are missing: b provider_auth" in done.out


def test_samples_and_modes_as_json(engine_env: Env, model_server: ModelServer) -> None:
    flags = ("--samples", "3", "--pool", "median", "--score-mode", "checks", "--json")
    reply = {"rationale": "r", "answers": {f"q{i}": "yes" for i in range(1, 60)}}
    model_server.script([], default={"reply": {"content": json.dumps(reply)}})
    done = run("judge", "--rubric", "anti-slop", *flags, env=engine_env, stdin="The cat sat.")
    verdict = json.loads(done.out)
    assert (done.code, verdict["scoreMode"], len(verdict["samples"])) == (0, "checks", 3)
    assert verdict["stdev"] == 0
    assert {answer["p"] for answers in verdict["checks"].values() for answer in answers} <= {0, 1}
    assert model_server.calls == 3


def test_wrong_flags_are_a_matter_of_usage(engine_env: Env) -> None:
    for flags in (["--samples", "0"], ["--score-mode", "stars"], ["--models", "a,,b"]):
        done = run("judge", "--rubric", "anti-slop", *flags, env=engine_env, stdin="x")
        assert (done.code, done.out) == (2, "")
        assert flags[0] in done.err


def test_a_panel_takes_the_place_of_the_configured_model(
    engine_env: Env, model_server: ModelServer
) -> None:
    flags = ("--rubric", "anti-slop", "--model", "a", "--models", "b,c")
    assert run("judge", *flags, env=engine_env, stdin="x").code == 0
    assert sorted(one["body"]["model"] for one in model_server.requests()) == ["b", "c"]
