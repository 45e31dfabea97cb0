"""Which functions are taken as rewards, and what is checked when they are called."""

import asyncio
import functools
import inspect
from decimal import Decimal
from typing import Annotated, Any, Optional, Union

import pytest

import future_annotations
from osmosis_ai import osmosis_reward, osmosis_rubric

Function = Any


def reward_of(signature: str, value: object = 0.5, **names: object) -> Function:
    """A decorated reward function with this signature."""
    return osmosis_reward(function_of(signature, value, **names))


def function_of(signature: str, value: object = 0.5, **names: object) -> Function:
    scope: dict[str, Any] = {"value": value, "Optional": Optional, "Union": Union, **names}
    exec(f"def scored({signature}):\n    return value", scope)
    return scored if (scored := scope["scored"]) else None


GOOD = "solution_str: str, ground_truth: str, extra_info: dict = None"


@pytest.mark.parametrize(
    "signature",
    [
        f"{GOOD}, **kwargs",
        GOOD,
        "solution_str: str, ground_truth: str, extra_info: dict = {}",
        "solution_str: str, ground_truth: str, *, extra_info: dict = None",
        "solution_str: 'str', ground_truth: 'str', extra_info: 'dict' = None",
        "solution_str: Annotated[str, 1], ground_truth: str, extra_info: dict = None",
        "",
        "completion, answer=None",
        "messages: list, info: dict",
    ],
)
def test_reward_signatures_that_are_taken(signature: str) -> None:
    assert callable(reward_of(signature, Annotated=Annotated))


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("solution_str: str, ground_truth: str", "must have at least 3 parameters"),
        ("solution_str, ground_truth: str, extra_info: dict = None", "must be annotated as str"),
        (
            "solution_str: str, ground_truth: str, **kwargs",
            "must be named 'extra_info'",
        ),
        (
            "solution_str: str, truth: str, extra_info: dict = None",
            "must be named 'ground_truth'",
        ),
        (
            "solution_str: str, ground_truth: Optional[str], extra_info: dict = None",
            "must be annotated as str",
        ),
        (
            "solution_str: str, ground_truth: str, extra_info: dict[str, int] = None",
            "must be annotated as dict",
        ),
        ("solution_str: str, ground_truth: str, extra_info=None", "must be annotated as dict"),
        (
            "solution_str: str, ground_truth: str, extra_info: Union[dict, list] = None",
            "must be annotated as dict",
        ),
        (
            "solution_str: str, ground_truth: str, extra_info: dict",
            "must have a default value",
        ),
    ],
)
def test_reward_signatures_that_are_refused(signature: str, said: str) -> None:
    with pytest.raises(TypeError, match="scored") as refused:
        reward_of(signature)
    assert said in str(refused.value)


def test_A1_data_source_reaches_only_functions_that_take_it() -> None:
    plain = reward_of(GOOD)
    assert plain("a", "b", data_source="x") == 0.5

    @osmosis_reward
    def named(
        solution_str: str, ground_truth: str, extra_info: dict = None, data_source: str = ""
    ) -> float:
        return 1.0 if data_source == "x" else 0.0

    @osmosis_reward
    def by_keywords(
        solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs: Any
    ) -> float:
        return 1.0 if kwargs == {"data_source": "x"} else 0.0

    assert named("a", "b", data_source="x") == 1.0
    assert by_keywords("a", "b", data_source="x") == 1.0
    custom = reward_of("completion")
    assert custom("a", data_source="x") == 0.5


def test_A2_further_parameters_are_fine() -> None:
    assert reward_of(f"{GOOD}, a=1, b=2, *, c=3, **kwargs")("s", "g") == 0.5


@pytest.mark.parametrize("value", [1, True, None, Decimal(1), "0.5"])
def test_A3_what_is_no_float_raises(value: object) -> None:
    with pytest.raises(TypeError, match=f"scored must return a float, got {type(value).__name__}"):
        reward_of(GOOD, value)("s", "g")
    # What is not of the documented kind is nobody's business.
    assert reward_of("completion", value)("s") is value


def test_numpy_rewards() -> None:
    import numpy

    assert reward_of(GOOD, numpy.float64(0.5))("s", "g") == 0.5
    with pytest.raises(TypeError, match="must return a float, got float32"):
        reward_of(GOOD, numpy.float32(0.5))("s", "g")


