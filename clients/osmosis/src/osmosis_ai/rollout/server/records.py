"""What a server must still know after it was killed: the rollouts it has taken on."""

import json
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from osmosis_ai.rollout.server.lifecycle import Phase

_DAY_S = 86_400.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS rollouts (
  key TEXT PRIMARY KEY,
  rollout_id TEXT NOT NULL UNIQUE,
  server_url TEXT NOT NULL,
  has_key INTEGER NOT NULL,
  response TEXT NOT NULL,
  phase TEXT NOT NULL,
  message TEXT,
  updated REAL NOT NULL
)
"""


_OPENING = (
    "PRAGMA locking_mode=EXCLUSIVE",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "BEGIN EXCLUSIVE",
    _SCHEMA,
    "COMMIT",
)
#: The file of a server that is just being stopped is free in so many seconds.
_LOCK_S = 5.0


class RecordsError(Exception):
    """A file can't hold the record of a server."""


@dataclass(frozen=True)
class Kept:
    """A rollout as it was kept.

    Attributes:
        key: Names the request that started it.
        rollout_id: The rollout.
        server_url: Its trainer.
        has_key: Whether the trainer asks for a bearer token, which is never kept.
        response: The answer to the request.
        phase: Where it was.
        message: The terminal message, once it was decided.
    """

    key: str
    rollout_id: str
    server_url: str
    has_key: bool
    response: dict[str, Any]
    phase: Phase
    message: dict[str, Any] | None


class Records:
    """Rollouts in an SQLite file. What was written is there after a kill of the process.

    Args:
        path: The file; made where it is missing, readable for its owner only, and held until it is
            closed: two servers on one file would run a rollout twice.

    Raises:
        RecordsError: It can't be used; the message says why.
    """

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        file = Path(path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            self._db = sqlite3.connect(
                file, isolation_level=None, check_same_thread=False, timeout=_LOCK_S
            )
        except (OSError, sqlite3.Error) as error:
            raise RecordsError(f"The record '{file}' can't be written: {error}") from error
        try:
            for statement in _OPENING:
                self._db.execute(statement)
        except sqlite3.OperationalError as error:
            self._db.close()
            raise RecordsError(
                f"The record '{file}' is in use by another server, or can't be written ({error}): "
                "give each server a file of its own"
            ) from error
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise RecordsError(
                f"'{file}' is no record of rollouts ({error}): move it away, or name another file"
            ) from error

    def take_on(self, kept: Kept) -> None:
        """Writes a rollout before it runs."""
        row = (kept.key, kept.rollout_id, kept.server_url, int(kept.has_key))
        rest = (json.dumps(kept.response), kept.phase.value, None, time.time())
        self._db.execute("INSERT OR REPLACE INTO rollouts VALUES (?,?,?,?,?,?,?,?)", (*row, *rest))

    def move(self, key: str, phase: Phase, message: bytes | None = None) -> None:
        """Writes that a rollout is in another phase; ``message`` once it is decided."""
        text = None if message is None else message.decode()
        self._db.execute(
            "UPDATE rollouts SET phase=?, message=coalesce(?, message), updated=? WHERE key=?",
            (phase.value, text, time.time(), key),
        )
        if phase is Phase.DONE:
            # The conversation is of no more use; that there was one still is.
            self._db.execute("UPDATE rollouts SET message=NULL WHERE key=?", (key,))

    def all(self) -> list[Kept]:
        """Every rollout that is kept."""
        rows = self._db.execute(
            "SELECT key, rollout_id, server_url, has_key, response, phase, message FROM rollouts"
        )
        return [
            Kept(
                key=key,
                rollout_id=rollout_id,
                server_url=server_url,
                has_key=bool(has_key),
                response=json.loads(response),
                phase=Phase(phase),
                message=None if message is None else json.loads(message),
            )
            for key, rollout_id, server_url, has_key, response, phase, message in rows
        ]

    def forget_before(self, when: float) -> None:
        """Removes rollouts that ended before a time, in seconds since the epoch.

        One that never ended, whose trainer did not ask again either, goes a day later.
        """
        self._db.execute(
            "DELETE FROM rollouts WHERE (phase=? AND updated<?) OR updated<?",
            (Phase.DONE.value, when, when - _DAY_S),
        )

    def close(self) -> None:
        """Closes the file."""
        self._db.close()
