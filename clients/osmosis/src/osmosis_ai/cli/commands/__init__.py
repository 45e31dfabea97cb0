"""The commands by name."""

from collections.abc import Callable
from typing import Any

from osmosis_ai.cli.commands.eval import eval_agent
from osmosis_ai.cli.commands.eval_rubric import eval_rubric
from osmosis_ai.cli.commands.preview import preview
from osmosis_ai.cli.commands.serve import serve, validate
from osmosis_ai.cli.commands.test import try_agent

COMMANDS: dict[str, Callable[..., Any]] = {
    "preview": preview,
    "eval-rubric": eval_rubric,
    "serve": serve,
    "validate": validate,
    "test": try_agent,
    "eval": eval_agent,
}
