"""What the engine's errors are called here."""

from agent_eval_rpc import AgentEvalError, ValidationError

from osmosis_ai.rubric_types import ModelNotFoundError, ProviderRequestError


def failure(error: AgentEvalError, provider: str, model: str) -> Exception:
    """The exception for a judgement that the engine gave no score for."""
    if isinstance(error, ValidationError) and error.code == "validation_error":
        return ValueError(error.message)
    kind = ModelNotFoundError if error.code == "model_not_found" else ProviderRequestError
    detail = f"{_documented(error)}{error.message}"
    return kind(provider, model, detail, code=error.code, retryable=error.retryable)


def _documented(error: AgentEvalError) -> str:
    """The words that callers look for in a message."""
    details = error.details if isinstance(error.details, dict) else {}
    if error.code == "judge_malformed" and "dimension" not in details:
        empty = not str(details.get("reply", "")).strip()
        if empty:
            return "the response did not include any content. "
        return "the response was not valid JSON of a verdict. "
    if error.code in {"judge_malformed", "judge_incomplete"}:
        return "the response must include a numeric 'score'. "
    if error.code == "judge_out_of_range":
        return "the response must include a numeric 'score' within the range. "
    return ""
