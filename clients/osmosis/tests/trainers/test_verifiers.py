"""The judge for verifiers, with its own tasks and traces."""

import asyncio
from typing import Any

import pytest
import verifiers.v1 as vf
from model_server import ModelServer
from verifiers.v1.types import AssistantMessage

from osmosis_ai import ProviderRequestError, osmosis_reward
from osmosis_ai.trainers.verifiers import RewardJudge

GPT = {"provider": "openai", "model": "gpt-4o"}
RUBRIC = "Score how helpful the text is."


@osmosis_reward
def exact(solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs: Any) -> float:
    return 1.0 if solution_str == ground_truth + extra_info["suffix"] else 0.0


class Data(vf.TaskData):
    answer: str = "x"
    suffix: str = ""


def task(**fields: Any) -> Data:
    return Data(prompt="How?", **fields)


def trace(text: str, data: Data | None = None) -> Any:
    """A trace whose last message says this."""
    made = vf.Trace(
        task=vf.TraceTask(type="Task", data=data or task()),
        agent=vf.AgentInfo.model_construct(name="agent"),
    )
    made.nodes.append(
        vf.MessageNode.model_construct(
            parent=None, message=AssistantMessage(content=text), sampled=True
        )
    )
    return made


def test_a_function_sees_the_fields_of_its_task() -> None:
    judge = RewardJudge(exact)
    assert judge.reward_name == "exact"
    assert asyncio.run(judge.score(task(answer="a", suffix="!"), trace("a!"))) == 1.0
    assert asyncio.run(judge.score(task(answer="a"), trace("b"))) == 0.0


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
    judge = RewardJudge(rubric=RUBRIC, model_info=GPT, config=vf.JudgeConfig(name="helpful"))
    assert judge.reward_name == "helpful"
    traces = [trace(f"Text {place}.") for place in range(8)]
    given = asyncio.run(judge.score_many([task()] * 8, traces))
    assert given == [place / 10 for place in range(8)]
    user = provider.requests()[0]["body"]["messages"][1]["content"]
    assert '"question": "How?"' in user
    assert '"reference": "x"' in user
    assert "network" not in user
    with pytest.raises(ValueError, match="8 traces came with 7 tasks"):
        asyncio.run(judge.score_many([task()] * 7, traces))


def test_H2_a_judge_that_is_down_is_the_error_of_the_trace(provider: ModelServer) -> None:
    provider.script([{"times": "forever", "status": 401}])
    judge = RewardJudge(rubric=RUBRIC, model_info=GPT)
    with pytest.raises(ProviderRequestError) as failed:
        asyncio.run(judge.score(task(), trace("a")))
    assert failed.value.code == "provider_auth"
    assert asyncio.run(judge.score_many([task()] * 2, [trace("a"), trace("b")])) == [None, None]

    class Helpful(vf.Task[Data]):
        @vf.reward
        async def helpful(self, trace: Any) -> float:
            return await judge.score(self.data, trace)

    one = trace("a")
    with pytest.raises(vf.TaskError, match="ProviderRequestError"):
        asyncio.run(Helpful(task()).score(one))
    assert one.reward == 0
    assert one.rewards == {"helpful": None}


def test_a_task_is_rewarded_through_verifiers(provider: ModelServer) -> None:
    judge = RewardJudge(rubric=RUBRIC, model_info=GPT)

    class Helpful(vf.Task[Data]):
        @vf.reward(weight=0.5)
        async def helpful(self, trace: Any) -> float:
            return await judge.score(self.data, trace)

    one = trace("a")
    asyncio.run(Helpful(task()).score(one))
    assert one.reward == pytest.approx(0.4)
