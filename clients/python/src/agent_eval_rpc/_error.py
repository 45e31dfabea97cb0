"""The base of every error; the classes by code are generated beside the table they come from."""

from collections.abc import Mapping
from typing import Any, ClassVar

from agent_eval_rpc._generated.error_table import ROWS


class AgentEvalError(Exception):
    """Base class of everything this package raises.

    A code that this version does not know, sent by a newer engine, is raised as this class itself.

    Attributes:
        code: Stable name of what went wrong, such as ``"rubric_not_found"``.
        message: What happened and what to do next.
        details: Facts for programs, by code.
        status: HTTP status that belongs to the code, None for errors of the client alone.
        retryable: Whether the same call may succeed later.
    """

    default_code: ClassVar[str] = "internal_error"

    code: str
    message: str
    details: dict[str, Any]
    status: int | None
    retryable: bool

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = self.default_code if code is None else code
        self.details = dict(details or {})
        row = ROWS.get(self.code)
        self.status = row.http if status is None and row is not None else status
        self.retryable = row is not None and row.retryable

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return f"{type(self).__name__}(code={self.code!r}, message={self.message!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would call the class with `args` alone and lose the keyword-only fields.
        return _rebuild, (type(self), self.message, self.code, self.details, self.status)


def _rebuild(
    cls: type[AgentEvalError], message: str, code: str, details: dict[str, Any], status: int | None
) -> AgentEvalError:
    return cls(message, code=code, details=details, status=status)
