"""The phases of a rollout: one decision to report in every life."""

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_trainer import Agent, served, trainer

from osmosis_ai.rollout import AppState, OsmosisLLMClient, RolloutContext, RolloutRequest
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


def test_a_rollout_is_remembered_for_its_time_and_no_longer() -> None:
    async def test() -> None:
        now = [1000.0]
        state = AppState(record_ttl_seconds=60)
        state._clock = lambda: now[0]
        for key in ("known", "unknown"):
            if key == "known":
                assert state.get_or_create_init_future(key)[1]
                assert state.own(key, "r")
            task = asyncio.ensure_future(asyncio.sleep(0))
            state.mark_started(key, task)
            assert (state.active_count, state.is_duplicate(key)) == (1, key == "known")
            await task
            state.mark_completed(key)
        assert (state.active_count, state.completed_count) == (0, 2)
        now[0] += 60
        state.prune()
        assert (state.completed_count, state.is_duplicate("known")) == (2, True)
        now[0] += 0.001
        state.prune()
        assert (state.completed_count, state.is_duplicate("known")) == (0, False)
        # The id is free again, for another key too.
        assert state.get_or_create_init_future("later")[1]
        assert state.own("later", "r")

    asyncio.run(test())


def test_L3_events_stay_in_their_folder_and_never_harm_the_agent(tmp_path: Path) -> None:
    folder = tmp_path / "debug" / "logs"

    def context(rollout_id: str, debug_dir: "str | None") -> RolloutContext:
        request = RolloutRequest(
            rollout_id=rollout_id, server_url="http://x", messages=[], completion_params={}
        )
        return RolloutContext(request, [], OsmosisLLMClient("http://x", "r"), _debug_dir=debug_dir)

    silent = context("r", None)
    silent.log_event("any", a=WordlessError())
    assert not silent.debug_enabled
    assert list(tmp_path.iterdir()) == []
    for rollout_id in ("../evil", "/etc/evil", "..", "a/b", "plain"):
        loud = context(rollout_id, str(folder))
        assert loud.debug_enabled
        loud.log_event("one", value=float("nan"), keys={(1, 2): 3}, path=Path("p"))
        loud.log_event("two", odd=WordlessError())
    assert len(list(folder.iterdir())) == 5
    assert [one.name for one in tmp_path.iterdir()] == ["debug"]
    first, second = (folder / "plain.jsonl").read_text().splitlines()
    assert json.loads(first) == {
        "event": "one", "rollout_id": "plain", "value": None, "keys": {"(1, 2)": 3}, "path": "p",
    }  # fmt: skip
    assert json.loads(second) == {"event": "two", "rollout_id": "plain", "odd": "WordlessError"}
    (tmp_path / "file").write_text("")
    context("r", str(tmp_path / "file")).log_event("lost")
