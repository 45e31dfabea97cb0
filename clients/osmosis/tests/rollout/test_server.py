"""What a rollout server lets in, and what it answers."""

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from scripted_trainer import FAST, Agent, served, trainer

from osmosis_ai.rollout import RolloutRequest, create_app
from osmosis_ai.rollout.file_names import file_name_of
from osmosis_ai.rollout.server.api_key import generate_api_key, key_in_header, validate_api_key
from osmosis_ai.rollout.server.hosts import HostNotAllowedError, Hosts

INIT = "/v1/rollout/init"


def test_L5_the_key_is_asked_for_before_the_body_is_read() -> None:
    async def test() -> None:
        async with served(Agent(), api_key="right") as server:
            for headers in ({}, {"authorization": "Bearer wrong"}):
                answer = await server.http.post(INIT, content=b"{", headers=headers)
                assert answer.status_code == 401
                assert answer.json() == {"detail": "Invalid or missing API key"}
            # Not a byte of the body was sent, and the answer is there.
            port = server.http.base_url.port
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /v1/rollout/init HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
            assert b" 401 " in await asyncio.wait_for(reader.readline(), 5)
            writer.close()
            right = {"authorization": "Bearer right"}
            assert (await server.http.post(INIT, content=b"{", headers=right)).status_code == 422
            assert (await server.http.get(INIT, headers=right)).status_code == 405

    asyncio.run(test())


def test_L5_an_application_below_another_asks_for_its_key_too() -> None:
    async def test() -> None:
        from fastapi import FastAPI
        from httpx import ASGITransport, AsyncClient

        outer = FastAPI()
        outer.mount("/agents/one", create_app(Agent(), api_key="right"))
        async with AsyncClient(transport=ASGITransport(outer), base_url="http://x") as http:
            path = "/agents/one/v1/rollout/init"
            assert (await http.post(path, content=b"{")).status_code == 401
            right = {"authorization": "Bearer right"}
            assert (await http.post(path, content=b"{", headers=right)).status_code == 422
            assert (await http.get("/agents/one/platform/health")).status_code == 401
            assert (await http.get("/agents/one/health")).status_code == 200

    asyncio.run(test())


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        (b"Bearer right", True),
        (b"bEARER   right", True),
        (b"right", True),
        (b"Bearer right more", False),
        (b"Basic right", False),
        (b"Bearer", False),
        (b"Bearer \xff\xc3\xa9", False),
        (b"", False),
        (None, False),
    ],
)
def test_L4_headers_of_every_kind(header: bytes | None, allowed: bool) -> None:
    assert validate_api_key(key_in_header(header), "right") is allowed


def test_L4_a_header_that_is_not_ascii_is_unauthorized() -> None:
    async def test() -> None:
        async with served(Agent(), api_key="clé") as server:
            for value, status in ((b"Bearer \xff", 401), ("Bearer clé".encode(), 202)):
                headers = {"authorization": value}
                async with trainer() as one:
                    answer = await server.init(one.url, headers=headers)
                    assert answer.status_code == status

    asyncio.run(test())


def test_keys_are_new_each_time() -> None:
    assert generate_api_key() != generate_api_key()
    assert generate_api_key().startswith("osm_rollout_")
    assert not validate_api_key(None, "x")


def test_the_platform_health_needs_the_key() -> None:
    async def test() -> None:
        async with served(Agent(), api_key="right") as server:
            assert (await server.http.get("/platform/health")).status_code == 401
            right = {"authorization": "Bearer right"}
            health = await server.http.get("/platform/health", headers=right)
            assert health.json() == (await server.http.get("/health")).json()
        async with served(Agent()) as server:
            answer = await server.http.get("/platform/health")
            assert (answer.status_code, answer.json()) == (404, {"detail": "Not found"})

    asyncio.run(test())


def test_a_body_has_a_limit_with_and_without_a_length() -> None:
    async def test() -> None:
        settings = FAST.model_copy(deep=True)
        settings.server.max_body_bytes = 2000

        async def chunks() -> Any:
            for _ in range(50):
                yield b"x" * 100

        async with served(Agent(), settings=settings) as server:
            for content in (b"x" * 3000, chunks()):
                answer = await server.http.post(INIT, content=content)
                assert answer.status_code == 413
                assert "2000 bytes" in answer.json()["detail"]
            async with trainer() as one:
                assert (await server.init(one.url)).status_code == 202

    asyncio.run(test())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rollout_id": ""}, "string_too_short"),
        ({"rollout_id": "  "}, "cannot be empty or whitespace"),
        ({"rollout_id": "x" * 257}, "string_too_long"),
        ({"server_url": "ftp://x"}, "http or https"),
        ({"server_url": "http://"}, "http or https"),
        ({"server_url": "http://[::1"}, "server_url"),
        ({"messages": {}}, "list_type"),
        ({"completion_params": None}, "dict_type"),
        ({"metadata": {"a": "é" * 600_000}}, "exceeds maximum"),
    ],
)
def test_requests_that_are_refused(change: dict[str, Any], said: str) -> None:
    async def test() -> None:
        async with served(Agent()) as server:
            body = {
                "rollout_id": "r",
                "server_url": "http://127.0.0.1:9",
                "messages": [],
                "completion_params": {},
                **change,
            }
            answer = await server.http.post(INIT, json=body)
            assert answer.status_code == 422
            assert said in answer.text

    asyncio.run(test())


