"""Commands of the hosted platform, which this distribution does not have."""

from collections.abc import Callable

import typer

_SAYS = "The hosted platform is not part of this distribution: there is nothing to {what}."
_ALONE = {"login": "log in to", "whoami": "be logged in to", "logout": "log out of"}
_FREE = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_hosted(app: typer.Typer) -> None:
    """Adds commands that say so."""
    for name, what in _ALONE.items():
        app.command(name, context_settings=_FREE, help=_SAYS.format(what=what))(_saying(what))
    app.command("workspace", context_settings=_FREE, help=_SAYS.format(what="choose"))(
        _saying("choose")
    )


def _saying(what: str) -> Callable[[typer.Context], None]:
    def say(context: typer.Context) -> None:
        typer.echo(_SAYS.format(what=what), err=True)
        raise typer.Exit(1)

    return say
