"""Drives a run of ``Client.judge_many`` with threads of its own."""

import queue
import random
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from agent_eval_rpc._generated.methods import JUDGE_BATCH
from agent_eval_rpc._many.lines import Slice, SliceReader, ended_early, slices
from agent_eval_rpc._many.outcome import JudgeOutcome
from agent_eval_rpc._many.plan import Entry, Plan
from agent_eval_rpc._many.progress import Bar, hand_out
from agent_eval_rpc.errors import AgentEvalError, InternalError

Put = Callable[[JudgeOutcome], None]
#: Does one piece of work; tells each outcome as it comes.
Work = Callable[[Put, threading.Event], None]
#: Cuts items into pieces of work.
Cut = Callable[[Sequence[Entry]], Iterator[Work]]
Send = Callable[[str, bytes, float], Iterator[str]]


def run(
    items: Iterable[object], plan: Plan, cut: Cut, workers: int, bar: Bar
) -> Generator[JudgeOutcome, None, None]:
    """Judges items as they are asked for; what is in flight and held is bounded."""
    work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[JudgeOutcome] = queue.SimpleQueue()
    stop = threading.Event()
    # Daemons: a run that was given up must not keep the interpreter from ending.
    threads = [
        threading.Thread(target=_worker, args=(work, done, stop), daemon=True)
        for _ in range(workers)
    ]
    for thread in threads:
        thread.start()
    source = iter(items)
    more = True
    try:
        while more or plan.sent > plan.finished:
            while more and plan.has_room(workers):
                chunk = list(islice(source, plan.slice_size))
                more = bool(chunk)
                entries, settled = plan.take(chunk)
                for outcome in settled:
                    yield from hand_out(plan.done(outcome, was_sent=False), plan, bar)
                for piece in cut(entries):
                    work.put(piece)
            if plan.sent > plan.finished:
                yield from hand_out(plan.done(done.get()), plan, bar)
    finally:
        stop.set()
        for _ in threads:
            work.put(None)
        bar.close()


def _worker(
    work: "queue.SimpleQueue[Work | None]",
    done: "queue.SimpleQueue[JudgeOutcome]",
    stop: threading.Event,
) -> None:
    while True:
        piece = work.get()
        if piece is None or stop.is_set():
            return
        piece(done.put, stop)


def one_by_one(judge: Callable[[Entry], JudgeOutcome]) -> Cut:
    """Each item is a call of its own."""

    def cut(entries: Sequence[Entry]) -> Iterator[Work]:
        for entry in entries:
            yield partial(_judged, entry)

    def _judged(entry: Entry, put: Put, _stop: threading.Event) -> None:
        put(judge(entry))

    return cut


def in_slices(send: Send, timeout_s: float, max_retries: int) -> Cut:
    """Items share requests of many lines."""

    def cut(entries: Sequence[Entry]) -> Iterator[Work]:
        for part in slices(entries, timeout_s):
            yield partial(_post, part)

    def _post(part: Slice, put: Put, stop: threading.Event) -> None:
        reader = SliceReader(part.entries)
        while True:
            try:
                for line in send(JUDGE_BATCH.path, part.body, timeout_s):
                    outcome = reader.read(line)
                    if outcome is not None:
                        put(outcome)
                    if stop.is_set():
                        return
                error: AgentEvalError = ended_early()
            except AgentEvalError as raised:
                error = raised
            except Exception as unexpected:  # noqa: BLE001 - an item without an outcome would hang the run
                error = InternalError(f"A batch failed unexpectedly: {unexpected!r}")
            wait = reader.wait_after(
                error,
                max_retries=max_retries,
                left_s=timeout_s,
                draw=random.random(),  # noqa: S311 - spreads callers, no secret
            )
            if wait is None or stop.is_set():
                break
            time.sleep(wait)
        for outcome in reader.rest(error):
            put(outcome)

    return cut
