"""Dialects of the fake endpoint besides chat completions, each said by the path of a request.

A request is turned into the chat completion that would ask the same, so that scripts and default
verdicts are the same for all, and the completion into what the dialect would answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from model_wire import Json


class Dialect(NamedTuple):
    """How one dialect differs."""

    ask: Callable[[Json, str], Json]
    answer: Callable[[Json], Json]


def dialect_of(path: str) -> Dialect | None:
    """The dialect of a path; None for chat completions and anything else."""
    bare = path.partition("?")[0]
    return next((dialect for end, dialect in DIALECTS.items() if bare.endswith(end)), None)


def _asked(
    model: object, messages: list[Json], schema: Json | None, tool: Json | None = None
) -> Json:
    body: Json = {"model": model, "messages": messages}
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
    if tool is not None:
        body["tools"] = [{"type": "function", "function": tool}]
    return body


def _anthropic_ask(body: Json, _path: str) -> Json:
    schema = body.get("output_config", {}).get("format", {}).get("schema")
    tools = [
        {"name": tool["name"], "parameters": tool["input_schema"]} for tool in body.get("tools", [])
    ]
    system = {"role": "system", "content": body.get("system", "")}
    return _asked(body.get("model"), [system, *body["messages"]], schema, (tools or [None])[0])


def _anthropic_answer(completion: Json) -> Json:
    choice = completion["choices"][0]
    message = choice["message"]
    usage = completion.get("usage")
    blocks: list[Json] = []
    if message.get("reasoning_content"):
        blocks.append({"type": "thinking", "thinking": message["reasoning_content"]})
    if message.get("content"):
        blocks.append({"type": "text", "text": message["content"]})
    for call in message.get("tool_calls", []):
        given = json.loads(call["function"]["arguments"])
        blocks.append({"type": "tool_use", "name": call["function"]["name"], "input": given})
    reasons = {
        "stop": "end_turn",
        "length": "max_tokens",
        "tool_calls": "tool_use",
        "content_filter": "refusal",
    }
    return {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": blocks,
        "stop_reason": reasons.get(choice["finish_reason"], choice["finish_reason"]),
        **({} if usage is None else {"usage": _anthropic_usage(usage)}),
    }


def _anthropic_usage(usage: Json) -> Json:
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    return {
        "input_tokens": usage["prompt_tokens"] - cached,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": usage["completion_tokens"],
    }


def _detail(usage: Json, group: str, name: str) -> int:
    return int((usage.get(group) or {}).get(name) or 0)


DIALECTS: dict[str, Dialect] = {
    "/messages": Dialect(_anthropic_ask, _anthropic_answer),
}
