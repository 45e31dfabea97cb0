"""The verdict cache over every transport, shared by processes, and through a kill."""

import contextlib
import json
import shutil
import signal
import subprocess
import threading
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import pytest
from engine import ENGINE, NODE, Ran, Server, judge_params, run
from model_server import ModelServer

Env = dict[str, str]


@pytest.fixture
def cached_env(engine_env: Env, tmp_path: Path) -> Env:
    """An engine that remembers verdicts in a file of this test's own."""
    return {**engine_env, "AGENT_EVAL_CACHE": str(tmp_path / "verdicts.db")}


def one_shot(env: Env, **more: str) -> dict[str, Any]:
    done = run("rpc", "judge", env=env, stdin=judge_params(**more))
    result: dict[str, Any] = json.loads(done.out)["result"]
    return result


def session(env: Env, contents: list[str]) -> list[dict[str, Any]]:
    lines = [
        json.dumps({"id": i, "method": "judge", "params": json.loads(judge_params(content))})
        for i, content in enumerate(contents)
    ]
    done = run("rpc", "--session", env=env, stdin="\n".join(lines) + "\n")
    return [json.loads(line) for line in done.out.splitlines()[1:]]


def post(url: str, body: str) -> dict[str, Any]:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/judge", body.encode(), headers)
    with urllib.request.urlopen(request) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def test_every_transport_reads_what_another_wrote(
    cached_env: Env, model_server: ModelServer
) -> None:
    first = one_shot(cached_env)
    server = Server(cached_env)
    over_http = post(server.url, judge_params())
    assert server.stop().code == 0
    over_stdio = session(cached_env, ["The cat sat."])[0]["result"]
    batch = run("rpc-batch", "judge", env=cached_env, stdin=judge_params() + "\n")
    from_batch = json.loads(batch.out)["result"]
    assert model_server.stats()["calls"] == 1
    assert first["cached"] is False
    for later in (over_http, over_stdio, from_batch):
        assert later["cached"] is True
        assert later["composite"] == first["composite"]
        assert later["usage"] == {"inputTokens": 0, "outputTokens": 0, "costUsd": 0}
    text = ("judge", "--rubric", "anti-slop", "--json")
    assert json.loads(run(*text, env=cached_env, stdin="x").out)["cached"] is False
    assert json.loads(run(*text, env=cached_env, stdin="x").out)["cached"] is True


def test_a_request_can_go_past_it(cached_env: Env, model_server: ModelServer) -> None:
    for mode in ("use", "use", "bypass", "refresh", "use"):
        one_shot(cached_env, cache=mode)
    assert model_server.stats()["calls"] == 3
    wrong = run("rpc", "judge", env=cached_env, stdin=judge_params(cache="always"))
    assert json.loads(wrong.out)["error"]["code"] == "validation_error"


def test_many_processes_begin_one_file_together(cached_env: Env, model_server: ModelServer) -> None:
    lines = "".join(judge_params(f"Text {i}.") + "\n" for i in range(40))
    processes = [
        subprocess.Popen(
            [*NODE, "rpc-batch", "judge"],
            env=cached_env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for _ in range(4)
    ]
    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(lambda process: process.communicate(lines, timeout=60), processes))
    assert [process.returncode for process in processes] == [0] * 4
    for out, err in ended:
        assert err == ""
        assert [json.loads(line)["result"]["composite"] for line in out.splitlines()] == [0.8] * 40
    asked = model_server.stats()["calls"]
    stats = run("cache", "stats", "--json", env=cached_env)
    assert json.loads(stats.out)["entries"] == 40
    again = run("rpc-batch", "judge", env=cached_env, stdin=lines)
    assert all(json.loads(line)["result"]["cached"] for line in again.out.splitlines())
    assert model_server.stats()["calls"] == asked


def test_what_was_answered_before_a_kill_is_not_judged_again(
    cached_env: Env, model_server: ModelServer
) -> None:
    """Each round is killed in the middle of writing; together they judge every text once."""
    total, answered = 800, set[int]()
    for round_number in range(4):
        kill_after = 60 + 61 * round_number
        answered |= killed_session(cached_env, total, kill_after)
    lines = "".join(judge_params(f"Text {i}.") + "\n" for i in range(total))
    # Requests of a killed engine may still arrive: a key of its own tells the last run's apart.
    last_run = {**cached_env, "AGENT_EVAL_LLM_API_KEY": "key-of-the-last-run"}
    done = run("rpc-batch", "judge", env=last_run, stdin=lines)
    results = [json.loads(line)["result"] for line in done.out.splitlines()]
    assert len(results) == total
    assert len(answered) >= 200
    assert [i for i in answered if not results[i]["cached"]] == []
    judged = Counter(result["cached"] for result in results)[False]
    asked = [
        ["authorization", "Bearer key-of-the-last-run"] in request["headers"]
        for request in model_server.requests()
    ]
    assert asked.count(True) == judged
    doctor = run("doctor", env=cached_env)
    assert f"{total} verdicts" in doctor.out


