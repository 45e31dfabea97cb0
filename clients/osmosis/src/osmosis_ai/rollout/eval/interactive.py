"""Steps through a rollout by hand."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from osmosis_ai.rollout.completions import CompletionsResult
from osmosis_ai.rollout.core.protocol import LLMClientProtocol
from osmosis_ai.rollout.core.schemas import MessageDict, RolloutMetrics

HELP = "n: next turn, c: continue to the end, m: messages, t: tools, q: quit, ?: this list"


class QuitError(Exception):
    """The person who steps through has seen enough."""


class SteppedModel:
    """Asks what to do before each turn of a model.

    Args:
        model: The model.
        tools: Its tools, to show.
        ask: Asks the person; gives what was typed.
        show: Shows a text.
    """

    def __init__(
        self,
        model: LLMClientProtocol,
        tools: list[dict[str, Any]],
        ask: Callable[[], str],
        show: Callable[[str], None],
    ) -> None:
        self._model = model
        self._tools = tools
        self._ask = ask
        self._show = show
        self._on_its_own = False

    async def chat_completions(
        self, messages: list[MessageDict], **kwargs: Any
    ) -> CompletionsResult:
        """Takes the next turn once it is asked for.

        Raises:
            QuitError: It was not.
        """
        while not self._on_its_own:
            typed = (await asyncio.to_thread(self._ask)).strip().lower() or "n"
            if typed in {"n", "next"}:
                break
            if typed in {"c", "continue"}:
                self._on_its_own = True
            elif typed in {"m", "messages"}:
                self._show(_json(messages))
            elif typed in {"t", "tools"}:
                self._show(_json(self._tools))
            elif typed in {"q", "quit"}:
                raise QuitError("Quit.")
            else:
                self._show(HELP)
        result = await self._model.chat_completions(messages, **kwargs)
        self._show(_json(result.message))
        return result

    def get_metrics(self) -> RolloutMetrics:
        """What the turns took so far."""
        return self._model.get_metrics()


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
