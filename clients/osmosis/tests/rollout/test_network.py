"""Addresses: which are valid, and which one the services of a cloud and of the internet tell."""

import asyncio
import contextlib
import ipaddress
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osmosis_ai.rollout import network
from osmosis_ai.rollout.network import Source

Heads = list[tuple[str, str, dict[str, str]]]


@dataclass
class Services:
    """Answers each path with its status and bytes; a path without an answer waits for ever."""

    answers: dict[str, tuple[int, bytes]]
    heads: Heads = field(default_factory=list)
    url: str = ""
    waiting: int = 0

    tasks: "set[asyncio.Task[Any]]" = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            # The asker had its answer from another service, and left.
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split()
        pairs = (line.split(": ", 1) for line in head[1:] if line)
        self.heads.append((method, path, {name.lower(): value for name, value in pairs}))
        if path in self.answers:
            status, body = self.answers[path]
            writer.write(f"HTTP/1.1 {status} Said\r\ncontent-length: {len(body)}\r\n".encode())
            writer.write(b"connection: close\r\n\r\n" + body)
            await writer.drain()
            return
        self.waiting += 1
        await reader.read()
        self.waiting -= 1

    def sources(self, *paths: str) -> tuple[Source, ...]:
        return tuple(Source(self.url + path) for path in paths)


@contextlib.asynccontextmanager
async def services(**answers: "tuple[int, bytes]") -> AsyncIterator[Services]:
    made = Services({f"/{name}": answer for name, answer in answers.items()})
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        await asyncio.gather(*made.tasks, return_exceptions=True)
        # A closed transport is gone in the next turn of the loop.
        await asyncio.sleep(0)


GOOD = (200, b" 203.0.113.7\r\n")


