"""What people install, each with a judged call: wheel, sdist, editable checkout, npm package."""

import json
import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest
from engine import ROOT, judge_params
from model_server import ModelServer

Env = dict[str, str]
CLIENT = ROOT / "clients" / "python"
UV = ROOT / ".tools" / "py" / "bin" / "uv"

SNIPPET = """
from agent_eval_rpc import Client
with Client() as client:
    result = client.judge(content="The cat sat.", rubric_name="anti-slop")
    print(result.composite, client.transport, client.version().wire_version)
"""


def call(*command: str, env: Env, cwd: Path | None = None, stdin: str = "") -> str:
    done = subprocess.run(
        command,
        env=env,
        cwd=cwd,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sdist and wheel; the wheel is built from the unpacked sdist."""
    folder = tmp_path_factory.mktemp("dist")
    call(str(UV), "build", "--quiet", "--out-dir", str(folder), str(CLIENT), env=dict(os.environ))
    return folder


def fresh_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def bare(env: Env, python: Path) -> Env:
    """Without a server to find, with the environment's own commands first on PATH."""
    return {
        **env,
        "AGENT_EVAL_BASE_URL": "http://127.0.0.1:9",
        "PATH": f"{python.parent}{os.pathsep}{env['PATH']}",
    }


def test_wheel_judges_in_an_empty_environment(
    artifacts: Path, engine_env: Env, tmp_path: Path
) -> None:
    [wheel] = artifacts.glob("*.whl")
    python = fresh_environment(tmp_path / "env")
    call(str(python), "-m", "pip", "install", "--quiet", str(wheel), env=dict(os.environ))
    env = bare(engine_env, python)
    assert call(str(python), "-c", SNIPPET, env=env, cwd=tmp_path).startswith("0.8 subprocess 1.")
    verdict = json.loads(
        call("agent-eval", "rpc", "judge", env=env, cwd=tmp_path, stdin=judge_params())
    )
    assert verdict["result"]["composite"] == 0.8
    shown = call("agent-eval", "doctor", env=env, cwd=tmp_path)
    assert "agent-eval-rpc/" in shown


def test_artifacts_carry_the_engine(artifacts: Path) -> None:
    [sdist] = artifacts.glob("*.tar.gz")
    listing = call("tar", "tzf", str(sdist), env=dict(os.environ))
    assert "main.cjs" in listing
    assert "anti-slop.json" in listing


def test_a_wheel_without_the_engine_does_not_build(tmp_path: Path) -> None:
    copy = tmp_path / "a" / "b" / "client"
    shutil.copytree(CLIENT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    done = subprocess.run(
        [str(UV), "build", "--wheel", "--out-dir", str(tmp_path), str(copy)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode != 0
    assert "pnpm build" in done.stdout + done.stderr


def test_editable_install_finds_the_built_engine(engine_env: Env, tmp_path: Path) -> None:
    python = fresh_environment(tmp_path / "env")
    call(str(python), "-m", "pip", "install", "--quiet", "-e", str(CLIENT), env=dict(os.environ))
    assert call(str(python), "-c", SNIPPET, env=bare(engine_env, python)).startswith(
        "0.8 subprocess"
    )


def test_npm_package_gives_the_same_command(
    engine_env: Env, tmp_path: Path, model_server: ModelServer
) -> None:
    packed = call(
        "npm",
        "pack",
        "--silent",
        "--pack-destination",
        str(tmp_path),
        env=dict(os.environ),
        cwd=ROOT / "packages" / "agent-eval",
    )
    tarball = tmp_path / packed.strip().splitlines()[-1]
    prefix = tmp_path / "prefix"
    call(
        "npm",
        "install",
        "--silent",
        "--global",
        "--prefix",
        str(prefix),
        str(tarball),
        env=dict(os.environ),
    )
    command = str(prefix / "bin" / "agent-eval")
    answer = json.loads(call(command, "rpc", "judge", env=engine_env, stdin=judge_params()))
    assert answer["result"]["composite"] == 0.8
    module = prefix / "lib" / "node_modules" / "@tangle-network" / "agent-eval"
    library = (module / "dist" / "index.js").as_uri()
    script = tmp_path / "use.mjs"
    script.write_text(
        f"import {{ createAgentEval }} from {json.dumps(library)};\n"
        "const engine = await createAgentEval();\n"
        "const verdict = await engine.judge({ content: 'x', rubricName: 'anti-slop' });\n"
        "console.log(verdict.composite);\n"
        "await engine.close();\n"
    )
    assert call("node", str(script), env=engine_env) == "0.8\n"
    assert model_server.calls == 2
