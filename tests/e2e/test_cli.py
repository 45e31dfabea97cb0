"""The command line: stdout is data, stderr is talk, exit codes as documented."""

import fcntl
import json
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO

import pytest
from engine import NODE, RUBRIC, judge_params, run
from model_server import ModelServer

Env = dict[str, str]


def test_judge_prints_a_verdict_people_can_read(engine_env: Env) -> None:
    done = run("judge", "--rubric", "anti-slop", env=engine_env, stdin="The cat sat.")
    assert done.code == 0, done.err
    assert done.out.startswith("anti-slop: 0.80\n")
    assert "buyer_quality  0.80" in done.out
    assert "fake-model" in done.out
    assert done.err == ""


def test_judge_prints_json(engine_env: Env, tmp_path: Path) -> None:
    text = tmp_path / "text.md"
    text.write_bytes(b"\xef\xbb\xbfThe cat sat.")
    rubric = tmp_path / "plain.yaml"
    rubric.write_text(json.dumps(RUBRIC))
    done = run("judge", "--rubric", str(rubric), "--json", str(text), env=engine_env)
    verdict = json.loads(done.out)
    assert (done.code, verdict["composite"]) == (0, 0.8)
    assert verdict["rubricVersion"].startswith("plain@sha256-rfc8785:")


@pytest.mark.parametrize(("gate", "code"), [("0.8", 0), ("0.81", 4)])
def test_a_gate_is_an_exit_code(engine_env: Env, gate: str, code: int) -> None:
    done = run(
        "judge", "--rubric", "anti-slop", "--gate", gate, env=engine_env, stdin="The cat sat."
    )
    assert done.code == code


def test_a_broken_judge_is_not_a_low_score(engine_env: Env, model_server: ModelServer) -> None:
    model_server.script([], default={"reply": {"content": "I like it."}})
    plain = run("judge", "--rubric", "anti-slop", env=engine_env, stdin="x")
    gated = run("judge", "--rubric", "anti-slop", "--gate", "0", env=engine_env, stdin="x")
    assert (plain.code, gated.code) == (1, 5)
    assert plain.out == ""
    assert "judge_malformed" in plain.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["judge"], "--rubric"),
        (["judge", "--rubric", "anti-slop", "--nope"], "--nope"),
        (["judge", "--rubric", "anti-slop", "--gate", "2"], "number from 0 to 1"),
        (["judge", "--rubric", "missing.yaml"], "missing.yaml"),
        (["judge", "--rubric", "anti-slop", "missing.txt"], "missing.txt"),
        (["judge", "--rubric", "anti-slop", "--context", "novalue"], "key=value"),
        (["judge", "--rubric", "anti-slop", "--timeout-ms", "soon"], "--timeout-ms"),
        (["serve", "--port", "99999"], "--port"),
        (["serve", "--host", "0.0.0.0"], "AGENT_EVAL_TOKEN"),
        (["nonsense"], "nonsense"),
        (["rpc-batch"], "method"),
        (["rubrics", "check", "missing.json"], "missing.json"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what(engine_env: Env, args: list[str], says: str) -> None:
    done = run(*args, env=engine_env, stdin="x")
    assert done.code == 2, done
    assert says in done.err
    assert done.out == ""
    assert "    at " not in done.err


def test_no_model_says_which_variable(engine_env: Env) -> None:
    bare = {name: value for name, value in engine_env.items() if not name.startswith("AGENT_EVAL")}
    done = run("judge", "--rubric", "anti-slop", env=bare, stdin="x")
    assert done.code == 1
    assert "AGENT_EVAL_LLM_MODEL" in done.err
    assert "agent-eval model fetch" in done.err


def test_an_unknown_rubric_lists_near_names(engine_env: Env) -> None:
    done = run("judge", "--rubric", "anti-slopp", env=engine_env, stdin="x")
    assert done.code == 1
    assert "anti-slop" in done.err


def test_rubrics_are_listed_shown_and_checked(engine_env: Env, tmp_path: Path) -> None:
    names = [
        entry["name"]
        for entry in json.loads(run("rubrics", "list", "--json", env=engine_env).out)["rubrics"]
    ]
    assert len(names) >= 10
    assert {"anti-slop", "answer-quality"} <= set(names)
    for name in names:
        assert json.loads(run("rubrics", "show", name, env=engine_env).out)["name"] == name
    good = tmp_path / "good.json"
    good.write_text(json.dumps(RUBRIC))
    assert run("rubrics", "check", str(good), env=engine_env).code == 0
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({**RUBRIC, "dimensions": []}))
    done = run("rubrics", "check", str(bad), env=engine_env)
    assert done.code == 2
    assert "dimensions" in done.err


