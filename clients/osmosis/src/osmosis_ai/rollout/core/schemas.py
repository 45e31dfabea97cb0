"""The wire between trainer and rollout server."""

from enum import Enum
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, FiniteFloat, field_validator

from osmosis_ai.rollout.core.metadata import (
    DEFAULT_MAX_METADATA_SIZE_BYTES,
    checked_metadata,
    get_max_metadata_size_bytes,
    set_max_metadata_size_bytes,
)
from osmosis_ai.rollout.core.tool_schemas import (
    OpenAIFunctionCallSchema,
    OpenAIFunctionParametersSchema,
    OpenAIFunctionParsedSchema,
    OpenAIFunctionPropertySchema,
    OpenAIFunctionSchema,
    OpenAIFunctionToolCall,
    OpenAIFunctionToolSchema,
    ToolResponse,
    normalise_tools,
)

__all__ = [
    "DEFAULT_MAX_METADATA_SIZE_BYTES",
    "CompletionUsage",
    "CompletionsChoice",
    "CompletionsRequest",
    "CompletionsResponse",
    "InitResponse",
    "MessageDict",
    "OpenAIFunctionCallSchema",
    "OpenAIFunctionParametersSchema",
    "OpenAIFunctionParsedSchema",
    "OpenAIFunctionPropertySchema",
    "OpenAIFunctionSchema",
    "OpenAIFunctionToolCall",
    "OpenAIFunctionToolSchema",
    "RolloutMetrics",
    "RolloutRequest",
    "RolloutResponse",
    "RolloutStatus",
    "SamplingParamsDict",
    "ToolResponse",
    "get_max_metadata_size_bytes",
    "normalise_tools",
    "set_max_metadata_size_bytes",
]

MessageDict = dict[str, Any]
SamplingParamsDict = dict[str, Any]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("rollout_id cannot be empty or whitespace")
    return text


RolloutId = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_not_blank)]


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"server_url is not a URL: {error}") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("server_url must be an http or https URL with a host")
    return url


class RolloutRequest(BaseModel):
    """What a trainer asks for with ``POST /v1/rollout/init``.

    Attributes:
        rollout_id: Names the rollout, 1 to 256 characters, not blank.
        server_url: Where the rollout finds the model and reports, an http or https URL.
        messages: The conversation so far.
        completion_params: Sampling of the model.
        tool_server_url: Where tools are, for agents that call them there.
        max_turns: Advice: turns of the conversation at most.
        max_tokens_total: Advice: tokens at most.
        metadata: Anything else, JSON of at most 1 MiB by default.
        api_key: Bearer token for ``server_url``.
        idempotency_key: Requests with the same key are one rollout; default ``rollout_id``.
    """

    rollout_id: RolloutId
    server_url: Annotated[str, AfterValidator(_address)]
    messages: list[MessageDict]
    completion_params: SamplingParamsDict
    tool_server_url: str | None = None
    max_turns: int = 10
    max_tokens_total: int = 8192
    metadata: dict[str, Any] = Field(default_factory=dict)
    api_key: str | None = Field(default=None, repr=False)
    idempotency_key: str | None = None

    @field_validator("metadata")
    @classmethod
    def _check_metadata(cls, metadata: dict[str, Any]) -> dict[str, Any]:
        return checked_metadata(metadata)


class InitResponse(BaseModel):
    """What the server answers: the tools that the model may call."""

    rollout_id: str
    tools: list[OpenAIFunctionToolSchema] = Field(default_factory=list)


class RolloutStatus(str, Enum):
    """How a rollout ended."""

    COMPLETED = "COMPLETED"
    ERROR = "ERROR"


class RolloutMetrics(BaseModel):
    """What a rollout took; milliseconds and counts."""

    total_latency_ms: float = 0.0
    llm_latency_ms: float = 0.0
    tool_latency_ms: float = 0.0
    num_llm_calls: int = 0
    num_tool_calls: int = 0
    prompt_tokens: int = 0
    response_tokens: int = 0
    max_context_tokens: int = 0


class RolloutResponse(BaseModel):
    """The one terminal message of a rollout, ``POST {server_url}/v1/rollout/completed``."""

    rollout_id: RolloutId
    status: RolloutStatus
    final_messages: list[MessageDict] = Field(default_factory=list)
    finish_reason: str | None = None
    error_message: str | None = None
    reward: FiniteFloat | None = None
    metrics: RolloutMetrics | None = None
    extra_fields: dict[str, Any] = Field(default_factory=dict)


class CompletionsRequest(BaseModel):
    """What a rollout asks the trainer's model, ``POST {server_url}/v1/chat/completions``."""

    model: str = "default"
    messages: list[MessageDict]
    rollout_id: RolloutId
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 512
    stop: list[str] | None = None
    logprobs: bool = True


class CompletionUsage(BaseModel):
    """Tokens of a completion."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class CompletionsChoice(BaseModel):
    """One answer."""

    index: int = 0
    message: MessageDict
    finish_reason: str | None = None


class CompletionsResponse(BaseModel):
    """What the trainer's model answers."""

    id: str = ""
    object: str = "chat.completion"
    created: int = 0
    model: str = "default"
    choices: list[CompletionsChoice]
    usage: CompletionUsage | None = None
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    prompt_token_ids: list[int] | None = None
