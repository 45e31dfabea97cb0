"""Which calls are sent again, and when."""

import pytest

from agent_eval_rpc._generated.error_table import ROWS
from agent_eval_rpc._protocol import error_from
from agent_eval_rpc._retry import REFUSED, retry_wait
from agent_eval_rpc.errors import AgentEvalError, ServiceUnavailableError, TransportError

OVERLOADED = ServiceUnavailableError("busy", code="overloaded")


def wait(error: AgentEvalError, **given: float) -> float | None:
    options = {"attempt": 1, "max_retries": 2, "left_s": 100.0, "draw": 0.0, **given}
    return retry_wait(
        error,
        attempt=int(options["attempt"]),
        max_retries=int(options["max_retries"]),
        left_s=options["left_s"],
        draw=options["draw"],
    )


@pytest.mark.parametrize("code", ROWS)
def test_only_what_the_engine_did_not_take_is_sent_again(code: str) -> None:
    error = error_from({"code": code, "message": "", "details": {}})
    assert error is not None
    assert (wait(error) is not None) is (code in {"overloaded", "service_unavailable"})


def test_a_refused_connection_is_tried_again_and_a_lost_one_is_not() -> None:
    assert wait(TransportError("", details={"reason": REFUSED})) is not None
    assert wait(TransportError("", details={"reason": "connection_lost"})) is None


def test_tries_are_limited_and_waits_grow() -> None:
    waits = [wait(OVERLOADED, attempt=n, max_retries=3, draw=1.0) for n in (1, 2, 3, 4)]
    assert waits == [0.2, 0.4, 0.8, None]
    assert wait(OVERLOADED, max_retries=0) is None


def test_waits_are_spread_but_never_short_nor_long() -> None:
    assert wait(OVERLOADED, draw=0.0) == 0.1
    assert wait(OVERLOADED, attempt=50, max_retries=99, draw=1.0) == 5.0


def test_the_wait_asked_for_is_kept_unless_it_passes_the_deadline() -> None:
    asked = ServiceUnavailableError("", code="overloaded", details={"retryAfterMs": 3000})
    assert wait(asked) == 3.0
    assert wait(asked, left_s=2.5) is None
    odd = ServiceUnavailableError("", code="overloaded", details={"retryAfterMs": "soon"})
    assert wait(odd) == 0.1
