"""Rewards for TRL's ``GRPOTrainer``, and for others that call a reward function with a batch."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from osmosis_ai.trainers.batch import Answer, Judging, Reward, RewardFunction, question_of, text_of

#: Arguments that TRL passes beside the columns of its dataset.
_OF_TRL = frozenset(
    {"completion_ids", "completions_ids", "prompt_ids", "trainer_state", "environments"}
)
_OF_TRL_PREFIXES = ("log_",)


def trl_reward(
    function: RewardFunction | None = None,
    *,
    rubric: str | None = None,
    model_info: Mapping[str, Any] | None = None,
    ground_truth: str = "ground_truth",
    **options: Any,
) -> Callable[..., list[Reward]]:
    """Makes a reward function for ``GRPOTrainer(reward_funcs=…)``.

    It gives exactly one reward for each completion, in order, and None where the judge failed,
    which TRL leaves out; never NaN, and never 0.0 for a failure. Identical completions each get
    their reward.

    Args:
        function: A function decorated with ``osmosis_reward`` or ``osmosis_rubric``, sync or async;
            called with the text, the ground truth, and the other columns as ``extra_info``.
        rubric: Instead of a function, what a good text does in plain words.
        model_info: The model that judges by the rubric.
        ground_truth: Column of the dataset that holds the right answer.
        **options: ``score_min``, ``score_max``, ``timeout``, ``concurrency``, ``cache`` and
            ``evaluate_many`` of ``osmosis_ai.trainers.batch.Judging``.

    Raises:
        TypeError: Neither or both of function and rubric are given.
    """
    judging = Judging(function=function, rubric=rubric, model_info=model_info, **options)

    def reward(
        prompts: Sequence[Any] | None = None, completions: Sequence[Any] = (), **columns: Any
    ) -> list[Reward]:
        return judging.rewards(_answers(prompts, completions, columns, ground_truth))

    reward.__name__ = judging.name
    reward.__doc__ = f"Rewards completions by {judging.name}."
    return reward


def _answers(
    prompts: Sequence[Any] | None,
    completions: Sequence[Any],
    columns: dict[str, Any],
    ground_truth: str,
) -> list[Answer]:
    count = len(completions)
    rows = {
        name: values
        for name, values in columns.items()
        if name not in _OF_TRL
        and not name.startswith(_OF_TRL_PREFIXES)
        and isinstance(values, Sequence)
        and not isinstance(values, str)
    }
    for name, values in {"prompts": prompts, **rows}.items():
        if values is not None and len(values) != count:
            raise ValueError(f"{count} completions came with {len(values)} values of '{name}'")
    answers = []
    for place, completion in enumerate(completions):
        row = {name: values[place] for name, values in rows.items()}
        truth = row.pop(ground_truth, None)
        answers.append(
            Answer(
                text=text_of(completion),
                ground_truth=None if truth is None else str(truth),
                question=None if prompts is None else question_of(prompts[place]),
                extra_info=row,
            )
        )
    return answers
