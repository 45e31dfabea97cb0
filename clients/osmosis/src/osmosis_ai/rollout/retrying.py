"""Whether and when a request to a trainer is sent again. Pure."""

import email.utils
import math
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["done", "again", "refused", "odd"]


def verdict_on(status: int, *, any_success: bool) -> Verdict:
    """What an answer means.

    Args:
        status: Its HTTP status.
        any_success: Whether every 2xx will do, as for a message that needs no answer.

    Returns:
        ``"done"``; ``"again"`` where it may go better; ``"refused"`` for other 4xx; ``"odd"`` for
        what nobody documents, which is not asked for again.
    """
    if status == 200 or (any_success and 200 <= status < 300):
        return "done"
    if status in {408, 425, 429} or status >= 500:
        return "again"
    return "refused" if 400 <= status < 500 else "odd"


@dataclass(frozen=True)
class Waits:
    """How long to wait between attempts.

    Attributes:
        base_s: Before the second attempt; doubled for each further one.
        longest_s: At most.
    """

    base_s: float
    longest_s: float

    def before(self, retry: int, retry_after_s: float | None, chance: float) -> float:
        """Seconds before retry number ``retry``, from 0.

        What the trainer asks for counts, up to the longest wait; else the wait is between half
        and all of the doubled base, so that rollouts that failed together do not return together.

        Args:
            retry: Number of the retry.
            retry_after_s: What ``Retry-After`` asked for.
            chance: A number from 0 to 1.
        """
        if retry_after_s is not None:
            return min(retry_after_s, self.longest_s)
        whole = min(self.base_s * 2.0 ** min(retry, 30), self.longest_s)
        return whole * (0.5 + 0.5 * chance)


def retry_after_s(value: str | None, now: float) -> float | None:
    """Seconds that a ``Retry-After`` header asks for, as a number or a date; None without sense.

    Args:
        value: The header.
        now: Seconds since the epoch.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
