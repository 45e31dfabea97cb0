"""The reward function for TRL: its contract, without torch."""

import asyncio
import logging
import math
from typing import Any

import pytest
from model_server import ModelServer

from osmosis_ai import MissingAPIKeyError, osmosis_reward
from osmosis_ai.trainers.trl import trl_reward

GPT = {"provider": "openai", "model": "gpt-4o"}
RUBRIC = "Score how helpful the text is."
EIGHT = [f"Text {number}." for number in range(8)]


@osmosis_reward
def exact(solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs: Any) -> float:
    return 1.0 if solution_str == ground_truth + extra_info["suffix"] else 0.0


@osmosis_reward
async def later(
    solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs: Any
) -> float:
    await asyncio.sleep(0)
    return float(len(solution_str))


def test_a_function_gets_the_columns_of_its_row() -> None:
    reward = trl_reward(exact)
    assert reward.__name__ == "exact"
    given = reward(
        prompts=["p"] * 3,
        completions=["a!", [{"role": "assistant", "content": "b?"}], "c"],
        completion_ids=[[1], [2], [3]],
        ground_truth=["a", "b", "c"],
        suffix=["!", "?", "!"],
        trainer_state=object(),
        log_metric=print,
    )
    assert given == [1.0, 1.0, 0.0]
    assert trl_reward(later)(prompts=None, completions=["a", "bb"]) == [1.0, 2.0]

    async def in_a_loop() -> Any:
        return trl_reward(later)(prompts=None, completions=["a", "bb"])

    assert asyncio.run(in_a_loop()) == [1.0, 2.0]
    assert reward(prompts=[], completions=[]) == []


def test_H1_exactly_as_many_rewards_in_order(provider: ModelServer) -> None:
    provider.script(
        [
            {
                "match": {"bodyContains": f"Text {place}."},
                "times": "forever",
                "delayMs": 80 - 10 * place,
                "reply": {"verdict": {"rationale": "r", "dimensions": {"score": place / 10}}},
            }
            for place in range(8)
        ]
    )
    reward = trl_reward(rubric=RUBRIC, model_info=GPT)
    expected = [place / 10 for place in range(8)]
    assert reward(prompts=["p"] * 8, completions=EIGHT, extra=list(range(8))) == expected
    messages = [[{"role": "assistant", "content": text}] for text in EIGHT]
    assert reward(prompts=["p"] * 8, completions=messages) == expected
    assert reward(prompts=["p"] * 8, completions=["Text 3."] * 8) == [0.3] * 8


@pytest.mark.parametrize("count", [7, 9, 0])
def test_H1_another_number_of_rewards_is_an_error_that_names_both(count: int) -> None:
    reward = trl_reward(rubric=RUBRIC, model_info=GPT, evaluate_many=lambda *_, **__: [0.5] * count)
    with pytest.raises(ValueError, match=f"8 texts were sent and {count} rewards came back"):
        reward(prompts=["p"] * 8, completions=EIGHT)


def test_H1_columns_of_another_length_are_an_error() -> None:
    with pytest.raises(ValueError, match="8 completions came with 7 values of 'ground_truth'"):
        trl_reward(exact)(prompts=["p"] * 8, completions=EIGHT, ground_truth=["x"] * 7)


def test_H2_a_judge_that_is_down_is_no_reward(
    provider: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    provider.script(
        [
            {"match": {"bodyContains": f"Text {n}."}, "times": "forever", "status": 401}
            for n in (2, 5)
        ]
    )
    caplog.set_level(logging.WARNING)
    reward = trl_reward(rubric=RUBRIC, model_info=GPT, timeout=5)
    given = reward(prompts=["p"] * 8, completions=EIGHT)
    assert [n for n, one in enumerate(given) if one is None] == [2, 5]
    assert not any(one == 0.0 or (one is not None and math.isnan(one)) for one in given)
    assert caplog.text.count("have no reward") == 1
    caplog.clear()
    provider.script([{"times": "forever", "status": 401}])
    assert reward(prompts=["p"] * 8, completions=EIGHT) == [None] * 8
    assert caplog.text.count("8 of 8 texts have no reward") == 1


def test_a_blank_completion_gets_the_lowest_score(provider: ModelServer) -> None:
    reward = trl_reward(rubric=RUBRIC, model_info=GPT, score_min=-1.0)
    assert reward(prompts=["p"] * 2, completions=["", " \n"]) == [-1.0, -1.0]
    assert provider.requests() == []


def test_what_is_wrong_with_the_set_up_is_raised(provider: ModelServer, monkeypatch: Any) -> None:
    for wrong in (
        {},
        {"rubric": RUBRIC},
        {"rubric": RUBRIC, "model_info": GPT, "function": exact},
    ):
        with pytest.raises(TypeError):
            trl_reward(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="concurrency"):
        trl_reward(exact, concurrency=0)

    def poisoned(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
        return math.nan

    with pytest.raises(ValueError, match="poisoned must return a finite float"):
        trl_reward(osmosis_reward(poisoned))(prompts=["p"], completions=["a"])
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingAPIKeyError):
        trl_reward(rubric=RUBRIC, model_info=GPT)(prompts=["p"], completions=["a"])


def test_question_and_cache(provider: ModelServer, tmp_path: Any) -> None:
    reward = trl_reward(rubric=RUBRIC, model_info=GPT, cache=tmp_path / "verdicts.sqlite")
    prompts = [[{"role": "user", "content": "How?"}], "How?"]
    assert reward(prompts=prompts, completions=["a", "b"], level=["easy", "hard"]) == [0.8, 0.8]
    asked = [one["body"]["messages"][1]["content"] for one in provider.requests()]
    assert len(asked) == 2
    assert all('"question": "How?"' in one for one in asked)
    assert any('"level": "easy"' in one for one in asked)
    assert reward(prompts=prompts, completions=["a", "b"], level=["easy", "hard"]) == [0.8, 0.8]
    assert len(provider.requests()) == 2
