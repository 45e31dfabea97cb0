"""Runs one rollout from its place in the queue to its terminal message."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable
from dataclasses import dataclass

from osmosis_ai.rollout.client import OsmosisLLMClient, terminal_body
from osmosis_ai.rollout.core.base import RolloutAgentLoop, RolloutContext, RolloutResult
from osmosis_ai.rollout.core.exceptions import OsmosisRolloutError
from osmosis_ai.rollout.core.schemas import OpenAIFunctionToolSchema, RolloutRequest
from osmosis_ai.rollout.server.lifecycle import Action, Event, Lifecycle, Phase
from osmosis_ai.rollout.server.state import AppState
from osmosis_ai.rollout.server.terminal import Terminal, of_exception, of_failure, of_result

logger = logging.getLogger(__name__)

SHUTDOWN = "The rollout server was told to stop before the rollout ended."
RESTARTED = "The rollout server was restarted while the rollout ran."
#: An agent that does not heed its cancellation is left behind after so long.
_LEAVE_S = 1.0


@dataclass
class Rollout:
    """One rollout of a server."""

    key: str
    request: RolloutRequest
    tools: list[OpenAIFunctionToolSchema]
    loop: RolloutAgentLoop
    state: AppState
    debug_dir: str | None = None

    async def run(self) -> None:
        """Runs the agent and sends the one terminal message; raises nothing."""
        lifecycle = Lifecycle()
        llm = OsmosisLLMClient(
            self.request.server_url,
            self.request.rollout_id,
            self.request.api_key,
            settings=self.state.settings,
        )
        ctx = RolloutContext(self.request, self.tools, llm, _debug_dir=self.debug_dir)
        try:
            event, terminal = await self._until_end(lifecycle, ctx)
            if lifecycle.on(event) is Action.REPORT:
                await self._report(lifecycle, llm, terminal)
        except Exception:
            logger.exception("Rollout %r ended without a terminal message", self.request.rollout_id)
        finally:
            with contextlib.suppress(Exception):
                await llm.close()
            self.state.mark_completed(self.key)

    async def _until_end(self, lifecycle: Lifecycle, ctx: RolloutContext) -> tuple[Event, Terminal]:
        """Waits for a place and runs the agent in it; gives what ended the rollout."""
        semaphore = self.state.semaphore
        if not await self._unless_stopped(semaphore.acquire()):
            return Event.STOPPED, of_failure(SHUTDOWN, ctx)
        try:
            lifecycle.on(Event.PLACE_FREE)
            self.state.keep_phase(self.key, Phase.RUNNING)
            # From here on: what it took to get a place is not the rollout's own time.
            ctx._start_time = time.monotonic()
            return await self._run_agent(ctx)
        finally:
            semaphore.release()

    async def _run_agent(self, ctx: RolloutContext) -> tuple[Event, Terminal]:
        limit_s = self.state.settings.server.request_timeout_seconds
        agent = asyncio.ensure_future(self._agent(ctx))
        stopped = asyncio.ensure_future(self.state.stopping.wait())
        try:
            await asyncio.wait(
                {agent, stopped}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
            )
            if agent.done():
                return self._of_agent(agent, ctx)
            if stopped.done():
                return Event.STOPPED, of_failure(SHUTDOWN, ctx)
            message = f"The rollout did not end within {limit_s:g} seconds."
            return Event.TIME_OVER, of_failure(message, ctx)
        finally:
            stopped.cancel()
            if not agent.done():
                agent.cancel()
                await asyncio.wait({agent}, timeout=_LEAVE_S)
                agent.add_done_callback(_look_at_exception)

    async def _agent(self, ctx: RolloutContext) -> RolloutResult:
        try:
            return await self.loop.run(ctx)
        except (SystemExit, KeyboardInterrupt) as exit_:
            # Out of a task it would end the loop, and every other rollout with it.
            raise RuntimeError(f"The agent raised {type(exit_).__name__}: {exit_}") from exit_

    def _of_agent(
        self, agent: "asyncio.Future[RolloutResult]", ctx: RolloutContext
    ) -> tuple[Event, Terminal]:
        if agent.cancelled():
            return Event.RAISED, of_failure("The agent was cancelled.", ctx)
        error = agent.exception()
        if error is None:
            return Event.RETURNED, of_result(agent.result(), ctx, self.loop.name)
        logger.error(
            "Agent loop %r failed in rollout %r",
            *(self.loop.name, self.request.rollout_id),
            exc_info=error,
        )
        return Event.RAISED, of_exception(error, ctx)

    async def _report(
        self, lifecycle: Lifecycle, llm: OsmosisLLMClient, terminal: Terminal
    ) -> None:
        body = terminal_body(self.request.rollout_id, **vars(terminal))
        self.state.keep_phase(self.key, Phase.REPORTING, body)
        event = await deliver(llm, body, self.state)
        lifecycle.on(event)
        self.state.keep_phase(self.key, Phase.DONE)

    async def _unless_stopped(self, work: Awaitable[object]) -> bool:
        """Waits for a place; False where the server stops first."""
        if self.state.stopping.is_set():
            _close(work)
            return False
        got = asyncio.ensure_future(work)
        stopped = asyncio.ensure_future(self.state.stopping.wait())
        await asyncio.wait({got, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if self.state.stopping.is_set():
            if got.done():
                self.state.semaphore.release()
            got.cancel()
            return False
        return True


async def deliver(llm: OsmosisLLMClient, body: bytes, state: AppState) -> Event:
    """Sends a terminal message; once the server stops, only within its grace period."""
    sending = asyncio.ensure_future(llm.send_terminal(body))
    stopped = asyncio.ensure_future(state.stopping.wait())
    try:
        await asyncio.wait({sending, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():
            await asyncio.wait({sending}, timeout=state.settings.server.shutdown_grace_seconds)
        if not sending.done():
            sending.cancel()
            logger.error("The trainer did not take the end of rollout %r in time", llm.rollout_id)
            return Event.NOT_TAKEN
        sending.result()
    except OsmosisRolloutError as error:
        logger.error("The trainer did not take the end of rollout %r: %s", llm.rollout_id, error)
        return Event.NOT_TAKEN
    finally:
        stopped.cancel()
    return Event.TAKEN


def _close(work: Awaitable[object]) -> None:
    close = getattr(work, "close", None)
    if close is not None:
        close()


def _look_at_exception(task: "asyncio.Future[RolloutResult]") -> None:
    if not task.cancelled():
        task.exception()
