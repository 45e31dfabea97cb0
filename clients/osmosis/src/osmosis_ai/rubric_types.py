"""Types of rubric evaluation, and what it raises."""

from typing import Any, TypedDict


class ModelInfo(TypedDict, total=False):
    """The model that judges; ``provider`` and ``model`` are required.

    Attributes:
        provider: ``"openai"``, ``"anthropic"``, ``"gemini"`` (or ``"google"``), ``"xai"``,
            ``"openrouter"``, ``"cerebras"``, ``"azure"``, ``"local"``, or any name together with
            ``base_url``.
        model: Name of the model at that provider.
        api_key: The key itself.
        api_key_env: Variable that holds the key instead of the provider's usual one.
        base_url: Address of an OpenAI-compatible server, or another address of the provider. It is
            sent only a key that is named here too, by ``api_key`` or ``api_key_env``.
        score_min: Lowest score, where the call does not say.
        score_max: Highest score, where the call does not say.
        system_prompt: What the judge is told before everything else.
        original_input: The request that was answered, where the call does not say.
        timeout: Seconds for the whole judgement, retries included.
        reasoning_effort: How much a model that thinks should think, such as ``"low"``.
    """

    provider: str
    model: str
    api_key: str
    api_key_env: str
    base_url: str
    score_min: float
    score_max: float
    system_prompt: str
    original_input: str
    timeout: float
    reasoning_effort: str


class RewardRubricRunResult(TypedDict):
    """What ``evaluate_rubric`` gives with ``return_details=True``.

    Attributes:
        score: The score, from ``score_min`` to ``score_max``.
        explanation: Why, in the words of the model.
        raw: The reply as a chat completion of OpenAI's shape; ``agent_eval`` in it is the verdict
            of the engine, with what it cost.
        raw_payload: The same object as ``raw``.
    """

    score: float
    explanation: str
    raw: Any
    raw_payload: Any


class MissingAPIKeyError(RuntimeError):
    """No key for the provider."""


class ProviderRequestError(RuntimeError):
    """The judge gave no score.

    Attributes:
        provider: The provider, as in ``model_info``.
        model: The model.
        detail: What went wrong, and what to do about it.
        code: Code of the engine, such as ``"rate_limited"`` or ``"judge_malformed"``; None where
            the engine was not asked.
        retryable: Whether the same call may succeed later.
    """

    def __init__(
        self,
        provider: str,
        model: str,
        detail: str,
        *,
        code: str | None = None,
        retryable: bool = False,
    ) -> None:
        self.provider = provider
        self.model = model
        self.detail = detail.strip() or "The provider gave no reason."
        self.code = code
        self.retryable = retryable
        super().__init__(f"{provider} request for model {model!r} failed: {self.detail}")

    def __reduce__(self) -> tuple[Any, ...]:
        # Rewards are often computed in another process, which sends its error back.
        state = {"code": self.code, "retryable": self.retryable}
        return type(self), (self.provider, self.model, self.detail), state


class ModelNotFoundError(ProviderRequestError):
    """The provider has no such model."""
