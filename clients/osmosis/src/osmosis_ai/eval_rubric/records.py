"""Records to evaluate, one JSON object a line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osmosis_ai.errors import CLIError
from osmosis_ai.eval_rubric.suite import RubricConfig
from osmosis_ai.text_files import read_text

_SECRETS = frozenset({"api_key", "api_key_env", "model_info"})


@dataclass(frozen=True)
class Record:
    """One line of a file.

    Attributes:
        index: Its place among those that are evaluated, from 1.
        payload: The object.
    """

    index: int
    payload: dict[str, Any]

    @property
    def conversation(self) -> str:
        """Which conversation it belongs to."""
        return str(self.payload.get("conversation_id") or f"record[{self.index}]")

    @property
    def id(self) -> str:
        """Its name: of its own, else that of its conversation."""
        return str(self.payload.get("id") or self.conversation)

    def arguments(self, config: RubricConfig) -> dict[str, Any]:
        """What ``evaluate_rubric`` is called with; what the record says wins over the config."""
        own, extra = self.payload, self._extra_info()
        prompts = [config.system_prompt, config.model_info.get("system_prompt")]
        system_prompt = "\n\n".join(one.strip() for one in prompts if one and one.strip())
        model_info = {**config.model_info}
        if system_prompt:
            model_info["system_prompt"] = system_prompt
        wanted = {
            "rubric": config.rubric,
            "solution_str": own["solution_str"],
            "model_info": model_info,
            "ground_truth": _first(own.get("ground_truth"), config.ground_truth),
            "original_input": _first(
                own.get("original_input"), extra.get("original_input"), config.original_input
            ),
            "metadata": self._metadata(extra) or None,
            "score_min": _first(own.get("score_min"), config.score_min),
            "score_max": _first(own.get("score_max"), config.score_max),
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def _extra_info(self) -> dict[str, Any]:
        extra = self.payload.get("extra_info")
        return extra if isinstance(extra, dict) else {}

    def _metadata(self, extra: dict[str, Any]) -> dict[str, Any]:
        given = extra.get("metadata")
        # The judge sees what describes the record, and no key that was put beside it.
        shown = given if isinstance(given, dict) else {}
        metadata = {name: value for name, value in shown.items() if name not in _SECRETS}
        own = self.payload.get("metadata")
        return {**metadata, "dataset_metadata": own} if own else metadata


def _first(*values: Any) -> Any:
    return next((one for one in values if one is not None and one != ""), None)


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with the numbers of their lines, blank lines left out.

    Raises:
        CLIError: A line is no JSON object.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CLIError(f"{path}, line {number}: not valid JSON: {error}") from error
        if not isinstance(value, dict):
            kind = type(value).__name__
            raise CLIError(f"{path}, line {number}: expected a JSON object, got {kind}")
        yield number, value


def load_records(path: Path, rubric_id: str) -> list[Record]:
    """The records for a rubric: those that name it, in any case of letters, or name none.

    Raises:
        CLIError: A record is not valid, or there is none for the rubric.
    """
    wanted = rubric_id.strip().lower()
    chosen: list[Record] = []
    for number, value in read_records(path):
        named = value.get("rubric_id")
        if named is not None and str(named).strip().lower() != wanted:
            continue
        _check(value, f"{path}, line {number}")
        chosen.append(Record(len(chosen) + 1, value))
    if not chosen:
        raise CLIError(f"{path} has no records for the rubric '{rubric_id}'")
    return chosen


def _check(value: dict[str, Any], where: str) -> None:
    solution = value.get("solution_str")
    if not isinstance(solution, str) or not solution.strip():
        raise CLIError(f"{where}: 'solution_str' must be a non-empty string")
    for name, kind in (
        ("ground_truth", str),
        ("original_input", str),
        ("metadata", dict),
        ("extra_info", dict),
    ):
        if not isinstance(value.get(name), kind | None):
            raise CLIError(f"{where}: '{name}' must be a {kind.__name__} or null")
    for name in ("score_min", "score_max"):
        number = value.get(name)
        if isinstance(number, bool) or not isinstance(number, int | float | None):
            raise CLIError(f"{where}: '{name}' must be a number or null")
