"""The bar on a terminal."""

import sys
import time
from collections.abc import Callable, Generator, Sequence
from importlib.util import find_spec
from typing import Any

from agent_eval_rpc._many.outcome import JudgeOutcome
from agent_eval_rpc._many.plan import Plan

Progress = bool | None | Callable[[int, int, float], object]


class Bar:
    """Tells how far a run is: a function of the caller's, or a bar, off where no one looks."""

    def __init__(self, wanted: Progress, total: int | None) -> None:
        self._tell = wanted if callable(wanted) else None
        self._bar: Any = None
        shown = sys.stderr.isatty() if wanted is None else wanted is True
        if self._tell is None and shown and find_spec("tqdm") is not None:
            from tqdm import tqdm  # type: ignore[import-untyped]  # noqa: PLC0415

            self._bar = tqdm(total=total, unit="text", file=sys.stderr)
        self._last = 0.0

    def update(self, plan: Plan) -> None:
        """Counts one more."""
        if self._tell is not None:
            self._tell(plan.finished, plan.unscored, plan.cost_usd)
        if self._bar is None:
            return
        self._bar.update(1)
        if time.monotonic() - self._last > 0.5:
            self._last = time.monotonic()
            self._bar.set_postfix(unscored=plan.unscored, usd=f"{plan.cost_usd:.4f}")

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            self._bar.close()


def hand_out(
    ready: Sequence[JudgeOutcome], plan: Plan, bar: Bar
) -> Generator[JudgeOutcome, None, None]:
    """Gives outcomes to the caller, or raises the error of the first that has one, as asked."""
    for outcome in ready:
        bar.update(plan)
        if outcome.error is not None and plan.options.on_error == "raise":
            raise outcome.error
        yield outcome
