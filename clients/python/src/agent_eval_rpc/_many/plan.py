"""What to send next, what to hand out, and when to stop. Pure: no I/O."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from agent_eval_rpc._base import RequestModel, validation_error
from agent_eval_rpc._generated.models import JudgeResult
from agent_eval_rpc._json import Issue
from agent_eval_rpc._many.outcome import JudgeOutcome
from agent_eval_rpc._protocol import Params, judge_params, to_params
from agent_eval_rpc.errors import AgentEvalError, BudgetExceededError, JudgeError, ValidationError

#: A share of unscored items says little before so many are known.
SHARE_AFTER = 20


@dataclass(frozen=True)
class ManyOptions:
    """How ``judge_many`` runs."""

    ordered: bool = True
    concurrency: int = 96
    on_error: Literal["raise", "return"] = "raise"
    max_cost_usd: float | None = None
    max_calls: int | None = None
    max_unscored: "int | float | None" = None

    def __post_init__(self) -> None:
        """Refuses what cannot be meant."""
        issues = [
            Issue(name, message)
            for name, wrong, message in (
                ("concurrency", self.concurrency < 1, "must be at least 1"),
                ("on_error", self.on_error not in ("raise", "return"), 'is "raise" or "return"'),
                ("max_cost_usd", (self.max_cost_usd or 0) < 0, "must not be negative"),
                ("max_calls", (self.max_calls or 0) < 0, "must not be negative"),
                ("max_unscored", (self.max_unscored or 0) < 0, "must not be negative"),
            )
            if wrong
        ]
        if issues:
            raise validation_error("options of judge_many", issues)


@dataclass(frozen=True)
class Entry:
    """One item, ready to be sent."""

    index: int
    item: object
    id: "str | int | None"
    params: Params

    def outcome(
        self, *, result: JudgeResult | None = None, error: AgentEvalError | None = None
    ) -> JudgeOutcome:
        """What became of it."""
        return JudgeOutcome(self.index, self.item, self.id, result, error)


class Reader:
    """Makes requests of items: texts, mappings or request models."""

    def __init__(self, common: Mapping[str, Any]) -> None:
        self._given = {name: value for name, value in common.items() if value is not None}
        # Texts, the usual case, share everything else: it is checked once.
        names_rubric = "rubric" in self._given or "rubric_name" in self._given
        self._shared = judge_params({**self._given, "content": "x"}) if names_rubric else None

    def entry(self, index: int, item: object) -> "Entry | JudgeOutcome":
        """The item as a request, or as an outcome when it cannot be one."""
        id_ = None
        try:
            if isinstance(item, str) and item and self._shared is not None:
                return Entry(index, item, None, {**self._shared, "content": item})
            if isinstance(item, RequestModel):
                return Entry(index, item, None, {**self._defaults(item), **to_params(item)})
            if isinstance(item, str):
                item_options: dict[str, Any] = {"content": item}
            elif isinstance(item, Mapping):
                item_options = dict(cast("Mapping[str, Any]", item))
                id_ = _checked_id(item_options.pop("id", None))
            else:
                message = f"must be a text, a mapping or a request, not {type(item).__name__}"
                raise validation_error("item", [Issue("", message)])
            return Entry(index, item, id_, judge_params({**self._given, **item_options}))
        except ValidationError as error:
            return JudgeOutcome(index, item, id_, error=error)

    def _defaults(self, item: RequestModel) -> Params:
        """Options of the run for a request that names its own rubric."""
        if self._shared is None:
            return {}
        rubric_and_text = ("rubric", "rubricName", "content")
        return {k: v for k, v in self._shared.items() if k not in rubric_and_text}


def _checked_id(value: object) -> "str | int | None":
    if value is None or (isinstance(value, (str, int)) and not isinstance(value, bool)):
        return value
    raise validation_error("item", [Issue("id", "must be a text or an integer")])


class Plan:
    """The state of one run. The driver sends what ``take`` gives and reports with ``done``."""

    def __init__(self, options: ManyOptions, reader: Reader, slice_size: int) -> None:
        self.options = options
        self.sent = 0
        self.finished = 0
        self.unscored = 0
        self.cost_usd = 0.0
        self._reader = reader
        self._slice_size = slice_size
        self._next_index = 0
        self._next_out = 0
        self._waiting: dict[int, JudgeOutcome] = {}
        self._codes: Counter[str] = Counter()
        self._priced = options.max_cost_usd is None or options.max_calls is not None

    @property
    def slice_size(self) -> int:
        """Items to send together: one until its price is known, where money is limited."""
        if not self._priced:
            return 1
        return self._slice_size if self.options.max_cost_usd is None else min(16, self._slice_size)

    def has_room(self, parallel: int) -> bool:
        """Whether more items may be taken; ``parallel`` pieces of work are done at a time.

        Where money is limited nothing waits for its turn: what is taken is in flight, and paid.
        """
        if self.alone:
            return False
        limited = self.options.max_cost_usd is not None
        window = parallel * self.slice_size if limited else 4 * max(self.slice_size, parallel)
        return self.sent - self.finished + self.held < window

    @property
    def alone(self) -> bool:
        """Whether nothing else may be sent until what is in flight has come back."""
        return not self._priced and self.sent > self.finished

    def take(self, items: Iterable[object]) -> tuple[list[Entry], list[JudgeOutcome]]:
        """Turns items into what is to be sent, and outcomes of what is not."""
        entries: list[Entry] = []
        outcomes: list[JudgeOutcome] = []
        for item in items:
            entry = self._reader.entry(self._next_index, item)
            self._next_index += 1
            if isinstance(entry, JudgeOutcome):
                outcomes.append(entry)
            elif (limit := self._limit()) is not None:
                outcomes.append(entry.outcome(error=limit))
            else:
                self.sent += 1
                entries.append(entry)
        return entries, outcomes

    def done(self, outcome: JudgeOutcome, *, was_sent: bool = True) -> list[JudgeOutcome]:
        """Counts an outcome; gives those that may be handed out now.

        Raises:
            ValidationError: The price of the model is unknown, and only money was limited.
            JudgeError: Too many items are unscored.
        """
        self.finished += was_sent
        if outcome.error is not None:
            self.unscored += 1
            self._codes[outcome.error.code] += 1
        elif outcome.result is not None:
            self._pay(outcome.result)
        self._refuse_broken_run()
        if not self.options.ordered:
            return [outcome]
        self._waiting[outcome.index] = outcome
        ready: list[JudgeOutcome] = []
        while self._next_out in self._waiting:
            ready.append(self._waiting.pop(self._next_out))
            self._next_out += 1
        return ready

    @property
    def held(self) -> int:
        """Outcomes that wait for an earlier one."""
        return len(self._waiting)

    def _pay(self, result: JudgeResult) -> None:
        cost = None if result.usage is None else result.usage.cost_usd
        if cost is None and result.cached:
            cost = 0.0
        if cost is not None:
            self.cost_usd += cost
            self._priced = True
        elif not self._priced:
            raise ValidationError(
                f"The price of {result.model} is unknown, so max_cost_usd cannot be kept: set "
                "max_calls too, or give the engine a price.",
                details={"model": result.model},
            )

    def _limit(self) -> BudgetExceededError | None:
        """The error of an item that the budget no longer covers."""
        max_calls, max_cost = self.options.max_calls, self.options.max_cost_usd
        if max_calls is not None and self.sent >= max_calls:
            return BudgetExceededError(
                f"max_calls of {max_calls} is used up: raise it to judge the rest.",
                code="budget_exceeded",
                details={"maxCalls": max_calls},
            )
        if max_cost is not None and self.cost_usd >= max_cost and self.finished > 0:
            return BudgetExceededError(
                f"max_cost_usd of {max_cost:g} is used up ({self.cost_usd:.4f} spent): raise it to "
                "judge the rest.",
                code="budget_exceeded",
                details={"maxCostUsd": max_cost, "spentUsd": self.cost_usd},
            )
        return None

    def _refuse_broken_run(self) -> None:
        most = self.options.max_unscored
        if most is None:
            return
        failed = self.unscored - self._codes["budget_exceeded"]
        if isinstance(most, float) and most < 1:
            too_many = self.finished >= SHARE_AFTER and failed > most * self.finished
        else:
            too_many = failed > most
        if too_many:
            codes = ", ".join(f"{code} {count} times" for code, count in self._codes.most_common(3))
            raise JudgeError(
                f"Stopped, since {failed} of {self.finished} items are unscored ({codes}): see why "
                "before you judge the rest, or raise max_unscored.",
                code=self._codes.most_common(1)[0][0],
                details={"unscored": failed, "finished": self.finished},
            )
