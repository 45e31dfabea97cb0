"""Drives a run of ``AsyncClient.judge_many`` with tasks of the running loop."""

import asyncio
import random
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Sequence,
)

from agent_eval_rpc._generated.methods import JUDGE_BATCH
from agent_eval_rpc._many.lines import SLICES, Slice, SliceReader, ended_early, slices
from agent_eval_rpc._many.outcome import JudgeOutcome
from agent_eval_rpc._many.plan import Entry, Plan
from agent_eval_rpc._many.progress import Bar, hand_out
from agent_eval_rpc.errors import AgentEvalError, InternalError

Put = Callable[[JudgeOutcome], None]
#: Judges entries and tells each outcome as it comes.
Send = Callable[[Sequence[Entry], Put], Awaitable[None]]
Lines = Callable[[str, bytes, float], AsyncIterator[str]]
Items = Iterable[object] | AsyncIterable[object]


async def run(
    items: Items, plan: Plan, send: Send, parallel: int, bar: Bar
) -> AsyncGenerator[JudgeOutcome, None]:
    """Judges items as they are asked for; what is in flight and held is bounded."""
    done: asyncio.Queue[JudgeOutcome] = asyncio.Queue()
    tasks: set[asyncio.Task[None]] = set()
    source = _chunks(items, plan)
    more = True
    try:
        while more or plan.sent > plan.finished:
            while more and plan.has_room(parallel):
                nothing: list[object] = []
                chunk = await anext(source, nothing)
                more = bool(chunk)
                entries, settled = plan.take(chunk)
                for outcome in settled:
                    for ready in hand_out(plan.done(outcome, was_sent=False), plan, bar):
                        yield ready
                if entries:
                    task = asyncio.create_task(_sent(send, entries, done.put_nowait))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
            if plan.sent > plan.finished:
                for ready in hand_out(plan.done(await done.get()), plan, bar):
                    yield ready
    finally:
        bar.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await source.aclose()


async def _sent(send: Send, entries: Sequence[Entry], put: Put) -> None:
    told: set[int] = set()

    def tell(outcome: JudgeOutcome) -> None:
        told.add(outcome.index)
        put(outcome)

    try:
        await send(entries, tell)
    except Exception as unexpected:  # noqa: BLE001 - an item without an outcome would hang the run
        error = InternalError(f"A call failed unexpectedly: {unexpected!r}")
        for entry in entries:
            if entry.index not in told:
                put(entry.outcome(error=error))


async def _chunks(items: Items, plan: Plan) -> AsyncGenerator[list[object], None]:
    chunk: list[object] = []
    async for item in _each(items):
        chunk.append(item)
        if len(chunk) >= plan.slice_size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


async def _each(items: Items) -> AsyncGenerator[object, None]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


def one_by_one(judge: Callable[[Entry], Awaitable[JudgeOutcome]], concurrency: int) -> Send:
    """Each item is a call of its own."""
    slots = asyncio.Semaphore(concurrency)

    async def send(entries: Sequence[Entry], put: Put) -> None:
        for entry in entries:
            async with slots:
                put(await judge(entry))

    return send


def in_slices(lines: Lines, timeout_s: float, max_retries: int) -> Send:
    """Items share requests of many lines."""
    slots = asyncio.Semaphore(SLICES)

    async def send(entries: Sequence[Entry], put: Put) -> None:
        for part in slices(entries, timeout_s):
            async with slots:
                await _post(part, put)

    async def _post(part: Slice, put: Put) -> None:
        reader = SliceReader(part.entries)
        while True:
            try:
                async for line in lines(JUDGE_BATCH.path, part.body, timeout_s):
                    outcome = reader.read(line)
                    if outcome is not None:
                        put(outcome)
                error: AgentEvalError = ended_early()
            except AgentEvalError as raised:
                error = raised
            wait = reader.wait_after(
                error,
                max_retries=max_retries,
                left_s=timeout_s,
                draw=random.random(),  # noqa: S311 - spreads callers, no secret
            )
            if wait is None:
                break
            await asyncio.sleep(wait)
        for outcome in reader.rest(error):
            put(outcome)

    return send
