"""Requests, results and rubrics."""

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_eval_rpc import (
    Check,
    FailureMode,
    JudgeResult,
    ProviderChoice,
    Rubric,
    RubricDetail,
    RubricDimension,
    ValidationError,
)
from agent_eval_rpc._json import encode, to_json_value
from agent_eval_rpc._protocol import chat_call, compare_call, judge_params
from support import ROOT, vectors

RESULT: dict[str, Any] = {
    "composite": 0.5,
    "dimensions": {"quality": 0.5},
    "failureModes": [],
    "wins": [],
    "rationale": "So so.",
    "rubricVersion": "r@sha256-rfc8785:00",
    "model": "m",
    "durationMs": 3,
    "usage": {"inputTokens": 1, "outputTokens": 2, "costUsd": None},
    "cached": False,
    "attempts": 1,
    "judgeVersion": "v",
    "scoreMode": "text",
    "replyMode": "json_schema",
    "droppedParams": [],
    "warnings": [],
    "notAssessed": [],
}


def rubric(**fields: Any) -> Rubric:
    given_fields: dict[str, Any] = {
        "name": "commit-message",
        "description": "Says why.",
        "system_prompt": "Judge the commit message.",
        "dimensions": [RubricDimension(id="quality", description="Good.")],
    }
    return Rubric(**{**given_fields, **fields})


def paths_of(run: Callable[[], object]) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        run()
    return sorted(issue["path"] for issue in caught.value.details["issues"])


@pytest.mark.parametrize("case", vectors("rubric-rules"))
def test_rubrics_are_checked_as_in_the_engine(case: dict[str, Any]) -> None:
    if case["ok"]:
        Rubric.model_validate(case["value"])
    else:
        assert paths_of(lambda: Rubric.model_validate(case["value"])) == sorted(case["paths"])


@pytest.mark.parametrize("case", vectors("request-validation"))
def test_requests_are_checked_as_in_the_engine(case: dict[str, Any]) -> None:
    if case["ok"]:
        judge_params(case["params"])
    else:
        assert paths_of(lambda: judge_params(case["params"])) == sorted(case["paths"])


@pytest.mark.parametrize("case", vectors("compare-validation"))
def test_comparisons_are_checked_as_in_the_engine(case: dict[str, Any]) -> None:
    if case["ok"]:
        compare_call(case["params"])
    else:
        assert paths_of(lambda: compare_call(case["params"])) == sorted(case["paths"])


@pytest.mark.parametrize("case", vectors("chat-validation"))
def test_chats_are_checked_as_in_the_engine(case: dict[str, Any]) -> None:
    if case["ok"]:
        # What is sent has OpenAI's names; null says no more than nothing.
        text = json.dumps(case["params"]).replace('"content": null, ', "")
        assert chat_call(case["params"]).params == json.loads(text)
    else:
        assert paths_of(lambda: chat_call(case["params"])) == sorted(case["paths"])


def test_constructors_take_both_spellings() -> None:
    dimension = RubricDimension(id="why", description="States the reason.", weight=1.0)
    mode = FailureMode(id="what-only", description="No reason.")
    camel = Rubric(
        name="n",
        description="d",
        systemPrompt="s",
        dimensions=[dimension],
        failureModes=[mode],
    )
    snake = Rubric(
        name="n", description="d", system_prompt="s", dimensions=[dimension], failure_modes=[mode]
    )
    assert camel == snake
    assert judge_params({"content": "x", "rubric": camel})["rubric"] == {
        "name": "n",
        "description": "d",
        "systemPrompt": "s",
        "dimensions": [{"id": "why", "description": "States the reason.", "weight": 1.0}],
        "failureModes": [{"id": "what-only", "description": "No reason."}],
    }


def test_our_error_is_raised_and_pydantics_is_chained() -> None:
    with pytest.raises(ValidationError, match=r"Invalid RubricDimension: id: must have") as caught:
        RubricDimension(id="", description="")
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value.__cause__, pydantic.ValidationError)
    assert caught.value.details["issues"][0]["path"] == "id"


def test_misspelt_options_are_refused() -> None:
    assert paths_of(lambda: rubric(theshold=0.5)) == ["theshold"]
    assert paths_of(lambda: judge_params({"rubric_name": "r", "content": "x", "modle": "m"})) == [
        "modle"
    ]


def test_an_option_given_as_none_is_absent() -> None:
    dimension = RubricDimension(id="a", description="", checks=None)
    params = judge_params({"content": "x", "rubric": rubric(dimensions=[dimension])})
    assert params["rubric"]["dimensions"] == [{"id": "a", "description": ""}]


def test_a_rubric_changed_later_is_checked_when_it_is_sent() -> None:
    changed = rubric()
    changed.dimensions.append(RubricDimension(id="quality", description=""))
    assert paths_of(lambda: judge_params({"content": "x", "rubric": changed})) == [
        "rubric.dimensions.1.id"
    ]


def test_numbers_and_flags_are_not_guessed_from_text() -> None:
    given_options = {"rubric_name": "r", "content": "x", "seed": "7", "include_raw": "yes"}
    assert paths_of(lambda: judge_params(given_options)) == ["include_raw", "seed"]


