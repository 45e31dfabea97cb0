"""What the terminal message of a rollout says. Pure."""

import math
from dataclasses import dataclass
from typing import Any

from osmosis_ai.rollout.core.base import RolloutContext, RolloutResult
from osmosis_ai.rollout.core.schemas import MessageDict, RolloutMetrics, RolloutStatus
from osmosis_ai.rollout.wire_json import text_of


@dataclass(frozen=True)
class Terminal:
    """A terminal message, decided."""

    status: str
    final_messages: list[MessageDict]
    finish_reason: str
    error_message: str | None
    metrics: RolloutMetrics
    reward: float | None = None


def of_result(result: object, ctx: RolloutContext, name: str) -> Terminal:
    """What an agent's result says, or what is wrong with it."""
    try:
        return _of_result(result, ctx, name)
    except Exception as error:  # noqa: BLE001 - whatever the values of a result raise
        kind = type(error).__name__
        return of_failure(f"the result of agent loop '{name}' cannot be read: {kind}", ctx)


def _of_result(result: object, ctx: RolloutContext, name: str) -> Terminal:
    if not isinstance(result, RolloutResult):
        kind = type(result).__name__
        return of_failure(
            f"run of agent loop '{name}' must return a RolloutResult, as ctx.complete(…) and "
            f"ctx.error(…) give, but returned {kind}",
            ctx,
        )
    wrong = _wrong(result)
    if wrong is not None:
        return of_failure(f"the result of agent loop '{name}' is not valid: {wrong}", ctx)
    return Terminal(
        status=RolloutStatus(result.status).value,
        final_messages=result.final_messages,
        finish_reason=_encodable(result.finish_reason),
        error_message=None if result.error_message is None else _encodable(result.error_message),
        metrics=result.metrics or ctx.metrics(),
        reward=result.reward,
    )


def of_exception(error: BaseException, ctx: RolloutContext) -> Terminal:
    """What an exception of an agent says."""
    return of_failure(text_of(error).strip() or type(error).__name__, ctx)


def of_failure(message: str, ctx: RolloutContext) -> Terminal:
    """What went wrong, with the messages and the counts so far."""
    result = ctx.error(message)
    return Terminal(
        status=RolloutStatus.ERROR.value,
        final_messages=result.final_messages,
        finish_reason="error",
        error_message=_encodable(message),
        metrics=ctx.metrics(),
    )


def _encodable(text: object) -> str:
    """Text that UTF-8 can hold."""
    return text_of(text).encode("utf-8", "replace").decode()


def _wrong(result: RolloutResult) -> str | None:
    known = [one.value for one in RolloutStatus]
    if result.status not in known:
        return f"status must be one of {', '.join(known)}, got {result.status!r}"
    messages: Any = result.final_messages
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        return "final_messages must be a list of dicts"
    metrics: Any = result.metrics
    if metrics is not None and not isinstance(metrics, RolloutMetrics):
        return f"metrics must be RolloutMetrics or None, got {type(metrics).__name__}"
    return _wrong_reward(result.reward)


def _wrong_reward(reward: Any) -> str | None:
    if reward is None:
        return None
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        return f"reward must be a number or None, got {type(reward).__name__}"
    try:
        given = float(reward)
    except OverflowError:
        given = math.inf
    return None if math.isfinite(given) else f"reward must be finite, got {given}"
