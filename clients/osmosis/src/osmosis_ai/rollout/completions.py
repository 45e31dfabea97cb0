"""Answers of the trainer's model: reading them, and counting what they took. Pure."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from osmosis_ai.rollout.core.exceptions import OsmosisValidationError
from osmosis_ai.rollout.core.schemas import MessageDict, RolloutMetrics


@dataclass(frozen=True)
class CompletionsResult:
    """One turn of the model.

    Attributes:
        message: The message, to be added to the conversation as it is.
        token_ids: Tokens of the answer, where the trainer tells them.
        logprobs: Their log probabilities.
        usage: Tokens that were counted; empty where the trainer told none.
        finish_reason: Why the answer ended, ``"stop"`` where the trainer gave no reason.
    """

    message: MessageDict
    token_ids: list[int] | None
    logprobs: list[float] | None
    usage: dict[str, Any]
    finish_reason: str

    @property
    def has_tool_calls(self) -> bool:
        """Whether the model calls tools."""
        return bool(self.tool_calls)

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The tool calls, empty where there are none."""
        calls = self.message.get("tool_calls")
        return calls if isinstance(calls, list) else []

    @property
    def content(self) -> str | None:
        """The text of the message."""
        return self.message.get("content")


def read_completion(body: bytes, status: int, where: str) -> CompletionsResult:
    """Reads an answer of OpenAI's shape.

    Args:
        body: The answer.
        status: Its HTTP status, for the error.
        where: What was asked, for the error.

    Raises:
        OsmosisValidationError: It is something else; the message says what.
    """

    def odd(what: str) -> OsmosisValidationError:
        return OsmosisValidationError(f"{where}: the answer {what}", status)

    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise odd("is not JSON") from error
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(choices, list) or not choices:
        raise odd("has no choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, dict):
        raise odd("has a choice without a message")
    usage = answer.get("usage")
    reason = choice.get("finish_reason")
    return CompletionsResult(
        message=message,
        token_ids=answer.get("token_ids"),
        logprobs=answer.get("logprobs"),
        usage=usage if isinstance(usage, dict) else {},
        finish_reason=reason if isinstance(reason, str) and reason else "stop",
    )


class Counted:
    """What the turns of a rollout took."""

    def __init__(self) -> None:
        self._latency_ms = 0.0
        self._calls = 0
        self._prompt = 0
        self._answers = 0
        self._largest = 0

    def add(self, result: CompletionsResult, latency_ms: float) -> None:
        """Counts one more turn."""
        prompt = _tokens(result.usage.get("prompt_tokens"))
        answer = _tokens(result.usage.get("completion_tokens"))
        self._latency_ms += latency_ms
        self._calls += 1
        self._prompt += prompt
        self._answers += answer
        self._largest = max(self._largest, prompt + answer)

    def metrics(self) -> RolloutMetrics:
        """The counts so far."""
        return RolloutMetrics(
            llm_latency_ms=self._latency_ms,
            num_llm_calls=self._calls,
            prompt_tokens=self._prompt,
            response_tokens=self._answers,
            max_context_tokens=self._largest,
        )


def _tokens(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    # A trainer's 1e999 is infinity, of which there is no int.
    return int(value) if 0 <= value < math.inf else 0