def test_A4_async_functions_stay_async_and_are_checked() -> None:
    @osmosis_reward
    async def good(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
        return 0.5

    @osmosis_reward
    async def wrong(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
        return 1  # type: ignore[return-value]

    class Judge:
        async def __call__(
            self, solution_str: str, ground_truth: str, extra_info: dict = None
        ) -> float:
            return 1  # type: ignore[return-value]

    def hidden(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
        return good(solution_str, ground_truth)  # type: ignore[return-value]

    assert inspect.iscoroutinefunction(good)
    assert asyncio.run(good("s", "g", data_source="x")) == 0.5
    for one in (wrong, osmosis_reward(Judge()), osmosis_reward(functools.partial(wrong))):
        assert inspect.iscoroutinefunction(one)
        with pytest.raises(TypeError, match="must return a float, got int"):
            asyncio.run(one("s", "g"))

    async def run_hidden() -> float:
        return await osmosis_reward(hidden)("s", "g")  # type: ignore[no-any-return,misc]

    assert asyncio.run(run_hidden()) == 0.5


@pytest.mark.parametrize("hint", ["dict | None", "Optional[dict]", "Union[None, dict]"])
def test_A5_extra_info_may_be_none(hint: str) -> None:
    signature = f"solution_str: str, ground_truth: str, extra_info: {hint} = None"
    assert reward_of(signature)("s", "g", None) == 0.5


def test_H4_text_annotations_are_resolved() -> None:
    assert future_annotations.exact_match("a ", "a") == 1.0
    assert future_annotations.optional_info("a", "a") == 0.5
    assert future_annotations.rubric("a", None, {}) == 0.25


def test_L13_future_annotations_and_documented_example() -> None:
    score = future_annotations.exact_match(
        "The capital of France is Paris", "Paris is France's capital"
    )
    assert score == 0.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_L16_rewards_that_are_not_finite(value: float) -> None:
    for decorate, args in ((osmosis_reward, ("s", "g")), (osmosis_rubric, ("s", "g", {}))):
        signature = GOOD if decorate is osmosis_reward else GOOD.replace(" = None", "")
        with pytest.raises(ValueError, match="scored must return a finite float"):
            decorate(function_of(signature, value))(*args)
        kept = decorate(allow_nonfinite=True)(function_of(signature, value))(*args)
        assert repr(kept) == repr(value)


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("solution_str: str, ground_truth: str", "must have at least 3 parameters"),
        ("solution_str: int, ground_truth: str, extra_info: dict", "must be annotated as str"),
        (
            "solution_str: str = '', ground_truth: str = '', extra_info: dict = None",
            "cannot have a default value",
        ),
        ("solution_str: str, gt: str, extra_info: dict", "must be named 'ground_truth'"),
        (
            "solution_str: str, ground_truth: Union[str, int], extra_info: dict",
            "must be annotated as str",
        ),
        (
            "solution_str: str, ground_truth: str = '', extra_info: dict = None",
            "cannot have a default value",
        ),
        ("solution_str: str, ground_truth: str, info: dict", "must be named 'extra_info'"),
    ],
)
def test_rubric_signatures_that_are_refused(signature: str, said: str) -> None:
    with pytest.raises(TypeError, match="scored") as refused:
        osmosis_rubric(function_of(signature))
    assert said in str(refused.value)


class Text(str):
    """A kind of text."""


@pytest.mark.parametrize(
    "hint", ["str", "Optional[str]", "str | None", "'str'", "Text", "None | Text"]
)
def test_rubric_ground_truth_annotations_that_are_taken(hint: str) -> None:
    signature = f"solution_str: str, ground_truth: {hint}, extra_info, **kwargs"
    scored = osmosis_rubric(function_of(signature, Text=Text))
    assert scored("s", None, None) == 0.5


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "'solution_str' argument is required"),
        ((1, "g", {}), "'solution_str' must be a string"),
        (("s",), "'ground_truth' argument is required"),
        (("s", 1, {}), "'ground_truth' must be a string or None"),
        (("s", "g"), "'extra_info' argument is required"),
    ],
)
def test_rubric_arguments_are_checked(args: tuple[Any, ...], said: str) -> None:
    scored = osmosis_rubric(
        function_of("solution_str: str, ground_truth: str | None, extra_info: dict")
    )
    with pytest.raises(TypeError, match=said):
        scored(*args)
    with pytest.raises(TypeError):
        scored("s", "g", {}, "too many")


def test_strict_functions_take_any_keyword() -> None:
    assert reward_of(f"{GOOD}, **kwargs") is not None
    assert osmosis_reward(strict=True)(function_of(f"{GOOD}, **kwargs"))("s", "g") == 0.5
    with pytest.raises(TypeError, match=r"scored must take \*\*kwargs"):
        osmosis_reward(strict=True)(function_of(GOOD))
    with pytest.raises(TypeError, match=r"scored must take \*\*kwargs"):
        osmosis_rubric(strict=True)(function_of(GOOD.replace(" = None", "")))


def test_a_decorated_function_still_looks_like_itself() -> None:
    def scored(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:
        """Says something."""
        return 0.5

    wrapped = osmosis_reward(scored)
    assert (wrapped.__name__, wrapped.__doc__) == ("scored", "Says something.")
    assert inspect.signature(wrapped) == inspect.signature(scored)
    assert wrapped.__wrapped__ is scored  # type: ignore[attr-defined]
