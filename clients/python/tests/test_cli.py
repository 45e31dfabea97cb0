"""The agent-eval command that Python installs."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ENGINE = """#!/bin/sh
trap 'exit 77' TERM
case "$1" in
  args) shift; for a in "$@"; do echo "<$a>"; done ;;
  cat) cat ;;
  exit) exit "$2" ;;
  wait) echo ready; while true; do sleep 0.05; done ;;
esac
"""


@pytest.fixture
def shim() -> str:
    found = shutil.which("agent-eval", path=str(Path(sys.executable).parent))
    assert found is not None, "install the package first: it brings the command"
    return found


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    engine = tmp_path / "engine"
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    return {**os.environ, "AGENT_EVAL_CLI": str(engine)}


def test_arguments_stdin_and_exit_codes_pass_through(
    shim: str, environment: dict[str, str]
) -> None:
    def run(*arguments: str, stdin: str = "") -> tuple[int, str]:
        done = subprocess.run(
            [shim, *arguments],
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    assert run("args", "a b", "", "--x=é", "--help") == (0, "<a b>\n<>\n<--x=é>\n<--help>\n")
    assert run("cat", stdin="in\n") == (0, "in\n")
    assert [run("exit", code)[0] for code in ("0", "4", "130")] == [0, 4, 130]


def test_signals_reach_the_engine(shim: str, environment: dict[str, str]) -> None:
    with subprocess.Popen([shim, "wait"], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 77


@pytest.mark.parametrize("name", ["missing", "broken"])
def test_an_engine_that_cannot_run_is_one_clear_line(
    shim: str, environment: dict[str, str], tmp_path: Path, name: str
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/nowhere/sh\n")
    broken.chmod(0o755)
    environment["AGENT_EVAL_CLI"] = str(tmp_path / name)
    done = subprocess.run([shim], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("agent-eval: ")
    assert len(done.stderr.splitlines()) == 1
    assert name in done.stderr


def test_the_command_does_not_run_itself_when_the_variable_names_it(
    shim: str, tmp_path: Path
) -> None:
    environment = {**os.environ, "AGENT_EVAL_CLI": "agent-eval"}
    environment["PATH"] = os.pathsep.join([str(Path(shim).parent), environment["PATH"]])
    # Whatever else it finds, or not: it must come to an end.
    subprocess.run(
        [shim, "--version"], env=environment, capture_output=True, timeout=60, check=False
    )


def test_the_command_loads_nothing_it_does_not_need() -> None:
    code = (
        "import sys, json, agent_eval_rpc._cli; "
        "print(json.dumps([m for m in ('pydantic', 'httpx', 'asyncio') if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert json.loads(done.stdout) == []


def test_the_engine_is_told_which_client_started_it(shim: str, tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    engine.write_text('#!/bin/sh\nprintf %s "$AGENT_EVAL_CLIENT"\n')
    engine.chmod(0o755)
    environment = {**os.environ, "AGENT_EVAL_CLI": str(engine)}
    said = subprocess.run([shim], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.startswith("agent-eval-rpc/")