def test_lone_surrogates_are_replaced() -> None:
    params = judge_params(
        {
            "rubric_name": "r",
            "content": "a\ud83db \ud83d\ude00",
            "context": {"k\udc00": ["\ud800"]},
        }
    )
    assert params["content"] == "a\ufffdb \U0001f600"
    assert params["context"] == {"k\ufffd": ["\ufffd"]}
    encode(params)


@pytest.mark.parametrize(
    ("context", "path"),
    [
        ({"a": math.nan}, "context.a"),
        ({"a": [0, {"b": math.inf}]}, "context.a.1.b"),
        ({"a": object()}, "context.a"),
        ({"a": b"bytes"}, "context.a"),
        ({"a": {1: "x"}}, "context.a.1"),
        ({"a": 10**400}, "context.a"),
        ({"a": {"set", "of"}}, "context.a"),
    ],
)
def test_context_that_json_cannot_say_is_refused_by_path(
    context: dict[str, Any], path: str
) -> None:
    request = {"rubric_name": "r", "content": "x", "context": context}
    assert paths_of(lambda: judge_params(request)) == [path]


def test_a_context_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    with pytest.raises(ValidationError, match="nested too deeply"):
        judge_params({"rubric_name": "r", "content": "x", "context": loop})


def test_context_keeps_nulls_and_takes_tuples() -> None:
    request = {"rubric_name": "r", "content": "x", "context": {"a": None, "b": (1, 2.5, True)}}
    assert judge_params(request)["context"] == {"a": None, "b": [1, 2.5, True]}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(st.characters(), max_size=5), json_values))
def test_what_is_accepted_can_be_encoded_and_read_back(value: dict[str, Any]) -> None:
    issues: list[Any] = []
    copy = to_json_value(value, issues)
    if not issues:
        assert json.loads(encode(copy)) == copy


def test_results_skip_fields_of_newer_engines_at_every_depth() -> None:
    newer = {**RESULT, "stdev": 0.1, "usage": {**RESULT["usage"], "reasoningTokens": 4}}
    result = JudgeResult.model_validate(newer, extra="ignore")
    assert (result.composite, result.usage and result.usage.input_tokens) == (0.5, 1)
    detail = RubricDetail.model_validate(
        {
            "rubric": {
                "name": "n",
                "description": "",
                "systemPrompt": "s",
                "scale": "new",
                "dimensions": [{"id": "a", "description": "", "unit": "new"}],
            },
            "rubricVersion": "v",
        },
        extra="ignore",
    )
    assert isinstance(detail.rubric, Rubric)
    assert detail.rubric.dimensions[0].id == "a"


def test_secrets_never_show() -> None:
    choice = ProviderChoice(base_url="http://127.0.0.1:1/v1", api_key="sk-secret")
    assert "sk-secret" not in repr(choice) + str(choice)
    with pytest.raises(ValidationError) as caught:
        ProviderChoice(api_key=["sk-secret"])  # type: ignore[call-overload]
    assert "sk-secret" not in f"{caught.value!r} {caught.value} {caught.value.__cause__}"


def test_models_pickle() -> None:
    assert pickle.loads(pickle.dumps(rubric())) == rubric()


def test_from_file_reads_json_yaml_and_files_of_built_in_rubrics(tmp_path: Path) -> None:
    text = rubric().model_dump_json(by_alias=True)
    (tmp_path / "plain.json").write_text("\ufeff" + text, "utf-8")
    (tmp_path / "built-in.json").write_text(f'{{"rubric": {text}, "examples": []}}', "utf-8")
    (tmp_path / "rubric.yaml").write_text(
        "name: commit-message\ndescription: Says why.\n"
        "systemPrompt: Judge the commit message.\n"
        "dimensions:\n  - {id: quality, description: Good.}\n",
        "utf-8",
    )
    for path in tmp_path.iterdir():
        assert Rubric.from_file(path).dimensions == rubric().dimensions


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("no.json", None, "Cannot read"),
        ("bad.json", b"{", "is not JSON"),
        ("bad.yaml", b"a: [", "is not YAML"),
        ("bad.json", b"\xff", "is not UTF-8"),
        ("list.json", b"[]", "Invalid Rubric: must be an object"),
        ("deep.json", b"[" * 100_000, "is not JSON"),
        ("few.json", b'{"name": "n"}', "Invalid Rubric: description: is missing"),
    ],
)
def test_from_file_says_what_is_wrong_with_a_file(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValidationError, match=message) as caught:
        Rubric.from_file(path)
    assert name in caught.value.message


def test_from_criteria_makes_one_dimension() -> None:
    made = Rubric.from_criteria("Every claim has a source.", name="sources")
    assert [dimension.id for dimension in made.dimensions] == ["quality"]
    assert made.dimensions[0].description == "Every claim has a source."
    assert made.name == "sources"
    with pytest.raises(ValidationError, match="Give a sentence"):
        Rubric.from_criteria("  ")


def test_checks_are_sent_as_given() -> None:
    dimension = RubricDimension(
        id="a", description="", checks=[Check(question="Is it clear?", expect="yes")]
    )
    sent = judge_params({"content": "x", "rubric": rubric(dimensions=[dimension])})["rubric"]
    assert sent["dimensions"][0]["checks"] == [{"question": "Is it clear?", "expect": "yes"}]


def test_every_built_in_rubric_is_valid() -> None:
    folder = ROOT / "packages" / "agent-eval" / "src" / "rubrics" / "builtin"
    for path in folder.glob("*.json"):
        assert Rubric.from_file(path).name == path.stem
