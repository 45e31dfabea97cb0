"""Serves an agent loop that is loaded anew when a file changes."""

import json
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from osmosis_ai.rollout.config.settings import get_settings
from osmosis_ai.rollout.server.api_key import generate_api_key
from osmosis_ai.rollout.server.serve import banner, debug_folder, uvicorn_module

if TYPE_CHECKING:
    from fastapi import FastAPI

#: Hands options to the process that uvicorn starts for each version of the files.
_VARIABLE = "OSMOSIS_ROLLOUT_RELOADED"


def serve_reloading(  # noqa: PLR0913 - the options of the command
    module: str,
    *,
    host: str,
    port: int,
    log_level: str,
    api_key: str | None,
    local_debug: bool,
    debug_dir: str | None,
    record_path: Path | None,
) -> None:
    """Serves what ``module`` names until the process is told to stop.

    Args:
        module: ``module:attribute``.
        host: Address to listen at.
        port: Port to listen at.
        log_level: Level of the server's log.
        api_key: Key that callers must show; by default a new one, which is printed.
        local_debug: Ask for no key.
        debug_dir: Folder for the events of each rollout.
        record_path: SQLite file that makes rollouts outlive a kill.
    """
    uvicorn = uvicorn_module()
    key = None if local_debug else api_key or generate_api_key()
    folder = debug_folder(debug_dir)
    options = {
        "module": module,
        "api_key": key,
        "debug_dir": folder,
        "record_path": None if record_path is None else str(record_path),
    }
    os.environ[_VARIABLE] = json.dumps(options)
    generated = key if api_key is None else None
    sys.stderr.write("\n".join([*banner(module, host, port, generated, folder), ""]))
    uvicorn.run(
        f"{__name__}:application",
        factory=True,
        host=host,
        port=port,
        log_level=log_level,
        reload=True,
        timeout_graceful_shutdown=math.ceil(get_settings().server.shutdown_grace_seconds),
    )


def application() -> "FastAPI":
    """The application of the process that was started anew."""
    from osmosis_ai.rollout.eval.loading import load_agent_loop  # noqa: PLC0415 - slow to import
    from osmosis_ai.rollout.server.app import create_app  # noqa: PLC0415 - needs an extra

    # Agents and their children must not find the key in their environment.
    options: dict[str, Any] = json.loads(os.environ.pop(_VARIABLE))
    return create_app(load_agent_loop(options.pop("module")), **options)
