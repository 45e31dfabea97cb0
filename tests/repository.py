"""What the tests of the repository itself share: its files, and what TypeScript says about them."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypedDict

ROOT = Path(__file__).resolve().parents[1]


class FunctionFact(TypedDict):
    """One function of a TypeScript file."""

    name: str
    line: int
    lines: int
    parameters: int
    text: str


class GlobalFact(TypedDict):
    """One reach for a timer, chance, the clock or the process."""

    kind: str
    line: int


class TypeScriptFacts(TypedDict):
    """What typescript_facts.mjs prints about one file."""

    functions: list[FunctionFact]
    globals: list[GlobalFact]
    exports: list[str]


class Finding(NamedTuple):
    """One place that breaks a rule."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@cache
def project_files() -> tuple[str, ...]:
    """Every file git has or would add, relative to the root: new work is checked as well."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = sorted(set(filter(None, listed.stdout.split("\0"))))
    return tuple(name for name in names if (ROOT / name).is_file())


def typescript_facts(root: Path, names: list[str]) -> dict[str, TypeScriptFacts]:
    """The functions, exports and reaches of each file, by the TypeScript compiler."""
    ran = subprocess.run(
        ["node", str(ROOT / "tests" / "typescript_facts.mjs")],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        input="\n".join(names),
    )
    facts: dict[str, TypeScriptFacts] = json.loads(ran.stdout)
    return facts


def write_tree(root: Path, files: dict[str, str]) -> None:
    """Write small files below a folder, for the tests that show a rule failing."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def report(findings: list[Finding]) -> str:
    """The findings, one a line, for an assertion message."""
    return "\n" + "\n".join(map(str, findings))
