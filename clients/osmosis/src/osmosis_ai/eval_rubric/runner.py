"""Evaluates every record so many times, many at once, and keeps what is done."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from osmosis_ai._rubric.providers import LOCAL, LOCAL_AT_ONCE
from osmosis_ai.at_once import work_through
from osmosis_ai.eval_rubric.records import Record
from osmosis_ai.eval_rubric.suite import RubricConfig
from osmosis_ai.journal import Journal, content_key
from osmosis_ai.rubric_eval import aevaluate_rubric
from osmosis_ai.rubric_types import MissingAPIKeyError, ProviderRequestError

#: Longest beginning of a text that a run shows.
PREVIEW = 140
_SECRET = frozenset({"api_key"})


@dataclass
class Runs:
    """The runs of every record.

    Attributes:
        of_record: By the index of the record, its runs in order.
        resumed: How many were done before.
    """

    of_record: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    resumed: int = 0


@dataclass(frozen=True)
class _Asked:
    record: Record
    run_index: int
    key: str
    arguments: dict[str, Any]


async def run_records(
    config: RubricConfig,
    records: list[Record],
    number: int,
    *,
    journal: Journal,
    concurrency: int,
    progress: Callable[[dict[str, Any]], None],
) -> Runs:
    """Evaluates each record ``number`` times.

    Args:
        config: The rubric.
        records: The records.
        number: Runs of each.
        journal: What was done before is taken from it, and what is done written to it.
        concurrency: Evaluations at once.
        progress: Told of each run once it is done.
    """
    asked = _asked(config, records, number)
    outcomes: dict[tuple[int, int], dict[str, Any]] = {}
    waiting: list[_Asked] = []
    for one in asked:
        known = journal.done.get(one.key)
        if known is not None and known.get("status") == "success":
            outcomes[one.record.index, one.run_index] = {**known, "run_index": one.run_index}
            progress(known)
        else:
            waiting.append(one)
    resumed = len(outcomes)

    async def work(one: _Asked) -> None:
        outcome = await _run(one)
        journal.add(one.key, outcome)
        outcomes[one.record.index, one.run_index] = outcome
        progress(outcome)

    local = str(config.model_info.get("provider")).strip().lower() == LOCAL
    at_once = min(concurrency, len(waiting), LOCAL_AT_ONCE if local else concurrency)
    await work_through(waiting, at_once, work)
    of_record = {
        record.index: [outcomes[record.index, run] for run in range(1, number + 1)]
        for record in records
    }
    return Runs(of_record, resumed)


def _asked(config: RubricConfig, records: list[Record], number: int) -> list[_Asked]:
    """Every run, named by what is asked: a record that moves is the same, an edited one is not."""
    seen: dict[str, int] = {}
    asked = []
    for record in records:
        arguments = record.arguments(config)
        content = content_key(_without_secrets(arguments))
        occurrence = seen[content] = seen.get(content, 0) + 1
        for run in range(1, number + 1):
            asked.append(_Asked(record, run, content_key(content, occurrence, run), arguments))
    return asked


def _without_secrets(arguments: dict[str, Any]) -> dict[str, Any]:
    info: Mapping[str, Any] = arguments["model_info"]
    return {**arguments, "model_info": {k: v for k, v in info.items() if k not in _SECRET}}


async def _run(asked: _Asked) -> dict[str, Any]:
    started, clock = _now(), time.monotonic()
    outcome: dict[str, Any] = {
        "run_index": asked.run_index,
        "status": "success",
        "started_at": started,
        "completed_at": None,
        "duration_seconds": None,
        "score": None,
        "explanation": None,
        "preview": preview(asked.arguments["solution_str"]),
        "error": None,
        "raw": None,
    }
    try:
        result: Any = await aevaluate_rubric(**asked.arguments, return_details=True)
        outcome.update({name: result[name] for name in ("score", "explanation", "raw")})
    except (ProviderRequestError, MissingAPIKeyError, TypeError, ValueError) as error:
        outcome.update(status="error", error=str(error) or type(error).__name__)
    outcome.update(completed_at=_now(), duration_seconds=time.monotonic() - clock)
    return outcome


def preview(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1] + "…"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat()
