"""Whether an agent loop can be served: what is said must be what the server does."""

import asyncio
import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_trainer import Agent

from osmosis_ai.rollout import (
    AgentLoopValidationError,
    OpenAIFunctionToolSchema,
    RolloutRequest,
    ValidationError,
    ValidationResult,
    validate_agent_loop,
)
from osmosis_ai.rollout.core.schemas import normalise_tools

FINE = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}


def with_function(**change: Any) -> dict[str, Any]:
    return {"type": "function", "function": {**FINE["function"], **change}}  # type: ignore[dict-item]


def codes(*tools: Any) -> list[tuple[str, str | None]]:
    result = validate_agent_loop(Agent(tools=tools))
    return [(one.code, one.field) for one in (*result.errors, *result.warnings)]


def test_an_agent_without_fault() -> None:
    model = OpenAIFunctionToolSchema.model_validate(FINE)
    result = validate_agent_loop(Agent(tools=[FINE, model]))
    assert (result.valid, result.errors, result.warnings) == (True, [], [])
    assert (result.agent_name, result.tool_count) == ("agent", 2)
    result.raise_if_invalid()


def test_tools_are_asked_for_with_the_given_request() -> None:
    seen: list[RolloutRequest] = []

    def tools(request: RolloutRequest) -> list[Any]:
        seen.append(request)
        return []

    own = RolloutRequest(
        rollout_id="mine", server_url="http://x", messages=[], completion_params={}
    )
    assert validate_agent_loop(Agent(tools=tools), request=own)
    assert validate_agent_loop(Agent(tools=tools))
    assert seen[0] is own
    assert (seen[1].rollout_id, seen[1].metadata) == (
        "validation-test-rollout", {"_validation": True},
    )  # fmt: skip


def test_each_fault_is_told_with_its_place() -> None:
    assert codes(FINE, 3, FINE, {"type": "function"}) == [
        ("INVALID_TOOL_TYPE", "tools[1]"), ("MISSING_FUNCTION", "tools[3].function"),
    ]  # fmt: skip
    result = validate_agent_loop(object())
    assert [one.code for one in result.errors] == [
        "MISSING_NAME", "GET_TOOLS_EXCEPTION", "MISSING_RUN_METHOD",
    ]  # fmt: skip
    assert (result.agent_name, result.tool_count, bool(result)) == (None, 0, False)
    with pytest.raises(AgentLoopValidationError, match=r"3 error\(s\)") as failed:
        result.raise_if_invalid()
    assert failed.value.errors == result.errors
    assert "\n  [MISSING_NAME] name: " in str(failed.value)


def test_how_a_fault_is_written() -> None:
    assert str(ValidationError("CODE", "said")) == "[CODE] said"
    assert str(ValidationError("CODE", "said", "place")) == "[CODE] place: said"
    assert ValidationError("CODE", "said").details == {}
    assert ValidationResult(True, [], [])
    assert not ValidationResult(False, [], [])


@pytest.mark.parametrize(
    ("tool", "code", "place"),
    [
        ({**FINE, "type": ["function"]}, "INVALID_TOOL_TYPE", "tools[0].type"),
        ({**FINE, "type": 3}, "INVALID_TOOL_TYPE", "tools[0].type"),
        (with_function(description=3), "INVALID_FUNCTION_TYPE", "tools[0].function.description"),
        (with_function(strict="maybe"), "INVALID_FUNCTION_TYPE", "tools[0].function.strict"),
        (with_function(parameters=None), "INVALID_PARAMETERS_TYPE", "tools[0].function.parameters"),
        (with_function(parameters={"type": "object", "properties": []}),
         "INVALID_PARAMETERS_TYPE", "tools[0].function.parameters.properties"),
        (with_function(parameters={"type": "object", "required": "a"}),
         "INVALID_PARAMETERS_TYPE", "tools[0].function.parameters.required"),
    ],
)  # fmt: skip
def test_L2_what_the_server_refuses_is_a_fault(tool: Any, code: str, place: str) -> None:
    with pytest.raises(ValueError, match="tool 0 is not valid"):
        normalise_tools([tool])
    assert codes(tool) == [(code, place)]


anything = st.none() | st.integers() | st.text() | st.lists(st.text()) | st.booleans()
properties = st.dictionaries(st.text(), anything | st.dictionaries(st.text(), anything))
parameters = st.fixed_dictionaries(
    {}, optional={"type": st.just("object") | anything, "properties": properties | anything,
                  "required": st.lists(st.text()) | anything},
)  # fmt: skip
functions = st.fixed_dictionaries(
    {}, optional={"name": anything, "description": anything, "parameters": parameters | anything,
                  "strict": anything},
)  # fmt: skip
tools = st.fixed_dictionaries(
    {}, optional={"type": st.just("function") | anything, "function": functions | anything}
)


@given(tools | anything)
def test_L2_what_passes_can_be_served(tool: Any) -> None:
    if validate_agent_loop(Agent(tools=lambda _: [tool])):
        (made,) = normalise_tools([tool])
        assert made.function.name
    else:
        # The server is more patient in one thing: a tool without a type is a function.
        try:
            normalise_tools([tool])
        except ValueError:
            return
        assert isinstance(tool, dict)
        assert not tool.get("type")


def test_what_counts_as_async() -> None:
    class Loop(Agent):
        pass

    async def run(more: int, ctx: Any) -> Any:
        return None

    made = Loop()
    made.run = functools.partial(run, 1)  # type: ignore[method-assign,assignment]
    assert validate_agent_loop(made)
    made.run = lambda ctx: run(1, ctx)  # type: ignore[method-assign]
    assert [one.code for one in validate_agent_loop(made).errors] == ["RUN_NOT_ASYNC"]


def test_async_tools_that_fail_are_told_like_others() -> None:
    async def fail(request: Any) -> Any:
        raise OSError("no disk")

    def outside() -> list[ValidationError]:
        return validate_agent_loop(Agent(tools=fail)).errors

    async def inside() -> list[ValidationError]:
        return outside()

    for errors in (outside(), asyncio.run(inside())):
        (error,) = errors
        assert error.code == "GET_TOOLS_EXCEPTION"
        assert error.details == {"exception_type": "OSError", "exception_message": "no disk"}
