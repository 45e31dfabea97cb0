"""Who may import whom, in both languages, and who may touch the process, timers and chance."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from repository import ROOT, Finding, project_files, report, typescript_facts, write_tree

ENGINE = "packages/agent-eval/src/"
PYTHON_CLIENT = ROOT / "clients" / "python"

# What a file reaches for -> the only places that may. The tests of a file may do what they need.
HOMES = {
    "exit": ("cli/", "rpc/", "entries/"),
    "stdin": ("cli/", "rpc/", "entries/"),
    "stdout": ("cli/", "rpc/", "entries/"),
    "env": ("config/env.ts",),
    "timer": ("core/",),
    "clock": ("core/",),
    "random": ("core/",),
}


def import_findings(root: Path) -> list[Finding]:
    """What dependency-cruiser says against the packages below `root`."""
    cruiser = ROOT / "node_modules" / "dependency-cruiser" / "bin" / "dependency-cruise.mjs"
    config = ROOT / ".dependency-cruiser.cjs"
    ran = subprocess.run(
        ["node", str(cruiser), "--config", str(config), "--output-type", "json", "packages"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout, ran.stderr
    summary = json.loads(ran.stdout)["summary"]
    assert summary["totalCruised"] > 0
    return [Finding(found["from"], _told(found)) for found in summary["violations"]]


def _told(found: dict[str, object]) -> str:
    rule = found["rule"]
    assert isinstance(rule, dict)
    return f"{rule['name']} ({found['to']})"


def reach_findings(root: Path, names: list[str]) -> list[Finding]:
    """The files that reach for the process, a timer, the clock or chance without being its home."""
    shipped = [name for name in names if name.endswith(".ts") and not name.endswith(".test.ts")]
    found: list[Finding] = []
    for name, facts in typescript_facts(root, shipped).items():
        place = name.removeprefix(ENGINE)
        for reach in facts["globals"]:
            if not place.startswith(HOMES[reach["kind"]]):
                found.append(Finding(f"{name}:{reach['line']}", f"reaches for {reach['kind']}"))
    return found


def python_findings(source: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter with the client's own contracts on the package in `source`."""
    program = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert program is not None, "import-linter is missing: install the dev extra"
    return subprocess.run(
        [program, "--no-cache", "--config", str(PYTHON_CLIENT / "pyproject.toml")],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_typescript_imports_keep_to_their_directions() -> None:
    found = import_findings(ROOT)
    assert not found, report(found)


def test_only_their_homes_touch_process_timers_and_chance() -> None:
    names = [name for name in project_files() if name.startswith("packages/") and "/src/" in name]
    found = reach_findings(ROOT, names)
    assert not found, report(found)


def test_python_imports_keep_to_their_directions() -> None:
    ran = python_findings(PYTHON_CLIENT / "src")
    assert ran.returncode == 0, ran.stdout + ran.stderr


# Below: each rule is shown to fail, since a rule that matches nothing looks like a clean tree.


def test_a_wrong_import_is_found(tmp_path: Path) -> None:
    nothing = "export const nothing = 0;\n"
    folders = ("api", "campaign", "cli", "config", "entries", "judge", "odd", "providers")
    tree = {f"{ENGINE}{folder}/thing.ts": nothing for folder in folders}
    wrong = {
        "core/upward.ts": ("../config/thing.js", "core-imports"),
        "api/settings.ts": ("../config/thing.js", "api-imports"),
        "providers/judging.ts": ("../judge/thing.js", "providers-imports"),
        "judge/client.ts": ("../providers/thing.js", "judge-imports-providers-types"),
        "http/compose.ts": ("../entries/thing.js", "entries-importers"),
        "rpc/command.ts": ("../cli/thing.js", "cli-importers"),
        "entries/start.ts": ("../campaign/thing.js", "campaign-importers"),
        "odd/outward.ts": ("../core/hash.js", "known-folders"),
        "rubrics/lost.ts": ("./absent.js", "resolvable"),
        "judge/post.ts": ("undici", "package-undici"),
        "core/one.ts": ("./two.js", "no-cycles"),
    }
    for name, (target, _) in wrong.items():
        tree[ENGINE + name] = f"import * as it from '{target}';\nexport const seen = it;\n"
    # A cycle is told once, at the file whose name comes first.
    tree[f"{ENGINE}core/two.ts"] = "import * as it from './one.js';\nexport const seen = it;\n"
    tree[f"{ENGINE}core/hash.ts"] = nothing
    tree["node_modules/undici/package.json"] = '{"name": "undici", "main": "index.js"}'
    tree["node_modules/undici/index.js"] = ""
    tree[f"{ENGINE}judge/typed.ts"] = "import type * as It from '../providers/thing.js';\n"
    tree["packages/contract/src/inward.ts"] = "import 'node:path';\n"
    write_tree(tmp_path, tree)

    found = {(str(Path(where)), what.split(" ")[0]) for where, what in import_findings(tmp_path)}

    for name, (_, rule) in wrong.items():
        assert (ENGINE + name, rule) in found, (name, rule)
    assert ("packages/contract/src/inward.ts", "contract-imports") in found
    assert not [where for where, _ in found if where.endswith(("typed.ts", "thing.ts"))]


def test_a_wrong_reach_is_found(tmp_path: Path) -> None:
    wrong = {
        "judge/exit.ts": ("process.exit(1);", "exit"),
        "api/input.ts": ("process.stdin.resume();", "stdin"),
        "http/print.ts": ("process.stdout.write('');", "stdout"),
        "rpc/settings.ts": ("const { env } = process;", "env"),
        "judge/wait.ts": ("setTimeout(() => {}, 1);", "timer"),
        "http/deadline.ts": ("AbortSignal.timeout(1);", "timer"),
        "api/sleep.ts": ("import { setTimeout } from 'node:timers/promises';", "timer"),
        "judge/when.ts": ("const now = new Date();", "clock"),
        "providers/dice.ts": ("const roll = Math.random;", "random"),
        "http/id.ts": ("import { randomUUID } from 'node:crypto';", "random"),
    }
    write_tree(tmp_path, {ENGINE + name: text for name, (text, _) in wrong.items()})
    allowed = {
        "core/clock.ts": "setTimeout(() => {}, Math.random());",
        "cli/x.ts": "process.exit();",
    }
    write_tree(tmp_path, {ENGINE + name: text for name, text in allowed.items()})

    found = reach_findings(tmp_path, [ENGINE + name for name in (*wrong, *allowed)])

    assert {(where.split(":")[0], what.split()[-1]) for where, what in found} == {
        (ENGINE + name, kind) for name, (_, kind) in wrong.items()
    }


def test_a_wrong_python_import_is_found(tmp_path: Path) -> None:
    package = tmp_path / "agent_eval_rpc"
    shutil.copytree(PYTHON_CLIENT / "src" / "agent_eval_rpc", package)
    retry = package / "_retry.py"
    retry.write_text(retry.read_text(encoding="utf-8") + "\nimport agent_eval_rpc.client\n")

    ran = python_findings(tmp_path)

    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "agent_eval_rpc._retry -> agent_eval_rpc.client" in ran.stdout
