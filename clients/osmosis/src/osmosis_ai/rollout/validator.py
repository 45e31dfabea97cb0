"""Whether an agent loop can be served, and if not, why."""

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic import ValidationError as PydanticValidationError

from osmosis_ai.rollout.core.schemas import OpenAIFunctionToolSchema, RolloutRequest

KNOWN_TYPES = frozenset({"function"})


@dataclass(frozen=True)
class ValidationError:
    """One thing that is wrong with an agent loop.

    Attributes:
        code: Its stable name, such as ``"MISSING_FUNCTION_NAME"``.
        message: What is wrong.
        field: Where.
        details: Facts for programs.
    """

    code: str
    message: str
    field: str | None = None
    details: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        where = "" if self.field is None else f"{self.field}: "
        return f"[{self.code}] {where}{self.message}"


class AgentLoopValidationError(Exception):
    """An agent loop can't be served.

    Attributes:
        errors: What is wrong with it.
    """

    def __init__(self, errors: list[ValidationError]) -> None:
        self.errors = errors
        lines = "".join(f"\n  {one}" for one in errors)
        super().__init__(f"The agent loop has {len(errors)} error(s):{lines}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.errors,)


@dataclass
class ValidationResult:
    """What was found; true where nothing is wrong.

    Attributes:
        valid: Whether the agent loop can be served.
        errors: What is wrong.
        warnings: What may be.
        agent_name: Its name.
        tool_count: How many tools it has.
    """

    valid: bool
    errors: list[ValidationError]
    warnings: list[ValidationError]
    agent_name: str | None = None
    tool_count: int = 0

    def __bool__(self) -> bool:
        return self.valid

    def raise_if_invalid(self) -> None:
        """Raises what is wrong.

        Raises:
            AgentLoopValidationError: Something is.
        """
        if not self.valid:
            raise AgentLoopValidationError(self.errors)


def validate_agent_loop(loop: Any, *, request: RolloutRequest | None = None) -> ValidationResult:
    """Looks at name, tools and ``run`` of an agent loop, without running it.

    Args:
        loop: The agent loop.
        request: What ``get_tools`` is asked with; by default a made-up one whose metadata holds
            ``{"_validation": True}``.
    """
    asked = request or RolloutRequest(
        rollout_id="validation-test-rollout",
        server_url="http://localhost",
        messages=[],
        completion_params={},
        metadata={"_validation": True},
    )
    tools, of_getting = _get_tools(loop, asked)
    found = [*_of_name(loop), *of_getting, *_of_run(loop)]
    for place, tool in enumerate(tools):
        of_tool = list(_of_tool(tool, f"tools[{place}]"))
        found += of_tool
        if all(one.code in _WARNINGS for one in of_tool):
            found += _of_schema(tool, f"tools[{place}]")
    warnings = [one for one in found if one.code in _WARNINGS]
    errors = [one for one in found if one.code not in _WARNINGS]
    name = getattr(loop, "name", None)
    shown = name if isinstance(name, str) else None
    return ValidationResult(not errors, errors, warnings, shown, len(tools))


_WARNINGS = frozenset(
    {"UNKNOWN_TOOL_TYPE", "MISSING_FUNCTION_DESCRIPTION", "PARAMETERS_TYPE_NOT_OBJECT"}
)


def _of_name(loop: Any) -> Iterator[ValidationError]:
    name = getattr(loop, "name", None)
    if name is None:
        yield ValidationError("MISSING_NAME", "the agent loop has no name", "name")
    elif not isinstance(name, str):
        kind = type(name).__name__
        yield ValidationError("INVALID_NAME_TYPE", f"must be a string, got {kind}", "name")
    elif not name.strip():
        yield ValidationError("EMPTY_NAME", "must not be empty", "name")


def _get_tools(loop: Any, request: RolloutRequest) -> tuple[list[Any], list[ValidationError]]:
    try:
        tools = loop.get_tools(request)
        if inspect.isawaitable(tools):
            tools = _awaited(tools)
    except Exception as error:  # noqa: BLE001 - whatever it raises is what is reported
        details = {"exception_type": type(error).__name__, "exception_message": str(error)}
        said = f"get_tools raised {type(error).__name__}: {error}"
        return [], [ValidationError("GET_TOOLS_EXCEPTION", said, "get_tools", details)]
    if tools is None:
        said = "get_tools returned None; a loop without tools returns an empty list"
        return [], [ValidationError("GET_TOOLS_RETURNS_NONE", said, "get_tools")]
    if not isinstance(tools, list):
        said = f"get_tools must return a list, got {type(tools).__name__}"
        return [], [ValidationError("GET_TOOLS_INVALID_TYPE", said, "get_tools")]
    return tools, []


def _awaited(tools: Any) -> Any:
    """Runs an async get_tools to its end, also inside a running loop."""
    import asyncio  # noqa: PLC0415 - only for async loops
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only for async loops

    async def run() -> Any:
        return await tools

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, run()).result()


