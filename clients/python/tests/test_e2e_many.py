"""Thousands of calls at once, without a limit set by the caller."""

import asyncio
import threading
from collections.abc import Iterator

import psutil
import pytest

from agent_eval_rpc import AsyncClient, Client, Rubric
from e2e import ENGINE, configure, fake_process, needs_engine, serve

pytestmark = needs_engine
CALLS = 5_000
THREADS = 64
TEXTS = [f"text {i}" for i in range(100)]
QUALITY = Rubric.from_criteria("The text is clear.")


@pytest.fixture(params=["http", "subprocess"])
def options(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    with fake_process({"mode": "hash"}) as url:
        configure(monkeypatch, url)
        if request.param == "subprocess":
            yield {"transport": "subprocess", "cli_path": str(ENGINE)}
        else:
            with serve() as (address, _):
                yield {"transport": "http", "base_url": address}


def expected(options: dict[str, str]) -> dict[str, float]:
    """The right answer for each text, asked for one by one."""
    with Client(**options) as client:  # type: ignore[arg-type]
        right = {text: client.judge(text, rubric=QUALITY).composite for text in TEXTS}
    assert len(set(right.values())) > 30
    return right


def left_over() -> tuple[int, int, int]:
    """Children, connections and threads of this process."""
    process = psutil.Process()
    return len(process.children()), len(process.net_connections()), threading.active_count()


def test_threads_get_right_answers_and_leave_nothing(options: dict[str, str]) -> None:
    right = expected(options)
    before = left_over()
    work = iter([TEXTS[i % len(TEXTS)] for i in range(CALLS)])
    lock = threading.Lock()
    wrong: list[str] = []
    done: list[int] = []
    with Client(**options) as client:  # type: ignore[arg-type]

        def run() -> None:
            count = 0
            while True:
                with lock:
                    text = next(work, None)
                if text is None:
                    break
                if client.judge(text, rubric=QUALITY).composite != right[text]:
                    wrong.append(text)
                count += 1
            done.append(count)

        threads = [threading.Thread(target=run) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (sum(done), len(done), wrong) == (CALLS, THREADS, [])
    assert left_over() == before


def test_tasks_get_right_answers_and_leave_nothing(options: dict[str, str]) -> None:
    right = expected(options)
    before = left_over()

    async def main() -> int:
        async with AsyncClient(**options) as client:  # type: ignore[arg-type]
            texts = [TEXTS[i % len(TEXTS)] for i in range(CALLS)]
            answers = await asyncio.gather(*(client.judge(one, rubric=QUALITY) for one in texts))
            assert [one.composite for one in answers] == [right[one] for one in texts]
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1
    assert left_over() == before


def test_judge_many_keeps_memory_flat(options: dict[str, str]) -> None:
    process = psutil.Process()
    items = 20_000
    with Client(**options) as client:  # type: ignore[arg-type]
        run = client.judge_many((f"text {i}" for i in range(items)), rubric=QUALITY)
        early = 0
        count = 0
        for outcome in run:
            assert outcome.index == count
            count += 1
            if count == items // 4:
                early = process.memory_info().rss
        assert count == items
        assert process.memory_info().rss - early < 20 * 1024 * 1024
