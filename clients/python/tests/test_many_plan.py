"""The decisions of a run, without an engine."""

import pytest

from agent_eval_rpc import JudgeOutcome, JudgeResult, TransportError, ValidationError
from agent_eval_rpc._many.lines import SLICE_BYTES, SliceReader, slices
from agent_eval_rpc._many.plan import Entry, ManyOptions, Plan, Reader
from agent_eval_rpc.errors import BudgetExceededError, JudgeError
from support import result

COMMON = {"rubric_name": "anti-slop"}


def plan(slice_size: int = 4, **how: object) -> Plan:
    options = {
        "ordered": True,
        "concurrency": 8,
        "on_error": "return",
        "max_cost_usd": None,
        "max_calls": None,
        "max_unscored": None,
        **how,
    }
    return Plan(ManyOptions(**options), Reader(COMMON), slice_size)  # type: ignore[arg-type]


def scored(entry: Entry, cost: float | None = None) -> JudgeOutcome:
    usage = {"inputTokens": 1, "outputTokens": 1, "costUsd": cost}
    return entry.outcome(result=JudgeResult.model_validate(result(usage=usage)))


def test_hands_out_in_order() -> None:
    run = plan()
    (a, b, c), _ = run.take(["a", "b", "c"])
    assert run.done(scored(c)) == []
    assert run.held == 1
    assert [one.index for one in run.done(scored(a))] == [0]
    assert [one.index for one in run.done(scored(b))] == [1, 2]


def test_money_is_spent_once_its_price_is_known() -> None:
    run = plan(max_cost_usd=0.25)
    assert run.slice_size == 1
    (first,), _ = run.take(["a"])
    assert run.alone
    run.done(scored(first, 0.1))
    assert not run.alone
    assert run.slice_size == 4
    (second, third), _ = run.take(["b", "c"])
    run.done(scored(second, 0.1))
    run.done(scored(third, 0.1))
    entries, settled = run.take(["d"])
    assert entries == []
    assert isinstance(settled[0].error, BudgetExceededError)
    assert run.cost_usd == pytest.approx(0.3)


def test_a_cached_verdict_says_nothing_of_the_price() -> None:
    run = plan(max_cost_usd=1.0)
    (first,), _ = run.take(["a"])
    cached = JudgeResult.model_validate(result(cached=True, usage=None))
    run.done(first.outcome(result=cached))
    assert run.cost_usd == 0.0


def test_an_unknown_price_is_refused() -> None:
    run = plan(max_cost_usd=1.0)
    (first,), _ = run.take(["a"])
    with pytest.raises(ValidationError, match="price"):
        run.done(scored(first))


@pytest.mark.parametrize(("most", "stops_at"), [(2, 3), (0, 1), (0.5, 20)])
def test_a_broken_run_stops(most: float, stops_at: int) -> None:
    run = plan(max_unscored=most)
    entries, _ = run.take([f"text {i}" for i in range(40)])
    for number, entry in enumerate(entries, 1):
        outcome = entry.outcome(error=JudgeError("no", code="judge_malformed"))
        if number < stops_at:
            run.done(outcome)
            continue
        with pytest.raises(JudgeError, match="judge_malformed"):
            run.done(outcome)
        return


def test_the_budget_does_not_count_as_broken() -> None:
    run = plan(max_calls=1, max_unscored=0)
    entries, settled = run.take(["a", "b", "c"])
    assert len(entries) == 1
    for outcome in settled:
        run.done(outcome, was_sent=False)


def test_slices_fit_the_sockets() -> None:
    run = plan(slice_size=256)
    entries, _ = run.take(["x" * 10_000] * 20 + ["y" * 200_000] + ["z"] * 5)
    parts = list(slices(entries, 10.0))
    assert [entry.index for part in parts for entry in part.entries] == list(range(26))
    for part in parts:
        assert len(part.body) <= SLICE_BYTES or len(part.entries) == 1
        assert part.body.count(b"\n") == len(part.entries)


def test_each_line_of_an_answer_counts_once() -> None:
    run = plan()
    entries, _ = run.take(["a", "b"])
    reader = SliceReader(entries)
    line = '{"index": 1, "outcome": "unscored", "error": {"code": "timeout", "message": "late"}}'
    outcome = reader.read(line)
    assert outcome is not None
    assert outcome.index == 1
    assert outcome.error is not None
    assert outcome.error.code == "timeout"
    for useless in (line, "[]", "{", '{"index": 7}', "null"):
        with pytest.raises(TransportError):
            reader.read(useless)
    assert reader.read("") is None
    (rest,) = reader.rest(TransportError("gone"))
    assert rest.index == 0
