"""How long files and functions may be, how full a folder, how wide a package root."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest
from repository import ROOT, Finding, project_files, report, typescript_facts, write_tree

SOURCE_LINES = 500
TEST_LINES = 800
FUNCTION_LINES = 80
PARAMETERS = 10
FOLDER_FILES = 20
EXPORTED_NAMES = 40
COMMAND_LINES = 60
EXAMPLE_LINES = 60
COPY_CHARACTERS = 120

CODE = (".ts", ".mts", ".mjs", ".cjs", ".js", ".py")
GENERATED = ("/_generated/", "/generated/")
TYPESCRIPT_ROOTS = ("packages/agent-eval/src/index.ts",)
PYTHON_ROOTS = ("clients/python/src/agent_eval_rpc/__init__.py",)

# Name as in a finding -> why it may be over its limit. An entry that is no longer needed fails.
KEYWORDS = "every option of a call is a keyword of its own, named as on the wire"
OPTIONS = "typer makes each option of a command from a parameter of its own"
DOCUMENTED = "the parameters of the documented API, which callers name"
EXCEPTIONS: dict[str, str] = {
    "clients/python/src/agent_eval_rpc/client.py:judge": KEYWORDS,
    "clients/python/src/agent_eval_rpc/async_client.py:judge": KEYWORDS,
    "clients/python/src/agent_eval_rpc/client.py:compare": KEYWORDS,
    "clients/python/src/agent_eval_rpc/client.py:chat": KEYWORDS,
    "clients/python/src/agent_eval_rpc/async_client.py:chat": KEYWORDS,
    "clients/python/src/agent_eval_rpc/async_client.py:compare": KEYWORDS,
    "clients/osmosis/src/osmosis_ai/cli/commands/eval.py:eval_agent": OPTIONS,
    "clients/osmosis/src/osmosis_ai/cli/commands/serve.py:serve": OPTIONS,
    "clients/osmosis/src/osmosis_ai/cli/commands/test.py:try_agent": OPTIONS,
    "clients/osmosis/src/osmosis_ai/rollout/server/app.py:create_app": DOCUMENTED,
    "clients/osmosis/src/osmosis_ai/rollout/server/serve.py:serve_agent_loop": DOCUMENTED,
}


def is_test(name: str) -> bool:
    """Whether a file is a test or serves tests only."""
    return bool(re.search(r"\.test\.ts$|(^|/)tests/", name))


def code_files(names: Iterable[str]) -> list[str]:
    """The hand-written code among the files; generated files and data have no limits."""
    return [
        name
        for name in names
        if name.endswith(CODE) and not any(part in f"/{name}" for part in GENERATED)
    ]


def line_findings(root: Path, names: Iterable[str]) -> list[Finding]:
    """Files that are too long."""
    found = []
    for name in code_files(names):
        lines = len((root / name).read_text(encoding="utf-8").splitlines())
        limit = line_limit(name)
        if lines > limit:
            found.append(Finding(name, f"{lines} lines, at most {limit}"))
    return found


def line_limit(name: str) -> int:
    """How many lines this file may have."""
    if is_test(name):
        return TEST_LINES
    if name.startswith("examples/"):
        return EXAMPLE_LINES
    if "/cli/commands/" in name and name.endswith(".ts"):
        return COMMAND_LINES
    return SOURCE_LINES


def function_findings(root: Path, names: Iterable[str]) -> list[Finding]:
    """Functions that are too long, or take too many parameters."""
    chosen = code_files(names)
    found = []
    scripts = [name for name in chosen if not name.endswith(".py")]
    for name, facts in typescript_facts(root, scripts).items():
        for one in facts["functions"]:
            # The callback of a describe() holds a whole file of tests.
            lines = 0 if is_test(name) and one["name"] == "(anonymous)" else one["lines"]
            found += _function(f"{name}:{one['name']}", lines, one["parameters"])
    for name in chosen:
        if name.endswith(".py"):
            found += _python_functions(name, (root / name).read_text(encoding="utf-8"))
    return found


def _function(where: str, lines: int, parameters: int) -> list[Finding]:
    found = []
    if lines > FUNCTION_LINES:
        found.append(Finding(where, f"{lines} lines, at most {FUNCTION_LINES}"))
    if parameters > PARAMETERS:
        found.append(Finding(where, f"{parameters} parameters, at most {PARAMETERS}"))
    return found


def _python_functions(name: str, text: str) -> list[Finding]:
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # Signature and docstring say what a function is; the limit is on what it does.
            body = _statements(node)
            first = body[0].lineno if body else node.lineno
            given = node.args
            parameters = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
            lines = (node.end_lineno or first) - first + 1
            found += _function(f"{name}:{node.name}", lines, parameters)
    return found


def copy_findings(root: Path, names: Iterable[str]) -> list[Finding]:
    """Functions of shipped code whose whole body stands in a second file as well."""
    shipped = [name for name in code_files(names) if not is_test(name)]
    scripts = [name for name in shipped if not name.endswith(".py")]
    bodies = [
        (one["text"], f"{name}:{one['name']}")
        for name, facts in typescript_facts(root, scripts).items()
        for one in facts["functions"]
    ]
    for name in shipped:
        if name.endswith(".py"):
            bodies += _python_bodies(name, (root / name).read_text(encoding="utf-8"))
    first: dict[str, str] = {}
    found = []
    for text, where in bodies:
        known = first.setdefault(text, where)
        if len(text) > COPY_CHARACTERS and known.split(":")[0] != where.split(":")[0]:
            found.append(Finding(where, f"has the body of {known}"))
    return found


def _python_bodies(name: str, text: str) -> list[tuple[str, str]]:
    functions = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [
        ("\n".join(ast.unparse(line) for line in _statements(node)), f"{name}:{node.name}")
        for node in functions
    ]


def _statements(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    return node.body[1:] if ast.get_docstring(node) is not None else node.body


def folder_findings(names: Iterable[str]) -> list[Finding]:
    """Folders with too many code files. A test beside its source does not count."""
    counted = [name for name in code_files(names) if not name.endswith(".test.ts")]
    folders = Counter(str(PurePosixPath(name).parent) for name in counted)
    return [
        Finding(f"{folder}/", f"{count} files, at most {FOLDER_FILES}")
        for folder, count in sorted(folders.items())
        if count > FOLDER_FILES
    ]


def export_findings(root: Path, typescript: Iterable[str], python: Iterable[str]) -> list[Finding]:
    """Package roots that export too many names."""
    found = []
    for name, facts in typescript_facts(root, list(typescript)).items():
        exported = facts["exports"]
        if "*" in exported:
            found.append(Finding(name, "exports everything of a module; name what is public"))
        found += _exports(name, len(exported))
    for name in python:
        tree = ast.parse((root / name).read_text(encoding="utf-8"))
        lists = [
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets)
        ]
        if not lists:
            found.append(Finding(name, "has no __all__ list"))
        found += _exports(name, sum(map(len, lists)))
    return found


def _exports(name: str, count: int) -> list[Finding]:
    if count <= EXPORTED_NAMES:
        return []
    return [Finding(name, f"{count} exported names, at most {EXPORTED_NAMES}")]


def unexcused(found: list[Finding]) -> list[Finding]:
    """What no exception excuses."""
    return [one for one in found if one.where not in EXCEPTIONS]


def all_findings() -> list[Finding]:
    """Every finding on the repository itself."""
    names = project_files()
    return [
        *line_findings(ROOT, names),
        *function_findings(ROOT, names),
        *copy_findings(ROOT, names),
        *folder_findings(names),
        *export_findings(ROOT, TYPESCRIPT_ROOTS, PYTHON_ROOTS),
    ]


def test_files_functions_and_folders_keep_to_the_limits() -> None:
    found = all_findings()
    assert not unexcused(found), report(unexcused(found))
    needless = set(EXCEPTIONS) - {one.where for one in found}
    assert not needless, f"these keep to the limits, remove them from EXCEPTIONS: {needless}"


def test_every_exception_gives_a_reason() -> None:
    assert all(len(reason.split()) >= 4 for reason in EXCEPTIONS.values())


# Below: each limit is shown to fail just above its edge, and to pass on it.


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("packages/x/src/a.ts", SOURCE_LINES),
        ("clients/x/src/a.py", SOURCE_LINES),
        ("packages/x/src/a.test.ts", TEST_LINES),
        ("tests/test_a.py", TEST_LINES),
        ("examples/a.py", EXAMPLE_LINES),
        ("packages/x/src/cli/commands/a.ts", COMMAND_LINES),
    ],
)
def test_a_long_file_is_found(tmp_path: Path, name: str, limit: int) -> None:
    write_tree(tmp_path, {name: "\n" * limit})
    assert line_findings(tmp_path, [name]) == []
    write_tree(tmp_path, {name: "\n" * (limit + 1)})
    assert [one.where for one in line_findings(tmp_path, [name])] == [name]


@pytest.mark.parametrize("over", [0, 1])
def test_a_long_function_is_found(tmp_path: Path, over: int) -> None:
    typescript = "function f() {\n" + "f();\n" * (FUNCTION_LINES - 2 + over) + "}\n"
    python = "def f():\n" + '    """Say."""\n' + "    f()\n" * (FUNCTION_LINES + over)
    write_tree(tmp_path, {"a.ts": typescript, "b.py": python})
    found = function_findings(tmp_path, ["a.ts", "b.py"])
    assert [one.where for one in found] == ["a.ts:f", "b.py:f"] * over


@pytest.mark.parametrize("over", [0, 1])
def test_many_parameters_are_found(tmp_path: Path, over: int) -> None:
    given = ", ".join(f"p{index}" for index in range(PARAMETERS + over))
    tree = {"a.ts": f"const f = ({given}) => {{}};\n", "b.py": f"async def f({given}): ...\n"}
    write_tree(tmp_path, tree)
    found = function_findings(tmp_path, list(tree))
    assert [one.where for one in found] == ["a.ts:f", "b.py:f"] * over


def test_a_copied_helper_is_found(tmp_path: Path) -> None:
    typescript = "export function is(x) {\n  return " + "x === 1 || " * 12 + "false;\n}\n"
    python = "def is_it(x):\n    return " + "x == 1 or " * 12 + "False\n"
    tree = {"a.ts": typescript, "b.ts": f"//\n{typescript}", "c.py": python}
    write_tree(tmp_path, {**tree, "d.py": python.replace("def", "async def"), "e.py": "\n"})
    found = copy_findings(tmp_path, [*tree, "d.py", "e.py"])
    assert [one.where for one in found] == ["b.ts:is", "d.py:is_it"]


def test_a_crowded_folder_is_found() -> None:
    names = [f"src/a{index}.ts" for index in range(FOLDER_FILES)]
    assert folder_findings([*names, "src/a0.test.ts", "src/data.json"]) == []
    assert [one.where for one in folder_findings([*names, "src/b.py"])] == ["src/"]


def test_a_wide_package_root_is_found(tmp_path: Path) -> None:
    for count in (EXPORTED_NAMES, EXPORTED_NAMES + 1):
        names = [f"n{index}" for index in range(count)]
        root = "".join(f"export const {name} = 0;\n" for name in names)
        write_tree(tmp_path, {"index.ts": root, "__init__.py": f"__all__ = {names!r}\n"})
        found = export_findings(tmp_path, ["index.ts"], ["__init__.py"])
        assert len(found) == (2 if count > EXPORTED_NAMES else 0)
    write_tree(tmp_path, {"index.ts": "export * from './a.js';\n", "__init__.py": ""})
    assert len(export_findings(tmp_path, ["index.ts"], ["__init__.py"])) == 2


def test_generated_files_and_data_have_no_limit(tmp_path: Path) -> None:
    names = ["packages/x/generated/a.ts", "clients/x/_generated/a.py", "data.json"]
    write_tree(tmp_path, dict.fromkeys(names, "\n" * 5000))
    assert line_findings(tmp_path, names) == []