@pytest.mark.parametrize(
    "answer",
    [
        (404, b"203.0.113.9"), (500, b"203.0.113.9"), (204, b""), (200, b""), (200, b"<html>"),
        (200, b"2001:db8::1"), (200, b"203.0.113.256"), (200, b"203.0.113.09"),
        (200, b"203.0.113.9 203.0.113.10"), (200, b"\xff\xfe"), (302, b"203.0.113.9"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "detect", [network.detect_from_cloud_metadata, network.detect_from_external_services]
)
def test_A12_an_answer_that_is_no_address_is_passed_over(
    detect: Any, answer: "tuple[int, bytes]"
) -> None:
    async def test() -> None:
        async with services(odd=answer, good=GOOD) as one:
            assert await detect(one.sources("/odd")) is None
            assert await detect(one.sources("/odd", "/good")) == "203.0.113.7"
            assert await detect(one.sources("/good", "/odd")) == "203.0.113.7"

    asyncio.run(test())


def test_A12_the_first_address_is_taken_and_nobody_is_waited_for() -> None:
    async def test() -> None:
        async with services(good=GOOD) as one:
            sources = one.sources("/never", "/good", "/nor-this")
            assert await network.detect_from_external_services(sources) == "203.0.113.7"
            while one.waiting:
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(test(), 20))


@pytest.mark.parametrize(("limit", "value"), [("_CLOUD_S", 0.05), ("_CLOUD_TOTAL_S", 0.05)])
def test_a_cloud_that_does_not_answer_is_none(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    monkeypatch.setattr(network, limit, value)

    async def test() -> None:
        async with services() as one:
            assert await network.detect_from_cloud_metadata(one.sources("/never")) is None

    # A limit that is not kept would wait for ever.
    asyncio.run(asyncio.wait_for(test(), 20))


def test_each_cloud_sees_the_headers_it_wants() -> None:
    aws, google, azure = network.CLOUD_SOURCES
    assert {one.url.split("/")[2] for one in network.CLOUD_SOURCES} == {"169.254.169.254"}
    assert (google.headers, azure.headers) == ({"Metadata-Flavor": "Google"}, {"Metadata": "true"})
    assert "api-version=2021-02-01&format=text" in azure.url
    assert aws.token_url == "http://169.254.169.254/latest/api/token"
    assert [one.url for one in network.EXTERNAL_SOURCES] == [
        "https://checkip.amazonaws.com", "https://api.ipify.org", "https://icanhazip.com",
        "https://ifconfig.me/ip",
    ]  # fmt: skip

    async def test() -> None:
        async with services(token=(200, b"t0ken\n"), aws=GOOD, google=GOOD) as one:
            detect = network.detect_from_cloud_metadata
            source = Source(f"{one.url}/aws", token_url=f"{one.url}/token")
            assert await detect((source,)) == "203.0.113.7"
            assert await detect((Source(f"{one.url}/google", google.headers),)) == "203.0.113.7"
            (put, path, asked), (get, _, told), (_, _, plain) = one.heads
            assert (put, path, get) == ("PUT", "/token", "GET")
            assert asked["x-aws-ec2-metadata-token-ttl-seconds"] == "60"
            assert told["x-aws-ec2-metadata-token"] == "t0ken"
            assert plain["metadata-flavor"] == "Google"
            assert "x-aws-ec2-metadata-token" not in plain

    asyncio.run(test())


@pytest.mark.parametrize("token", [(403, b"no"), (200, b"t\xc3\xb6ken"), (200, b"a\r\nb: c")])
def test_a_token_that_is_none_ends_that_source_only(token: "tuple[int, bytes]") -> None:
    async def test() -> None:
        async with services(token=token, aws=(200, b"203.0.113.9"), good=GOOD) as one:
            source = Source(f"{one.url}/aws", token_url=f"{one.url}/token")
            detect = network.detect_from_cloud_metadata
            assert await detect((source,)) is None
            assert await detect((source, *one.sources("/good"))) == "203.0.113.7"
            assert "/aws" not in [path for _, path, _ in one.heads]

    asyncio.run(test())


def test_no_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with services(good=GOOD) as one, services() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            monkeypatch.setenv("http_proxy", proxy.url)
            assert await network.detect_from_cloud_metadata(one.sources("/good")) == "203.0.113.7"
            assert proxy.heads == []

    asyncio.run(test())


def test_the_internet_is_asked_where_no_cloud_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cloud() -> "str | None":
        return told.pop(0)

    async def internet() -> "str | None":
        asked.append(1)
        return "203.0.113.8"

    told: list[str | None] = ["203.0.113.7", None]
    asked: list[int] = []
    monkeypatch.setattr(network, "detect_from_cloud_metadata", cloud)
    monkeypatch.setattr(network, "detect_from_external_services", internet)
    assert (asyncio.run(network.detect_public_ip()), asked) == ("203.0.113.7", [])
    assert (asyncio.run(network.detect_public_ip()), asked) == ("203.0.113.8", [1])
    assert issubclass(network.PublicIPDetectionError, Exception)


@given(st.ip_addresses(v=4))
def test_every_ipv4_address_is_a_host(address: ipaddress.IPv4Address) -> None:
    assert network.validate_ipv4(str(address))
    assert network.is_valid_hostname_or_ip(str(address))
    assert network.is_valid_hostname_or_ip(f"{address}:9000")
    assert network.is_private_ip(str(address)) is address.is_private


@given(st.ip_addresses(v=6))
def test_every_ipv6_address_is_a_host(address: ipaddress.IPv6Address) -> None:
    assert not network.validate_ipv4(str(address))
    assert network.is_valid_hostname_or_ip(str(address))
    assert network.is_valid_hostname_or_ip(f"[{address}]:9000")


no_part_of_a_host = st.characters(
    exclude_categories=["L", "N", "Cs"], exclude_characters="._-~:[]%"
)


@given(st.from_regex(r"\A[a-z0-9._-]{1,80}\Z"), no_part_of_a_host)
def test_what_no_host_name_holds_makes_it_none(host: str, odd: str) -> None:
    for text in (host + odd, odd + host, f"{host}{odd}{host}", f"::1%{odd}", f"[::1%{odd}]"):
        assert not network.is_valid_hostname_or_ip(text)


@pytest.mark.parametrize(
    ("host", "valid"),
    [
        ("a" * 63, True), (".".join(["a" * 62] * 4), True), (".".join(["a" * 63] * 4), False),
        ("_dmarc.host_name", True), ("fe80::1%eth0", True), ("[fe80::1%eth0]:80", True),
        ("fe80::1%", False), ("fe80::1%a b", False), ("fe80::1%a\n", False),
        ("[fe80::1%x\r\n]:80", False), ("[host]:80", False), ("[1.2.3.4]", False),
        ("[]", False), ("[::1", False), ("[::1]:", False), ("[::1]:65536", False),
        ("a:", False), ("a:\u0663", False), ("a:65535", True), ("a:65536", False), (":80", False),
    ],
)  # fmt: skip
def test_hosts_at_the_edges(host: str, valid: bool) -> None:
    assert network.is_valid_hostname_or_ip(host) is valid