def test_own_rubrics_are_known_by_name(engine_env: Env, tmp_path: Path) -> None:
    (tmp_path / "plain.yml").write_text(json.dumps({"rubric": RUBRIC}))
    done = run(
        "judge",
        "--rubrics",
        str(tmp_path),
        "--rubric",
        "plain",
        "--json",
        env=engine_env,
        stdin="x",
    )
    assert json.loads(done.out)["rubricVersion"].startswith("plain@")
    (tmp_path / "again.json").write_text(json.dumps(RUBRIC))
    twice = run("judge", "--rubrics", str(tmp_path), "--rubric", "plain", env=engine_env, stdin="x")
    assert twice.code == 2


def test_config_masks_secrets_and_names_sources(engine_env: Env) -> None:
    key = engine_env["AGENT_EVAL_LLM_API_KEY"]
    env = {**engine_env, "AGENT_EVAL_TOKEN": "token-1234567"}
    done = run("config", "--timeout-ms", "5000", env=env)
    assert done.code == 0
    assert key not in done.out + done.err
    assert "token-1234567" not in done.out + done.err
    settings = {
        row["setting"]: row for row in json.loads(run("config", "--json", env=env).out)["settings"]
    }
    assert settings["apiKey"] == {
        "setting": "apiKey",
        "value": "***",
        "source": "AGENT_EVAL_LLM_API_KEY",
    }
    assert settings["port"]["source"] == "default"


def test_doctor_finds_what_is_wrong_and_how_to_mend_it(engine_env: Env, free_home: Path) -> None:
    env = {**engine_env, "AGENT_EVAL_HOME": str(free_home)}
    healthy = run("doctor", "--json", env=env)
    assert healthy.code == 0, healthy
    checks = {check["name"]: check for check in json.loads(healthy.out)["checks"]}
    assert {
        "node",
        "engine",
        "client",
        "model",
        "key",
        "endpoint",
        "local model",
        "local runtime",
        "store",
    } <= set(checks)
    dead = run("doctor", env={**env, "AGENT_EVAL_LLM_BASE_URL": "http://127.0.0.1:9"})
    assert dead.code == 1
    assert "PROBLEM" in dead.out
    local = run("doctor", "--model", "local/qwen2.5-coder-1.5b", env=env)
    assert local.code == 1
    assert "agent-eval model fetch qwen2.5-coder-1.5b" in local.out


def test_version_help_and_openapi(engine_env: Env) -> None:
    assert run("--version", env=engine_env).out.count(".") == 2
    assert json.loads(run("openapi", env=engine_env).out)["openapi"].startswith("3.1")
    for command in [
        "judge",
        "rubrics",
        "model",
        "serve",
        "rpc",
        "rpc-batch",
        "config",
        "doctor",
        "openapi",
    ]:
        done = run(command, "--help", env=engine_env)
        assert done.code == 0
        assert f"agent-eval {command}" in done.out


def test_a_closed_pipe_is_no_crash(engine_env: Env) -> None:
    command = " ".join([*NODE, "openapi"]) + " | head -1; echo ${PIPESTATUS[0]}"
    done = subprocess.run(
        ["bash", "-c", command], env=engine_env, capture_output=True, text=True, check=False
    )
    assert done.stdout == "{\n0\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    "env",
    [
        {"NODE_OPTIONS": "--trace-warnings --trace-deprecation"},
        {"DEBUG": "*"},
        {"AGENT_EVAL_DEBUG": "1"},
        {"NODE_DEBUG": "http"},
    ],
)
def test_nothing_but_protocol_on_stdout(engine_env: Env, env: Env) -> None:
    line = json.dumps({"id": 1, "method": "judge", "params": json.loads(judge_params())})
    done = run("rpc", "--session", env={**engine_env, **env}, stdin=f"{line}\n")
    answers = [json.loads(text) for text in done.out.splitlines()]
    assert "hello" in answers[0]
    assert answers[1]["result"]["composite"] == 0.8
    assert len(answers) == 2


