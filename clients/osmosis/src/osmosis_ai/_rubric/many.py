"""Many texts by one rubric: what each item is, and where its outcome goes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from osmosis_ai._rubric.arguments import Asking, texts_of
from osmosis_ai._rubric.failures import failure
from osmosis_ai._rubric.results import details_of, score_of

if TYPE_CHECKING:
    import os

    from agent_eval_rpc import JudgeOutcome

Solution = str | Mapping[str, Any]
_TEXTS = ("solution_str", "ground_truth", "original_input", "metadata")


class ManyOptions(TypedDict, total=False):
    """How many texts are evaluated."""

    score_min: float
    score_max: float
    timeout: float | None
    return_details: bool
    on_error: Literal["raise", "return"]
    concurrency: int
    progress: bool | Callable[[int, int, float], object] | None
    cache: "str | os.PathLike[str] | None"


class Batch:
    """The items of a run, and the places of their outcomes."""

    def __init__(
        self, asked: Asking, items: Iterable[Solution], *, detailed: bool, keep_errors: bool
    ) -> None:
        self._asked = asked
        self._detailed = detailed
        self._keep_errors = keep_errors
        # What judge_many takes with each item only.
        self._of_each: dict[str, Any] = {"include_raw": True} if detailed else {}
        if "provider" in asked.options:
            self._of_each["provider"] = asked.options["provider"]
        self._places: list[int] = []
        self.judgements: list[dict[str, Any]] = []
        self._outcomes: list[Any] = []
        for item in items:
            self._add(item)

    def _add(self, item: object) -> None:
        place = len(self._outcomes)
        self._outcomes.append(None)
        try:
            texts = texts_of(self._asked, *_texts(item, place))
        except TypeError as error:
            if not self._keep_errors:
                raise TypeError(f"item {place}: {error}") from error
            self._outcomes[place] = error
            return
        self._places.append(place)
        self.judgements.append({**texts, **self._of_each})

    @property
    def options(self) -> dict[str, Any]:
        """What is the same for all, as ``judge_many`` takes it."""
        same = {name: one for name, one in self._asked.options.items() if name != "provider"}
        return {**same, "timeout_s": self._asked.timeout_s, "on_error": "return"}

    def put(self, outcome: "JudgeOutcome") -> None:
        """Takes the outcome of a judgement to its place.

        Raises:
            ProviderRequestError: It has none, and errors are not to be kept.
        """
        place = self._places[outcome.index]
        if outcome.result is not None:
            of = details_of if self._detailed else score_of
            self._outcomes[place] = of(outcome.result)
            return
        assert outcome.error is not None  # noqa: S101 - an outcome has one of the two
        error = failure(outcome.error, self._asked.provider, self._asked.model)
        if not self._keep_errors:
            raise error from outcome.error
        self._outcomes[place] = error

    def outcomes(self) -> list[Any]:
        """One for each item, in order.

        Raises:
            RuntimeError: The engine gave fewer.
        """
        missing = sum(one is None for one in self._outcomes)
        if missing:
            asked = len(self._outcomes)
            raise RuntimeError(f"{asked} texts were sent and {asked - missing} outcomes came back")
        return self._outcomes


def _texts(item: object, place: int) -> Iterator[Any]:
    if isinstance(item, str):
        return iter((item, None, None, None))
    if not isinstance(item, Mapping):
        kind = type(item).__name__
        raise TypeError(f"an item must be a string or a mapping with 'solution_str', got {kind}")
    strangers = sorted(str(name) for name in item if name not in _TEXTS)
    if strangers:
        raise TypeError(f"item {place} has {strangers[0]!r}, but may have {', '.join(_TEXTS)}")
    return (item.get(name) for name in _TEXTS)
