"""What is in a message, whatever the trainer's model has put there."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osmosis_ai.rollout import messages, utils

odd = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.lists(st.text())
    | st.dictionaries(st.text(), st.text())
)


@given(odd)
def test_what_is_no_text_is_no_content_and_no_role(value: Any) -> None:
    message = {"role": value, "content": value}
    assert messages.get_message_content(message) == ""
    assert messages.get_message_role(message) == "unknown"
    assert messages.count_messages_by_role([message]) == {"unknown": 1}


@given(st.text(min_size=1))
def test_a_text_is_given_as_it_is(text: str) -> None:
    assert messages.get_message_content({"content": text}) == text
    assert messages.get_message_role({"role": text}) == text
    assert messages.normalize_stop(text) == [text]


@pytest.mark.parametrize("calls", [None, {}, "x", 3, ({"id": 1},)])
def test_A13_calls_that_are_no_list_are_none(calls: Any) -> None:
    assert messages.parse_tool_calls({"tool_calls": calls}) == []
    assert messages.parse_tool_calls({}) == []


def test_calls_are_given_in_their_order() -> None:
    calls = [{"id": "b"}, {"id": "a"}]
    assert messages.parse_tool_calls({"tool_calls": calls}) == calls


@pytest.mark.parametrize("role", ["assistant", "user", "tool", "system", "Assistant", "", None])
def test_each_role_is_told_from_the_others(role: Any) -> None:
    message = {"role": role}
    told = {
        "assistant": messages.is_assistant_message(message),
        "user": messages.is_user_message(message),
        "tool": messages.is_tool_message(message),
    }
    assert told == {name: name == role for name in told}


@given(st.lists(st.sampled_from(["user", "assistant", "tool"])))
def test_every_message_is_counted_once(roles: list[str]) -> None:
    counts = messages.count_messages_by_role({"role": role} for role in roles)
    assert counts == {role: roles.count(role) for role in roles}


@pytest.mark.parametrize(
    ("stop", "normal"),
    [
        ("", [""]), ([], []), (["a", None, 2], ["a", "None", "2"]),
        (None, None), (("a",), None), ({"a"}, None), (3, None), (b"a", None),
    ],
)  # fmt: skip
def test_stops_become_a_list_of_texts(stop: Any, normal: list[str] | None) -> None:
    assert messages.normalize_stop(stop) == normal


def test_code_of_before_finds_the_same_functions() -> None:
    for name in utils.__all__:
        assert getattr(utils, name) is getattr(messages, name)
    assert len(utils.__all__) == 8
