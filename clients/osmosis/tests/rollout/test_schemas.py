"""The wire's models, and what tools may be."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from osmosis_ai.rollout import (
    DEFAULT_MAX_METADATA_SIZE_BYTES,
    InitResponse,
    OpenAIFunctionCallSchema,
    OpenAIFunctionParsedSchema,
    OpenAIFunctionToolCall,
    OpenAIFunctionToolSchema,
    RolloutMetrics,
    RolloutRequest,
    RolloutResponse,
    RolloutSettings,
    RolloutStatus,
    ToolResponse,
    configure,
    get_max_metadata_size_bytes,
    reset_settings,
    set_max_metadata_size_bytes,
)
from osmosis_ai.rollout.core import metadata
from osmosis_ai.rollout.core.schemas import normalise_tools
from osmosis_ai.rollout.wire_json import lenient_json, strict_json

DEEP = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Books a table.",
        "parameters": {
            "type": "object",
            "properties": {
                "guests": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"age": {"type": "integer"}}},
                },
                "size": {"type": "integer", "enum": [1, 2, None], "default": None},
                "when": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "kind": {"type": ["string", "null"], "description": "Any."},
                "anything": True,
                "ref": {"$ref": "#/$defs/place"},
            },
            "required": ["guests"],
            "additionalProperties": False,
            "$defs": {"place": {"type": "string", "minLength": 1}},
        },
        "strict": True,
    },
}


def test_L12_tools_keep_the_whole_of_their_json_schema() -> None:
    (tool,) = normalise_tools([DEEP])
    assert tool.model_dump(mode="json") == DEEP
    assert json.loads(tool.model_dump_json()) == DEEP
    assert normalise_tools([tool]) == [tool]
    assert normalise_tools([tool.model_dump()]) == [tool]
    assert normalise_tools(iter([DEEP])) == [tool]


def test_L12_an_answer_has_no_nulls_of_ours() -> None:
    bare = {"type": "function", "function": {"name": "look"}}
    response = InitResponse(rollout_id="r", tools=[OpenAIFunctionToolSchema.model_validate(bare)])
    assert "null" not in response.model_dump_json()
    assert response.model_dump(mode="json")["tools"][0]["function"] == {
        "name": "look",
        "description": "",
        "parameters": {"type": "object", "properties": {}, "required": []},
        "strict": False,
    }


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        (None, "must return a list of tools, got NoneType"),
        ("search", "got str"),
        ({"type": "function"}, "got dict"),
        (3, "got int"),
        ([DEEP, 4], "tool 1 is not valid"),
        ([{}], "tool 0 is not valid: function: Field required"),
        ([{"function": {"name": ""}}], "function.name"),
        ([{"function": {"name": "x", "parameters": []}}], "function.parameters"),
    ],
)
def test_L2_what_is_no_tool_says_which_and_why(tools: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        normalise_tools(tools)


def test_calls_are_read_from_their_text() -> None:
    read = OpenAIFunctionCallSchema.from_openai_function_parsed_schema
    for text, arguments, failed in (
        ('{"a": 1}', {"a": 1}, False),
        ("{", {}, True),
        ("[1]", {}, True),
        ("null", {}, True),
        ("", {}, True),
        ("[" * 100_000, {}, True),
    ):
        call, wrong = read(OpenAIFunctionParsedSchema(name="f", arguments=text))
        assert (call.arguments, wrong) == (arguments, failed)
    assert OpenAIFunctionToolCall(id="c", function=call).type == "function"


def test_tool_responses() -> None:
    assert ToolResponse().is_empty()
    assert ToolResponse(text="x").is_text_only()
    assert not ToolResponse(text="x", image=[1]).is_text_only()
    for field in ("image", "video"):
        with pytest.raises(ValidationError):
            ToolResponse(**{field: "x"})


def request(**change: Any) -> RolloutRequest:
    fields = {"rollout_id": "r", "server_url": "http://x", "messages": [], "completion_params": {}}
    return RolloutRequest.model_validate({**fields, **change})


def test_requests_have_their_defaults() -> None:
    made = request()
    assert (made.max_turns, made.max_tokens_total, made.metadata) == (10, 8192, {})
    assert made.tool_server_url is made.api_key is made.idempotency_key is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1}, object()])
def test_L16_metadata_is_json(value: Any) -> None:
    with pytest.raises(ValidationError, match="must be JSON serializable"):
        request(metadata={"a": value})


def test_the_limit_of_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_max_metadata_size_bytes() == DEFAULT_MAX_METADATA_SIZE_BYTES == 1_048_576
    configure(RolloutSettings(max_metadata_size_bytes=1024))
    try:
        assert get_max_metadata_size_bytes() == 1024
        with pytest.raises(ValidationError, match="exceeds maximum of 1024 bytes"):
            request(metadata={"a": "é" * 600})
        monkeypatch.setattr(metadata, "_limit", None)
        set_max_metadata_size_bytes(2000)
        assert request(metadata={"a": "é" * 600}).metadata
        for wrong in (0, -1):
            with pytest.raises(ValueError, match="must be positive"):
                set_max_metadata_size_bytes(wrong)
    finally:
        reset_settings()


def test_L16_a_terminal_message_holds_no_nan() -> None:
    for reward in (float("nan"), float("inf")):
        with pytest.raises(ValidationError):
            RolloutResponse(rollout_id="r", status=RolloutStatus.ERROR, reward=reward)
    assert RolloutStatus("COMPLETED") == "COMPLETED"
    assert RolloutMetrics().num_llm_calls == 0


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(anything)
def test_L16_json_of_anything_is_json(value: Any) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads(lenient_json(value), parse_constant=refuse)


def test_json_of_what_goes_round_in_circles() -> None:
    circle: dict[str, Any] = {"a": 1}
    circle["self"] = circle
    assert json.loads(lenient_json(circle))["a"] == 1
    with pytest.raises(ValueError, match="Circular"):
        strict_json(circle)
    assert strict_json({"a": [1, "é"]}) == b'{"a":[1,"\\u00e9"]}'


class Wordless:
    def __str__(self) -> str:
        raise OSError("no words")

    __repr__ = __str__


def test_L16_json_of_values_that_refuse_to_be_written() -> None:
    large = 10**400
    assert json.loads(lenient_json([large, float("nan")])) == [large, None]
    assert json.loads(lenient_json([10**5000, 1])) == [None, 1]
    assert json.loads(lenient_json([Wordless()])) == ["Wordless"]
    assert json.loads(lenient_json({Wordless(): 1, (1, 2): 2})) == {"Wordless": 1, "(1, 2)": 2}


def test_json_of_what_holds_itself_twice_stays_small() -> None:
    twice: list[Any] = []
    twice += [twice, twice, {"again": twice}]
    assert json.loads(lenient_json(twice)) == ["list", "list", {"again": "list"}]
    shared = [1]
    assert json.loads(lenient_json([shared, shared, {1}])) == [[1], [1], [1]]
