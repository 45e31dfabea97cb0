"""Rewards of a batch: as many as there are texts, in order, None where the judge failed."""

import asyncio
import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from osmosis_ai.rubric_types import ProviderRequestError

logger = logging.getLogger(__name__)

Reward = float | None
RewardFunction = Callable[..., float | Awaitable[float]]
#: Evaluates texts by a rubric, in the way of ``evaluate_rubric_many``.
EvaluateMany = Callable[..., Sequence[Any]]


@dataclass(frozen=True)
class Answer:
    """One text to reward.

    Attributes:
        text: The text.
        ground_truth: What the right answer would be.
        question: What was asked.
        extra_info: Anything else that is known of it.
    """

    text: str
    ground_truth: str | None = None
    question: str | None = None
    extra_info: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Judging:
    """What rewards are made by: a decorated function, or a rubric and a model.

    Attributes:
        function: A function decorated with ``osmosis_reward`` or ``osmosis_rubric``.
        rubric: What a good text does, in plain words.
        model_info: The model that judges by the rubric.
        score_min: Lowest score of the rubric.
        score_max: Highest score of the rubric.
        timeout: Seconds that one judgement may take, retries included.
        concurrency: Judgements at once.
        cache: File that remembers verdicts of the rubric.
        evaluate_many: Evaluates texts by the rubric; another one spreads them over workers.
    """

    function: RewardFunction | None = None
    rubric: str | None = None
    model_info: Mapping[str, Any] | None = None
    score_min: float = 0.0
    score_max: float = 1.0
    timeout: float | None = None
    concurrency: int = 96
    cache: "str | os.PathLike[str] | None" = None
    evaluate_many: EvaluateMany | None = None

    def __post_init__(self) -> None:
        """Refuses what can't be meant."""
        if (self.function is None) == (self.rubric is None):
            raise TypeError("give either a reward function, or a rubric with model_info")
        if self.rubric is not None and self.model_info is None:
            raise TypeError("a rubric needs model_info, which says who judges")
        if self.concurrency < 1:
            raise ValueError("'concurrency' must be at least 1")

    @property
    def name(self) -> str:
        """How reports call the reward."""
        if self.function is None:
            return "rubric"
        return getattr(self.function, "__name__", type(self.function).__name__)

    def rewards(self, answers: Sequence[Answer]) -> list[Reward]:
        """A reward for each answer, in order; None where the judge failed, with one warning.

        Raises:
            As ``outcomes``.
        """
        outcomes = self.outcomes(answers)
        failures = [one for one in outcomes if isinstance(one, ProviderRequestError)]
        if failures:
            logger.warning(
                "%d of %d texts have no reward from %s, the first because: %s",
                *(len(failures), len(outcomes), self.name, failures[0]),
            )
        return [None if isinstance(one, ProviderRequestError) else one for one in outcomes]

    def outcomes(self, answers: Sequence[Answer]) -> "list[float | ProviderRequestError]":
        """A reward for each answer, in order, or the error of the judge.

        A rubric gives a blank text its lowest score without asking anybody. What is wrong with the
        function itself, or with the rubric, is raised.

        Raises:
            ValueError: The judge gave more or fewer rewards than there are answers, or a function
                gave one that is not finite.
            MissingAPIKeyError: There is no key for the provider.
        """
        if self.function is not None:
            found = _called(self.function, answers, self.concurrency)
        else:
            found = self._by_rubric(answers)
        for one in found:
            if isinstance(one, Exception) and not isinstance(one, ProviderRequestError):
                raise one
        return [one if isinstance(one, ProviderRequestError) else float(one) for one in found]

    def _by_rubric(self, answers: Sequence[Answer]) -> list[Any]:
        outcomes: list[Any] = [self.score_min] * len(answers)
        places = [place for place, one in enumerate(answers) if one.text.strip()]
        if not places:
            return outcomes
        judged = self._evaluate([_solution(answers[place]) for place in places])
        if len(judged) != len(places):
            raise ValueError(f"{len(places)} texts were sent and {len(judged)} rewards came back")
        for place, outcome in zip(places, judged, strict=True):
            outcomes[place] = outcome
        return outcomes

    def _evaluate(self, solutions: list[dict[str, Any]]) -> Sequence[Any]:
        from osmosis_ai.rubric_eval import evaluate_rubric_many  # noqa: PLC0415 - slow to import

        evaluate: EvaluateMany = self.evaluate_many or evaluate_rubric_many
        return evaluate(
            self.rubric,
            solutions,
            self.model_info,
            score_min=self.score_min,
            score_max=self.score_max,
            timeout=self.timeout,
            concurrency=self.concurrency,
            cache=self.cache,
            progress=False,
            on_error="return",
        )


def _solution(answer: Answer) -> dict[str, Any]:
    known = {
        "solution_str": answer.text,
        "ground_truth": answer.ground_truth,
        "original_input": answer.question,
        "metadata": answer.extra_info or None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _called(function: RewardFunction, answers: Sequence[Answer], concurrency: int) -> list[Any]:
    """Calls the function for each answer, many at once, whether it is async or not."""
    if not answers:
        return []
    if inspect.iscoroutinefunction(function):
        # In a thread: the caller may be in an event loop of its own.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, _awaited(function, answers, concurrency)).result()
    with ThreadPoolExecutor(min(concurrency, len(answers))) as threads:
        return list(threads.map(lambda one: _outcome_of(function, one), answers))


def _outcome_of(function: RewardFunction, answer: Answer) -> Any:
    try:
        return function(answer.text, answer.ground_truth, dict(answer.extra_info))
    except Exception as error:  # noqa: BLE001 - sorted out once all are done
        return error


async def _awaited(
    function: RewardFunction, answers: Sequence[Answer], concurrency: int
) -> list[Any]:
    places = asyncio.Semaphore(concurrency)

    async def one(answer: Answer) -> Any:
        async with places:
            try:
                given: Any = function(answer.text, answer.ground_truth, dict(answer.extra_info))
                return await given
            except Exception as error:  # noqa: BLE001 - sorted out once all are done
                return error

    return list(await asyncio.gather(*map(one, answers)))


def text_of(completion: object) -> str:
    """The text of a completion: itself, or the last text of the model in a conversation."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Mapping):
        completion = [completion]
    if isinstance(completion, Sequence):
        for message in reversed(completion):
            if isinstance(message, Mapping) and message.get("role", "assistant") == "assistant":
                return _content(message.get("content"))
    return ""


def question_of(prompt: object) -> str | None:
    """The text of a prompt: itself, or the last text of the user in a conversation."""
    if isinstance(prompt, str):
        return prompt or None
    if isinstance(prompt, Sequence):
        for message in reversed(prompt):
            if isinstance(message, Mapping) and message.get("role") == "user":
                return _content(message.get("content")) or None
    return None


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = [one.get("text") for one in content if isinstance(one, Mapping)]
        return "".join(one for one in parts if isinstance(one, str))
    return ""