def _of_run(loop: Any) -> Iterator[ValidationError]:
    run = getattr(loop, "run", None)
    if run is None:
        yield ValidationError("MISSING_RUN_METHOD", "the agent loop has no run", "run")
    elif not callable(run):
        yield ValidationError("RUN_NOT_CALLABLE", "must be a method", "run")
    elif not inspect.iscoroutinefunction(run):
        yield ValidationError("RUN_NOT_ASYNC", "must be an async method", "run")


def _of_tool(tool: Any, where: str) -> Iterator[ValidationError]:
    given = tool.model_dump() if isinstance(tool, BaseModel) else tool
    if not isinstance(given, Mapping):
        said = f"must be a tool schema or a dict, got {type(tool).__name__}"
        yield ValidationError("INVALID_TOOL_TYPE", said, where)
        return
    kind = given.get("type")
    if not kind:
        yield ValidationError("MISSING_TOOL_TYPE", 'must be "function"', f"{where}.type")
    elif isinstance(kind, str) and kind not in KNOWN_TYPES:
        said = f'is {kind!r}, and only "function" is known'
        yield ValidationError("UNKNOWN_TOOL_TYPE", said, f"{where}.type")
    function = given.get("function")
    if function is None:
        said = "the tool has no function"
        yield ValidationError("MISSING_FUNCTION", said, f"{where}.function")
    elif not isinstance(function, Mapping):
        said = f"must be an object, got {type(function).__name__}"
        yield ValidationError("INVALID_FUNCTION_TYPE", said, f"{where}.function")
    else:
        yield from _of_function(function, f"{where}.function")


def _of_schema(tool: Any, where: str) -> Iterator[ValidationError]:
    """What the server would refuse although it has the parts of a tool."""
    given = tool.model_dump() if isinstance(tool, BaseModel) else tool
    try:
        OpenAIFunctionToolSchema.model_validate(given)
    except PydanticValidationError as error:
        issue = error.errors(include_url=False, include_input=False)[0]
        place = [str(one) for one in issue["loc"]]
        code = "INVALID_TOOL_TYPE"
        if place[:1] == ["function"]:
            parameters = place[1:2] == ["parameters"]
            code = "INVALID_PARAMETERS_TYPE" if parameters else "INVALID_FUNCTION_TYPE"
        yield ValidationError(code, issue["msg"], ".".join([where, *place]))


def _of_function(function: Mapping[str, Any], where: str) -> Iterator[ValidationError]:
    name = function.get("name")
    if not name:
        said = "the function has no name"
        yield ValidationError("MISSING_FUNCTION_NAME", said, f"{where}.name")
    elif not isinstance(name, str):
        said = f"must be a string, got {type(name).__name__}"
        yield ValidationError("INVALID_FUNCTION_NAME", said, f"{where}.name")
    if not function.get("description"):
        said = "without it the model can only guess what the function is for"
        yield ValidationError("MISSING_FUNCTION_DESCRIPTION", said, f"{where}.description")
    parameters = function.get("parameters")
    if parameters is None:
        return
    if not isinstance(parameters, Mapping):
        said = f"must be an object, got {type(parameters).__name__}"
        yield ValidationError("INVALID_PARAMETERS_TYPE", said, f"{where}.parameters")
    elif parameters.get("type") != "object":
        said = f'is {parameters.get("type")!r}, and models expect "object"'
        yield ValidationError("PARAMETERS_TYPE_NOT_OBJECT", said, f"{where}.parameters.type")
