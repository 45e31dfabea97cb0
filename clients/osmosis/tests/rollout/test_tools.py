"""Tools that a model calls: values as text, arguments, and calls that are run at once."""

import asyncio
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osmosis_ai.rollout import OsmosisRolloutError, ToolArgumentError, ToolExecutionError, tools

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.lists(json_values) | st.dictionaries(st.text(), json_values) | st.booleans() | st.none())
def test_what_is_no_text_and_no_number_is_json_in_ascii(value: Any) -> None:
    text = tools.serialize_tool_result(value)
    assert text.isascii()
    assert json.loads(text) == value


@given(st.integers() | st.floats())
def test_a_number_is_written_as_python_writes_it(number: float) -> None:
    text = tools.serialize_tool_result(number)
    assert text == str(number)
    assert type(number)(text) == number or math.isnan(number)


@given(st.text())
def test_a_text_stays_as_it_is(text: str) -> None:
    assert tools.serialize_tool_result(text) == text


@given(st.dictionaries(st.text(), json_values))
def test_arguments_are_read_from_both_forms(arguments: dict[str, Any]) -> None:
    assert tools.parse_tool_arguments(arguments) is arguments
    assert tools.parse_tool_arguments(json.dumps(arguments)) == arguments
    call = {"id": "c", "function": {"name": "f", "arguments": json.dumps(arguments)}}
    assert tools.get_tool_call_info(call) == ("c", "f", arguments)


@given(st.none() | st.integers() | st.lists(st.none()) | st.binary())
def test_other_arguments_say_what_they_are(arguments: Any) -> None:
    with pytest.raises(
        ToolArgumentError, match=f"Expected str or dict, .*{type(arguments).__name__}"
    ):
        tools.parse_tool_arguments(arguments)


def test_arguments_too_deep_to_read_are_an_error_of_ours() -> None:
    with pytest.raises(ToolArgumentError, match="Invalid JSON"):
        tools.parse_tool_arguments('{"a":' * 100_000)


@pytest.mark.parametrize(
    ("call", "info"),
    [
        ({"id": None, "function": {"name": None}}, ("unknown", "", {})),
        ({"function": {"name": "f"}}, ("unknown", "f", {})),
        ({"id": "c", "function": {"arguments": {"a": 1}}}, ("c", "", {"a": 1})),
        ({"id": "c", "function": "f"}, ("c", "", {})),
    ],
)
def test_A13_what_a_call_leaves_out_or_null(call: Any, info: Any) -> None:
    assert tools.get_tool_call_info(call) == info


def test_an_argument_error_is_an_error_of_a_tool_and_of_rollouts() -> None:
    with pytest.raises(ToolArgumentError) as failed:
        tools.get_tool_call_info({"function": {"arguments": "["}})
    assert isinstance(failed.value, ToolExecutionError)
    assert isinstance(failed.value, OsmosisRolloutError)
    assert (failed.value.tool_call_id, failed.value.tool_name) == ("unknown", "")
    bare = ToolExecutionError("x")
    assert (str(bare), bare.tool_call_id, bare.tool_name) == ("x", "", "")


def others() -> list["asyncio.Task[Any]"]:
    return [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]


@pytest.mark.parametrize("sync", [True, False])
def test_the_first_failure_leaves_no_call_running(sync: bool) -> None:
    async def test() -> None:
        started = asyncio.Event()

        async def forever() -> dict[str, Any]:
            started.set()
            await asyncio.Event().wait()
            return {}

        async def fail() -> dict[str, Any]:
            await started.wait()
            raise OSError("no disk")

        def execute(call: Any) -> Any:
            if call["id"] == "good":
                return forever()
            if sync:
                raise OSError("no disk")
            return fail()

        with pytest.raises(OSError, match="no disk"):
            await tools.execute_tool_calls([{"id": "good"}, {"id": "bad"}], execute)
        await asyncio.sleep(0)
        assert others() == []

    asyncio.run(test())


def test_calls_that_are_called_off_end() -> None:
    async def test() -> None:
        started = asyncio.Event()
        ended: list[str] = []

        async def execute(call: Any) -> dict[str, Any]:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(call["id"])
            return {}

        running = asyncio.ensure_future(tools.execute_tool_calls([{"id": "a"}], execute))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended == ["a"]

    asyncio.run(test())
