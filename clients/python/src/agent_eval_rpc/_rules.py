"""What a request and its rubric must satisfy beyond their schema.

The engine has the same rules; ``tests/vectors`` pins both.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agent_eval_rpc._json import Issue

if TYPE_CHECKING:
    from agent_eval_rpc._generated.models import (
        Check,
        FailureMode,
        JudgeByName,
        JudgeByRubric,
        Rubric,
        RubricDimension,
        Win,
    )

MIN_TOTAL_WEIGHT = 1e-9
MAX_SEED = 2**53 - 1


def panel_issues(request: "JudgeByName | JudgeByRubric") -> list[Issue]:
    """Lists what does not go together in the options of a panel."""
    issues: list[Issue] = []
    if request.model is not None and request.models is not None:
        issues.append(Issue("models", "give either model or models, not both"))
    names = request.models or []
    for i, name in enumerate(names):
        if name in names[:i]:
            message = "is named twice; raise samples to ask a model several times"
            issues.append(Issue(f"models.{i}", message))
    members = (request.samples or 1) * max(1, len(names))
    if (request.quorum or 1) > members:
        issues.append(Issue("quorum", f"is more than the {members} verdicts asked for"))
    return issues


def seed_issues(seed: int | None, samples: int | None) -> list[Issue]:
    """Each sample has the next seed, and the last one must still be an exact number."""
    count = samples or 1
    if (seed or 0) + count - 1 <= MAX_SEED:
        return []
    return [Issue("seed", f"is too large for {count} samples, each with the next seed")]


def rubric_issues(rubric: "Rubric") -> list[Issue]:
    """Lists scales that do not go upwards, weights that add up to nothing, ids used twice."""
    lists: dict[str, Sequence[RubricDimension | FailureMode | Win]] = {
        "dimensions": rubric.dimensions,
        "failureModes": rubric.failure_modes,
        "wins": rubric.wins,
    }
    issues: list[Issue] = []
    for i, dimension in enumerate(rubric.dimensions):
        if not dimension.min < dimension.max:
            issues.append(Issue(f"dimensions.{i}.max", "must be greater than min"))
        elif not math.isfinite(dimension.max - dimension.min):
            message = "the scale is too wide: max - min overflows"
            issues.append(Issue(f"dimensions.{i}.max", message))
    issues += _weight_issues((one.weight for one in rubric.dimensions), "dimensions")
    for path, entries in lists.items():
        issues += _duplicate_issues([entry.id for entry in entries], path)
        for i, entry in enumerate(entries):
            issues += _check_issues(entry.checks, f"{path}.{i}.checks")
    return issues


def _check_issues(checks: "list[Check] | None", path: str) -> list[Issue]:
    return [] if checks is None else _weight_issues((check.weight for check in checks), path)


def _weight_issues(weights: Iterable[float], path: str) -> list[Issue]:
    total = 0.0
    # Not sum(): it rounds otherwise than the engine's plain additions from Python 3.12 on.
    for weight in weights:
        total += weight
    if total >= MIN_TOTAL_WEIGHT and math.isfinite(total):
        return []
    return [Issue(path, "weights must add up to a finite number of at least 1e-9")]


def _duplicate_issues(ids: list[str], path: str) -> list[Issue]:
    seen: set[str] = set()
    issues: list[Issue] = []
    for i, one in enumerate(ids):
        if one in seen:
            issues.append(Issue(f"{path}.{i}.id", "is used twice in this list"))
        seen.add(one)
    return issues
