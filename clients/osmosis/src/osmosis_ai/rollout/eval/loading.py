"""Finds what a command line names: agent loops and functions of modules."""

import importlib
import sys
from pathlib import Path
from typing import Any

from osmosis_ai.errors import CLIError
from osmosis_ai.rollout.core.base import RolloutAgentLoop


def load_object(path: str) -> Any:
    """What ``module:attribute`` names; modules of the current folder are found too.

    Raises:
        CLIError: There is no such module or attribute.
    """
    name, colon, attribute = path.partition(":")
    if not colon or not name.strip() or not attribute.strip():
        raise CLIError(f"Invalid module path '{path}': write it as module:attribute.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise CLIError(f"Cannot import module '{name}': {error}") from error
    if not hasattr(module, attribute):
        public = ", ".join(sorted(one for one in vars(module) if not one.startswith("_")))
        raise CLIError(
            f"Module '{name}' has no attribute '{attribute}'. Available attributes: {public}"
        )
    return getattr(module, attribute)


def load_agent_loop(path: str) -> RolloutAgentLoop:
    """The agent loop that ``module:attribute`` names; a class is made into an object.

    Raises:
        CLIError: It is no agent loop.
    """
    found = load_object(path)
    if isinstance(found, RolloutAgentLoop):
        return found
    if not isinstance(found, type):
        raise CLIError(f"'{path}' must be a RolloutAgentLoop instance or subclass.")
    if not issubclass(found, RolloutAgentLoop):
        raise CLIError(f"'{path}' is not a RolloutAgentLoop subclass.")
    try:
        return found()
    except Exception as error:
        raise CLIError(f"Cannot instantiate '{path}': {type(error).__name__}: {error}") from error
