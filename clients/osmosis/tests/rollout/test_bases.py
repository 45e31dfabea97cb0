"""Bases of agents, and the public address."""

import asyncio
from typing import Any

import pytest
from scripted_trainer import Agent

from osmosis_ai import rollout
from osmosis_ai.rollout import network


def test_L15_abstract_bases_need_no_name() -> None:
    class Base(rollout.RolloutAgentLoop):
        def get_tools(self, request: Any) -> Any:
            return []

    with pytest.raises(TypeError, match="Nameless must define a 'name'"):

        class Nameless(Base):
            async def run(self, ctx: Any) -> Any:
                return None

    with pytest.raises(TypeError, match="must define a 'name'"):

        class Empty(Base):
            name = ""

            async def run(self, ctx: Any) -> Any:
                return None

    with pytest.raises(TypeError, match="abstract"):
        Base()  # type: ignore[abstract]
    (tool,) = Agent(tools=[{"function": {"name": "x"}}]).get_default_tools()
    assert tool.function.name == "x"


def test_A12_the_public_address_is_the_one_that_others_see() -> None:
    async def test() -> None:
        answers = {
            "/bad": "<html>", "/missing": None, "/aws": "203.0.113.7\n", "/gcp": "203.0.113.8",
        }  # fmt: skip

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            method, path, _ = head.split(maxsplit=2)
            text: str | None = answers.get(path)
            if path == "/aws" and "x-aws-ec2-metadata-token: t0ken" not in head:
                text = None
            if path == "/token":
                text = "t0ken" if method == "put" else None
            status = "404 No" if text is None else "200 OK"
            body = (text or "").encode()
            writer.write(
                f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
            )
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

        def sources(*paths: str) -> tuple[network.Source, ...]:
            return tuple(
                network.Source(url + one, token_url=f"{url}/token" if one == "/aws" else None)
                for one in paths
            )

        detect = network.detect_from_cloud_metadata
        assert await detect(sources("/bad", "/missing", "/aws")) == "203.0.113.7"
        assert await network.detect_from_external_services(sources("/gcp")) == "203.0.113.8"
        assert await detect(sources("/bad", "/missing")) is None
        away = (network.Source("http://127.0.0.1:9/"),)
        assert await detect(away) is None
        server.close()

    asyncio.run(test())


def test_A12_no_address_at_all_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none() -> None:
        return None

    monkeypatch.setattr(network, "detect_from_cloud_metadata", none)
    monkeypatch.setattr(network, "detect_from_external_services", none)
    with pytest.raises(network.PublicIPDetectionError, match="Failed to detect public IP"):
        asyncio.run(network.detect_public_ip())
