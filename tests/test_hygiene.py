"""What must not be in the repository: leftovers, addresses of machines, secrets, heavy files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from repository import ROOT, Finding, project_files, report, write_tree

MAX_BYTES = 1_000_000
LOCK_FILES = ("uv.lock", "pnpm-lock.yaml")
LOCK_HOST = re.compile(r"(?:files\.pythonhosted|pypi|registry\.npmjs)\.org")
# This file spells out every rule and a text that breaks it.
OWN_NAME = "tests/test_hygiene.py"

TEXT_RULES = {
    "leftover": r"\b(?:TODO|FIXME|XXX)\b",
    "conflict marker": r"^(?:<{7} |>{7} |={7}$)",
    "registry host": r"(?:pypi|pythonhosted|debian|npmjs|proxy\.golang)\.(?:org|com)\b",
    "machine path": r"(?<![\w.~/-])/(?:tmp|work|root|home|Users)(?=/\w|[\"'`\s),;]|$)",
    "secret": "|".join(
        [
            r"\b(?:sk|pk|rk|gsk|hf)[-_](?!fake|secret|test)[A-Za-z0-9_-]{24,}",
            r"\b(?:gh[opsu]|github_pat)_\w{30,}",
            r"\bAKIA[0-9A-Z]{16}\b",
            r"\bAIza[\w-]{35}",
            r"\bxox[abp]-[\w-]{10,}",
            r"-----BEGIN [A-Z ]*PRIVATE KEY",
            r"://[^/\s:@{}<>$]+:[^/\s:@{}<>$]{8,}@",
        ]
    ),
}
PATTERNS = {name: re.compile(rule, re.MULTILINE) for name, rule in TEXT_RULES.items()}

# "<file>: <rule>" -> why it may stay. An entry that is no longer needed fails.
EXCEPTIONS = {
    "clients/python/tests/test_settings.py: secret": "a made-up password that must stay hidden",
    "uv.lock: heavy": "pins every wheel of the optimizers for each interpreter and platform",
}

TOP_LEVEL = {
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "Makefile"),
    *(".gitattributes", ".gitignore", ".ci"),
    *("package.json", "pnpm-workspace.yaml", "pnpm-lock.yaml"),
    *("tsconfig.base.json", "tsconfig.json", "biome.json", "vitest.config.ts"),
    *(".dependency-cruiser.cjs", "pyproject.toml", "uv.lock"),
    *("packages", "clients", "examples", "tests", "docs", "bench"),
}


def text_findings(root: Path, names: Iterable[str]) -> list[Finding]:
    """Lines that break a rule on text."""
    found = []
    for name in names:
        data = (root / name).read_bytes()
        if name in (*LOCK_FILES, OWN_NAME) or b"\0" in data:
            continue
        text = data.decode("utf-8")
        for rule, pattern in PATTERNS.items():
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(Finding(f"{name}: {rule}", f"line {line}: {match.group()[:12]}…"))
    return found


def file_findings(root: Path, names: Iterable[str]) -> list[Finding]:
    """Files that are too heavy, and lock files that name a host of one machine's own."""
    found = []
    for name in names:
        path = root / name
        if path.stat().st_size > MAX_BYTES:
            found.append(Finding(f"{name}: heavy", f"{path.stat().st_size} bytes"))
        if name in LOCK_FILES:
            hosts = set(re.findall(r"https?://([^/\"'\s]+)", path.read_text(encoding="utf-8")))
            foreign = sorted(host for host in hosts if not LOCK_HOST.fullmatch(host))
            found += [Finding(f"{name}: lock host", host) for host in foreign]
    return found


def top_level_findings(names: Iterable[str]) -> list[Finding]:
    """What lies at the top level without a place in the layout."""
    tops = {name.split("/")[0] for name in names}
    return [Finding(f"{top}: top level", "has no place there") for top in sorted(tops - TOP_LEVEL)]


def test_the_repository_is_clean() -> None:
    names = project_files()
    found = [*text_findings(ROOT, names), *file_findings(ROOT, names), *top_level_findings(names)]
    left = [one for one in found if one.where not in EXCEPTIONS]
    assert not left, report(left)
    assert set(EXCEPTIONS) <= {one.where for one in found}, "an exception is no longer needed"


# Below: each rule is shown to fail.


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("leftover", "# TODO: later"),
        ("leftover", "// FIXME"),
        ("conflict marker", "<<<<<<< ours"),
        ("registry host", "registry.npmjs.org/x"),
        ("registry host", "index = pypi.org/simple"),
        ("machine path", 'open("/tmp/x")'),
        ("machine path", "cd /work"),
        ("machine path", "/home/me/model.gguf"),
        ("secret", "sk-" + "a1" * 16),
        ("secret", "sk-ant-" + "a1" * 16),
        ("secret", "AKIA" + "A1" * 8),
        ("secret", "-----BEGIN RSA PRIVATE KEY-----"),
        ("secret", "https://me:hunter2hunter2@example.com"),
    ],
)
def test_a_dirty_text_is_found(tmp_path: Path, rule: str, text: str) -> None:
    write_tree(tmp_path, {"a.txt": f"first\n{text}\n"})
    found = text_findings(tmp_path, ["a.txt"])
    assert [one.where for one in found] == [f"a.txt: {rule}"]
    assert found[0].what.startswith("line 2:")


@pytest.mark.parametrize(
    "text",
    [
        "a method",
        "~/work/x",
        "../tmp/x",
        "https://example.com/work/x",
        "sk-fake-1234567890",
        "a/tmp/b",
    ],
)
def test_an_innocent_text_passes(tmp_path: Path, text: str) -> None:
    write_tree(tmp_path, {"a.txt": text})
    assert text_findings(tmp_path, ["a.txt"]) == []


def test_heavy_and_foreign_files_are_found(tmp_path: Path) -> None:
    tree = {"a.bin": "x" * MAX_BYTES, "b.bin": "x" * (MAX_BYTES + 1)}
    tree["uv.lock"] = '"https://mirror.example/simple" "https://pypi.org/simple"'
    write_tree(tmp_path, tree)
    found = [one.where for one in file_findings(tmp_path, tree)]
    assert found == ["b.bin: heavy", "uv.lock: lock host"]
    assert [one.where for one in top_level_findings(["notes/a.md", "docs/a.md"])] == [
        "notes: top level"
    ]
