"""Rubrics in YAML files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osmosis_ai.errors import CLIError
from osmosis_ai.text_files import read_text

_NUMBERS = ("score_min", "score_max")
_TEXTS = ("system_prompt", "original_input", "ground_truth")
_FORBIDDEN = ("extra_info", "default_extra_info")
_NAME = "rubric_configs.yaml"


@dataclass(frozen=True)
class RubricConfig:
    """One rubric of a file.

    Attributes:
        label: Where it stands in the file.
        id: Its name.
        rubric: The rubric.
        model_info: The model that judges.
        raw: The entry as it was written.
        score_min: Lowest score.
        score_max: Highest score.
        system_prompt: What the judge is told first.
        original_input: The request that was answered.
        ground_truth: What the right answer would be.
    """

    label: str
    id: str
    rubric: str
    model_info: dict[str, Any]
    raw: dict[str, Any]
    score_min: float | None = None
    score_max: float | None = None
    system_prompt: str | None = None
    original_input: str | None = None
    ground_truth: str | None = None


def find_config(explicit: Path | None, data: Path) -> Path:
    """The file of rubrics: the one that is named, else one in a customary place.

    Raises:
        CLIError: There is none; the message lists where it was looked for.
    """
    if explicit is not None:
        places = [explicit / _NAME if explicit.is_dir() else explicit]
    else:
        places = [data.parent / _NAME, Path(_NAME), Path("examples") / _NAME]
    for place in places:
        if place.is_file():
            return place
    looked = ", ".join(f"'{place}'" for place in places)
    raise CLIError(f"No rubric config found. Looked at: {looked}. Name one with --config.")


def read_documents(path: Path) -> list[Any]:
    """The documents of a YAML file.

    Raises:
        CLIError: It is not YAML.
    """
    import yaml  # noqa: PLC0415 - slow to import

    try:
        return [one for one in yaml.safe_load_all(read_text(path)) if one is not None]
    except yaml.YAMLError as error:
        raise CLIError(f"{path} is not valid YAML: {error}") from error


def load_suite(path: Path) -> dict[str, RubricConfig]:
    """The rubrics of a file by id.

    Raises:
        CLIError: The file, or an entry of it, is not valid.
    """
    documents = read_documents(path)
    _check_versions(documents, path)
    found: dict[str, RubricConfig] = {}
    for label, entry, defaults in entries_of(documents):
        config = _config(label, entry, defaults, path)
        if config.id in found:
            raise CLIError(f"{path}: two rubrics have the id '{config.id}'")
        found[config.id] = config
    if not found:
        raise CLIError(f"{path}: no rubric found; an entry has 'id', 'rubric' and 'model_info'")
    return found


def entries_of(documents: list[Any]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Every mapping with a text ``rubric``: where it stands, itself, and the defaults above it."""
    for place, document in enumerate(documents):
        yield from _walk(document, f"document[{place}]", {})


def _walk(
    node: Any, label: str, defaults: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    if isinstance(node, Mapping):
        own = {str(key): value for key, value in node.items()}
        below = {**defaults, **{k: v for k, v in own.items() if k.startswith("default_")}}
        if isinstance(own.get("rubric"), str):
            yield label, own, below
        for key, value in own.items():
            yield from _walk(value, key, below)
    elif isinstance(node, list):
        for place, value in enumerate(node):
            yield from _walk(value, f"{label}[{place}]", defaults)


def _check_versions(documents: list[Any], path: Path) -> None:
    versions = {one.get("version") for one in documents if isinstance(one, Mapping)}
    for version in versions:
        if version is None:
            continue
        if isinstance(version, bool) or not isinstance(version, int):
            raise CLIError(f"{path}: 'version' must be an integer, got {version!r}")
        if version != 1:
            raise CLIError(f"{path}: version {version} is not known; this program reads version 1")
    if len(versions) > 1 and len(documents) > 1 and None not in versions:
        raise CLIError(f"{path}: the documents have different versions")


def _config(
    label: str, entry: dict[str, Any], defaults: dict[str, Any], path: Path
) -> RubricConfig:
    def wrong(what: str) -> CLIError:
        name = entry.get("id") or label
        return CLIError(f"{path}: rubric '{name}': {what}")

    for name in _FORBIDDEN:
        if name in entry or name in defaults:
            raise wrong(f"'{name}' is not allowed in a config; put it into the records")

    def value(name: str) -> Any:
        return entry[name] if entry.get(name) is not None else defaults.get(f"default_{name}")

    rubric_id = entry.get("id")
    if not isinstance(rubric_id, str) or not rubric_id.strip():
        raise wrong("'id' must be a non-empty string")
    if not entry["rubric"].strip():
        raise wrong("'rubric' must be a non-empty string")
    model_info = value("model_info")
    if not isinstance(model_info, Mapping):
        raise wrong("'model_info' must be a mapping, here or as 'default_model_info'")
    given: dict[str, Any] = {}
    for name in _NUMBERS:
        number = value(name)
        if isinstance(number, bool) or not isinstance(number, int | float | None):
            raise wrong(f"'{name}' must be a number")
        given[name] = None if number is None else float(number)
    for name in _TEXTS:
        text = value(name)
        if not isinstance(text, str | None):
            raise wrong(f"'{name}' must be a string")
        given[name] = text
    return RubricConfig(
        label=label,
        id=rubric_id.strip(),
        rubric=entry["rubric"],
        model_info=dict(model_info),
        raw=entry,
        **given,
    )
