"""What an agent is: a loop, the context it runs in, and what it gives back."""

import inspect
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from osmosis_ai.rollout.core.schemas import (
    MessageDict,
    OpenAIFunctionToolSchema,
    RolloutMetrics,
    RolloutRequest,
    RolloutStatus,
    normalise_tools,
)
from osmosis_ai.rollout.file_names import file_name_of
from osmosis_ai.rollout.wire_json import lenient_json

if TYPE_CHECKING:
    from osmosis_ai.rollout.client import CompletionsResult
    from osmosis_ai.rollout.core.protocol import LLMClientProtocol

logger = logging.getLogger(__name__)

#: A tool as its author writes it.
Tool = OpenAIFunctionToolSchema | dict[str, Any]


@dataclass
class RolloutResult:
    """How a rollout ended.

    Attributes:
        status: ``"COMPLETED"`` or ``"ERROR"``.
        final_messages: The whole conversation.
        finish_reason: Why it ended, such as ``"stop"``.
        error_message: What went wrong.
        metrics: What it took.
        reward: Its reward, where the agent gives one: a finite number.
    """

    status: str
    final_messages: list[MessageDict]
    finish_reason: str
    error_message: str | None = None
    metrics: RolloutMetrics | None = None
    reward: float | None = None


@dataclass
class RolloutContext:
    """What an agent runs in.

    Attributes:
        request: What the trainer asked for.
        tools: The tools of this rollout.
        llm: The trainer's model.
    """

    request: RolloutRequest
    tools: list[OpenAIFunctionToolSchema]
    llm: "LLMClientProtocol"
    _start_time: float = 0.0
    _tool_latency_ms: float = 0.0
    _num_tool_calls: int = 0
    _debug_dir: str | None = None
    _last_messages: list[MessageDict] = field(default_factory=list)

    async def chat(self, messages: list[MessageDict], **kwargs: Any) -> "CompletionsResult":
        """Has the model take the next turn.

        Args:
            messages: The conversation so far, to which messages are only ever added.
            **kwargs: Sampling, as for ``OsmosisLLMClient.chat_completions``.
        """
        self._last_messages = list(messages)
        result = await self.llm.chat_completions(messages, **kwargs)
        self._last_messages.append(result.message)
        return result

    def complete(
        self,
        final_messages: list[MessageDict],
        finish_reason: str = "stop",
        reward: float | None = None,
    ) -> RolloutResult:
        """The result of a rollout that came to its end."""
        return RolloutResult(
            status=RolloutStatus.COMPLETED.value,
            final_messages=final_messages,
            finish_reason=finish_reason,
            metrics=self.metrics(),
            reward=reward,
        )

    def error(
        self, error_message: str, final_messages: list[MessageDict] | None = None
    ) -> RolloutResult:
        """The result of a rollout that failed; by default with the messages of its last turn."""
        kept = self._last_messages if final_messages is None else final_messages
        return RolloutResult(
            status=RolloutStatus.ERROR.value,
            final_messages=list(kept),
            finish_reason="error",
            error_message=error_message,
            metrics=self.metrics(),
        )

    def record_tool_call(self, latency_ms: float = 0.0) -> None:
        """Counts a tool call, with the milliseconds it took."""
        self._num_tool_calls += 1
        self._tool_latency_ms += latency_ms

    def metrics(self) -> RolloutMetrics:
        """What the rollout took so far."""
        total = (time.monotonic() - self._start_time) * 1000 if self._start_time else 0.0
        own = {
            "total_latency_ms": total,
            "tool_latency_ms": self._tool_latency_ms,
            "num_tool_calls": self._num_tool_calls,
        }
        return self.llm.get_metrics().model_copy(update=own)

    @property
    def debug_enabled(self) -> bool:
        """Whether ``log_event`` writes."""
        return self._debug_dir is not None

    def log_event(self, event_type: str, **data: Any) -> None:
        """Appends a line of JSON to the rollout's file in the debug folder; else does nothing."""
        if self._debug_dir is None:
            return
        rollout_id = self.request.rollout_id
        event = {"event": event_type, "rollout_id": rollout_id, **data}
        line = lenient_json(event).decode()
        path = Path(self._debug_dir) / f"{file_name_of(rollout_id)}.jsonl"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as log:
                log.write(line + "\n")
        except OSError as error:
            logger.warning("Cannot write the events of rollout %r: %s", rollout_id, error)


class RolloutAgentLoop(ABC):
    """An agent: derive from it, give it a ``name``, and say what its tools and its turns are."""

    name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A class that leaves `run` to others is a base; ABCMeta says so only after this.
        if _leaves_open(cls) or getattr(cls, "name", None):
            return
        if isinstance(inspect.getattr_static(cls, "name", None), property):
            return
        raise TypeError(f"Agent loop class {cls.__name__} must define a 'name', such as name = 'x'")

    @abstractmethod
    def get_tools(self, request: RolloutRequest) -> "list[Tool] | Awaitable[list[Tool]]":
        """The tools of a rollout, as models or plain dicts; may be ``async``."""

    @abstractmethod
    async def run(self, ctx: RolloutContext) -> RolloutResult:
        """Runs one rollout; give back ``ctx.complete(…)`` or ``ctx.error(…)``."""

    def get_default_tools(self) -> list[OpenAIFunctionToolSchema]:
        """The tools of a rollout of which nothing is known.

        Raises:
            TypeError: ``get_tools`` is ``async``: await it with a request of your own.
            ValueError: What it gives are no tools.
        """
        request = RolloutRequest(
            rollout_id="discovery",
            server_url="http://localhost",
            messages=[],
            completion_params={},
        )
        tools = self.get_tools(request)
        if inspect.iscoroutine(tools):
            tools.close()
            raise TypeError("get_tools is async: await get_tools(request) instead")
        return normalise_tools(tools)


def _leaves_open(cls: type) -> bool:
    return any(
        getattr(getattr(cls, method, None), "__isabstractmethod__", False)
        for method in ("get_tools", "run")
    )
