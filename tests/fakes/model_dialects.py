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
    return _asked(
        body.get("model"), [system, *body["messages"]], schema, tools[0] if tools else None
    )


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


def _gemini_ask(body: Json, path: str) -> Json:
    config = body.get("generationConfig", {})
    tools = [
        {"name": tool["name"], "parameters": tool["parametersJsonSchema"]}
        for group in body.get("tools", [])
        for tool in group["functionDeclarations"]
    ]
    system = {"role": "system", "content": _gemini_text(body.get("systemInstruction", {}))}
    messages = [
        {"role": content["role"], "content": _gemini_text(content)} for content in body["contents"]
    ]
    model = path.rpartition("/")[2].partition(":")[0]
    schema = config.get("responseJsonSchema")
    return _asked(model, [system, *messages], schema, tools[0] if tools else None)


def _gemini_text(content: Json) -> str:
    return "".join(part["text"] for part in content.get("parts", []))


def _gemini_answer(completion: Json) -> Json:
    choice = completion["choices"][0]
    message = choice["message"]
    usage = completion.get("usage")
    parts: list[Json] = []
    if message.get("reasoning_content"):
        parts.append({"text": message["reasoning_content"], "thought": True})
    if message.get("content"):
        parts.append({"text": message["content"]})
    for call in message.get("tool_calls", []):
        given = json.loads(call["function"]["arguments"])
        parts.append({"functionCall": {"name": call["function"]["name"], "args": given}})
    reasons = {
        "stop": "STOP",
        "tool_calls": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
    }
    finish = reasons.get(choice["finish_reason"], choice["finish_reason"])
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}],
        "modelVersion": completion["model"],
        **({} if usage is None else {"usageMetadata": _gemini_usage(usage)}),
    }


def _gemini_usage(usage: Json) -> Json:
    thought = _detail(usage, "completion_tokens_details", "reasoning_tokens")
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    return {
        "promptTokenCount": usage["prompt_tokens"],
        "candidatesTokenCount": usage["completion_tokens"] - thought,
        **({"cachedContentTokenCount": cached} if cached else {}),
        **({"thoughtsTokenCount": thought} if thought else {}),
    }


def _responses_ask(body: Json, _path: str) -> Json:
    schema = body.get("text", {}).get("format", {}).get("schema")
    return _asked(body.get("model"), body["input"], schema, (body.get("tools") or [None])[0])


def _responses_answer(completion: Json) -> Json:
    choice = completion["choices"][0]
    message = choice["message"]
    usage = completion.get("usage")
    cut = {"length": "max_output_tokens", "content_filter": "content_filter"}
    reason = cut.get(choice["finish_reason"])
    output: list[Json] = []
    if message.get("reasoning_content"):
        summary = [{"type": "summary_text", "text": message["reasoning_content"]}]
        output.append({"type": "reasoning", "summary": summary})
    if message.get("content"):
        said = {"type": "output_text", "text": message["content"], "annotations": []}
        output.append({"type": "message", "role": "assistant", "content": [said]})
    output.extend(
        {"type": "function_call", **call["function"]} for call in message.get("tool_calls", [])
    )
    return {
        "id": "resp_fake",
        "object": "response",
        "status": "completed" if reason is None else "incomplete",
        "incomplete_details": None if reason is None else {"reason": reason},
        "error": None,
        "model": completion["model"],
        "output": output,
        **({} if usage is None else {"usage": _responses_usage(usage)}),
    }


def _responses_usage(usage: Json) -> Json:
    thought = _detail(usage, "completion_tokens_details", "reasoning_tokens")
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": thought},
    }


DIALECTS: dict[str, Dialect] = {
    "/messages": Dialect(_anthropic_ask, _anthropic_answer),
    ":generateContent": Dialect(_gemini_ask, _gemini_answer),
    "/responses": Dialect(_responses_ask, _responses_answer),
}
