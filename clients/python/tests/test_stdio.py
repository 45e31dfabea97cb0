"""The stdio transport against engines that misbehave."""

import asyncio
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from agent_eval_rpc import (
    AsyncClient,
    Client,
    DeadlineExceededError,
    RubricNotFoundError,
    TransportError,
    ValidationError,
)
from agent_eval_rpc._transports import session
from agent_eval_rpc._transports.clock import Deadline
from agent_eval_rpc.errors import EngineStartError
from support import script

Make = Callable[..., Client]


def start(make_client: Make, folder: Path, mode: str = "echo", **options: Any) -> Client:
    return make_client(transport="subprocess", cli_path=script(folder, mode), **options)


def say(client: Client, content: str, **options: Any) -> str:
    return client.judge(content, rubric_name="r", **options).rationale


def starts(folder: Path) -> list[str]:
    return (folder / "starts").read_text().splitlines()


@pytest.mark.parametrize("mode", ["echo", "banner", "split", "garbage", "chatty"])
def test_calls_are_answered_whatever_else_is_on_the_pipes(
    make_client: Make, tmp_path: Path, mode: str
) -> None:
    client = start(make_client, tmp_path, mode)
    for content in ("one", "two \u2028 lines \u2029", "três\n\u0000", "x" * 3_900_000):
        assert say(client, content) == content
    assert client.transport == "subprocess"
    assert client.transport_reason == 'transport="subprocess" was asked for'
    assert len(starts(tmp_path)) == 1


def test_errors_of_the_engine_are_raised(make_client: Make, tmp_path: Path) -> None:
    client = start(make_client, tmp_path)
    with pytest.raises(RubricNotFoundError, match="No such rubric") as caught:
        client.judge("x", rubric_name="missing")
    assert caught.value.status == 404


def test_a_call_over_the_line_limit_is_refused_before_it_is_sent(
    make_client: Make, tmp_path: Path
) -> None:
    client = start(make_client, tmp_path)
    with pytest.raises(ValidationError, match="judge a shorter text") as caught:
        say(client, "x" * 4_200_000)
    assert caught.value.code == "payload_too_large"
    assert say(client, "still there") == "still there"


def test_the_engine_is_started_again_after_it_died(make_client: Make, tmp_path: Path) -> None:
    client = start(make_client, tmp_path)
    assert say(client, "one") == "one"
    with pytest.raises(TransportError, match=r"exit code 7.*fatal: out of luck") as caught:
        say(client, "die")
    assert caught.value.details == {"exitCode": 7}
    assert say(client, "two") == "two"
    assert len(starts(tmp_path)) == 2


def test_no_call_in_flight_hangs_when_the_engine_is_killed(tmp_path: Path) -> None:
    with Client(transport="subprocess", cli_path=script(tmp_path, "echo")) as client:
        say(client, "warm")
        failed: list[TransportError] = []

        def hang() -> None:
            with pytest.raises(TransportError) as caught:
                say(client, "hang")
            failed.append(caught.value)

        threads = [threading.Thread(target=hang) for _ in range(50)]
        for thread in threads:
            thread.start()
        # The last call is answered after the others were taken: then all are in flight.
        say(client, "after")
        os.kill(int(starts(tmp_path)[0].split()[0]), signal.SIGKILL)
        for thread in threads:
            thread.join(10)
        assert [error.details for error in failed] == [{"exitCode": -9}] * 50
        assert say(client, "again") == "again"


def test_a_closed_stdout_counts_as_an_end(
    make_client: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "CLOSE_TIMEOUT_S", 0.1)
    client = start(make_client, tmp_path)
    with pytest.raises(TransportError, match="ended"):
        say(client, "close-stdout")
    assert say(client, "again") == "again"


def test_a_deadline_cancels_the_call_in_the_engine(make_client: Make, tmp_path: Path) -> None:
    client = start(make_client, tmp_path)
    assert say(client, "warm") == "warm"
    with pytest.raises(DeadlineExceededError, match=r"within 0\.2 s"):
        say(client, "hang", timeout_s=0.2)
    assert say(client, "next") == "next"
    assert (tmp_path / "cancelled").read_text() == "2"


def test_an_answer_without_a_result_is_an_error(make_client: Make, tmp_path: Path) -> None:
    with pytest.raises(TransportError, match="without a result"):
        say(start(make_client, tmp_path), "no-result")


def test_one_death_before_the_greeting_is_forgiven(make_client: Make, tmp_path: Path) -> None:
    assert say(start(make_client, tmp_path, "dies-once"), "x") == "x"
    assert len(starts(tmp_path)) == 2