def test_a_wrong_setting_ends_a_session_before_its_hello(engine_env: Env) -> None:
    done = run("rpc", "--session", env={**engine_env, "AGENT_EVAL_TIMEOUT_MS": "soon"})
    assert done.out == ""
    assert "AGENT_EVAL_TIMEOUT_MS" in done.err
    assert done.code == 2
    assert "    at " not in done.err


def test_one_shot_exit_codes(engine_env: Env) -> None:
    good = run("rpc", "judge", env=engine_env, stdin=judge_params())
    assert (good.code, json.loads(good.out)["result"]["composite"]) == (0, 0.8)
    bad = run("rpc", "judge", env=engine_env, stdin="{}")
    assert (bad.code, json.loads(bad.out)["error"]["code"]) == (1, "validation_error")
    whole = run("rpc", env=engine_env, stdin=json.dumps({"method": "version", "params": {}}))
    assert json.loads(whole.out)["result"]["wireVersion"].startswith("1.")


def test_a_batch_answers_every_line_in_order(engine_env: Env) -> None:
    lines = [judge_params(f"text {n}") for n in range(20)]
    lines[7] = "not json"
    stdin = "\n\n".join(lines) + "\n"
    done = run("rpc-batch", "judge", env=engine_env, stdin=stdin)
    answers = [json.loads(text) for text in done.out.splitlines()]
    assert done.code == 0
    assert [("result" in answer) for answer in answers] == [n != 7 for n in range(20)]
    assert answers[7]["error"]["details"]["line"] == 15
    strict = run("rpc-batch", "judge", "--fail-on-error", env=engine_env, stdin=stdin)
    assert strict.code == 1


def test_thousands_of_calls_under_one_signal_leak_no_listener(
    engine_env: Env, model_server: ModelServer
) -> None:
    env = {**engine_env, "NODE_OPTIONS": "--trace-warnings"}
    lines = "".join(judge_params(f"Text {i}.") + "\n" for i in range(2_000))
    done = run("rpc-batch", "judge", env=env, stdin=lines)
    assert done.err == ""
    assert done.out.count('{"result":') == 2_000
    assert model_server.stats()["calls"] == 2_000


def test_a_key_never_shows(engine_env: Env, model_server: ModelServer) -> None:
    key = engine_env["AGENT_EVAL_LLM_API_KEY"]
    echo = {"status": 401, "reply": {"json": {"error": {"message": f"Bearer {key} is wrong"}}}}
    model_server.script([], default=echo)
    for args in (
        ["judge", "--rubric", "anti-slop"],
        ["judge", "--rubric", "anti-slop", "--json", "--debug"],
    ):
        done = run(*args, env=engine_env, stdin="x")
        assert done.code == 1
        assert key not in done.out + done.err
        assert "provider_auth" in done.err
    assert model_server.calls == 2


