"""What an agent needs of a model."""

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from osmosis_ai.rollout.client import CompletionsResult
    from osmosis_ai.rollout.core.schemas import MessageDict, RolloutMetrics


@runtime_checkable
class LLMClientProtocol(Protocol):
    """A model that takes turns and counts what they took."""

    async def chat_completions(
        self, messages: "list[MessageDict]", **kwargs: Any
    ) -> "CompletionsResult":
        """Takes the next turn."""

    def get_metrics(self) -> "RolloutMetrics":
        """What the turns took so far."""
