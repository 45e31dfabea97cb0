"""Options of a client, resolved once: argument, then environment, then default.

The only reader of the environment.
"""

import math
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agent_eval_rpc.errors import ValidationError

DEFAULT_BASE_URL = "http://127.0.0.1:5005"
MAX_TIMEOUT_S = 86_400.0
TRANSPORTS = ("auto", "http", "subprocess")


@dataclass(frozen=True)
class Settings:
    """What a client was told, with gaps filled.

    Attributes:
        base_url: Address of the server, without a slash at the end.
        cli_path: The engine to run, None to look for one.
        transport: ``"auto"``, ``"http"`` or ``"subprocess"``.
        timeout_s: Deadline of a call.
        token: Bearer token of the server.
        max_retries: How often a call is sent again when the engine did not take it.
        cache: File for remembered verdicts of an engine that the client starts.
    """

    base_url: str
    cli_path: str | None
    transport: str
    timeout_s: float
    token: str | None = field(repr=False)
    max_retries: int
    cache: str | None = None

    @property
    def proxied(self) -> bool:
        """Whether the environment names a proxy for the address."""
        from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - slow to import

        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        if host in {"localhost", "::1"} or host.startswith("127."):
            # A proxy cannot reach this machine's own loopback.
            return False
        proxies = getproxies()
        return (parts.scheme in proxies or "all" in proxies) and not proxy_bypass(host)


def resolve_settings(  # noqa: PLR0913 - the options of a client
    *,
    base_url: str | None,
    cli_path: "str | os.PathLike[str] | None",
    transport: str,
    timeout_s: float,
    token: str | None,
    max_retries: int,
    cache: "str | os.PathLike[str] | None" = None,
) -> Settings:
    """Fills gaps from ``AGENT_EVAL_BASE_URL``, ``AGENT_EVAL_CLI`` and ``AGENT_EVAL_TOKEN``.

    Raises:
        ValidationError: An option is not usable; the message names it.
    """
    if transport not in TRANSPORTS:
        allowed = ", ".join(f'"{one}"' for one in TRANSPORTS)
        raise ValidationError(f"transport must be one of {allowed}, or a transport object.")
    cli = _env("AGENT_EVAL_CLI") if cli_path is None else os.fspath(cli_path)
    url = check_base_url(base_url or _env("AGENT_EVAL_BASE_URL") or DEFAULT_BASE_URL)
    return Settings(
        base_url=url,
        cli_path=cli or None,
        transport=transport,
        timeout_s=check_timeout(timeout_s),
        token=_check_token(token or _env("AGENT_EVAL_TOKEN")),
        max_retries=_check_retries(max_retries),
        cache=None if cache is None else os.path.abspath(os.fspath(cache)),
    )


def engine_from_env() -> str | None:
    """The engine that the environment names."""
    return _env("AGENT_EVAL_CLI")


def search_path() -> list[str]:
    """The folders of PATH."""
    return [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]


def engine_environment(version: str) -> dict[str, str]:
    """The environment for an engine in this process's place; ``doctor`` compares versions."""
    return {**os.environ, "AGENT_EVAL_CLIENT": f"agent-eval-rpc/{version}"}


def caching_environment(cache: str | None) -> dict[str, str] | None:
    """The environment for an engine that remembers verdicts in a file; None for this one's own."""
    return None if cache is None else {**os.environ, "AGENT_EVAL_CACHE": cache}


def check_timeout(timeout_s: object) -> float:
    """Refuses what is no time span."""
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)):
        raise ValidationError("timeout_s must be a number of seconds.")
    if not math.isfinite(timeout_s) or not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise ValidationError(f"timeout_s must be over 0 and at most {MAX_TIMEOUT_S:.0f} seconds.")
    return float(timeout_s)


def check_base_url(base_url: str) -> str:
    """Refuses what is no address of a server. Never repeats it: it may hold a password."""
    try:
        parts = urlsplit(base_url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        valid, parts = False, urlsplit("")
    if not valid or any(ord(char) <= 32 for char in base_url):
        raise ValidationError('base_url must be like "http://127.0.0.1:5005".')
    if parts.username is not None or parts.query or parts.fragment:
        message = "base_url must not hold a user, a query or a fragment: give a secret as token."
        raise ValidationError(message)
    return base_url.rstrip("/")


def _check_retries(max_retries: object) -> int:
    if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
        raise ValidationError("max_retries must be an integer of at least 0.")
    return max_retries


def _check_token(token: str | None) -> str | None:
    if token is None:
        return None
    if not token.isascii() or any(ord(char) <= 32 or ord(char) == 127 for char in token):
        raise ValidationError("token must be visible ASCII characters without spaces.")
    return token


def _env(name: str) -> str | None:
    return os.environ.get(name) or None
