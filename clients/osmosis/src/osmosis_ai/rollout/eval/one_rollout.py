"""Runs an agent once on a row, without a trainer."""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from osmosis_ai.rollout.core.base import RolloutAgentLoop, RolloutContext, RolloutResult
from osmosis_ai.rollout.core.protocol import LLMClientProtocol
from osmosis_ai.rollout.core.schemas import (
    OpenAIFunctionToolSchema,
    RolloutMetrics,
    RolloutRequest,
    normalise_tools,
)
from osmosis_ai.rollout.eval.datasets import Row
from osmosis_ai.rollout.eval.errors import SystemicProviderError
from osmosis_ai.rollout.eval.model import ExternalLLMClient
from osmosis_ai.rollout.server.terminal import of_result

Wrap = Callable[[LLMClientProtocol, list[OpenAIFunctionToolSchema]], LLMClientProtocol]

SERVER_URL = "http://local-rollout.local"
MAX_TOKENS_TOTAL = 4096


@dataclass(frozen=True)
class Sampling:
    """How an agent's model is asked.

    Attributes:
        max_turns: Turns at most, as the agent is told.
        max_tokens: Tokens of an answer at most.
        temperature: Sampling temperature.
        debug_dir: Folder for the events of each rollout.
    """

    max_turns: int = 10
    max_tokens: int | None = None
    temperature: float | None = None
    debug_dir: str | None = None


@dataclass
class RowRun:
    """What became of a row.

    Attributes:
        row_index: The row.
        success: Whether the agent came to its end.
        error: What went wrong.
        duration_ms: How long it took.
        messages: The whole conversation.
        reward: The agent's own reward.
        finish_reason: Why it ended.
        metrics: What it took.
        systemic: Whether no other row would do better.
    """

    row_index: int
    success: bool
    error: str | None
    duration_ms: float
    messages: list[dict[str, Any]] = field(default_factory=list)
    reward: float | None = None
    finish_reason: str | None = None
    metrics: RolloutMetrics = field(default_factory=RolloutMetrics)
    systemic: bool = False

    @property
    def token_usage(self) -> dict[str, int]:
        """Tokens and calls, as results list them."""
        prompt, answers = self.metrics.prompt_tokens, self.metrics.response_tokens
        return {
            "prompt_tokens": prompt,
            "completion_tokens": answers,
            "total_tokens": prompt + answers,
            "num_llm_calls": self.metrics.num_llm_calls,
        }


async def run_row(
    loop: RolloutAgentLoop,
    row: Row,
    model: ExternalLLMClient,
    sampling: Sampling,
    rollout_id: str,
    wrap: Wrap | None = None,
) -> RowRun:
    """Runs the agent on a row; whatever it raises is in what it gives.

    Args:
        loop: The agent.
        row: The row.
        model: Its model.
        sampling: How the model is asked.
        rollout_id: Names the rollout.
        wrap: Puts something between the agent and its model.
    """
    params = {"temperature": sampling.temperature, "max_tokens": sampling.max_tokens}
    given = {name: value for name, value in params.items() if value is not None}
    started = time.monotonic()
    ctx: RolloutContext | None = None
    try:
        request = _request(row, rollout_id, sampling, given)
        found = loop.get_tools(request)
        tools = normalise_tools(await found if inspect.isawaitable(found) else found)
        llm: LLMClientProtocol = model.for_rollout(tools, **given)
        llm = llm if wrap is None else wrap(llm, tools)
        ctx = RolloutContext(request, tools, llm, started, _debug_dir=sampling.debug_dir)
        result: RolloutResult = await loop.run(ctx)
        ended = of_result(result, ctx, loop.name)
    except Exception as error:  # noqa: BLE001 - an agent may raise anything
        return RowRun(
            row_index=row.index,
            success=False,
            error=str(error) or type(error).__name__,
            duration_ms=(time.monotonic() - started) * 1000,
            metrics=RolloutMetrics() if ctx is None else ctx.metrics(),
            systemic=isinstance(error, SystemicProviderError),
        )
    return RowRun(
        row_index=row.index,
        success=ended.status == "COMPLETED",
        error=ended.error_message,
        duration_ms=(time.monotonic() - started) * 1000,
        messages=ended.final_messages,
        reward=ended.reward,
        finish_reason=ended.finish_reason,
        metrics=ended.metrics,
    )


def _request(
    row: Row, rollout_id: str, sampling: Sampling, completion_params: dict[str, Any]
) -> RolloutRequest:
    return RolloutRequest(
        rollout_id=rollout_id,
        server_url=SERVER_URL,
        messages=[dict(one) for one in row.messages],
        completion_params=completion_params,
        max_turns=sampling.max_turns,
        max_tokens_total=MAX_TOKENS_TOTAL,
        metadata=row.metadata,
    )
