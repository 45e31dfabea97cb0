"""Which trainers a server will speak to: no request may have it ask what is not meant for it."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

#: Names that clouds give to the services which hand out credentials.
_METADATA_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "metadata.azure.com"}
)
_METADATA_ADDRESSES = tuple(
    ipaddress.ip_address(one)
    for one in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192")
)


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class HostNotAllowedError(ValueError):
    """A request names a trainer that this server does not speak to."""


class Hosts:
    """The hosts that ``server_url`` may name.

    Args:
        allowed: Host names, each with or without a port, or ``*.`` before a domain; None allows
            every host but link-local and metadata addresses.
    """

    def __init__(self, allowed: Iterable[str] | None = None) -> None:
        self._allowed = None if allowed is None else [one.strip().lower() for one in allowed if one]

    async def check(self, server_url: str) -> None:
        """Refuses a host, also one whose name leads to a refused address.

        Raises:
            HostNotAllowedError: The server does not speak to it.
        """
        parts = urlsplit(server_url)
        host = (parts.hostname or "").rstrip(".")
        if self._allowed is not None:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            if not any(_matches(one, host, port) for one in self._allowed):
                raise HostNotAllowedError(
                    f"server_url names the host {host!r}, not one of those allowed"
                )
            return
        if host in _METADATA_NAMES or any(map(_refused, await _addresses(host))):
            raise HostNotAllowedError(
                f"server_url names {host!r}, a link-local or metadata address; "
                "name it in allowed_hosts if it is meant"
            )


def _matches(allowed: str, host: str, port: int) -> bool:
    name, wanted = allowed, ""
    if allowed.startswith("[") or allowed.count(":") == 1:
        name, _, wanted = allowed.partition("]:" if allowed.startswith("[") else ":")
    if wanted and wanted != str(port):
        return False
    if name.startswith("*."):
        return host.endswith(name[1:])
    return host == name.strip("[]")


async def _addresses(host: str) -> list[str]:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            # A name that leads nowhere is found out when the trainer is spoken to.
            return []
        return [str(one[4][0]) for one in found]
    return [host]


def _refused(address: str) -> bool:
    ip = _within(ipaddress.ip_address(address.partition("%")[0]))
    return ip.is_link_local or ip.is_multicast or ip in _METADATA_ADDRESSES


def _within(ip: _Address) -> _Address:
    """The IPv4 address that an IPv6 address leads to, where it is of such a kind."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip
