"""Chooses between HTTP and stdio."""

from typing import TYPE_CHECKING, Literal, NamedTuple

from agent_eval_rpc._settings import Settings
from agent_eval_rpc._transports.stdio import Connector
from agent_eval_rpc.errors import TransportError

if TYPE_CHECKING:
    from agent_eval_rpc._transports.http import HttpTransport

#: How long ``auto`` waits for a server before it runs the engine itself.
PROBE_S = 1.0
#: How long ``http`` waits for the server's greeting.
GREETING_S = 10.0


class Choice(NamedTuple):
    """How calls will be sent, and why."""

    kind: Literal["http", "subprocess"]
    via: "HttpTransport | Connector"
    reason: str


def choose(settings: Settings) -> Choice:
    """Looks for a server as the settings say, and falls back to stdio where they allow it.

    Raises:
        AuthenticationError: A server is there, and refuses the token.
        TransportError: HTTP was asked for, and there is no server to talk to.
    """
    if settings.transport == "subprocess":
        return _stdio(settings, 'transport="subprocess" was asked for')
    # httpx takes long to import, and stdio does not need it.
    from agent_eval_rpc._transports.http import HttpTransport  # noqa: PLC0415

    auto = settings.transport == "auto"
    http = HttpTransport(settings)
    try:
        refusal = http.probe(min(PROBE_S if auto else GREETING_S, settings.timeout_s))
    except BaseException:
        http.close()
        raise
    if refusal is None:
        how = "a server answers" if auto else 'transport="http" was asked for, and a server answers'
        return Choice("http", http, f"{how} at {settings.base_url}")
    http.close()
    if auto:
        return _stdio(settings, refusal.message)
    raise TransportError(
        f"Cannot use HTTP: {refusal.message}. Start a server with `agent-eval serve`, or use "
        'transport="auto".',
        details=refusal.details,
    ) from refusal


def _stdio(settings: Settings, reason: str) -> Choice:
    return Choice("subprocess", Connector(settings.cli_path, settings.cache), reason)
