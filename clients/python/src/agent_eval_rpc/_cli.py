"""The ``agent-eval`` command: hands everything on to the engine."""

import os
import subprocess
import sys
from collections.abc import Callable

from agent_eval_rpc import _settings
from agent_eval_rpc._error import AgentEvalError
from agent_eval_rpc._locate import find_engine
from agent_eval_rpc._version import __version__

#: Commands that Python answers itself; any other is the engine's.
COMMANDS: dict[str, Callable[[list[str]], int]] = {}


def main() -> int:
    """Runs a command of Python's own, or becomes the engine."""
    arguments = sys.argv[1:]
    own = COMMANDS.get(arguments[0]) if arguments else None
    if own is not None:
        return own(arguments[1:])
    try:
        argv = [*find_engine().argv, *arguments]
    except AgentEvalError as error:
        sys.stderr.write(f"agent-eval: {error.message}\n")
        return 1
    try:
        environment = _settings.engine_environment(__version__)
        if sys.platform == "win32":
            return subprocess.run(argv, env=environment, check=False).returncode  # noqa: S603
        os.execve(argv[0], argv, environment)  # noqa: S606 - the engine
    except OSError as error:
        sys.stderr.write(f"agent-eval: cannot run {argv[0]}: {error.strerror or error}\n")
    return 1
