"""Reward functions of a module whose annotations are text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osmosis_ai import osmosis_reward, osmosis_rubric

if TYPE_CHECKING:
    from somewhere import Unknown  # type: ignore[import-not-found]


@osmosis_reward
def exact_match(
    solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs: Unknown
) -> float:
    return 1.0 if solution_str.strip() == ground_truth.strip() else 0.0


@osmosis_reward
def optional_info(solution_str: str, ground_truth: str, extra_info: dict | None = None) -> float:
    return 0.5


@osmosis_rubric
def rubric(
    solution_str: str, ground_truth: str | None, extra_info: dict, **kwargs: Unknown
) -> float:
    return 0.25
