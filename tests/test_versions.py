"""One version: npm package, Python distribution and changelog say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from repository import ROOT, write_tree

NPM = "packages/agent-eval/package.json"
PYTHON = "clients/python/src/agent_eval_rpc/_version.py"
OSMOSIS = "clients/osmosis/src/osmosis_ai/consts.py"
PIN = "clients/osmosis/pyproject.toml"
CHANGELOG = "CHANGELOG.md"


def versions(root: Path) -> dict[str, str | None]:
    """The version that each place names, None where it names none."""
    texts = {
        name: path.read_text(encoding="utf-8") if (path := root / name).is_file() else ""
        for name in (NPM, PYTHON, OSMOSIS, PIN, CHANGELOG)
    }
    return {
        NPM: json.loads(texts[NPM] or "{}").get("version"),
        PYTHON: _first(r'^__version__ = "([^"]+)"$', texts[PYTHON]),
        OSMOSIS: _first(r'^PACKAGE_VERSION = "([^"]+)"$', texts[OSMOSIS]),
        PIN: _first(r'^  "agent-eval-rpc==([^"]+)",$', texts[PIN]),
        CHANGELOG: _first(r"^## \[?v?(\d+\.\d+\.\d+[^\s\]]*)", texts[CHANGELOG]),
    }


def _first(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text, re.MULTILINE)
    return match.group(1) if match else None


def check(root: Path) -> None:
    """Fail when a place names no version, or two of them differ."""
    found = versions(root)
    missing = [name for name, version in found.items() if version is None]
    assert not missing, f"no version in {', '.join(missing)}"
    assert len(set(found.values())) == 1, f"the versions differ: {found}"


def test_every_place_names_the_same_version() -> None:
    check(ROOT)


@pytest.mark.parametrize("stale", [NPM, PYTHON, OSMOSIS, PIN, CHANGELOG])
def test_a_stale_or_missing_version_is_found(tmp_path: Path, stale: str) -> None:
    def tree(version: str, name: str) -> str:
        return {
            NPM: json.dumps({"version": version}),
            PYTHON: f'"""Say."""\n\n__version__ = "{version}"\n',
            OSMOSIS: f'PACKAGE_VERSION = "{version}"\n',
            PIN: f'dependencies = [\n  "agent-eval-rpc=={version}",\n]\n',
            CHANGELOG: f"# Changelog\n\n## {version}\n\n- A line.\n\n## 0.0.9\n",
        }[name]

    places = (NPM, PYTHON, OSMOSIS, PIN, CHANGELOG)
    write_tree(tmp_path, {name: tree("1.2.3", name) for name in places})
    check(tmp_path)
    write_tree(tmp_path, {stale: tree("1.2.2", stale)})
    with pytest.raises(AssertionError, match="differ"):
        check(tmp_path)
    (tmp_path / stale).unlink()
    with pytest.raises(AssertionError, match=f"no version in {stale}"):
        check(tmp_path)
