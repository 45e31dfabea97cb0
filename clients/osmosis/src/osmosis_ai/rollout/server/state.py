"""What a rollout server knows: which rollouts it has, and how many may run."""

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from osmosis_ai.rollout.config.settings import RolloutSettings, get_settings
from osmosis_ai.rollout.core.schemas import InitResponse
from osmosis_ai.rollout.server.lifecycle import Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from osmosis_ai.rollout.server.records import Records

logger = logging.getLogger(__name__)


@dataclass
class _Record:
    """One request to start a rollout, and what became of it."""

    future: "asyncio.Future[InitResponse]"
    rollout_id: str | None = None
    finished: float | None = None


class AppState:
    """The rollouts of a server.

    Args:
        max_concurrent: Rollouts that run at once, by default the setting.
        record_ttl_seconds: How long a finished rollout is remembered, by default the setting.
        settings: Defaults, those of the process if none are given.
        records: Where rollouts are kept beyond a kill of the process.
    """

    def __init__(
        self,
        max_concurrent: int | None = None,
        record_ttl_seconds: float | None = None,
        settings: RolloutSettings | None = None,
        records: "Records | None" = None,
    ) -> None:
        self.settings = settings or get_settings()
        server = self.settings.server
        self.max_concurrent = max_concurrent or server.max_concurrent_rollouts
        self.record_ttl = record_ttl_seconds or server.record_ttl_seconds
        self.semaphore = asyncio.Semaphore(self.max_concurrent)
        self.rollout_tasks: dict[str, asyncio.Task[Any]] = {}
        self.completed_rollouts: dict[str, float] = {}
        self.stopping = asyncio.Event()
        self.records = records
        self._clock: Callable[[], float] = time.monotonic
        self._known: dict[str, _Record] = {}
        self._owner: dict[str, str] = {}
        self._cleanup: asyncio.Task[None] | None = None

    def get_or_create_init_future(self, key: str) -> "tuple[asyncio.Future[InitResponse], bool]":
        """The answer to the requests of a key, and whether this is the first of them."""
        known = self._known.get(key)
        if known is not None:
            return known.future, False
        future: asyncio.Future[InitResponse] = asyncio.get_running_loop().create_future()
        # Nobody may be waiting when the first request fails.
        future.add_done_callback(_look_at_exception)
        self._known[key] = _Record(future)
        return future, True

    def own(self, key: str, rollout_id: str) -> bool:
        """Gives a rollout to a key; False where another key has it, or the key another rollout."""
        record = self._known[key]
        if record.rollout_id is not None:
            return record.rollout_id == rollout_id
        if self._owner.setdefault(rollout_id, key) != key:
            return False
        record.rollout_id = rollout_id
        return True

    def remember(self, key: str, rollout_id: str, response: InitResponse) -> None:
        """Takes over a rollout that an earlier process has taken on."""
        future, _ = self.get_or_create_init_future(key)
        if not future.done():
            future.set_result(response)
        self.own(key, rollout_id)
        self._known[key].finished = self._clock()

    def clear_init_record(self, key: str) -> None:
        """Forgets a key, so that the next request of it is the first again."""
        record = self._known.pop(key, None)
        if record is not None and record.rollout_id is not None:
            self._owner.pop(record.rollout_id, None)

    def is_duplicate(self, key: str) -> bool:
        """Whether there was a request of that key."""
        return key in self._known

    @property
    def full(self) -> bool:
        """Whether no more rollouts may wait."""
        waiting = len(self.rollout_tasks) - self.max_concurrent
        return waiting >= self.settings.server.max_queued_rollouts

    def mark_started(self, key: str, task: "asyncio.Task[Any]") -> None:
        """Counts a rollout as active."""
        self.rollout_tasks[key] = task

    def mark_completed(self, key: str) -> None:
        """Counts a rollout as completed; it is remembered for ``record_ttl`` seconds from now."""
        self.rollout_tasks.pop(key, None)
        now = self._clock()
        self.completed_rollouts[key] = now
        record = self._known.get(key)
        if record is not None:
            record.finished = now

    def prune(self) -> None:
        """Forgets rollouts that ended longer than ``record_ttl`` seconds ago."""
        oldest = self._clock() - self.record_ttl
        for key, record in list(self._known.items()):
            if record.finished is not None and record.finished < oldest:
                self.clear_init_record(key)
        for key, finished in list(self.completed_rollouts.items()):
            if finished < oldest:
                del self.completed_rollouts[key]
        if self.records is not None:
            self.records.forget_before(time.time() - self.record_ttl)

    @property
    def active_count(self) -> int:
        """Rollouts that run or wait."""
        return len(self.rollout_tasks)

    @property
    def completed_count(self) -> int:
        """Rollouts that ended and are remembered."""
        return len(self.completed_rollouts)

    def start_cleanup_task(self) -> None:
        """Begins to forget, now and then."""
        if self._cleanup is None:
            self._cleanup = asyncio.create_task(self._prune_forever(), name="rollout-cleanup")

    async def _prune_forever(self) -> None:
        while True:
            await asyncio.sleep(self.settings.server.cleanup_interval_seconds)
            try:
                self.prune()
            except Exception:
                logger.exception("Old rollouts could not be forgotten; trying again later")

    async def stop_cleanup_task(self) -> None:
        """Forgets no more."""
        task, self._cleanup = self._cleanup, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def cancel_all(self) -> None:
        """Has every rollout end with its terminal message, and waits for them."""
        self.stopping.set()
        if self.rollout_tasks:
            await asyncio.wait(list(self.rollout_tasks.values()))

    def keep_phase(self, key: str, phase: Phase, message: bytes | None = None) -> None:
        """Writes where a rollout is, if that is kept at all; a failure is logged and no more."""
        if self.records is None:
            return
        try:
            self.records.move(key, phase, message)
        except Exception:
            logger.exception("The record of a rollout could not be written")


def _look_at_exception(future: "asyncio.Future[InitResponse]") -> None:
    if not future.cancelled():
        future.exception()
