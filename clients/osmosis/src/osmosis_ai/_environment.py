"""The only reader of the environment."""

import os
from urllib.parse import urlsplit

_ENGINE_PREFIXES = ("AGENT_EVAL_", "AZURE_")
_ENGINE_SUFFIXES = ("_BASE_URL", "_API_BASE", "_PROXY", "_proxy")


def variable(name: str) -> str | None:
    """A variable without white space around it; None where it is unset or blank."""
    return os.environ.get(name, "").strip() or None


def engine_settings() -> frozenset[tuple[str, str]]:
    """What of the environment decides where the engine sends requests, keys excepted."""
    return frozenset(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith(_ENGINE_PREFIXES) or name.endswith(_ENGINE_SUFFIXES)
    )


def settings_with(prefix: str) -> dict[str, str]:
    """Variables that start with a prefix, without it and in lower case; ``.env`` fills gaps."""
    from dotenv import dotenv_values  # noqa: PLC0415 - slow to import

    set_here = {name: value for name, value in os.environ.items() if value.strip()}
    found = {**dotenv_values(".env"), **set_here}
    return {
        name[len(prefix) :].lower(): value
        for name, value in found.items()
        if name.upper().startswith(prefix) and value
    }


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address; never for this machine's own."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - slow to import

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in {"localhost", "::1"} or host.startswith("127.") or proxy_bypass(host):
        return None
    proxies = getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all")
    return f"http://{found}" if found and "://" not in found else found
