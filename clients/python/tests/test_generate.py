"""The generated files."""

import shutil
import subprocess
import sys
from pathlib import Path

from support import ROOT

SCRIPT = ROOT / "clients" / "python" / "scripts" / "generate.py"


def test_generated_files_are_those_of_the_contract() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stale_file_is_named(tmp_path: Path) -> None:
    python = tmp_path / "clients" / "python"
    shutil.copytree(SCRIPT.parent, python / "scripts")
    target = "src/agent_eval_rpc/_generated"
    shutil.copytree(SCRIPT.parent.parent / target, python / target)
    shutil.copytree(
        ROOT / "packages" / "contract" / "generated", tmp_path / "packages/contract/generated"
    )
    with (python / target / "models.py").open("a") as file:
        file.write("\n")
    done = subprocess.run(
        [sys.executable, str(python / "scripts" / "generate.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "models.py is stale: run make gen" in done.stderr
