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
OSMOSIS = ROOT / "clients" / "osmosis"
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
    """A folder with sdists and wheels; each wheel is built from the unpacked sdist."""
    folder = tmp_path_factory.mktemp("dist")
    for source in (CLIENT, OSMOSIS):
        built = ["build", "--quiet", "--out-dir", str(folder), str(source)]
        call(str(UV), *built, env=dict(os.environ))
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
    [wheel] = artifacts.glob("agent_eval_rpc-*.whl")
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


def test_both_wheels_reward_in_an_empty_environment(
    artifacts: Path, engine_env: Env, tmp_path: Path, model_server: ModelServer
) -> None:
    wheels = [str(wheel) for wheel in artifacts.glob("*.whl")]
    assert len(wheels) == 2
    python = fresh_environment(tmp_path / "env")
    call(str(python), "-m", "pip", "install", "--quiet", *wheels, env=dict(os.environ))
    suite = {
        "id": "helpful",
        "rubric": "Score how helpful the text is.",
        "model_info": {"provider": "mine", "model": "m", "base_url": model_server.url},
    }
    # A JSON document is YAML too.
    (tmp_path / "rubric_configs.yaml").write_text(json.dumps(suite))
    records = [json.dumps({"solution_str": f"Text {number}."}) for number in range(30)]
    (tmp_path / "data.jsonl").write_text("\n".join(records))
    for command in ("osmosis", "osmosis-ai", "osmosis_ai"):
        shown = call(command, "--version", env=bare(engine_env, python))
        assert shown.startswith("osmosis-ai ")
    arguments = ["eval-rubric", "-r", "helpful", "-d", "data.jsonl", "-o", "out.json"]
    shown = call("osmosis", *arguments, env=bare(engine_env, python), cwd=tmp_path)
    assert "average=0.8000" in shown
    assert "total=30 success=30 failures=0" in shown
    # What needs an extra says so, and nothing else is missing.
    for statement, said in (
        ("from osmosis_ai import create_app", ""),
        ("import osmosis_ai.trainers.trl", ""),
        ("import osmosis_ai.trainers.ray", "osmosis-ai[ray]"),
        ("import osmosis_ai.trainers.verifiers", "osmosis-ai[verifiers]"),
    ):
        code = f"try:\n    {statement}\nexcept ImportError as error:\n    print(error)"
        assert said in call(str(python), "-c", code, env=bare(engine_env, python))


def test_artifacts_carry_the_engine(artifacts: Path) -> None:
    [sdist] = artifacts.glob("agent_eval_rpc-*.tar.gz")
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
