"""``osmosis serve`` and ``osmosis validate``."""

from pathlib import Path
from typing import Annotated

import typer

from osmosis_ai.cli.options import Module
from osmosis_ai.errors import CLIError


def serve(  # noqa: PLR0913, PLR0917 - the options of the command
    module: Module,
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65_535)] = 9000,
    host: Annotated[str, typer.Option("--host", "-H")] = "0.0.0.0",  # noqa: S104 - documented
    no_validate: Annotated[
        bool, typer.Option("--no-validate", help="Serve without looking at the agent loop first.")
    ] = False,
    reload: Annotated[bool, typer.Option("--reload", help="Restart when a file changes.")] = False,
    log_level: Annotated[str, typer.Option("--log-level")] = "info",
    skip_register: Annotated[
        bool, typer.Option("--skip-register", help="Accepted; registration is always off.")
    ] = False,
    local: Annotated[
        bool, typer.Option("--local", "--local-debug", help="Ask for no key.")
    ] = False,
    api_key: Annotated[
        str | None,
        typer.Option("--api-key", envvar="OSMOSIS_ROLLOUT_API_KEY", show_envvar=True,
                     help="Key that callers must show; by default a new one. Prefer the variable."),
    ] = None,
    log: Annotated[
        str | None, typer.Option("--log", help="Folder for the events of each rollout.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="SQLite file that makes rollouts outlive a kill.")
    ] = None,
) -> None:  # fmt: skip
    """Serve an agent loop to trainers."""
    from osmosis_ai.rollout.eval.loading import load_agent_loop  # noqa: PLC0415 - slow to import
    from osmosis_ai.rollout.server import reloading  # noqa: PLC0415
    from osmosis_ai.rollout.server import serve as serving  # noqa: PLC0415
    from osmosis_ai.rollout.server.records import RecordsError  # noqa: PLC0415
    from osmosis_ai.rollout.validator import AgentLoopValidationError  # noqa: PLC0415

    loop = load_agent_loop(module)
    try:
        if reload:
            reloading.serve_reloading(
                module, host=host, port=port, log_level=log_level,
                api_key=None if local else api_key, local_debug=local, debug_dir=log,
                record_path=record,
            )  # fmt: skip
            return
        serving.serve_agent_loop(
            loop, host=host, port=port, validate=not no_validate, log_level=log_level,
            skip_register=skip_register, api_key=api_key, local_debug=local, debug_dir=log,
            record_path=record,
        )  # fmt: skip
    except (serving.ServeError, AgentLoopValidationError, RecordsError, ImportError) as error:
        raise CLIError(str(error)) from error


def validate(
    module: Module,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show warnings too.")] = False,
) -> None:
    """Look whether an agent loop can be served."""
    from osmosis_ai.rollout.eval.loading import load_agent_loop  # noqa: PLC0415 - slow to import
    from osmosis_ai.rollout.validator import validate_agent_loop  # noqa: PLC0415

    result = validate_agent_loop(load_agent_loop(module))
    for error in result.errors:
        typer.echo(f"error: {error}")
    if verbose:
        for warning in result.warnings:
            typer.echo(f"warning: {warning}")
    if not result:
        typer.echo(f"The agent loop is not valid: {len(result.errors)} error(s).")
        raise typer.Exit(1)
    typer.echo(f"The agent loop '{result.agent_name}' is valid, with {result.tool_count} tool(s).")
