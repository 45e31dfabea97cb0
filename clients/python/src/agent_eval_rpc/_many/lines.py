"""Slices of a batch over HTTP: how they are written and read. Pure: no I/O."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from agent_eval_rpc._generated.methods import JUDGE
from agent_eval_rpc._json import encode
from agent_eval_rpc._many.outcome import JudgeOutcome
from agent_eval_rpc._many.plan import Entry
from agent_eval_rpc._protocol import Call, error_from, read_result, with_deadline
from agent_eval_rpc._retry import retry_wait
from agent_eval_rpc.errors import AgentEvalError, TransportError

#: Lines of one request, and requests at a time.
SLICE = 256
SLICES = 4


#: A request of so many bytes is taken by the sockets alone. httpx reads no answer while it writes,
#: so a longer one could meet a server that reads no more until its answers have been read.
SLICE_BYTES = 64 * 1024


class Slice(NamedTuple):
    """Items that are sent together, and the body that says them."""

    entries: Sequence[Entry]
    body: bytes


def slices(entries: Sequence[Entry], timeout_s: float) -> Iterator[Slice]:
    """Cuts items into requests that are small enough to be written at once."""
    held: list[Entry] = []
    lines: list[bytes] = []
    size = 0
    for entry in entries:
        line = encode(with_deadline(Call(JUDGE, entry.params), timeout_s)) + b"\n"
        if held and size + len(line) > SLICE_BYTES:
            yield Slice(held, b"".join(lines))
            held, lines, size = [], [], 0
        held.append(entry)
        lines.append(line)
        size += len(line)
    if held:
        yield Slice(held, b"".join(lines))


def ended_early() -> TransportError:
    """The answer to a slice ended, and not every line had been answered."""
    return TransportError(
        "The server ended a batch before every line was answered.",
        details={"reason": "connection_lost"},
    )


class SliceReader:
    """Reads the answer to a slice, line by line; each entry gets exactly one outcome."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._open = dict(enumerate(entries))
        self._failures = 0

    def read(self, line: str) -> JudgeOutcome | None:
        """The outcome in a line; None for a blank one."""
        if not line.strip():
            return None
        try:
            value = cast("dict[str, Any]", json.loads(line))
            entry = self._open.pop(value["index"])
        except (ValueError, KeyError, TypeError) as error:
            raise TransportError("The server answered a batch with a line of no use.") from error
        try:
            if value.get("outcome") == "scored":
                return entry.outcome(result=read_result(JUDGE, value.get("result")))
        except AgentEvalError as error:
            return entry.outcome(error=error)
        failure = error_from(value.get("error"))
        return entry.outcome(error=failure or TransportError("The engine gave no reason."))

    def wait_after(
        self, error: AgentEvalError, *, max_retries: int, left_s: float, draw: float
    ) -> float | None:
        """How long to wait before the slice is sent again, None when it is not to be.

        Only what nobody took is sent again: a line must not be judged twice.
        """
        self._failures += 1
        if len(self._open) < len(self._entries):
            return None
        return retry_wait(
            error, attempt=self._failures, max_retries=max_retries, left_s=left_s, draw=draw
        )

    def rest(self, error: AgentEvalError) -> Iterator[JudgeOutcome]:
        """Outcomes of what was not answered."""
        for entry in self._open.values():
            yield entry.outcome(error=error)
        self._open = {}
