"""The phases of a rollout: one decision to report in every life."""

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_trainer import Agent, served, trainer

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


class WordlessError(Exception):
    """Has no text, as an object or as an exception."""

    def __str__(self) -> str:
        raise OSError("no words")

    __repr__ = __str__


def raising(ctx: Any, messages: Any) -> Any:
    raise WordlessError


def changed(**attributes: Any) -> Any:
    def then(ctx: Any, messages: Any) -> Any:
        result = ctx.complete(messages)
        for name, value in attributes.items():
            setattr(result, name, value)
        return result

    return then


@pytest.mark.parametrize(
    ("then", "status", "said"),
    [
        (raising, "ERROR", "WordlessError"),
        (changed(reward=10**400), "ERROR", "reward must be finite, got inf"),
        (changed(reward=-(10**5000)), "ERROR", "reward must be finite"),
        (changed(metrics="many"), "ERROR", "metrics must be RolloutMetrics or None, got str"),
        (changed(status=WordlessError()), "ERROR", "cannot be read: OSError"),
        (changed(error_message=WordlessError()), "COMPLETED", "WordlessError"),
        (changed(finish_reason=WordlessError()), "COMPLETED", None),
        (changed(final_messages=[{"a": WordlessError(), "b": 10**400}]), "COMPLETED", None),
    ],
)
def test_L1_and_L7_whatever_an_agent_gives_back_there_is_one_message(
    then: Any, status: str, said: str | None
) -> None:
    async def test() -> None:
        async with trainer() as one, served(Agent(then=then)) as server:
            assert (await server.init(one.url)).status_code == 202
            while server.app.state.rollouts.active_count:
                await asyncio.sleep(0)
            (terminal,) = one.terminals
            assert terminal["status"] == status
            assert (said or "") in terminal.get("error_message", "")
            assert terminal["metrics"]["num_llm_calls"] == 1

    asyncio.run(test())
