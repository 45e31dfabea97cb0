"""Rewards for environments of ``verifiers`` (0.4, ``verifiers.v1``)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from osmosis_ai.rubric_types import ProviderRequestError
from osmosis_ai.trainers.batch import Answer, Judging, Reward, RewardFunction

try:
    import verifiers.v1 as vf
except ImportError as _error:
    _MESSAGE = 'This needs verifiers: pip install "osmosis-ai[verifiers]" (Python 3.11 or newer)'
    raise ImportError(_MESSAGE) from _error

if TYPE_CHECKING:
    from verifiers.v1 import TaskData, Trace


class RewardJudge(vf.Judge[float]):  # type: ignore[misc]
    """A judge of ``verifiers`` by a decorated function, or by a rubric and a model.

    Call it from a task's ``@vf.reward``, or plug it into a task config::

        judge = RewardJudge(rubric="The answer is helpful.", model_info=info)

        class MyTask(vf.Task):
            @vf.reward
            async def helpful(self, trace) -> float:
                return await judge.score(self.data, trace)

    A judge that failed raises, which ``verifiers`` keeps as the error of the trace: it is no score.

    Args:
        function: A function decorated with ``osmosis_reward`` or ``osmosis_rubric``.
        rubric: Instead of a function, what a good text does in plain words.
        model_info: The model that judges by the rubric.
        ground_truth: Field of the task that holds the right answer.
        config: Name and weight of the reward.
        **options: ``score_min``, ``score_max``, ``timeout``, ``concurrency``, ``cache`` and
            ``evaluate_many`` of ``osmosis_ai.trainers.batch.Judging``.
    """

    def __init__(
        self,
        function: RewardFunction | None = None,
        *,
        rubric: str | None = None,
        model_info: Mapping[str, Any] | None = None,
        ground_truth: str = "answer",
        config: "vf.JudgeConfig | None" = None,
        **options: Any,
    ) -> None:
        super().__init__(config)
        self._judging = Judging(function=function, rubric=rubric, model_info=model_info, **options)
        self._ground_truth = ground_truth

    @property
    def reward_name(self) -> str:
        """Name of the reward: that of the config, else of the function."""
        return self.config.name or self.config.id or self._judging.name

    async def score(self, task: "TaskData", trace: "Trace") -> float:
        """The reward of one trace.

        Raises:
            ProviderRequestError: The judge failed.
        """
        answer = self._answer(task, trace)
        (outcome,) = await asyncio.to_thread(self._judging.outcomes, [answer])
        if isinstance(outcome, ProviderRequestError):
            raise outcome
        return outcome

    async def score_many(
        self, tasks: "Sequence[TaskData]", traces: "Sequence[Trace]"
    ) -> list[Reward]:
        """Rewards of many traces: as many, in order, None where the judge failed.

        Raises:
            ValueError: There are more or fewer tasks than traces.
        """
        if len(tasks) != len(traces):
            raise ValueError(f"{len(traces)} traces came with {len(tasks)} tasks")
        answers = [self._answer(*pair) for pair in zip(tasks, traces, strict=True)]
        return await asyncio.to_thread(self._judging.rewards, answers)

    def _answer(self, task: "TaskData", trace: "Trace") -> Answer:
        truth = getattr(task, self._ground_truth, None)
        # What every task has, such as where it runs, tells nothing of the answer.
        common = {*vf.TaskData.model_fields, self._ground_truth}
        return Answer(
            text=trace.last_reply,
            ground_truth=None if truth is None else str(truth),
            question=task.prompt_text.strip() or None,
            extra_info=task.model_dump(mode="json", exclude=common, exclude_none=True),
        )
