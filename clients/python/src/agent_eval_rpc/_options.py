"""What the two clients have in common: their options, and how they survive copies and pickles."""

import os
import random
import time
from dataclasses import dataclass, field, replace
from typing import Any

from agent_eval_rpc._protocol import Call, with_deadline
from agent_eval_rpc._retry import retry_wait
from agent_eval_rpc._settings import Settings, check_timeout, resolve_settings
from agent_eval_rpc.errors import AgentEvalError


@dataclass(frozen=True)
class Options:
    """The arguments of a client, as given."""

    base_url: str | None
    cli_path: "str | os.PathLike[str] | None"
    transport: Any
    timeout_s: float
    token: str | None = field(repr=False)
    max_retries: int
    cache: "str | os.PathLike[str] | None" = None

    @property
    def custom(self) -> bool:
        """Whether the caller brought a transport of their own."""
        return not isinstance(self.transport, str)

    def resolve(self) -> Settings:
        """Fills gaps from the environment and checks every option."""
        return resolve_settings(
            base_url=self.base_url,
            cli_path=self.cli_path,
            transport="auto" if self.custom else self.transport,
            timeout_s=self.timeout_s,
            token=self.token,
            max_retries=self.max_retries,
            cache=self.cache,
        )

    def without_token(self) -> "Options":
        """The same, without the secret: for pickles."""
        return replace(self, token=None)


class Tries:
    """The clock and the retries of one call; the caller does the sending and the sleeping."""

    def __init__(self, call: Call[Any], timeout_s: float | None, settings: Settings) -> None:
        self.timeout_s = settings.timeout_s if timeout_s is None else check_timeout(timeout_s)
        self._call = call
        self._max_retries = settings.max_retries
        self._failures = 0
        self._deadline: float | None = None

    def next(self) -> tuple[str, dict[str, Any], float]:
        """What to send now. The clock starts with the first try."""
        left_s = max(0.001, self._left_s())
        return self._call.method.name, with_deadline(self._call, left_s), left_s

    def wait_after(self, error: AgentEvalError) -> float:
        """How long to wait before the next try; raises the error when there is none."""
        self._failures += 1
        wait = retry_wait(
            error,
            attempt=self._failures,
            max_retries=self._max_retries,
            left_s=self._left_s(),
            draw=random.random(),  # noqa: S311 - spreads callers, no secret
        )
        if wait is None:
            raise error
        return wait

    def _left_s(self) -> float:
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self.timeout_s
        return self._deadline - now
