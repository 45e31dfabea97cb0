"""Wheels and sdists carry the engine, or are not built."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from support import ROOT

PROJECT = ROOT / "clients" / "python"
IN_WHEEL = {
    "agent_eval_rpc/_engine/main.cjs",
    "agent_eval_rpc/_engine/builtin/anti-slop.json",
    "agent_eval_rpc/py.typed",
    "agent_eval_rpc/_generated/models.py",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with the Python client, without a built engine."""
    project = tmp_path / "repository" / "clients" / "python"
    project.mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md"):
        shutil.copy(PROJECT / name, project)
    ignore = shutil.ignore_patterns("__pycache__", "_engine")
    shutil.copytree(PROJECT / "src", project / "src", ignore=ignore)
    return project


def add_engine(project: Path) -> None:
    engine = project.parents[1] / "packages" / "agent-eval" / "dist" / "engine"
    (engine / "builtin").mkdir(parents=True)
    (engine / "main.cjs").write_text("// engine\n")
    (engine / "builtin" / "anti-slop.json").write_text("{}\n")


def build(project: Path, kind: str) -> "subprocess.CompletedProcess[str]":
    code = {
        "wheel": "b.build_wheel('out')",
        "sdist": "b.build_sdist('out')",
        "editable": "b.build_editable('out')",
    }[kind]
    return subprocess.run(
        [sys.executable, "-c", f"import hatchling.build as b; {code}"],
        cwd=project,
        env={**os.environ, "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def names_in_wheel(project: Path) -> list[str]:
    (wheel,) = (project / "out").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_a_wheel_carries_the_engine_and_its_data(checkout: Path) -> None:
    add_engine(checkout)
    done = build(checkout, "wheel")
    assert done.returncode == 0, done.stderr
    names = names_in_wheel(checkout)
    assert set(names) >= IN_WHEEL
    assert len(names) == len(set(names))


def test_an_sdist_carries_the_engine_and_builds_the_same_wheel(
    checkout: Path, tmp_path: Path
) -> None:
    add_engine(checkout)
    done = build(checkout, "sdist")
    assert done.returncode == 0, done.stderr
    assert build(checkout, "wheel").returncode == 0
    (sdist,) = (checkout / "out").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    done = build(unpacked, "wheel")
    assert done.returncode == 0, done.stderr
    assert sorted(names_in_wheel(unpacked)) == sorted(names_in_wheel(checkout))


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_nothing_is_built_without_the_engine(checkout: Path, kind: str) -> None:
    done = build(checkout, kind)
    assert done.returncode != 0
    assert "run `pnpm install && pnpm build`" in done.stderr


def test_an_editable_install_needs_no_engine(checkout: Path) -> None:
    done = build(checkout, "editable")
    assert done.returncode == 0, done.stderr
    assert not [name for name in names_in_wheel(checkout) if "_engine" in name]
