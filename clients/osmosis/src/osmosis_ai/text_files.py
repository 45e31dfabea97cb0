"""Text files: those that people made with any tool, and results."""

import json
import os
from pathlib import Path
from typing import Any

from osmosis_ai.errors import CLIError

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path) -> str:
    """The text of a file, without its byte-order mark.

    Raises:
        CLIError: It can't be read, or is not UTF-8.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CLIError(f"Cannot read '{path}': {error.strerror or error}") from error
    return decoded(data, path)


def decoded(data: bytes, path: Path) -> str:
    """Bytes of a file as text; UTF-8, or UTF-16 that says so.

    Raises:
        CLIError: They are neither.
    """
    encoding = "utf-16" if data.startswith(_UTF16) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise CLIError(f"'{path}' is not UTF-8 text: save it as UTF-8 ({error.reason})") from error


def write_json(path: Path, made: dict[str, Any]) -> None:
    """Writes results as JSON, whole or not at all.

    Raises:
        CLIError: They can't be written.
    """
    text = json.dumps(made, indent=2, ensure_ascii=False, allow_nan=False, default=str)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(text.encode("utf-8", "replace"))
        beside.replace(path)
    except OSError as error:
        raise CLIError(f"Cannot write '{path}': {error.strerror or error}") from error
