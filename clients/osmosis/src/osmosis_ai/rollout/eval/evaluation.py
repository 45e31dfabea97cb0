"""Runs agents on a dataset and scores what they did, many at once."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from osmosis_ai.at_once import work_through
from osmosis_ai.journal import Journal, content_key
from osmosis_ai.rollout.core.base import RolloutAgentLoop
from osmosis_ai.rollout.eval.datasets import Row
from osmosis_ai.rollout.eval.errors import EvalFnError
from osmosis_ai.rollout.eval.eval_functions import EvalFunction
from osmosis_ai.rollout.eval.model import ExternalLLMClient
from osmosis_ai.rollout.eval.one_rollout import Sampling, run_row

logger = logging.getLogger(__name__)

Scores = dict[str, float | None]


@dataclass(frozen=True)
class Contender:
    """A model that takes part.

    Attributes:
        tag: ``"primary"`` or ``"baseline"``, None where there is only one.
        name: The model.
        client: How it is reached.
    """

    tag: str | None
    name: str
    client: ExternalLLMClient


@dataclass(frozen=True)
class Job:
    """One run of one row by one model."""

    contender: Contender
    row: Row
    run_index: int
    key: str

    @property
    def rollout_id(self) -> str:
        """Its name."""
        tag = "" if self.contender.tag is None else f"-{self.contender.tag}"
        return f"eval-{self.row.index}-run-{self.run_index}{tag}"


@dataclass
class Outcome:
    """What came of all runs.

    Attributes:
        runs: Finished runs, by model and row.
        stop_reason: Why no more were tried, None where all were.
        resumed: How many were done before.
        duration_ms: How long it took.
    """

    runs: dict[tuple[str, int], list[dict[str, Any]]] = field(default_factory=dict)
    stop_reason: str | None = None
    resumed: int = 0
    duration_ms: float = 0.0


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated, and how."""

    loop: RolloutAgentLoop
    functions: Sequence[EvalFunction]
    contenders: Sequence[Contender]
    rows: Sequence[Row]
    n: int
    sampling: Sampling
    concurrency: int
    journal: Journal
    progress: Callable[[dict[str, Any]], None]

    def jobs(self) -> list[Job]:
        """Every run, named by what is asked: a row that moves is the same, an edited one is not."""
        seen: dict[str, int] = {}
        jobs = []
        for row in self.rows:
            content = content_key(row.columns)
            occurrence = seen[content] = seen.get(content, 0) + 1
            for run in range(1, self.n + 1):
                for contender in self.contenders:
                    key = content_key(
                        content, occurrence, run, contender.tag, contender.name, self.loop.name,
                        [one.name for one in self.functions], vars(self.sampling),
                    )  # fmt: skip
                    jobs.append(Job(contender, row, run, key))
        return jobs

    async def run(self) -> Outcome:
        """Runs what was not done before; stops early where no run can do better."""
        started = time.monotonic()
        outcome = Outcome()
        waiting: list[Job] = []
        for job in self.jobs():
            known = self.journal.done.get(job.key)
            if known is not None and known.get("success"):
                self._put(outcome, job, {**known, "run_index": job.run_index})
                outcome.resumed += 1
            else:
                waiting.append(job)

        async def work(job: Job) -> None:
            if outcome.stop_reason is not None:
                return
            run, systemic = await self._run(job)
            if systemic:
                # What was still running keeps its time and its tokens.
                outcome.stop_reason = run["error"]
            else:
                self.journal.add(job.key, run)
            self._put(outcome, job, run)

        await work_through(waiting, self.concurrency, work)
        outcome.duration_ms = (time.monotonic() - started) * 1000
        for runs in outcome.runs.values():
            runs.sort(key=lambda run: run["run_index"])
        return outcome

    def _put(self, outcome: Outcome, job: Job, run: dict[str, Any]) -> None:
        outcome.runs.setdefault((job.contender.tag or "", job.row.index), []).append(run)
        self.progress(run)

    async def _run(self, job: Job) -> tuple[dict[str, Any], bool]:
        client = job.contender.client
        ran = await run_row(self.loop, job.row, client, self.sampling, job.rollout_id)
        scores: Scores = dict.fromkeys((one.name for one in self.functions), 0.0)
        errors: list[str] = []
        if ran.success:
            scores, errors = await self._scores(ran.messages, job.row)
        error = ran.error or ("; ".join(errors) or None)
        run: dict[str, Any] = {
            "run_index": job.run_index,
            # A run whose score is not known is taken up again by the next command.
            "success": ran.success and not errors,
            "scores": scores,
            "duration_ms": ran.duration_ms,
            "tokens": ran.token_usage["total_tokens"],
        }
        if job.contender.tag is not None:
            run["model_tag"] = job.contender.tag
        return ({**run, "error": error} if error is not None else run), ran.systemic

    async def _scores(self, messages: list[dict[str, Any]], row: Row) -> tuple[Scores, list[str]]:
        scores: Scores = {}
        errors: list[str] = []
        for one in self.functions:
            try:
                scores[one.name] = await one.score(messages, row)
            except EvalFnError as error:
                # Not 0.0: that would say that the agent did badly.
                logger.warning("Row %d has no score: %s", row.index, error)
                scores[one.name] = None
                errors.append(str(error))
        return scores, errors
