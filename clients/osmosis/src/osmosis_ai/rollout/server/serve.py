"""Serves an agent loop over HTTP until it is told to stop."""

import math
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from osmosis_ai.rollout.config.settings import get_settings
from osmosis_ai.rollout.core.base import RolloutAgentLoop
from osmosis_ai.rollout.network import is_private_ip
from osmosis_ai.rollout.server.api_key import generate_api_key
from osmosis_ai.rollout.validator import validate_agent_loop

if TYPE_CHECKING:
    from osmosis_ai.rollout.config.settings import RolloutSettings

REGISTRATION_OFF = "Registration: off (the hosted platform is not part of this distribution)"


class ServeError(Exception):
    """The options can't be served together."""


def serve_agent_loop(  # noqa: PLR0913 - the documented parameters
    agent_loop: RolloutAgentLoop,
    *,
    host: str = "0.0.0.0",  # noqa: S104 - the documented default: trainers are on other machines
    port: int = 9000,
    validate: bool = True,
    log_level: str = "info",
    reload: bool = False,
    settings: "RolloutSettings | None" = None,
    skip_register: bool = False,
    api_key: str | None = None,
    local_debug: bool = False,
    debug_dir: str | None = None,
    record_path: "str | os.PathLike[str] | None" = None,
) -> None:
    """Serves an agent loop until the process is told to stop.

    Args:
        agent_loop: The agent.
        host: Address to listen at.
        port: Port to listen at.
        validate: Look at the agent loop first.
        log_level: Level of the server's log.
        reload: Refused: it needs the import path of the agent loop; ``osmosis serve --reload`` has
            it.
        settings: Settings instead of those of the process.
        skip_register: Accepted for callers of before; registration is off.
        api_key: Key that callers must show; by default a new one, which is printed.
        local_debug: Ask for no key; for this machine only.
        debug_dir: Folder for the events of each rollout; each run of the server has one below it.
            Default ``ROLLOUT_DEBUG_DIR``.
        record_path: SQLite file that makes rollouts outlive a kill, see ``create_app``.

    Raises:
        ImportError: FastAPI or uvicorn is not installed.
        ServeError: The options can't be served together.
        AgentLoopValidationError: The agent loop is not valid.
    """
    uvicorn = uvicorn_module()
    if local_debug and api_key is not None:
        raise ServeError("local_debug asks for no key: leave api_key out")
    if reload:
        raise ServeError("reload needs the import path: use osmosis serve -m MODULE:LOOP --reload")
    if validate:
        validate_agent_loop(agent_loop).raise_if_invalid()
    key = None if local_debug else api_key or generate_api_key()
    folder = debug_folder(debug_dir)
    from osmosis_ai.rollout.server.app import create_app  # noqa: PLC0415 - needs an extra

    app = create_app(
        agent_loop,
        settings=settings,
        api_key=key,
        debug_dir=folder,
        record_path=record_path,
    )
    generated = key if api_key is None else None
    shown = banner(agent_loop.name, host, port, generated, folder)
    sys.stderr.write("\n".join([*shown, ""]))
    grace_s = math.ceil((settings or get_settings()).server.shutdown_grace_seconds)
    uvicorn.run(app, host=host, port=port, log_level=log_level, timeout_graceful_shutdown=grace_s)


def debug_folder(debug_dir: str | None) -> str | None:
    """A folder of this run below the one that is named, in the call or by ``ROLLOUT_DEBUG_DIR``."""
    from osmosis_ai._environment import variable  # noqa: PLC0415 - only where it is served

    named = debug_dir or variable("ROLLOUT_DEBUG_DIR")
    return None if named is None else str(Path(named) / str(int(time.time())))


def banner(name: str, host: str, port: int, generated: str | None, folder: str | None) -> list[str]:
    """What is printed before the server starts."""
    from osmosis_ai._environment import variable  # noqa: PLC0415 - only where it is served

    lines = [f"Agent loop: {name}", f"Address: http://{host}:{port}"]
    public = variable("OSMOSIS_PUBLIC_HOST")
    if public is not None:
        lines.append(f"Public address: http://{public}:{port}")
    elif host not in {"0.0.0.0", "::"} and is_private_ip(host):  # noqa: S104 - compared only
        lines.append("Trainers on other networks can't reach this address.")
    if generated is not None:
        lines.append(f"API key: {generated}")
    lines.append(REGISTRATION_OFF)
    if folder is not None:
        lines.append(f"Events: {folder}")
    return lines


def uvicorn_module() -> Any:
    """The web server.

    Raises:
        ImportError: It, or FastAPI, is not installed.
    """
    try:
        import fastapi  # noqa: F401, PLC0415 - an optional extra
        import uvicorn  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        message = (
            'FastAPI is required, and uvicorn, to serve an agent: pip install "osmosis-ai[server]"'
        )
        raise ImportError(message) from error
    return uvicorn
