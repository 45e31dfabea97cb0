"""The web application of a rollout server."""

import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from osmosis_ai.rollout.core.base import RolloutAgentLoop
from osmosis_ai.rollout.core.schemas import RolloutRequest
from osmosis_ai.rollout.server.guard import Guard
from osmosis_ai.rollout.server.hosts import HostNotAllowedError, Hosts
from osmosis_ai.rollout.server.intake import (
    Busy,
    Conflict,
    Intake,
    ToolsFailed,
)
from osmosis_ai.rollout.server.state import AppState

if TYPE_CHECKING:
    from fastapi import FastAPI

    from osmosis_ai.rollout.config.settings import RolloutSettings

logger = logging.getLogger(__name__)

Hook = Callable[[], Awaitable[None]]


def create_app(  # noqa: PLR0913, PLR0917 - the documented parameters
    agent_loop: RolloutAgentLoop,
    max_concurrent: int | None = None,
    record_ttl_seconds: float | None = None,
    settings: "RolloutSettings | None" = None,
    credentials: Any = None,
    server_host: str | None = None,
    server_port: int | None = None,
    api_key: str | None = None,
    debug_dir: str | None = None,
    on_startup: Hook | None = None,
    on_shutdown: Hook | None = None,
    *,
    record_path: "str | os.PathLike[str] | None" = None,
) -> "FastAPI":
    """Makes the application that a trainer sends rollouts to.

    Args:
        agent_loop: The agent.
        max_concurrent: Rollouts that run at once; more wait. By default the setting, 100.
        record_ttl_seconds: How long a finished rollout is remembered, so that a repeated request
            is not run again. By default the setting, an hour.
        settings: Settings instead of those of the process.
        credentials: Accepted for callers of before; the hosted platform is not part of this.
        server_host: Likewise.
        server_port: Likewise.
        api_key: Key that ``init`` and ``/platform/health`` ask for; None asks for none.
        debug_dir: Folder for the events of each rollout.
        on_startup: Awaited before the first request.
        on_shutdown: Awaited once every rollout has ended.
        record_path: SQLite file in which rollouts are kept, so that a repeated request is not run
            again after the process was killed, and an interrupted rollout is told to its trainer.

    Raises:
        ImportError: FastAPI is not installed.
        RecordsError: ``record_path`` can't be used.
    """
    try:
        from fastapi import FastAPI  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        message = 'FastAPI is required for a rollout server: pip install "osmosis-ai[server]"'
        raise ImportError(message) from error

    if api_key == "":
        logger.warning("The API key is empty: everybody may start rollouts")
        api_key = None
    if credentials is not None:
        logger.info("Registration with the hosted platform is off: it is not part of this package")
    records = None
    if record_path is not None:
        from osmosis_ai.rollout.server.records import Records  # noqa: PLC0415 - only where asked

        records = Records(record_path)
    state = AppState(max_concurrent, record_ttl_seconds, settings, records)
    intake = Intake(agent_loop, state, debug_dir)

    @contextlib.asynccontextmanager
    async def lifespan(_: "FastAPI") -> AsyncIterator[None]:
        state.start_cleanup_task()
        await intake.recover()
        if on_startup is not None:
            await on_startup()
        try:
            yield
        finally:
            # Rollouts end first: they may use what on_shutdown closes.
            await state.cancel_all()
            if on_shutdown is not None:
                await on_shutdown()
            await state.stop_cleanup_task()
            if records is not None:
                records.close()

    app = FastAPI(title=f"Rollout server: {agent_loop.name}", lifespan=lifespan)
    allowed = state.settings.server.allowed_hosts
    _add_routes(app, intake, Hosts(allowed.split(",") if allowed else None), api_key)
    app.add_middleware(Guard, api_key=api_key, max_body_bytes=state.settings.server.max_body_bytes)
    app.state.rollouts = state
    return app


def _add_routes(app: "FastAPI", intake: Intake, hosts: Hosts, api_key: str | None) -> None:
    from fastapi.responses import JSONResponse  # noqa: PLC0415 - an optional extra

    def failed(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
        return JSONResponse({"detail": detail}, status, headers)

    def health() -> dict[str, Any]:
        return {
            "status": "healthy",
            "agent_loop": intake.loop.name,
            "active_rollouts": intake.state.active_count,
            "completed_rollouts": intake.state.completed_count,
        }

    @app.post("/v1/rollout/init", status_code=202)
    async def init(request: RolloutRequest) -> JSONResponse:
        try:
            await hosts.check(request.server_url)
            response = await intake.take(request)
        except HostNotAllowedError as error:
            return failed(422, str(error))
        except Conflict as error:
            return failed(409, str(error))
        except Busy as error:
            return failed(503, str(error), {"retry-after": str(error.retry_after_s)})
        except ToolsFailed as error:
            return failed(500, str(error))
        return JSONResponse(response.model_dump(mode="json"), 202)

    @app.get("/health")
    async def healthy() -> dict[str, Any]:
        return health()

    @app.get("/platform/health", response_model=None)
    async def platform_healthy() -> Any:
        return health() if api_key is not None else failed(404, "Not found")
