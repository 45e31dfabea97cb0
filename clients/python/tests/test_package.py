"""The package as a whole: names, imports, versions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import agent_eval_rpc
from support import ROOT


def test_the_root_exports_a_short_list_that_loads() -> None:
    assert len(agent_eval_rpc.__all__) <= 40
    assert agent_eval_rpc.__all__ == sorted(agent_eval_rpc.__all__)
    for name in agent_eval_rpc.__all__:
        assert getattr(agent_eval_rpc, name) is not None
    assert set(dir(agent_eval_rpc)) == set(agent_eval_rpc.__all__)
    assert set(agent_eval_rpc._HOMES) == set(agent_eval_rpc.__all__) - {"__version__"}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Judge'"):
        _ = agent_eval_rpc.Judge


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import agent_eval_rpc", ["pydantic", "httpx", "agent_eval_rpc.client"]),
        ("from agent_eval_rpc import Client, AsyncClient, Rubric", ["httpx", "yaml", "urllib3"]),
        ("from agent_eval_rpc.errors import AgentEvalError", ["pydantic", "httpx"]),
    ],
)
def test_imports_stay_light(statement: str, absent: list[str]) -> None:
    code = f"import sys, json; {statement}; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert set(json.loads(done.stdout)) & set(absent) == set()


def test_the_version_is_that_of_the_npm_package() -> None:
    package = json.loads((ROOT / "packages" / "agent-eval" / "package.json").read_text("utf-8"))
    assert agent_eval_rpc.__version__ == package["version"]


def test_modules_import_in_the_right_direction() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT / "clients" / "python",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
