"""What a rubric can do besides holding its fields."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import model_validator

from agent_eval_rpc._base import RequestModel, refuse
from agent_eval_rpc._rules import rubric_issues
from agent_eval_rpc.errors import ValidationError

if TYPE_CHECKING:
    import os

    from typing_extensions import Self

    from agent_eval_rpc._generated.models import Rubric


class RubricBase(RequestModel):
    """Rules across fields, and other ways to get a rubric."""

    @model_validator(mode="after")
    def _check_rules(self) -> "Self":
        refuse(rubric_issues(cast("Rubric", self)))
        return self

    @classmethod
    def from_file(cls, path: "str | os.PathLike[str]") -> "Self":
        """Reads a rubric from a JSON or YAML file.

        The file holds the rubric itself, or an object whose ``rubric`` is one, as the files of
        the built-in rubrics do. YAML needs ``pip install "agent-eval-rpc[yaml]"``.

        Args:
            path: The file; ``.yaml`` and ``.yml`` are read as YAML, anything else as JSON.

        Raises:
            ValidationError: The file cannot be read, or what it holds is not a rubric.
        """
        value = _read(Path(path))
        if isinstance(value, dict) and "rubric" in value:
            value = cast("dict[str, Any]", value)["rubric"]
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise ValidationError(f"{path}: {error.message}", details=error.details) from error

    @classmethod
    def from_criteria(cls, criteria: str, *, name: str | None = None) -> "Self":
        """Makes a rubric of one plain sentence.

        It has one dimension, ``quality``, scored from 0 (the text fails the criteria) to 1 (the
        text meets them fully), and no failure modes or wins.

        Args:
            criteria: What a good text does, such as "The answer cites a source for each claim."
            name: Name of the rubric in reports; default ``"criteria"``.

        Raises:
            ValidationError: The sentence is empty, or the name is not one.
        """
        if not criteria.strip():
            raise ValidationError("Give a sentence that says what a good text does.")
        dimension = {"id": "quality", "description": criteria}
        return cls.model_validate(
            {
                "name": "criteria" if name is None else name,
                "description": criteria,
                "systemPrompt": (
                    "Score how well the text meets these criteria, from 0 (not at all) to 1 "
                    f"(fully):\n{criteria}"
                ),
                "dimensions": [dimension],
            }
        )


def _read(path: Path) -> object:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValidationError(f"{path} is not UTF-8 text.") from error
    except OSError as error:
        raise ValidationError(f"Cannot read {path}: {error.strerror or error}.") from error
    if path.suffix.lower() in {".yaml", ".yml"}:
        return _parse_yaml(text, path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValidationError(f"{path} is not JSON: {error}.") from error


def _parse_yaml(text: str, path: Path) -> object:
    try:
        import yaml  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        message = f'Reading {path} needs PyYAML: pip install "agent-eval-rpc[yaml]".'
        raise ValidationError(message) from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValidationError(f"{path} is not YAML: {error}.") from error
