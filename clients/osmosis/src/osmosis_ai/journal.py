"""What a run has done, on disk as it is done, so that it can be taken up again."""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from osmosis_ai.errors import CLIError


def content_key(*parts: Any) -> str:
    """A name for what is asked, equal where everything about it is."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class Journal:
    """Outcomes by key, in a file with one line each. The newest of a key counts.

    Args:
        path: The file.
        fresh: Begin anew, whatever the file holds.

    Raises:
        CLIError: It can't be written, or another run is writing it.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self.done: dict[str, dict[str, Any]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = path.open("a+", encoding="utf-8")
            self._lock()
            if fresh:
                self._file.truncate(0)
            self._read()
        except OSError as error:
            raise CLIError(f"Cannot write '{path}': {error.strerror or error}") from error

    def _lock(self) -> None:
        try:
            import fcntl  # noqa: PLC0415 - not on every system
        except ImportError:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise CLIError(f"Another run is writing '{self.path}': wait for it to end") from error

    def _read(self) -> None:
        self._file.seek(0)
        for line in self._file.read().split("\n"):
            # A line that was cut off by a kill is one that was not done.
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
                if isinstance(entry, dict) and isinstance(entry.get("key"), str):
                    self.done[entry["key"]] = entry["outcome"]
        self._file.seek(0, os.SEEK_END)
        if self._file.tell() and not self._ends_with_newline():
            self._file.write("\n")

    def _ends_with_newline(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def add(self, key: str, outcome: Mapping[str, Any]) -> None:
        """Writes an outcome; it is there even if the process is killed next."""
        entry = {"key": key, "outcome": outcome}
        self._file.write(json.dumps(entry, ensure_ascii=True, default=str) + "\n")
        self._file.flush()

    def close(self, *, remove: bool) -> None:
        """Closes the file; with ``remove`` the run is over, and what it has done is elsewhere."""
        if remove:
            self.path.unlink(missing_ok=True)
        self._file.close()
