"""Every example runs, against the fake endpoint."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures import engine_env, model_server

__all__ = ["engine_env", "model_server"]

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
Env = dict[str, str]


def run(command: list[str], env: Env) -> str:
    """Runs a program in an empty place of the network: nothing listens where a server would."""
    env = {**env, "AGENT_EVAL_BASE_URL": "http://127.0.0.1:9"}
    done = subprocess.run(
        command, env=env, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PYTHON = {
    "judge_anti_slop.py": ["0.8", "buyer_quality", "judged over subprocess"],
    "inline_rubric.py": ["0.80 by commit-message@sha256-rfc8785:"],
    "async_many.py": ["mean 0.800 over 20 texts", "0 unscored"],
    "judge_many.py": ["mean 0.800 over 150 texts", "{'budget_exceeded': 50}"],
    "compare.py": ["a tie", "3 comparisons, agreement of both orders: 0.0"],
    "panel.py": ["fake-model 0.80", "pooled 0.80, stdev 0.0, agreement 1.0"],
    "rewards.py": ["1  0.80       Open Settings", "0  TypeError"],
    "demo.py": ["good      0.80", "Judged by fake-model", "AGENT_EVAL_LLM_MODEL"],
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_example(name: str, engine_env: Env) -> None:
    out = run([sys.executable, str(EXAMPLES / name)], engine_env)
    for part in PYTHON[name]:
        assert part in out, out


def test_typescript_example(engine_env: Env) -> None:
    outfile = ROOT / ".tools" / f"example-{os.getpid()}.mjs"
    esbuild = ROOT / "node_modules" / ".bin" / "esbuild"
    try:
        run(
            [str(esbuild), str(EXAMPLES / "judge.ts"), f"--outfile={outfile}", "--log-level=error"],
            engine_env,
        )
        out = run(["node", str(outfile)], engine_env)
    finally:
        outfile.unlink(missing_ok=True)
    assert "plain: 0.80 (fake-model)" in out
    assert "slop: 0.80" in out


def test_every_example_is_here() -> None:
    names = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ts")}
    assert names == {*PYTHON, "judge.ts"}


def test_examples_are_short() -> None:
    for path in EXAMPLES.iterdir():
        if path.is_file():
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 60, path.name
