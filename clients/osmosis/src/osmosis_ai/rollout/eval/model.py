"""The model of an agent that is tried out: any provider, through the engine."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from osmosis_ai.rollout.completions import CompletionsResult, Counted
from osmosis_ai.rollout.core.schemas import MessageDict, OpenAIFunctionToolSchema, RolloutMetrics
from osmosis_ai.rollout.eval.errors import ProviderError, SystemicProviderError
from osmosis_ai.rollout.messages import normalize_stop

if TYPE_CHECKING:
    from agent_eval_rpc import AgentEvalError, AsyncClient
    from typing_extensions import Self

#: Codes of the engine after which no other row would do better.
_SYSTEMIC = frozenset(
    {
        "provider_auth",
        "quota_exhausted",
        "model_not_found",
        "llm_not_configured",
        "budget_exceeded",
        "validation_error",
        "transport_error",
        "internal_error",
    }
)
_ALIASES = {"google": "gemini"}
_SENT = ("temperature", "top_p", "max_tokens", "seed")


class ExternalLLMClient:
    """A provider's model, for as many rollouts as there are rows; an async context manager.

    Args:
        model: ``"provider/model"``; a bare name is one of OpenAI.
        api_key: Key, by default from the provider's own variable.
        api_base: Address of an OpenAI-compatible server; ``model`` goes there as it is.
    """

    def __init__(self, model: str, api_key: str | None = None, api_base: str | None = None) -> None:
        prefix, _, rest = model.partition("/")
        self.model = model
        self._api_base = api_base
        self._name = rest if rest and api_base is None else model
        provider = {
            "name": "openai" if api_base is not None or not rest else _ALIASES.get(prefix, prefix),
            "base_url": api_base,
            "api_key": api_key,
        }
        self._provider = {name: value for name, value in provider.items() if value is not None}
        self._client: AsyncClient | None = None

    async def chat(self, messages: Sequence[MessageDict], **options: Any) -> CompletionsResult:
        """Takes a turn.

        Raises:
            SystemicProviderError: The model can't be used at all.
            ProviderError: It did not answer this once.
        """
        from agent_eval_rpc import (  # noqa: PLC0415 - slow to import
            AgentEvalError,
            AsyncClient,
            ProviderChoice,
        )

        if self._client is None:
            self._client = AsyncClient(transport="subprocess")
        try:
            result = await self._client.chat(
                messages, model=self._name, provider=ProviderChoice(**self._provider), **options
            )
        except AgentEvalError as error:
            raise _failure(error) from error
        choice = result.choices[0]
        usage = result.usage
        return CompletionsResult(
            message=choice.message.model_dump(mode="json", by_alias=True, exclude_none=True)
            | {"content": choice.message.content},
            token_ids=None,
            logprobs=None,
            usage={} if usage is None else usage.model_dump(mode="json", by_alias=True),
            finish_reason=choice.finish_reason or "stop",
        )

    async def preflight(self) -> None:
        """Asks for one token, so that what can't work is found out before the first row.

        Raises:
            SystemicProviderError: The model can't be used at all.
        """
        try:
            await self.chat([{"role": "user", "content": "Hi"}], max_tokens=1)
        except SystemicProviderError:
            raise
        except ProviderError:
            return

    def for_rollout(
        self, tools: Sequence[OpenAIFunctionToolSchema], **defaults: Any
    ) -> "RolloutModel":
        """The model as one rollout sees it: with its tools, counting what it takes."""
        return RolloutModel(self, tools, defaults)

    async def close(self) -> None:
        """Ends the engine; may be called again."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def __aenter__(self) -> "Self":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


class RolloutModel:
    """A model as a rollout sees it."""

    def __init__(
        self,
        client: ExternalLLMClient,
        tools: Sequence[OpenAIFunctionToolSchema],
        defaults: dict[str, Any],
    ) -> None:
        self._client = client
        self._tools = [one.model_dump(mode="json") for one in tools] or None
        self._defaults = {name: one for name, one in defaults.items() if one is not None}
        self._counted = Counted()

    async def chat_completions(
        self, messages: list[MessageDict], **kwargs: Any
    ) -> CompletionsResult:
        """Takes the next turn; what the model has no word for, such as logprobs, is left out."""
        options = {**self._defaults}
        options.update({name: kwargs[name] for name in _SENT if kwargs.get(name) is not None})
        stop = normalize_stop(kwargs.get("stop"))
        started = time.monotonic()
        result = await self._client.chat(messages, tools=self._tools, stop=stop, **options)
        self._counted.add(result, (time.monotonic() - started) * 1000)
        return result

    def get_metrics(self) -> RolloutMetrics:
        """What the turns took so far."""
        return self._counted.metrics()


def _failure(error: "AgentEvalError") -> ProviderError:
    away = error.code == "provider_error" and "status" not in (error.details or {})
    systemic = error.code in _SYSTEMIC or away
    return (SystemicProviderError if systemic else ProviderError)(error.message)
