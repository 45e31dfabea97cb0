"""Agent loops by name."""

import pickle
import threading
from collections.abc import Iterator

import pytest
from scripted_trainer import Agent

from osmosis_ai import rollout
from osmosis_ai.rollout import registry


def named(name: str) -> Agent:
    made = Agent()
    made.name = name  # type: ignore[misc]
    return made


@pytest.fixture
def _none_are_left() -> Iterator[None]:
    yield
    for name in rollout.list_agent_loops():
        rollout.unregister_agent_loop(name)


def test_names_keep_the_order_in_which_they_came() -> None:
    one = rollout.AgentLoopRegistry()
    for name in ("b", "a", "c"):
        one.register(named(name))
    assert one.list_names() == ["b", "a", "c"]
    one.list_names().clear()
    assert one.list_names() == ["b", "a", "c"]
    assert one.unregister("a") is True
    assert one.unregister("a") is False
    assert one.list_names() == ["b", "c"]
    one.clear()
    assert one.list_names() == []
    assert one.get("b") is None


def test_the_second_of_a_name_changes_nothing() -> None:
    one = rollout.AgentLoopRegistry()
    first = named("x")
    one.register(first)
    with pytest.raises(ValueError, match="'x' is already registered"):
        one.register(named("x"))
    assert one.get("x") is first
    one.unregister("x")
    second = named("x")
    one.register(second)
    assert one.get("x") is second


@pytest.mark.usefixtures("_none_are_left")
def test_the_process_has_one_registry_and_others_are_their_own() -> None:
    agent = named("x")
    rollout.register_agent_loop(agent)
    with pytest.raises(ValueError, match="already registered"):
        rollout.register_agent_loop(agent)
    assert registry.get_agent_loop("x") is agent
    assert rollout.list_agent_loops() == ["x"]
    assert rollout.AgentLoopRegistry().list_names() == []
    assert rollout.unregister_agent_loop("x") is True
    assert rollout.unregister_agent_loop("x") is False


@pytest.mark.usefixtures("_none_are_left")
def test_who_asks_for_what_is_not_there_is_told_what_is() -> None:
    with pytest.raises(rollout.AgentLoopNotFoundError, match=r"'x' .*available: none") as missing:
        rollout.get_agent_loop("x")
    assert (missing.value.name, missing.value.available) == ("x", [])
    assert isinstance(missing.value, rollout.OsmosisRolloutError)
    rollout.register_agent_loop(named("a"))
    rollout.register_agent_loop(named("b"))
    with pytest.raises(rollout.AgentLoopNotFoundError, match="available: a, b"):
        rollout.get_agent_loop("x")


def test_of_many_threads_one_takes_a_name() -> None:
    one = rollout.AgentLoopRegistry()
    gate = threading.Barrier(16)
    refused: list[str] = []

    def take(number: int) -> None:
        gate.wait(10)
        for name in ("shared", f"own-{number}"):
            try:
                one.register(named(name))
            except ValueError:
                refused.append(name)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert refused == ["shared"] * 15
    assert sorted(one.list_names()) == sorted(["shared", *(f"own-{n}" for n in range(16))])


@pytest.mark.parametrize(
    "error",
    [
        rollout.AgentLoopNotFoundError("x", ["a"]),
        rollout.OsmosisServerError("said", 503),
        rollout.OsmosisValidationError("said", 404),
        rollout.ToolArgumentError("said", "id", "tool"),
        rollout.AgentLoopValidationError([rollout.ValidationError("CODE", "said")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_the_way_between_processes(error: Exception) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (str(back), vars(back)) == (str(error), vars(error))