def test_unknown_fields_are_ignored() -> None:
    async def test() -> None:
        async with trainer() as one, served(Agent()) as server:
            assert (await server.init(one.url, later="x")).status_code == 202
            await one.terminal()

    asyncio.run(test())


@pytest.mark.parametrize(
    ("url", "allowed", "fine"),
    [
        ("http://127.0.0.1:9", None, True),
        ("http://10.0.0.7", None, True),
        ("http://169.254.169.254/latest", None, False),
        ("http://169.254.1.1", None, False),
        ("http://[fe80::1%25eth0]", None, False),
        ("http://[::ffff:169.254.169.254]", None, False),
        ("http://[fd00:ec2::254]", None, False),
        ("http://[64:ff9b::a9fe:a9fe]", None, False),
        ("http://[2002:a9fe:a9fe::1]", None, False),
        ("http://[64:ff9b::a00:7]", None, True),
        ("http://2852039166", None, False),
        ("http://metadata.google.internal.", None, False),
        ("http://100.100.100.200", None, False),
        ("http://localhost:9", None, True),
        ("http://nowhere.invalid", None, True),
        ("http://a.example", ["a.example"], True),
        ("http://A.EXAMPLE:80", ["a.example"], True),
        ("http://a.example:80", ["a.example:81"], False),
        ("http://x.b.example", ["*.b.example"], True),
        ("http://b.example", ["*.b.example"], False),
        ("http://evilb.example", ["*.b.example"], False),
        ("http://a.example@evil.example", ["a.example"], False),
        ("http://127.0.0.1:9", ["a.example"], False),
        ("http://169.254.169.254", ["169.254.169.254"], True),
        ("http://a.example", ["a.example:80"], True),
        ("https://a.example", ["a.example:443"], True),
        ("https://a.example", ["a.example:80"], False),
        ("http://[::1]:9", ["[::1]:9"], True),
        ("http://[::1]:8", ["[::1]:9"], False),
        ("http://[::1]:8", ["[::1]"], True),
        ("http://[::1]:8", ["::1"], True),
    ],
)
def test_L15_trainers_that_a_server_speaks_to(
    url: str, allowed: list[str] | None, fine: bool
) -> None:
    async def refused() -> bool:
        try:
            await Hosts(allowed).check(url)
        except HostNotAllowedError:
            return True
        return False

    assert asyncio.run(refused()) is not fine


def test_L15_a_name_that_leads_to_a_metadata_address(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async def found(*_: Any, **__: Any) -> list[Any]:
            return [(socket.AF_INET, 1, 6, "", ("169.254.169.254", 0))]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found)
        with pytest.raises(HostNotAllowedError, match="link-local or metadata"):
            await Hosts().check("http://innocent.example")

    asyncio.run(test())


def test_L15_a_refused_trainer_is_a_422_and_an_allowed_one_works() -> None:
    async def test() -> None:
        settings = FAST.model_copy(deep=True)
        settings.server.allowed_hosts = "trainer.example, 127.0.0.1"
        async with trainer() as one, served(Agent(), settings=settings) as server:
            answer = await server.init("http://169.254.169.254")
            assert answer.status_code == 422
            assert "not one of those allowed" in answer.json()["detail"]
            assert (await server.init(one.url)).status_code == 202
            await one.terminal()

    asyncio.run(test())


@pytest.mark.parametrize(
    "rollout_id",
    [
        "plain-1_A",
        "../evil",
        "/etc/passwd",
        "..",
        ".",
        "a/b",
        "a\x00b",
        "é" * 200,
        "x" * 256,
        "\ud800",
    ],
)
def test_L3_names_of_files_stay_in_their_folder(rollout_id: str, tmp_path: Path) -> None:
    name = file_name_of(rollout_id)
    assert (tmp_path / name).resolve().parent == tmp_path.resolve()
    assert len(name.encode()) <= 200
    assert name not in {"", ".", ".."}


def test_L3_ids_that_differ_have_files_that_differ() -> None:
    ids = ["a/b", "a_b", "a\\b", "a b", "a.b", "../a_b", "rollout", "/", "\\"]
    assert len({file_name_of(one) for one in ids}) == len(ids)


def test_L3_events_of_a_rollout_are_written_below_the_debug_folder(tmp_path: Path) -> None:
    async def test() -> None:
        def log(ctx: Any, messages: list[Any]) -> Any:
            assert ctx.debug_enabled
            ctx.log_event("turn", at=Path("x"), n=1)
            return ctx.complete(messages)

        folder = tmp_path / "deep" / "events"
        async with trainer() as one:
            async with served(Agent(then=log), debug_dir=str(folder)) as server:
                await server.init(one.url, "../evil")
                await one.terminal()
        (file,) = folder.iterdir()
        line = {"event": "turn", "rollout_id": "../evil", "at": "x", "n": 1}
        assert json.loads(file.read_text()) == line
        assert [one.name for one in tmp_path.iterdir()] == ["deep"]

    asyncio.run(test())


def test_the_key_of_a_trainer_is_in_no_repr() -> None:
    request = RolloutRequest(
        rollout_id="r",
        server_url="http://x",
        messages=[],
        completion_params={},
        api_key="canary",
    )
    assert "canary" not in repr(request)


def test_A11_registration_is_off_and_says_so(caplog: pytest.LogCaptureFixture) -> None:

    caplog.set_level("INFO")
    create_app(Agent(), credentials=object(), server_host="0.0.0.0", server_port=9000)
    assert "Registration with the hosted platform is off" in caplog.text
