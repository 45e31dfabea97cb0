"""The shared cases on hashing and reading replies, through the real engine from the outside."""

import json
from pathlib import Path

from engine import RUBRIC, run
from model_server import ModelServer

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def load(name: str) -> list[dict]:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def batch(requests: list[dict], env: dict[str, str]) -> list[dict]:
    done = run(
        "rpc-batch",
        "judge",
        "--concurrency",
        "1",
        env=env,
        stdin="\n".join(map(json.dumps, requests)),
    )
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_rubric_hashes(engine_env: dict[str, str]) -> None:
    cases = load("rubric-hash.json")
    answers = batch([{"rubric": case["rubric"], "content": "x"} for case in cases], engine_env)
    for case, answer in zip(cases, answers, strict=True):
        assert answer["result"]["rubricVersion"] == case["rubricVersion"], case["name"]


def test_replies(engine_env: dict[str, str], model_server: ModelServer) -> None:
    cases = load("replies.json")
    steps = []
    requests = []
    for number, case in enumerate(cases):
        content = f"[case {number}]"
        message = {
            "role": "assistant",
            "content": case["text"],
            "refusal": case.get("refusal"),
            "reasoning_content": case.get("reasoning"),
        }
        # The same reply to the second question as to the first.
        steps.append(
            {
                "match": {"bodyContains": content},
                "times": "forever",
                "reply": {"message": message},
                "finishReason": case["finishReason"],
            }
        )
        dimension = {**RUBRIC["dimensions"][0], "max": case.get("max", 1)}
        dimension["id"] = case.get("id", "quality")
        rubric = {**RUBRIC, "dimensions": [dimension]}
        requests.append({"rubric": rubric, "content": content})
    model_server.script(steps)
    for case, answer in zip(cases, batch(requests, engine_env), strict=True):
        if "code" in case:
            assert answer["error"]["code"] == case["code"], case["name"]
        else:
            scores = answer["result"]["dimensions"]
            assert scores[case.get("id", "quality")] == case["quality"], case["name"]


def test_composites(engine_env: dict[str, str], model_server: ModelServer) -> None:
    cases = load("composite.json")
    verdicts = [
        {"rationale": "r", "dimensions": case["scores"], "failureModes": [], "wins": []}
        for case in cases
    ]
    model_server.script([{"reply": {"verdict": verdict}} for verdict in verdicts])
    requests = [
        {"rubric": {**RUBRIC, "dimensions": case["dimensions"]}, "content": "x"} for case in cases
    ]
    for case, answer in zip(cases, batch(requests, engine_env), strict=True):
        assert abs(answer["result"]["composite"] - case["composite"]) < 1e-12, case["name"]
