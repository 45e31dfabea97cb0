"""What a scripted step of the fake endpoint answers: replies and default verdicts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

from model_dialects import dialect_of
from model_wire import ENCODERS, Answer, Json

STEP_KEYS = {
    "match", "times", "status", "headers", "reply", "usage", "finishReason", "mode",
    "together", "delayMs", "headersThenDelayMs", "chunks", "drop",
}  # fmt: skip
REPLY_KINDS = {"verdict", "content", "message", "json", "raw", "base64"}
REPLY_OPTIONS = {"encoding", "encodingHeader", "keep"}
MATCH_KEYS = {"bodyContains", "path", "model", "method"}
DROPS = {"before-headers", "after-headers", "mid-body", "rst"}
DEFAULT_FRACTION = 0.8
PROMPT_LINE = re.compile(r'^- ("(?:[^"\\]|\\.)*"), a number from (\S+) to (\S+):', re.MULTILINE)


def check_step(step: Any) -> Json:
    """Refuses a step with a word that means nothing: a typo must not pass for the default."""
    if not isinstance(step, dict):
        raise ValueError(f"a step is an object, not {step!r}")
    _known(step, STEP_KEYS, "step")
    _known(step.get("match", {}), MATCH_KEYS, "match")
    reply = step.get("reply", {})
    _known(reply, REPLY_KINDS | REPLY_OPTIONS, "reply")
    if len(REPLY_KINDS & set(reply)) > 1:
        raise ValueError(f"a reply has one of {sorted(REPLY_KINDS)}, this one has {sorted(reply)}")
    if reply.get("encoding", "none") not in {"none", *ENCODERS}:
        raise ValueError(f"encoding is one of {sorted(ENCODERS)}, not {reply['encoding']!r}")
    _known(step.get("chunks", {}), {"count", "delayMs"}, "chunks")
    if step.get("drop", "rst") not in DROPS:
        raise ValueError(f"drop is one of {sorted(DROPS)}, not {step['drop']!r}")
    if step.get("mode", "fixed") not in {"fixed", "hash"}:
        raise ValueError(f"mode is fixed or hash, not {step['mode']!r}")
    together = step.get("together", 1)
    if not (isinstance(together, int) and together > 0):
        raise ValueError(f"together is a positive whole number, not {together!r}")
    times = step.get("times", 1)
    if times != "forever" and not (isinstance(times, int) and times > 0):
        raise ValueError(f"times is a positive whole number or 'forever', not {times!r}")
    return step


def _known(value: Any, allowed: set[str], what: str) -> None:
    unknown = set(value) - allowed
    if unknown:
        raise ValueError(f"unknown {what} keys {sorted(unknown)}; known: {sorted(allowed)}")


def build_answer(step: Json, request: Any, path: str = "") -> Answer:
    """The answer of one step to one request body (parsed JSON, or None), in the path's dialect."""
    reply = step.get("reply", {})
    if "raw" in reply:
        body = str(reply["raw"]).encode("utf-8", "surrogatepass")
    elif "base64" in reply:
        body = base64.b64decode(reply["base64"])
    elif "json" in reply:
        body = json.dumps(reply["json"]).encode()
    else:
        body = json.dumps(_spoken(step, request, path)).encode()
    headers = [("content-type", "application/json")]
    encoding = reply.get("encoding", "none")
    if encoding != "none":
        body = ENCODERS[encoding](body)
        shown = reply.get("encodingHeader", encoding)
        if shown is not None:
            headers.append(("content-encoding", shown))
    body = body[: int(len(body) * reply.get("keep", 1))]
    return Answer(int(step.get("status", 200)), _with_own(headers, step.get("headers", [])), body)


def _with_own(defaults: list[tuple[str, str]], own: list[Any]) -> list[tuple[str, str]]:
    """A header of the step replaces the default of that name; null leaves it out."""
    named = {str(name).lower() for name, _ in own}
    kept = [(name, value) for name, value in defaults if name not in named]
    return kept + [(str(name), str(value)) for name, value in own if value is not None]


