"""The keyword arguments of ``judge_many``, once for both clients."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from agent_eval_rpc._many.plan import ManyOptions, Plan, Reader
from agent_eval_rpc._many.progress import Bar, Progress
from agent_eval_rpc._settings import check_timeout

if TYPE_CHECKING:
    from agent_eval_rpc._generated.models import Rubric


class ManyArguments(TypedDict, total=False):
    """What ``judge_many`` takes beside its items; ``None`` counts as absent."""

    rubric_name: str | None
    rubric: "Rubric | None"
    context: Mapping[str, Any] | None
    model: str | None
    models: "Sequence[str] | None"
    samples: int | None
    pool: Literal["mean", "median"] | None
    quorum: int | None
    score_mode: Literal["text", "logprobs", "checks"] | None
    temperature: float | None
    seed: int | None
    reasoning_effort: str | None
    max_tokens: int | None
    cache: Literal["use", "bypass", "refresh"] | None
    timeout_s: float | None
    ordered: bool
    concurrency: int
    on_error: Literal["raise", "return"]
    max_cost_usd: float | None
    max_calls: int | None
    max_unscored: "int | float | None"
    progress: Progress


_OF_A_RUN = frozenset(field.name for field in fields(ManyOptions))
#: What is left says how each item is judged.
_OF_A_JUDGEMENT = frozenset(ManyArguments.__annotations__) - _OF_A_RUN - {"timeout_s", "progress"}


@dataclass(frozen=True)
class ManyRun:
    """A run whose arguments have been checked."""

    items: Any
    options: ManyOptions
    reader: Reader
    timeout_s: float | None
    progress: Progress

    def plan(self, slice_size: int) -> Plan:
        """Its state, at the start."""
        return Plan(self.options, self.reader, slice_size)

    def bar(self) -> Bar:
        """Its bar."""
        total = len(self.items) if isinstance(self.items, Sized) else None
        return Bar(self.progress, total)


def prepare(items: object, arguments: ManyArguments) -> ManyRun:
    """Checks the arguments.

    Raises:
        TypeError: There is no such argument.
        ValidationError: An argument is wrong.
    """
    strangers = set(arguments) - set(ManyArguments.__annotations__)
    if strangers:
        raise TypeError(f"judge_many() got an unexpected keyword argument {min(strangers)!r}")
    given = cast("Mapping[str, Any]", arguments)
    options = ManyOptions(**{name: given[name] for name in _OF_A_RUN & given.keys()})
    reader = Reader({name: given[name] for name in _OF_A_JUDGEMENT & given.keys()})
    timeout_s = arguments.get("timeout_s")
    timeout_s = None if timeout_s is None else check_timeout(timeout_s)
    return ManyRun(items, options, reader, timeout_s, arguments.get("progress"))
