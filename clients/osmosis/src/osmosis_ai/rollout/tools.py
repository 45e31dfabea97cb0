"""Helpers for running the tools that a model calls."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from osmosis_ai.rollout.core.exceptions import ToolArgumentError


def create_tool_result(tool_call_id: str, content: str) -> dict[str, str]:
    """The message that answers a tool call."""
    return {"role": "tool", "content": content, "tool_call_id": tool_call_id}


def create_tool_error_result(tool_call_id: str, error_message: str) -> dict[str, str]:
    """The message that says that a tool call failed."""
    return create_tool_result(tool_call_id, f"Error: {error_message}")


def serialize_tool_result(result: Any) -> str:
    """What a tool gave back, as text: a text as it is, a number as Python writes it, else JSON.

    Raises:
        TypeError: JSON has no word for it.
    """
    if isinstance(result, str):
        return result
    if isinstance(result, int | float) and not isinstance(result, bool):
        return str(result)
    return json.dumps(result)


def parse_tool_arguments(arguments: object) -> dict[str, Any]:
    """The arguments of a tool call, as a dict or as the JSON text of one.

    Raises:
        ToolArgumentError: They are something else.
    """
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str):
        raise ToolArgumentError(f"Expected str or dict, got {type(arguments).__name__}")
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise ToolArgumentError(f"Invalid JSON in the arguments: {error}") from error
    if not isinstance(read, dict):
        raise ToolArgumentError(f"Expected dict of arguments, got {type(read).__name__}")
    return read


def get_tool_call_info(tool_call: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Id, name and arguments of a tool call; ``"unknown"``, empty and none where they are absent.

    Raises:
        ToolArgumentError: The arguments are no JSON object; it carries id and name.
    """
    call_id = tool_call.get("id") or "unknown"
    function = tool_call.get("function")
    called = function if isinstance(function, Mapping) else {}
    name = called.get("name") or ""
    try:
        return call_id, name, parse_tool_arguments(called.get("arguments", {}))
    except ToolArgumentError as error:
        raise ToolArgumentError(str(error), tool_call_id=call_id, tool_name=name) from error


async def execute_tool_calls(
    tool_calls: Iterable[Mapping[str, Any]],
    executor: Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Runs tool calls at once; gives their messages in the order of the calls.

    Args:
        tool_calls: The calls.
        executor: Runs one call and gives its message. The first exception ends them all.
    """
    tasks: list[asyncio.Future[dict[str, Any]]] = []
    try:
        for call in tool_calls:
            tasks.append(asyncio.ensure_future(executor(call)))
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