@pytest.mark.parametrize("args", [["rpc", "judge"], ["rpc-batch", "judge"], ["rpc", "--session"]])
@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_command_that_waits_for_input(
    engine_env: Env, args: list[str], how: signal.Signals, code: int
) -> None:
    with subprocess.Popen(
        [*NODE, *args],
        env=engine_env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if args[-1] == "--session":
            assert "hello" in process.stdout.readline()
        elif args[0] == "rpc-batch":
            process.stdin.write(judge_params() + "\n")
            process.stdin.flush()
            assert "result" in process.stdout.readline()
        else:
            process.stdin.write("{")
            process.stdin.flush()
            wait_until_read(process.stdin)
        process.send_signal(how)
        assert process.wait(timeout=20) == code
        assert process.stderr is not None
        assert "report it" not in process.stderr.read()


def wait_until_read(pipe: IO[str]) -> None:
    """Until the process at the other end has taken everything that was written."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        unread = fcntl.ioctl(pipe.fileno(), termios.FIONREAD, b"\0" * 4)
        if int.from_bytes(unread, sys.byteorder) == 0:
            return
        time.sleep(0.02)
    raise AssertionError("the command does not read")


def test_a_one_shot_call_with_wrong_settings_still_gives_one_answer(engine_env: Env) -> None:
    env = {**engine_env, "AGENT_EVAL_TIMEOUT_MS": "soon"}
    done = run("rpc", "judge", env=env, stdin=judge_params())
    assert done.code == 1
    assert json.loads(done.out)["error"]["code"] == "validation_error"


def test_a_password_never_shows_in_config(engine_env: Env) -> None:
    pair = "user:secretpw"
    for url in (f"{pair}@host/v1", f"https://{pair}@host/v1?api_key=secretpw"):
        done = run("config", env={**engine_env, "AGENT_EVAL_LLM_BASE_URL": url})
        assert "secretpw" not in done.out + done.err


def test_a_key_in_a_reply_does_not_reach_the_result(
    engine_env: Env, model_server: ModelServer
) -> None:
    key = engine_env["AGENT_EVAL_LLM_API_KEY"]
    verdict = {
        "rationale": f"you sent {key}",
        "dimensions": {"quality": 0.5},
        "failureModes": [],
        "wins": [],
    }
    model_server.script([], default={"reply": {"verdict": verdict}})
    done = run("rpc", "judge", env=engine_env, stdin=judge_params(includeRaw=True))
    assert json.loads(done.out)["result"]["rationale"] == "you sent ***"
    assert key not in done.out


def test_a_wrong_proxy_names_its_variable(engine_env: Env) -> None:
    done = run(
        "judge",
        "--rubric",
        "anti-slop",
        env={**engine_env, "HTTP_PROXY": "socks5://p:1"},
        stdin="x",
    )
    assert done.code == 2
    assert "HTTP_PROXY" in done.err


@pytest.mark.parametrize(
    "text", ["caf\u00e9".encode("latin-1"), "x".encode("utf-16"), b"\xff\x00\x01"]
)
def test_a_text_that_is_not_utf8_is_refused(engine_env: Env, tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "text.md"
    file.write_bytes(text)
    done = run("judge", "--rubric", "anti-slop", str(file), env=engine_env)
    assert done.code == 2
    assert "UTF-" in done.err


def test_context_pairs_do_not_swallow_the_file(
    engine_env: Env, tmp_path: Path, model_server: ModelServer
) -> None:
    file = tmp_path / "a=b.md"
    file.write_text("The text itself.")
    pairs = ["--context", "question=Why?", "--context", "source=Because."]
    done = run("judge", "--rubric", "anti-slop", *pairs, str(file), env=engine_env, stdin="wrong")
    assert done.code == 0, done.err
    prompt = model_server.requests()[0]["body"]["messages"][1]["content"]
    assert "The text itself." in prompt
    assert '"source": "Because."' in prompt


@pytest.mark.parametrize(
    "yaml", ["&x\nname: [*x]\n", "name: !!js/function x\n", "a: 1\n---\nb: 2\n", "name: [\n"]
)
def test_a_strange_yaml_file_is_named_and_refused(
    engine_env: Env, tmp_path: Path, yaml: str
) -> None:
    file = tmp_path / "strange.yaml"
    file.write_text(yaml)
    done = run("rubrics", "check", str(file), env=engine_env)
    assert done.code == 2, done.err
    assert "strange.yaml" in done.err
    assert "Warning" not in done.err


def test_a_wrong_debug_variable_is_one_line(engine_env: Env) -> None:
    env = {**engine_env, "AGENT_EVAL_DEBUG": "maybe"}
    done = run("judge", "--rubric", "anti-slop", env=env, stdin="x")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


def test_doctor_tells_what_the_endpoint_takes_and_costs(
    engine_env: Env, model_server: ModelServer, tmp_path: Path
) -> None:
    assert "--probe makes one small judgement" in run("doctor", env=engine_env).out
    assert model_server.stats()["calls"] == 1
    refuses = {"error": {"message": "Unsupported parameter: 'seed'"}}
    model_server.script(
        [
            {"match": {"path": "/models"}, "reply": {"json": {"data": []}}},
            {"status": 400, "reply": {"json": refuses}},
        ]
    )
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"fake-model": {"input": 2, "output": 8}}))
    done = run("doctor", "--probe", "--prices", str(prices), env=engine_env)
    assert "json_schema, not seed; 2 requests" in done.out
    assert "fake-model: $2 in, $2 cached, $8 out for a million tokens" in done.out
    model_server.script([], default={"reply": {"content": "I like it."}})
    broken = run("doctor", "--probe", env=engine_env)
    assert (broken.code, "judge_malformed" in broken.out) == (1, True)
    assert "fake-model: unknown" in broken.out
