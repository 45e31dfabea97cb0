"""What became of one item."""

from dataclasses import dataclass, field

from agent_eval_rpc._generated.models import JudgeResult
from agent_eval_rpc.errors import AgentEvalError


@dataclass(frozen=True)
class JudgeOutcome:
    """What became of one item of ``judge_many``: a result or an error, never both.

    Attributes:
        index: Place of the item, from 0.
        item: The item as it was given.
        id: Its ``"id"``, where it had one.
        result: The verdict, None when unscored.
        error: Why it is unscored, None when scored.
    """

    index: int
    item: object = field(repr=False)
    id: "str | int | None" = None
    result: JudgeResult | None = None
    error: AgentEvalError | None = None

    @property
    def scored(self) -> bool:
        """Whether there is a verdict."""
        return self.result is not None
