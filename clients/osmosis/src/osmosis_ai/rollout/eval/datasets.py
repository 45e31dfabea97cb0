"""Datasets of prompts: Parquet, JSONL and CSV, a row at a time."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from osmosis_ai.errors import CLIError
from osmosis_ai.rollout.eval.errors import DatasetParseError, DatasetValidationError
from osmosis_ai.text_files import read_text

COLUMNS = ("ground_truth", "user_prompt", "system_prompt")


@dataclass(frozen=True)
class Row:
    """One prompt.

    Attributes:
        index: Its place in the dataset, from 0, whatever is left out before it.
        ground_truth: The right answer.
        user_prompt: What the user says.
        system_prompt: What the model is told first.
        other: The other columns, by their names as they are.
    """

    index: int
    ground_truth: str
    user_prompt: str
    system_prompt: str
    other: dict[str, Any] = field(default_factory=dict)

    @property
    def messages(self) -> list[dict[str, str]]:
        """How the conversation begins."""
        return [
            {"role": "system", "content": self.system_prompt},
            {"role": "user", "content": self.user_prompt},
        ]

    @property
    def metadata(self) -> dict[str, Any]:
        """What the agent is told about the row."""
        return {"ground_truth": self.ground_truth, "row_index": self.index, **self.other}

    @property
    def columns(self) -> dict[str, Any]:
        """Every column, as evaluation functions see it."""
        return {
            **self.other,
            "ground_truth": self.ground_truth,
            "user_prompt": self.user_prompt,
            "system_prompt": self.system_prompt,
        }


def read_rows(path: Path, *, offset: int = 0, limit: int | None = None) -> Iterator[Row]:
    """The rows of a dataset; only those that are asked for are read and checked.

    Args:
        path: A file that ends with ``.parquet``, ``.jsonl`` or ``.csv``.
        offset: Rows to leave out.
        limit: Rows to give at most.

    Raises:
        FileNotFoundError: There is no such file.
        DatasetParseError: It can't be read.
        DatasetValidationError: A row lacks a column, or has no text in it.
    """
    if not path.is_file():
        raise FileNotFoundError(f"Dataset file not found: {path}")
    readers = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(readers)
        raise DatasetParseError(f"Unsupported dataset format '{path.suffix}': use one of {known}")
    stop = None if limit is None else offset + limit
    for index, value in islice(enumerate(reader(path)), offset, stop):
        yield _row(index, value)


def _row(index: int, value: object) -> Row:
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        raise DatasetValidationError(f"Row {index}: Expected object, got {kind}")
    by_lower = {str(name).lower(): name for name in value}
    texts = {}
    for column in COLUMNS:
        name = by_lower.get(column)
        if name is None:
            found = ", ".join(map(str, value)) or "none"
            raise DatasetValidationError(
                f"Row {index}: missing column '{column}' (columns: {found})"
            )
        text = value[name]
        if text is None:
            raise DatasetValidationError(f"Row {index}: '{column}' is null")
        if not isinstance(text, str):
            kind = type(text).__name__
            raise DatasetValidationError(f"Row {index}: '{column}' must be a string, got {kind}")
        if not text.strip():
            raise DatasetValidationError(f"Row {index}: '{column}' is empty")
        texts[column] = text
    other = {str(name): one for name, one in value.items() if str(name).lower() not in COLUMNS}
    return Row(index, other=other, **texts)


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except CLIError as error:
        raise DatasetParseError(str(error)) from error


def _jsonl(path: Path) -> Iterator[object]:
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DatasetParseError(f"{path}, line {number}: invalid JSON: {error}") from error


def _csv(path: Path) -> Iterator[object]:
    lines = csv.reader(io.StringIO(_text(path), newline=""))
    try:
        header = next(lines, None)
        if header is None:
            raise DatasetParseError(f"{path} is empty")
        for cells in lines:
            if not cells:
                continue
            if len(cells) > len(header):
                raise DatasetParseError(
                    f"{path}, line {lines.line_num}: {len(cells)} fields, but the header has "
                    f"{len(header)}: put quotes around a field that holds a comma or a quote"
                )
            missing = [None] * (len(header) - len(cells))
            yield dict(zip(header, [*cells, *missing], strict=True))
    except csv.Error as error:
        raise DatasetParseError(f"{path}, line {lines.line_num}: {error}") from error


def _parquet(path: Path) -> Iterator[object]:
    try:
        from pyarrow import parquet  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError as error:
        message = f'Reading {path} needs pyarrow: pip install "osmosis-ai[data]"'
        raise DatasetParseError(message) from error
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise DatasetParseError(f"{path} can't be read as Parquet: {error}") from error
