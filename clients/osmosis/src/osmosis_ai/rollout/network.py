"""Addresses of this machine: which are valid, which are private, and which one others see."""

import asyncio
import ipaddress
import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_ZONE = re.compile(r"[A-Za-z0-9._~-]+")
_MAX_HOST = 253
_CLOUD_S = 2.0
_CLOUD_TOTAL_S = 6.0
_EXTERNAL_S = 10.0


class PublicIPDetectionError(Exception):
    """No public address was found."""


@dataclass(frozen=True)
class Source:
    """A service that tells the caller's public address as plain text.

    Attributes:
        url: Where it is.
        headers: What it wants to see.
        token_url: Where a token for it is to be fetched first, with ``PUT``.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    token_url: str | None = None


_METADATA = "http://169.254.169.254"
CLOUD_SOURCES = (
    Source(f"{_METADATA}/latest/meta-data/public-ipv4", token_url=f"{_METADATA}/latest/api/token"),
    Source(
        f"{_METADATA}/computeMetadata/v1/instance/network-interfaces/0/access-configs/0/external-ip",
        {"Metadata-Flavor": "Google"},
    ),
    Source(
        f"{_METADATA}/metadata/instance/network/interface/0/ipv4/ipAddress/0/publicIpAddress"
        "?api-version=2021-02-01&format=text",
        {"Metadata": "true"},
    ),
)
EXTERNAL_SOURCES = (
    Source("https://checkip.amazonaws.com"),
    Source("https://api.ipify.org"),
    Source("https://icanhazip.com"),
    Source("https://ifconfig.me/ip"),
)


def validate_ipv4(address: str) -> bool:
    """Whether a text is an IPv4 address in four decimal numbers."""
    try:
        ipaddress.IPv4Address(address)
    except ValueError:
        return False
    return True


def is_private_ip(address: str) -> bool:
    """Whether an address is not reachable from elsewhere; False for what is no address."""
    try:
        return ipaddress.ip_address(address).is_private
    except ValueError:
        return False


def is_valid_hostname_or_ip(host: str) -> bool:
    """Whether a text is a host name, an IPv4 address or an IPv6 address, perhaps with a port.

    Host names are of up to 253 characters; their labels, of up to 63, may hold underscores. An
    IPv6 address with a port stands in brackets.
    """
    bare = _without_port(host)
    if bare is None:
        return False
    if host.startswith("[") or ":" in bare:
        return _is_ipv6(bare)
    try:
        ipaddress.ip_address(bare)
    except ValueError:
        return len(bare) <= _MAX_HOST and all(_LABEL.fullmatch(one) for one in bare.split("."))
    return True


def _is_ipv6(text: str) -> bool:
    # The zone after "%" may hold anything by itself, a line break too.
    address, percent, zone = text.partition("%")
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return not percent or _ZONE.fullmatch(zone) is not None


def _without_port(host: str) -> str | None:
    """The host alone, None where the port is no port."""
    if host.count(":") > 1 and not host.startswith("["):
        return host
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(\d+))?", host, re.DOTALL)
    named = re.fullmatch(r"([^:]*)(?::(\d+))?", host, re.DOTALL)
    found = bracketed or named
    if found is None:
        return None
    port = found[2]
    if port is not None and not (port.isascii() and 0 < int(port[:6]) <= 65_535):
        return None
    return found[1]


async def detect_from_cloud_metadata(
    sources: tuple[Source, ...] = CLOUD_SOURCES,
) -> str | None:
    """The public address that a cloud's metadata service tells, None outside a cloud.

    All are asked at once, 2 s each and 6 s in all.
    """
    try:
        return await asyncio.wait_for(_first(sources, _CLOUD_S), _CLOUD_TOTAL_S)
    except asyncio.TimeoutError:
        return None


async def detect_from_external_services(
    sources: tuple[Source, ...] = EXTERNAL_SOURCES,
) -> str | None:
    """The public address that services on the internet see, None where none answers.

    All are asked at once, 10 s each.
    """
    return await _first(sources, _EXTERNAL_S)


async def detect_public_ip() -> str:
    """The public IPv4 address of this machine.

    Asks the metadata services of clouds first, then services on the internet.

    Raises:
        PublicIPDetectionError: None of them told one.
    """
    found = await detect_from_cloud_metadata() or await detect_from_external_services()
    if found is None:
        raise PublicIPDetectionError(
            "Failed to detect public IP: no metadata service and no service on the internet told "
            "one; name the address yourself"
        )
    return found


async def _first(sources: tuple[Source, ...], seconds: float) -> str | None:
    import httpx  # noqa: PLC0415 - slow to import

    # Proxies would tell their own address, and must not see metadata.
    async with httpx.AsyncClient(timeout=seconds, trust_env=False) as client:
        asking = [asyncio.ensure_future(_ask(client, one)) for one in sources]
        try:
            for answer in asyncio.as_completed(asking):
                found = await _quietly(answer)
                if found is not None:
                    return found
        finally:
            for one in asking:
                one.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
    return None


async def _quietly(answer: Awaitable[str | None]) -> str | None:
    import httpx  # noqa: PLC0415 - slow to import

    try:
        return await answer
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError):
        # A token that no header can hold is a UnicodeError.
        return None


async def _ask(client: "httpx.AsyncClient", source: Source) -> str | None:
    headers = dict(source.headers)
    if source.token_url is not None:
        ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        token = await client.put(source.token_url, headers=ttl)
        if token.status_code != 200:
            return None
        headers["X-aws-ec2-metadata-token"] = token.text.strip()
    answer = await client.get(source.url, headers=headers)
    text = answer.text.strip()
    return text if answer.status_code == 200 and validate_ipv4(text) else None
