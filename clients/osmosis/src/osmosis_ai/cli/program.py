"""The program: its commands, its options, and what ends it."""

from collections.abc import Sequence
from typing import Annotated

import typer
from dotenv import find_dotenv, load_dotenv

from osmosis_ai.cli.commands import COMMANDS
from osmosis_ai.cli.commands.hosted import add_hosted
from osmosis_ai.cli.exits import StoppedBySignal
from osmosis_ai.consts import PACKAGE_VERSION
from osmosis_ai.errors import CLIError

app = typer.Typer(
    name="osmosis",
    help="Reward functions, rubrics and remote rollouts.",
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", help="Show the version.")] = False,
) -> None:
    if version:
        typer.echo(f"osmosis-ai {PACKAGE_VERSION}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(1)


for _name, _command in COMMANDS.items():
    app.command(_name)(_command)
add_hosted(app)


def run(argv: Sequence[str] | None = None) -> int:
    """Runs the command; gives its exit code."""
    load_dotenv(find_dotenv(usecwd=True))
    command = typer.main.get_command(app)
    try:
        command(args=None if argv is None else list(argv), prog_name="osmosis")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except CLIError as error:
        typer.echo(f"Error: {error}", err=True)
        return 1
    except StoppedBySignal as stopped:
        typer.echo("Stopped; the same command takes the run up again.", err=True)
        return stopped.code
    return 0
