"""Decides whether to send a call again. Pure: the caller sleeps and draws the random number."""

from agent_eval_rpc.errors import AgentEvalError

FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 5.0
SHORTEST_WAIT_S = 0.1

#: Reason in the details of a TransportError: nobody took the connection, so nothing was done.
REFUSED = "connection_refused"

_RETRIED = frozenset({"overloaded", "service_unavailable"})


def retry_wait(
    error: AgentEvalError, *, attempt: int, max_retries: int, left_s: float, draw: float
) -> float | None:
    """How long to wait before the next try, None when there should be none.

    Only what the engine did not take is sent again: the engine itself retries model calls.

    Args:
        error: Why the last try failed.
        attempt: How many tries there were, from 1.
        max_retries: How many more than one are allowed.
        left_s: Time until the deadline of the call.
        draw: Random number from 0 to 1, to spread callers.
    """
    if attempt > max_retries or not _is_retried(error):
        return None
    wait = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (attempt - 1)) * (0.5 + draw / 2)
    wait = max(SHORTEST_WAIT_S, wait, asked_wait_s(error) or 0.0)
    return wait if wait < left_s else None


def asked_wait_s(error: AgentEvalError) -> float | None:
    """The wait that the engine asked for."""
    value = error.details.get("retryAfterMs")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return value / 1000
    return None


def _is_retried(error: AgentEvalError) -> bool:
    return error.code in _RETRIED or error.details.get("reason") == REFUSED
