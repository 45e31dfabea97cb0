"""The phases of a rollout: one decision to report in every life."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osmosis_ai.rollout.server.lifecycle import Action, Event, Lifecycle, Phase, advance

ENDINGS = {Event.RETURNED, Event.RAISED, Event.TIME_OVER, Event.STOPPED, Event.RESTARTED}

REPORTED = {Phase.RUNNING: ENDINGS, Phase.QUEUED: {Event.STOPPED, Event.RESTARTED}}


@pytest.mark.parametrize(("phase", "event"), list(itertools.product(Phase, Event)))
def test_every_pair(phase: Phase, event: Event) -> None:
    after, action = advance(phase, event)
    if phase is Phase.DONE:
        assert (after, action) == (Phase.DONE, None)
    elif event in REPORTED.get(phase, set()):
        assert (after, action) == (Phase.REPORTING, Action.REPORT)
    elif phase is Phase.QUEUED and event is Event.PLACE_FREE:
        assert (after, action) == (Phase.RUNNING, Action.RUN)
    elif phase is Phase.REPORTING and event in {Event.TAKEN, Event.NOT_TAKEN}:
        assert (after, action) == (Phase.DONE, Action.FORGET)
    elif phase is Phase.REPORTING and event is Event.RESTARTED:
        assert (after, action) == (Phase.REPORTING, Action.SEND_AGAIN)
    else:
        assert (after, action) == (phase, None)


@given(st.lists(st.sampled_from(Event)))
def test_one_message_is_decided_in_a_life(events: list[Event]) -> None:
    life = Lifecycle()
    actions = [life.on(event) for event in events]
    assert actions.count(Action.REPORT) <= 1
    assert actions.count(Action.RUN) <= 1
    assert actions.count(Action.FORGET) <= 1
    if life.phase in {Phase.REPORTING, Phase.DONE}:
        assert actions.count(Action.REPORT) == 1
    if Action.FORGET in actions:
        assert set(actions[actions.index(Action.FORGET) + 1 :]) <= {None}
