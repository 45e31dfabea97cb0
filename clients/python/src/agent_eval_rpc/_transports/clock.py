"""The time that a call has left."""

import time

from agent_eval_rpc._protocol import deadline_error
from agent_eval_rpc.errors import DeadlineExceededError


class Deadline:
    """A point in time, counted from now."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._end = time.monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        """Seconds until then, 0 once it has passed."""
        return max(0.0, self._end - time.monotonic())

    @property
    def spent_s(self) -> float:
        """Seconds gone."""
        return self._timeout_s - self.left_s

    def error(self) -> DeadlineExceededError:
        """What to raise once it has passed."""
        return deadline_error(self._timeout_s)
