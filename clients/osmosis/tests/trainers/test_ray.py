"""Texts spread over workers of a real, local Ray."""

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
import ray
from model_server import ModelServer

from osmosis_ai import ProviderRequestError
from osmosis_ai.trainers.ray import RayEvaluator
from osmosis_ai.trainers.trl import trl_reward

GPT = {"provider": "openai", "model": "gpt-4o"}
RUBRIC = "Score how helpful the text is."

pytestmark = [
    # Ray leaves files and sockets of its own open.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def _local_ray() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def settings(provider: ModelServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-fake-ray-key"}


def numbered(count: int) -> list[dict[str, Any]]:
    return [
        {
            "match": {"bodyContains": f"Text {place}."},
            "times": "forever",
            "reply": {"verdict": {"rationale": "r", "dimensions": {"score": place / 100}}},
        }
        for place in range(count)
    ]


def test_texts_are_spread_and_come_back_in_order(provider: ModelServer) -> None:
    provider.script([{**step, "delayMs": 20} for step in numbered(40)])
    texts = [f"Text {place}." for place in range(40)]
    expected = [place / 100 for place in range(40)]
    most = 0
    over = threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.is_set():
            waiting = [one for one in provider.requests() if one["outcome"] == "pending"]
            most = max(most, len(waiting))
            time.sleep(0.005)

    watching = threading.Thread(target=watch)
    with RayEvaluator(2, concurrency=4, slice_size=5, environment=settings(provider)) as evaluator:
        watching.start()
        assert evaluator.evaluate_rubric_many(RUBRIC, texts, GPT) == expected
        over.set()
        watching.join()
        assert 2 <= most <= 4
        reward = trl_reward(
            rubric=RUBRIC, model_info=GPT, evaluate_many=evaluator.evaluate_rubric_many
        )
        assert reward(prompts=None, completions=texts[:8]) == expected[:8]
        assert evaluator.evaluate_rubric_many(RUBRIC, [], GPT) == []


def test_failures_raise_or_keep_their_places(provider: ModelServer) -> None:
    broken = {"match": {"bodyContains": "broken"}, "reply": {"content": "?"}, "times": "forever"}
    provider.script([broken])
    with RayEvaluator(2, slice_size=1, environment=settings(provider)) as evaluator:
        kept = evaluator.evaluate_rubric_many(RUBRIC, ["a", "broken", "b"], GPT, on_error="return")
        assert [type(one) for one in kept] == [float, ProviderRequestError, float]
        with pytest.raises(ProviderRequestError, match="not valid JSON"):
            evaluator.evaluate_rubric_many(RUBRIC, ["a", "broken"], GPT)
        with pytest.raises(TypeError, match="retries"):
            evaluator.evaluate_rubric_many(RUBRIC, ["a"], GPT, retries=1)


def test_a_worker_that_is_lost_costs_no_text(provider: ModelServer) -> None:
    provider.script([{**step, "delayMs": 300} for step in numbered(8)])
    texts = [f"Text {place}." for place in range(8)]

    def kill_one() -> None:
        while not provider.requests():
            time.sleep(0.01)
        workers = [
            one
            for one in psutil.process_iter(["cmdline"])
            if "ray::_Worker" in " ".join(one.info["cmdline"] or [])
            and one.uids().real == os.getuid()
        ]
        workers[0].kill()

    with RayEvaluator(2, concurrency=2, slice_size=2, environment=settings(provider)) as evaluator:
        killing = threading.Thread(target=kill_one)
        killing.start()
        given = evaluator.evaluate_rubric_many(RUBRIC, texts, GPT)
        killing.join()
    assert given == [place / 100 for place in range(8)]


def test_options_that_are_wrong() -> None:
    for wrong in ({"workers": 0}, {"workers": 4, "concurrency": 3}, {"slice_size": 0}):
        with pytest.raises(ValueError, match="at least"):
            RayEvaluator(**wrong)