def killed_session(env: Env, total: int, kill_after: int) -> set[int]:
    """Ids that a session answered before it was killed."""
    process = subprocess.Popen(
        [*NODE, "rpc", "--session"],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert "hello" in process.stdout.readline()
    # The engine stops reading while nobody reads its answers.
    writer = threading.Thread(target=write_calls, args=(process.stdin, total))
    writer.start()
    answered = set()
    for line in process.stdout:
        answer = json.loads(line)
        assert "result" in answer, answer
        answered.add(answer["id"])
        if len(answered) == kill_after:
            process.send_signal(signal.SIGKILL)
            break
    process.wait(timeout=30)
    writer.join()
    process.stdout.close()
    return answered


def write_calls(stdin: IO[str], total: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        for i in range(total):
            params = json.loads(judge_params(f"Text {i}."))
            stdin.write(json.dumps({"id": i, "method": "judge", "params": params}) + "\n")
    with contextlib.suppress(BrokenPipeError):
        stdin.close()


def test_a_damaged_file_is_one_warning(cached_env: Env, model_server: ModelServer) -> None:
    file = Path(cached_env["AGENT_EVAL_CACHE"])
    file.write_bytes(b"no database at all " * 1000)
    assert "damaged" in run("doctor", env=cached_env).out
    done = run("rpc-batch", "judge", env=cached_env, stdin=(judge_params() + "\n") * 3)
    assert [json.loads(line)["result"]["composite"] for line in done.out.splitlines()] == [0.8] * 3
    assert done.err.count("\n") == 1
    assert f"the cache {file} is damaged: moved to {file}.corrupt-" in done.err
    kept = [path for path in file.parent.iterdir() if ".corrupt-" in path.name]
    assert kept[0].read_bytes().startswith(b"no database at all")
    assert run("rpc", "judge", env=cached_env, stdin=judge_params()).err == ""
    # The doctor asks too, for the models of the endpoint.
    asked = [one["method"] for one in model_server.stats()["requests"]]
    assert asked.count("POST") == 1


def alone(env: Env, tmp_path: Path, *args: str, stdin: str = "") -> Ran:
    """Runs the engine as a wheel carries it: the folder alone, without npm packages around."""
    engine = tmp_path / "alone" / "engine"
    if not engine.exists():
        shutil.copytree(ENGINE.parent, engine)
    done = subprocess.run(
        ["node", str(engine / "main.cjs"), *args],
        env=env,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def old_node() -> None:
    version = subprocess.run(["node", "--version"], capture_output=True, check=True).stdout
    major, minor, _ = version.decode().lstrip("v").split(".")
    if (int(major), int(minor)) >= (22, 13):
        pytest.fail("These tests need the oldest Node that is supported; use Node 20.")


@pytest.mark.usefixtures("old_node")
def test_a_node_without_sqlite_says_what_to_do(cached_env: Env, tmp_path: Path) -> None:
    done = alone(cached_env, tmp_path, "rpc", "judge", stdin=judge_params())
    error = json.loads(done.out)["error"]
    assert (done.code, error["code"]) == (1, "store_unavailable")
    assert "Node 22.13 or newer" in error["message"]
    assert "npm install @tangle-network/agent-eval" in error["message"]
    bypassed = alone(cached_env, tmp_path, "rpc", "judge", stdin=judge_params(cache="bypass"))
    assert json.loads(bypassed.out)["result"]["composite"] == 0.8
    served = alone(cached_env, tmp_path, "serve", "--port", "0")
    assert served.code == 1
    assert "store_unavailable" in served.err
    assert "unavailable" in alone(cached_env, tmp_path, "doctor").out


@pytest.mark.usefixtures("old_node")
def test_without_a_cache_nobody_needs_sqlite(engine_env: Env, tmp_path: Path) -> None:
    done = alone(engine_env, tmp_path, "rpc", "judge", stdin=judge_params())
    assert json.loads(done.out)["result"]["composite"] == 0.8


def test_the_command_looks_and_forgets(cached_env: Env) -> None:
    missing = run("cache", "stats", env=cached_env)
    assert missing.code == 2
    assert "There is no" in missing.err
    assert not Path(cached_env["AGENT_EVAL_CACHE"]).exists()
    one_shot(cached_env)
    stats = run("cache", "stats", env=cached_env)
    assert stats.code == 0
    assert "verdicts  1\n" in stats.out
    kept = run("cache", "clear", "--older-than", "1d", env=cached_env)
    assert kept.err == "0 verdicts deleted\n"
    gone = run("cache", "clear", env=cached_env)
    assert gone.err == "1 verdict deleted\n"
    assert one_shot(cached_env)["cached"] is False
    assert run("cache", "clear", "--older-than", "soon", env=cached_env).code == 2


def test_doctor_knows_the_cache(engine_env: Env, cached_env: Env) -> None:
    assert "none chosen" in run("doctor", env=engine_env).out
    assert "is missing" in run("doctor", env=cached_env).out
    one_shot(cached_env)
    assert "1 verdicts" in run("doctor", env=cached_env).out