def _spoken(step: Json, request: Any, path: str) -> Json:
    body = request if isinstance(request, dict) else {}
    dialect = dialect_of(path)
    if dialect is None:
        return _completion(step, body)
    return dialect.answer(_completion(step, dialect.ask(body, path)))


def _completion(step: Json, body: Json) -> Json:
    message = _message(step, body)
    tools = "tool_calls" in message
    completion: Json = {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body.get("model", "fake-model"),
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": step.get("finishReason", "tool_calls" if tools else "stop"),
            }
        ],
    }
    usage = step.get("usage", _usage(body, message))
    if usage != "absent":
        completion["usage"] = usage
    return completion


def _message(step: Json, body: Json) -> Json:
    reply = step.get("reply", {})
    if "message" in reply:
        return {"role": "assistant", **reply["message"]}
    if "content" in reply:
        return {"role": "assistant", "content": reply["content"]}
    if "verdict" in reply:
        return {"role": "assistant", "content": json.dumps(reply["verdict"])}
    verdict = json.dumps(default_verdict(body, step.get("mode", "fixed")))
    tool = _forced_tool(body)
    if tool is None:
        return {"role": "assistant", "content": verdict}
    call = {"name": tool.get("name", "verdict"), "arguments": verdict}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_fake", "type": "function", "function": call}],
    }


def _usage(body: Json, message: Json) -> Json:
    sent = len(json.dumps(body.get("messages", []))) // 4 + 1
    answered = len(json.dumps(message)) // 4 + 1
    return {
        "prompt_tokens": sent,
        "completion_tokens": answered,
        "total_tokens": sent + answered,
    }


def _schema(body: Json) -> Json | None:
    response_format = body.get("response_format") or {}
    schema = (response_format.get("json_schema") or {}).get("schema")
    if isinstance(schema, dict):
        return schema
    parameters = (_forced_tool(body) or {}).get("parameters")
    return parameters if isinstance(parameters, dict) else None


def _forced_tool(body: Json) -> Json | None:
    tools = body.get("tools")
    if body.get("response_format") or not tools:
        return None
    function = tools[0].get("function")
    return function if isinstance(function, dict) else None


def default_verdict(body: Json, mode: str) -> Any:
    """A valid verdict for the rubric of this request, found in its schema or else in its prompt."""
    messages = json.dumps(body.get("messages", [])) if mode == "hash" else None
    schema = _schema(body)
    if schema is not None:
        return fill(schema, "verdict", messages)
    system = "\n".join(
        message["content"]
        for message in body.get("messages", [])
        if isinstance(message, dict) and isinstance(message.get("content"), str)
    )
    return {
        "rationale": "Scripted.",
        "dimensions": {
            json.loads(name): _number(float(low), float(high), json.loads(name), messages)
            for name, low, high in PROMPT_LINE.findall(system)
        },
        "failureModes": [],
        "wins": [],
    }


def fill(schema: Json, name: str, messages: str | None) -> Any:
    """The plainest value that the schema allows."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties", {})
        return {key: fill(value, key, messages) for key, value in properties.items()}
    if kind in {"number", "integer"}:
        value = _number(schema.get("minimum", 0), schema.get("maximum", 1), name, messages)
        return round(value) if kind == "integer" else value
    plain: dict[Any, Any] = {"array": [], "boolean": True, "null": None}
    return plain.get(kind, "Scripted.")


def _number(low: float, high: float, name: str, messages: str | None) -> float:
    """At 0.8 of the scale, or at a place that only the messages and the id decide."""
    fraction = DEFAULT_FRACTION
    if messages is not None:
        digest = hashlib.sha256(f"{messages}\n{name}".encode()).digest()
        fraction = int.from_bytes(digest[:4], "big") % 101 / 100
    return round(low + fraction * (high - low), 6)