def test_an_engine_that_ends_at_once_is_noticed_each_time(tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    engine.write_text("#!/bin/sh\necho boom >&2\nexit 3\n")
    engine.chmod(0o755)
    for _ in range(60):
        with pytest.raises(session.NoHelloError, match="boom") as caught:
            session.Session([str(engine)]).greet(Deadline(30))
        assert caught.value.exit_code == 3


def test_two_deaths_before_the_greeting_are_an_error(make_client: Make, tmp_path: Path) -> None:
    client = start(make_client, tmp_path, "dies-before-hello")
    with pytest.raises(TransportError, match=r"does not start.*exit code 3.*boom") as caught:
        say(client, "x")
    assert caught.value.details == {"exitCode": 3}


def test_an_engine_that_is_set_up_wrongly_says_so(make_client: Make, tmp_path: Path) -> None:
    client = start(make_client, tmp_path, "refuses")
    said = "AGENT_EVAL_X must be a number, not usage."
    with pytest.raises(EngineStartError, match=f"refuses to start: {said}") as caught:
        say(client, "x")
    assert isinstance(caught.value, TransportError)
    assert caught.value.details == {
        "exitCode": 2,
        "engineError": {"code": "validation_error", "message": said},
    }
    assert [line.split(" ", 1)[1] for line in starts(tmp_path)] == ["rpc --session"]


def test_the_deadline_covers_the_start_of_the_engine(make_client: Make, tmp_path: Path) -> None:
    client = start(make_client, tmp_path, "silent")
    began = time.monotonic()
    with pytest.raises(DeadlineExceededError, match=r"within 0\.3 s"):
        say(client, "x", timeout_s=0.3)
    assert time.monotonic() - began < 5
    client.close()
    assert not psutil.pid_exists(int(starts(tmp_path)[0].split()[0]))


def test_a_start_that_outlasts_a_call_goes_on_for_the_next(
    make_client: Make, tmp_path: Path
) -> None:
    client = start(make_client, tmp_path, "slow")
    with pytest.raises(DeadlineExceededError):
        say(client, "x", timeout_s=0.5)
    # The engine is told what is left once it runs.
    assert int(say(client, "timeout", timeout_s=20)) < 18_980
    assert len(starts(tmp_path)) == 1


def test_who_waits_for_a_start_keeps_their_own_deadline(tmp_path: Path) -> None:
    async def main() -> None:
        async with AsyncClient(
            transport="subprocess", cli_path=script(tmp_path, "silent")
        ) as client:
            first = asyncio.create_task(client.judge("x", rubric_name="r", timeout_s=3))
            await asyncio.sleep(0.1)
            began = time.monotonic()
            with pytest.raises(DeadlineExceededError):
                await client.judge("y", rubric_name="r", timeout_s=0.2)
            assert time.monotonic() - began < 2
            with pytest.raises(DeadlineExceededError):
                await first

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["usage", "silent"])
def test_an_engine_without_sessions_is_run_for_each_call(
    make_client: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(session, "HELLO_TIMEOUT_S", 0.3)
    client = start(make_client, tmp_path, mode)
    assert say(client, "x") == "x"
    with pytest.raises(RubricNotFoundError):
        client.judge("x", rubric_name="missing")
    assert "one process a call" in client.transport_reason
    runs = [line.split(" ", 1)[1] for line in starts(tmp_path)]
    assert runs == ["rpc --session", "rpc version", "rpc judge", "rpc judge"]


@pytest.mark.parametrize(
    ("mode", "message"),
    [("other-major", r"wire version 2\.0\.0"), ("other-program", "another program")],
)
def test_another_program_is_refused(
    make_client: Make, tmp_path: Path, mode: str, message: str
) -> None:
    with pytest.raises(TransportError, match=message):
        say(start(make_client, tmp_path, mode), "x")


def test_an_endless_banner_is_cut_off(
    make_client: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "HELLO_TIMEOUT_S", 10)
    with pytest.raises(TransportError, match="la la la"):
        say(start(make_client, tmp_path, "endless-banner"), "x")


def test_differing_releases_are_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_VERSION", "9.9.9-test")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            with Client(transport="subprocess", cli_path=script(tmp_path, "echo")) as client:
                say(client, "x")
    assert ["9.9.9-test" in str(one.message) for one in caught] == [True]


def test_close_ends_the_engine_and_the_client(make_client: Make, tmp_path: Path) -> None:
    client = start(make_client, tmp_path)
    say(client, "x")
    client.close()
    client.close()
    assert not psutil.pid_exists(int(starts(tmp_path)[0].split()[0]))
    with pytest.raises(TransportError, match="closed"):
        say(client, "x")


def test_close_cancels_what_is_in_flight(tmp_path: Path) -> None:
    client = Client(transport="subprocess", cli_path=script(tmp_path, "echo"))
    failed: list[str] = []

    def hang() -> None:
        with pytest.raises(TransportError) as caught:
            say(client, "hang")
        failed.append(caught.value.message)

    say(client, "warm")
    thread = threading.Thread(target=hang)
    thread.start()
    while say(client, "after") and "hang" not in (tmp_path / "seen").read_text():
        pass
    client.close()
    thread.join()
    assert failed == ["The client was closed while the call was in flight."]
    assert (tmp_path / "cancelled").exists()


def test_a_client_that_is_forgotten_ends_its_engine(tmp_path: Path) -> None:
    client = Client(transport="subprocess", cli_path=script(tmp_path, "echo"))
    say(client, "x")
    del client
    assert not psutil.pid_exists(int(starts(tmp_path)[0].split()[0]))


def test_threads_get_their_own_answers(tmp_path: Path) -> None:
    with Client(transport="subprocess", cli_path=script(tmp_path, "echo")) as client:
        wrong: list[str] = []

        def work(name: int) -> None:
            for i in range(50):
                content = f"{name}-{i}"
                if say(client, content) != content:
                    wrong.append(content)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
    assert len(starts(tmp_path)) == 1
