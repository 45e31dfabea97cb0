"""Many texts by one rubric: as many outcomes as texts, in order, failures in their places."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from osmosis_ai import (
    ModelInfo,
    ProviderRequestError,
    aevaluate_rubric_many,
    evaluate_rubric_many,
)

GPT: ModelInfo = {"provider": "openai", "model": "gpt-4o"}
RUBRIC = "Score how helpful the text is."


@pytest.mark.parametrize("form", ["sync", "async"])
def test_as_many_outcomes_as_texts_in_order(provider: ModelServer, form: str) -> None:
    scores = [0.1, 0.2, 0.3]
    provider.script(
        [
            {
                "match": {"bodyContains": f"text number {place}!"},
                "times": "forever",
                "delayMs": 60 - 20 * place,
                "reply": {"verdict": {"rationale": "r", "dimensions": {"score": score}}},
            }
            for place, score in enumerate(scores)
        ]
    )
    texts: list[Any] = [f"text number {place % 3}!" for place in range(40)]
    texts[1] = {"solution_str": texts[1], "ground_truth": "g", "metadata": {"a": 1}}
    expected = [scores[place % 3] for place in range(40)]
    if form == "sync":
        assert evaluate_rubric_many(RUBRIC, texts, GPT) == expected
    else:
        assert asyncio.run(aevaluate_rubric_many(RUBRIC, iter(texts), GPT)) == expected
    assert evaluate_rubric_many(RUBRIC, [], GPT) == []


def test_H2_failures_raise_or_keep_their_places(provider: ModelServer) -> None:
    broken = {"match": {"bodyContains": "broken"}, "reply": {"content": "?"}, "times": "forever"}
    provider.script([broken])
    texts = ["fine", "broken", " ", "fine"]
    outcomes = evaluate_rubric_many(RUBRIC, texts, GPT, on_error="return", return_details=True)
    assert [type(one) for one in outcomes] == [dict, ProviderRequestError, TypeError, dict]
    assert outcomes[0]["score"] == 0.8
    assert outcomes[0]["raw"]["choices"][0]["message"]["content"].startswith("{")
    assert outcomes[1].code == "judge_malformed"
    with pytest.raises(ProviderRequestError, match="not valid JSON"):
        evaluate_rubric_many(RUBRIC, ["fine", "broken"], GPT)
    with pytest.raises(TypeError, match="item 1: 'solution_str'"):
        evaluate_rubric_many(RUBRIC, ["fine", " "], GPT)


def test_options_that_are_wrong(provider: ModelServer) -> None:
    wrong: Any
    for wrong, kind, said in (
        ({"retries": 3}, TypeError, "unexpected keyword argument 'retries'"),
        ({"on_error": "none"}, ValueError, "on_error"),
        ({"concurrency": 0}, ValueError, "concurrency"),
    ):
        with pytest.raises(kind, match=said):
            evaluate_rubric_many(RUBRIC, ["a"], GPT, **wrong)
    for item in (3, {"solution": "a"}):
        with pytest.raises(TypeError, match="solution_str"):
            evaluate_rubric_many(RUBRIC, [item], GPT)  # type: ignore[list-item]
    assert provider.requests() == []


def test_verdicts_are_remembered_in_a_file(provider: ModelServer, tmp_path: Path) -> None:
    seen: list[tuple[int, int, float]] = []
    cache = tmp_path / "verdicts.sqlite"
    first = evaluate_rubric_many(
        RUBRIC, ["a", "b"], GPT, cache=cache, progress=lambda *at: seen.append(at)
    )
    assert first == [0.8, 0.8]
    assert [at[:2] for at in seen][-1] == (2, 0)
    asked = len(provider.requests())
    assert evaluate_rubric_many(RUBRIC, ["b", "a", "c"], GPT, cache=cache) == [0.8] * 3
    assert len(provider.requests()) == asked + 1
