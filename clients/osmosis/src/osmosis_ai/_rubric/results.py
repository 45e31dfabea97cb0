"""Verdicts of the engine as rewards."""

from typing import TYPE_CHECKING, Any

from osmosis_ai._rubric.arguments import SCORE

if TYPE_CHECKING:
    from agent_eval_rpc import JudgeResult

    from osmosis_ai.rubric_types import RewardRubricRunResult


def score_of(result: "JudgeResult") -> float:
    """The score, on the caller's own range."""
    return float(result.dimensions[SCORE])


def details_of(result: "JudgeResult") -> "RewardRubricRunResult":
    """The score with its explanation and the reply."""
    raw = _completion(result)
    return {
        "score": score_of(result),
        "explanation": result.rationale,
        "raw": raw,
        "raw_payload": raw,
    }


def _completion(result: "JudgeResult") -> dict[str, Any]:
    """The reply as a chat completion, whichever dialect the provider speaks."""
    message = {"role": "assistant", "content": result.raw}
    usage = result.usage
    tokens = usage and {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
    return {
        "object": "chat.completion",
        "model": result.model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": tokens,
        "agent_eval": result.model_dump(mode="json", exclude={"raw"}, exclude_none=True),
    }
