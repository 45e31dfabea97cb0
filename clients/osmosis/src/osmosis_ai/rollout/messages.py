"""What is in a message of a conversation."""

from collections.abc import Iterable, Mapping
from typing import Any


def parse_tool_calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tool calls of a message, empty where there are none."""
    calls = message.get("tool_calls")
    return calls if isinstance(calls, list) else []


def normalize_stop(stop: object) -> list[str] | None:
    """Texts at which an answer ends, as a list; None for what is neither a text nor a list."""
    if isinstance(stop, str):
        return [stop]
    return [str(one) for one in stop] if isinstance(stop, list) else None


def get_message_content(message: Mapping[str, Any]) -> str:
    """The text of a message, empty where its content is no text."""
    content = message.get("content")
    return content if isinstance(content, str) else ""


def get_message_role(message: Mapping[str, Any]) -> str:
    """Who says it, ``"unknown"`` where it is not said."""
    role = message.get("role")
    return role if isinstance(role, str) and role else "unknown"


def is_assistant_message(message: Mapping[str, Any]) -> bool:
    """Whether the model says it."""
    return get_message_role(message) == "assistant"


def is_user_message(message: Mapping[str, Any]) -> bool:
    """Whether the user says it."""
    return get_message_role(message) == "user"


def is_tool_message(message: Mapping[str, Any]) -> bool:
    """Whether it is the result of a tool."""
    return get_message_role(message) == "tool"


def count_messages_by_role(messages: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many messages each role has."""
    counts: dict[str, int] = {}
    for message in messages:
        role = get_message_role(message)
        counts[role] = counts.get(role, 0) + 1
    return counts
