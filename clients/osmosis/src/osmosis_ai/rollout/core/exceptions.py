"""What rollouts raise."""

from collections.abc import Sequence
from typing import Any


class OsmosisRolloutError(Exception):
    """Base of everything that goes wrong between a rollout and its trainer."""


class OsmosisTransportError(OsmosisRolloutError):
    """The trainer could not be reached."""


class OsmosisTimeoutError(OsmosisRolloutError):
    """The trainer did not answer in time."""


class OsmosisServerError(OsmosisRolloutError):
    """The trainer failed.

    Attributes:
        status_code: HTTP status of its answer.
    """

    def __init__(self, message: str, status_code: int) -> None:
        super().__init__(message)
        self.status_code = status_code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.status_code)


class OsmosisValidationError(OsmosisRolloutError):
    """The trainer refused the request, or gave an answer that is not of the documented form.

    Attributes:
        status_code: HTTP status of its answer.
    """

    def __init__(self, message: str, status_code: int) -> None:
        super().__init__(message)
        self.status_code = status_code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.status_code)


class AgentLoopNotFoundError(OsmosisRolloutError):
    """No agent loop of that name is registered.

    Attributes:
        name: The name that was asked for.
        available: The names there are.
    """

    def __init__(self, name: str, available: Sequence[str]) -> None:
        self.name = name
        self.available = list(available)
        names = ", ".join(self.available) or "none"
        super().__init__(f"No agent loop named {name!r} is registered; available: {names}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.available)


class ToolExecutionError(OsmosisRolloutError):
    """A tool call failed.

    Attributes:
        tool_call_id: Id of the call, empty where it is not known.
        tool_name: Name of the tool, empty where it is not known.
    """

    def __init__(self, message: str, tool_call_id: str = "", tool_name: str = "") -> None:
        super().__init__(message)
        self.tool_call_id = tool_call_id
        self.tool_name = tool_name


class ToolArgumentError(ToolExecutionError):
    """The arguments of a tool call are not a JSON object."""
