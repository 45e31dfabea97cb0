"""Takes a rollout on: once for each key, and only with tools that are valid."""

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING

from osmosis_ai.rollout.client import OsmosisLLMClient, terminal_body
from osmosis_ai.rollout.core.base import RolloutAgentLoop
from osmosis_ai.rollout.core.schemas import (
    InitResponse,
    OpenAIFunctionToolSchema,
    RolloutRequest,
    RolloutStatus,
    normalise_tools,
)
from osmosis_ai.rollout.server.lifecycle import Action, Event, Lifecycle, Phase
from osmosis_ai.rollout.server.runner import RESTARTED, Rollout, deliver
from osmosis_ai.rollout.wire_json import strict_json

if TYPE_CHECKING:
    from osmosis_ai.rollout.server.records import Kept
    from osmosis_ai.rollout.server.state import AppState

logger = logging.getLogger(__name__)

#: Seconds after which a trainer may ask again.
RETRY_AFTER_S = 5


class Conflict(Exception):  # noqa: N818 - the name of an answer, not of a fault
    """The rollout belongs to another request."""


class Busy(Exception):  # noqa: N818 - the name of an answer, not of a fault
    """The server takes nothing on now."""

    retry_after_s = RETRY_AFTER_S


class ToolsFailed(Exception):  # noqa: N818 - the name of an answer, not of a fault
    """The agent gave no valid tools."""


class Intake:
    """Takes rollouts on.

    Args:
        loop: The agent.
        state: The rollouts there are.
        debug_dir: Folder for the events of each rollout.
    """

    def __init__(
        self, loop: RolloutAgentLoop, state: "AppState", debug_dir: str | None = None
    ) -> None:
        self.loop = loop
        self.state = state
        self._debug_dir = debug_dir
        self._interrupted: dict[str, Kept] = {}

    async def take(self, request: RolloutRequest) -> InitResponse:
        """Starts a rollout, or gives the answer of the one that the key has started.

        Raises:
            Conflict: Key and rollout id belong to different rollouts.
            Busy: The queue is full, or the server stops.
            ToolsFailed: The agent gave no valid tools; a repeated request starts anew.
        """
        key = key_of(request)
        if self.state.stopping.is_set():
            raise Busy("The server is shutting down")
        future, first = self.state.get_or_create_init_future(key)
        if not self.state.own(key, request.rollout_id):
            if first:
                self.state.clear_init_record(key)
            raise Conflict(
                f"The rollout {request.rollout_id!r} and this idempotency key belong to different "
                "requests: use a new key for a new rollout"
            )
        if not first:
            self._tell_interrupted(key, request)
            return await asyncio.shield(future)
        try:
            response = await self._start(key, request)
        except BaseException as error:
            self.state.clear_init_record(key)
            # A cancelled first request is no answer to the others; they may ask again.
            told = error if isinstance(error, Exception) else Busy("The request was cancelled")
            future.set_exception(told)
            raise
        future.set_result(response)
        return response

    async def _start(self, key: str, request: RolloutRequest) -> InitResponse:
        if self.state.full:
            raise Busy("Too many rollouts are waiting")
        tools = await self._tools(request)
        response = InitResponse(rollout_id=request.rollout_id, tools=tools)
        self._keep(key, request, response)
        # The last step: what could fail has not.
        rollout = Rollout(key, request, tools, self.loop, self.state, self._debug_dir)
        task = asyncio.create_task(rollout.run(), name=f"rollout-{request.rollout_id}")
        self.state.mark_started(key, task)
        return response

    async def _tools(self, request: RolloutRequest) -> list[OpenAIFunctionToolSchema]:
        try:
            get_tools = self.loop.get_tools
            if inspect.iscoroutinefunction(get_tools):
                return normalise_tools(await get_tools(request))
            # In a thread: it may read files or ask a server, and the other rollouts go on.
            found = await asyncio.to_thread(get_tools, request)
            return normalise_tools(await found if inspect.isawaitable(found) else found)
        except Exception as error:
            logger.exception("get_tools of agent loop %r failed", self.loop.name)
            detail = f"get_tools of agent loop {self.loop.name!r} failed: {type(error).__name__}"
            said = f"{detail}: {error}" if isinstance(error, ValueError) else detail
            raise ToolsFailed(said) from error

    def _keep(self, key: str, request: RolloutRequest, response: InitResponse) -> None:
        if self.state.records is None:
            return
        from osmosis_ai.rollout.server.records import Kept  # noqa: PLC0415 - only where asked

        kept = Kept(
            key=key,
            rollout_id=request.rollout_id,
            server_url=request.server_url,
            has_key=request.api_key is not None,
            response=response.model_dump(mode="json"),
            phase=Phase.QUEUED,
            message=None,
        )
        self.state.records.take_on(kept)

    async def recover(self) -> None:
        """Takes over what an earlier process has taken on, and tells trainers what it left open.

        A trainer that asks for a key is told when it repeats its request: keys are not kept.
        """
        if self.state.records is None:
            return
        for kept in self.state.records.all():
            response = InitResponse.model_validate(kept.response)
            self.state.remember(kept.key, kept.rollout_id, response)
            if kept.phase is Phase.DONE:
                continue
            if kept.has_key:
                self._interrupted[kept.key] = kept
            else:
                self._tell(kept, None)

    def _tell_interrupted(self, key: str, request: RolloutRequest) -> None:
        kept = self._interrupted.pop(key, None)
        if kept is not None:
            self._tell(kept, request.api_key)

    def _tell(self, kept: "Kept", api_key: str | None) -> None:
        task = asyncio.create_task(self._end(kept, api_key), name=f"rollout-{kept.rollout_id}")
        self.state.mark_started(kept.key, task)

    async def _end(self, kept: "Kept", api_key: str | None) -> None:
        lifecycle = Lifecycle(kept.phase)
        action = lifecycle.on(Event.RESTARTED)
        if action is Action.SEND_AGAIN and kept.message is not None:
            body = strict_json(kept.message)
        else:
            body = terminal_body(
                kept.rollout_id,
                status=RolloutStatus.ERROR.value,
                final_messages=[],
                finish_reason="error",
                error_message=RESTARTED,
            )
            self.state.keep_phase(kept.key, Phase.REPORTING, body)
        settings = self.state.settings
        llm = OsmosisLLMClient(kept.server_url, kept.rollout_id, api_key, settings=settings)
        try:
            lifecycle.on(await deliver(llm, body, self.state))
            self.state.keep_phase(kept.key, Phase.DONE)
        except Exception:
            logger.exception("The end of rollout %r could not be told", kept.rollout_id)
        finally:
            await llm.close()
            self.state.mark_completed(kept.key)


def key_of(request: RolloutRequest) -> str:
    """What names a request: its idempotency key, or else its rollout; the two never collide."""
    if request.idempotency_key:
        return f"key:{request.idempotency_key}"
    return f"id:{request.rollout_id}"
