"""Runs every check and test of the repository, step by step, and counts them.

`python tests/run.py` runs all steps, `python tests/run.py check` those of the group "check",
`python tests/run.py NAME…` the steps so named. The output of a step is shown when it fails. The
last line is the total: "N passed, N failed".
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv" / "bin"
UV = ROOT / ".tools" / "py" / "bin" / "uv"
NODE_BIN = ROOT / "node_modules" / ".bin"
OTHER_PYTHONS = ("3.10", "3.13")
# Thousands of calls at once, and what has no release for an interpreter, say nothing more there.
ONCE = (
    "--ignore=clients/python/tests/test_e2e_many.py",
    "--ignore=clients/osmosis/tests/trainers",
    "--ignore=clients/osmosis/tests/rollout/test_many_rollouts.py",
)


@dataclass(frozen=True)
class Step:
    """One command, and how to count what it ran."""

    name: str
    command: list[str]
    group: str = "test"
    counts: str = "step"  # "step" counts as one test; "vitest" and "junit" are read from a report
    env: dict[str, str] = field(default_factory=dict)
    cwd: Path = ROOT


@dataclass
class Total:
    """Tests that passed and failed."""

    passed: int = 0
    failed: int = 0


def python(*args: str) -> list[str]:
    """A command of the main environment."""
    return [str(VENV / "python"), *args]


def pytest(*args: str, workers: str = "2") -> list[str]:
    """Pytest in the main environment; the report goes where `run_step` says."""
    return [*python("-m", "pytest", "-q", "-n", workers), *args]


def interpreter(version: str) -> str | None:
    """An interpreter of that version which is on this machine already."""
    homes = [Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"]
    for home in homes:
        found = sorted(home.glob(f"{version}.*/bin/python"))
        if found:
            return str(found[-1])
    return None


def steps() -> list[Step]:
    """Every step, in order: what fails fastest comes first."""
    check = [
        Step("format and lint, TypeScript", [str(NODE_BIN / "biome"), "ci", "."], "check"),
        Step("types, TypeScript", [str(NODE_BIN / "tsc"), "-b"], "check"),
        Step("lint, Python", [str(VENV / "ruff"), "check", *PYTHON_FOLDERS], "check"),
        Step("format, Python", [str(VENV / "ruff"), "format", "--check", *PYTHON_FOLDERS], "check"),
        Step("types, Python", [str(VENV / "mypy")], "check", cwd=ROOT / "clients" / "python"),
        Step("types, osmosis", [str(VENV / "mypy")], "check", cwd=ROOT / "clients" / "osmosis"),
        Step(
            "types, examples",
            [str(VENV / "mypy"), "--strict", "--config-file=", "examples"],
            "check",
        ),
        Step(
            "generated: contract",
            ["node", "packages/contract/scripts/generate.mjs", "--check"],
            "check",
        ),
        Step("generated: Python", python("clients/python/scripts/generate.py", "--check"), "check"),
        Step("generated: docs", ["node", "docs/generate.mjs", "--check"], "check"),
        Step(
            "layers, limits, surface",
            pytest("tests", "--ignore=tests/e2e", "--ignore=tests/fakes"),
            "check",
            "junit",
        ),
    ]
    test = [
        Step("unit tests, TypeScript", [str(NODE_BIN / "vitest"), "run"], "test", "vitest"),
        Step("unit tests, Python", pytest("clients/python/tests"), "test", "junit"),
        Step("unit tests, osmosis", pytest("clients/osmosis/tests"), "test", "junit"),
        Step("the fake itself", pytest("tests/fakes"), "test", "junit"),
        Step("end to end", pytest("tests/e2e"), "test", "junit"),
        *[step for version in OTHER_PYTHONS for step in other_python(version)],
    ]
    return check + test


PYTHON_FOLDERS = ["clients", "examples", "tests", "bench"]


def other_python(version: str) -> list[Step]:
    """The tests of both distributions on another interpreter, where there is one."""
    found = interpreter(version)
    if found is None:
        print(f"    no Python {version} on this machine: its tests are left out", flush=True)
        return []
    venv = ROOT / f".venv-{version}"
    env = {"UV_PROJECT_ENVIRONMENT": str(venv)}
    sync = [str(UV), "sync", "--quiet", "--frozen", "--extra", "dev", "--python", found]
    folders = ["clients/python/tests", "clients/osmosis/tests"]
    run = [str(venv / "bin" / "python"), "-m", "pytest", "-q", "-n", "2", *ONCE, *folders]
    return [
        Step(f"environment, Python {version}", sync, "test", env=env),
        Step(f"unit tests, Python {version}", run, "test", "junit"),
    ]


def run_step(step: Step, folder: Path) -> Total:
    """Runs one step; tells its time, and its output when it fails."""
    report = folder / "report"
    report.unlink(missing_ok=True)
    command = [*step.command, *report_flags(step.counts, report)]
    env = {**os.environ, **step.env}
    print(f"==> {step.name}", flush=True)
    started = time.monotonic()
    with (folder / "log").open("w+b") as log:
        code = subprocess.run(
            command,
            cwd=step.cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=False,
        ).returncode
        log.seek(0)
        output = log.read().decode("utf-8", "replace")
    total = counted(step.counts, report, code)
    if code != 0 and total.failed == 0:
        total.failed = 1
    state = "ok" if total.failed == 0 else "FAILED"
    seconds = time.monotonic() - started
    print(f"    {state}, {total.passed} passed, {total.failed} failed, {seconds:.0f} s", flush=True)
    if total.failed:
        print("\n".join(f"    | {line}" for line in tail(output)), flush=True)
    return total


def report_flags(counts: str, report: Path) -> list[str]:
    """Flags that make a runner write its counts."""
    if counts == "vitest":
        return ["--reporter=default", "--reporter=json", f"--outputFile.json={report}"]
    if counts == "junit":
        return [f"--junitxml={report}"]
    return []


def counted(counts: str, report: Path, code: int) -> Total:
    """Counts from a report; a step that counts as one test has passed when it exits with 0."""
    if counts == "step":
        return Total(int(code == 0), int(code != 0))
    if not report.exists():
        return Total(0, 1)
    if counts == "vitest":
        data = json.loads(report.read_text())
        return Total(data["numPassedTests"], data["numFailedTests"] + data["numPendingTests"])
    total = Total()
    for suite in ET.parse(report).getroot().iter("testsuite"):
        number = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
        # A test that cannot find its part must fail, so a skipped one counts as failed.
        bad = number["failures"] + number["errors"] + number["skipped"]
        total.passed += number["tests"] - bad
        total.failed += bad
    return total


ANSI = re.compile(r"\x1b\[[0-9;]*m")


def tail(output: str, lines: int = 120) -> list[str]:
    """The end of an output, without colours."""
    return ANSI.sub("", output).splitlines()[-lines:]


def main(names: list[str]) -> int:
    """Runs the chosen steps; 0 when nothing failed and something ran."""
    chosen = [step for step in steps() if not names or step.group in names or step.name in names]
    if not chosen:
        print(f"no such step: {', '.join(names)}", file=sys.stderr)
        return 2
    total = Total()
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for step in chosen:
            result = run_step(step, Path(folder))
            total.passed += result.passed
            total.failed += result.failed
            if result.failed:
                failed.append(step.name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    print(f"{total.passed} passed, {total.failed} failed")
    return 0 if total.passed and not total.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
