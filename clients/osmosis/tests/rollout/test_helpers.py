"""Helpers for agents: tools, messages, registry, settings, validator, network, mock trainer."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from scripted_trainer import Agent

from osmosis_ai import rollout
from osmosis_ai.rollout import network, tools
from osmosis_ai.rollout.core.exceptions import ToolArgumentError


def test_results_of_tools_as_text() -> None:
    for value, text in (
        ("as is", "as is"), (True, "true"), (None, "null"), (3, "3"), (0.5, "0.5"),
        (float("nan"), "nan"), ({"a": "é"}, '{"a": "\\u00e9"}'), ([1], "[1]"),
    ):  # fmt: skip
        assert tools.serialize_tool_result(value) == text
    with pytest.raises(TypeError):
        tools.serialize_tool_result({1})
    assert tools.create_tool_result("c", "x") == {
        "role": "tool", "content": "x", "tool_call_id": "c",
    }  # fmt: skip
    assert tools.create_tool_error_result("c", "no")["content"] == "Error: no"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "Invalid JSON"), ("{", "Invalid JSON"), ("[1]", "Expected dict"),
        ("3", "Expected dict"), (None, "Expected str or dict"), (4, "Expected str or dict"),
    ],
)  # fmt: skip
def test_arguments_that_are_refused(arguments: Any, said: str) -> None:
    with pytest.raises(ToolArgumentError, match=said):
        tools.parse_tool_arguments(arguments)
    call = {"id": "c1", "function": {"name": "f", "arguments": arguments}}
    with pytest.raises(ToolArgumentError) as failed:
        tools.get_tool_call_info(call)
    assert (failed.value.tool_call_id, failed.value.tool_name) == ("c1", "f")


def test_calls_are_taken_apart() -> None:
    assert tools.parse_tool_arguments({"a": 1}) == tools.parse_tool_arguments('{"a": 1}')
    assert tools.get_tool_call_info({}) == ("unknown", "", {})
    assert tools.get_tool_call_info({"id": "c", "function": None}) == ("c", "", {})


def test_calls_are_run_at_once_and_in_order() -> None:
    async def test() -> None:
        both = asyncio.Event()
        started: list[str] = []
        ended: list[str] = []

        async def execute(call: Any) -> dict[str, Any]:
            started.append(call["id"])
            if len(started) == 2:
                both.set()
            try:
                await both.wait()
                if call["id"] == "bad":
                    raise OSError("no")
                return tools.create_tool_result(call["id"], "x")
            finally:
                ended.append(call["id"])

        results = await tools.execute_tool_calls([{"id": "a"}, {"id": "b"}], execute)
        assert [one["tool_call_id"] for one in results] == ["a", "b"]
        assert await tools.execute_tool_calls([], execute) == []
        with pytest.raises(OSError, match="no"):
            await tools.execute_tool_calls([{"id": "bad"}], execute)
        assert sorted(ended) == ["a", "b", "bad"]

    asyncio.run(test())


def test_messages_are_looked_at() -> None:
    said = {"role": "assistant", "content": "x", "tool_calls": [{"id": 1}]}
    assert rollout.parse_tool_calls(said) == [{"id": 1}]
    assert rollout.parse_tool_calls({"tool_calls": None}) == []
    assert rollout.get_message_content(said) == "x"
    assert rollout.get_message_content({"content": [{"text": "x"}]}) == ""
    assert rollout.get_message_role({}) == "unknown"
    assert rollout.is_assistant_message(said)
    assert rollout.is_user_message({"role": "user"})
    assert rollout.is_tool_message({"role": "tool"})
    assert rollout.count_messages_by_role([said, said, {}]) == {"assistant": 2, "unknown": 1}
    for stop, normal in (("a", ["a"]), (["a", 1], ["a", "1"]), (None, None), (("a",), None)):
        assert rollout.normalize_stop(stop) == normal


def test_agents_are_found_by_name() -> None:
    registry = rollout.AgentLoopRegistry()
    agent = Agent()
    registry.register(agent)
    with pytest.raises(ValueError, match="already registered"):
        registry.register(agent)
    assert registry.get("agent") is agent
    assert registry.list_names() == ["agent"]
    assert registry.unregister("agent")
    assert not registry.unregister("agent")
    assert registry.get("agent") is None
    rollout.register_agent_loop(agent)
    try:
        assert rollout.get_agent_loop("agent") is agent
        with pytest.raises(rollout.AgentLoopNotFoundError, match=r"'none'.*agent") as missing:
            rollout.get_agent_loop("none")
        assert (missing.value.name, missing.value.available) == ("none", ["agent"])
    finally:
        assert rollout.unregister_agent_loop("agent")
    assert rollout.list_agent_loops() == []


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


def test_settings_come_from_code_environment_and_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text(
        "OSMOSIS_ROLLOUT_CLIENT_MAX_RETRIES=5\nOSMOSIS_ROLLOUT_CLIENT_TIMEOUT_SECONDS=9\n"
    )
    monkeypatch.setenv("OSMOSIS_ROLLOUT_CLIENT_TIMEOUT_SECONDS", "7")
    monkeypatch.setenv("OSMOSIS_ROLLOUT_SERVER_MAX_CONCURRENT_ROLLOUTS", "3")
    rollout.reset_settings()
    try:
        found = rollout.get_settings()
        assert (found.client.max_retries, found.client.timeout_seconds) == (5, 7)
        assert found.server.max_concurrent_rollouts == 3
        assert rollout.get_settings() is found
        assert rollout.RolloutClientSettings(max_retries=0).max_retries == 0
        monkeypatch.setenv("OSMOSIS_ROLLOUT_CLIENT_MAX_RETRIES", "11")
        with pytest.raises(ValueError, match="less than or equal to 10"):
            rollout.RolloutClientSettings()
        rollout.configure(
            rollout.RolloutSettings(client=rollout.RolloutClientSettings(max_retries=1))
        )
        assert rollout.get_settings().client.max_retries == 1
    finally:
        rollout.reset_settings()


def odd_tools(*more: Any) -> Any:
    return Agent(tools=lambda _: list(more))


class Plain:
    """No agent loop."""

    name: Any = "plain"

    def get_tools(self, request: Any) -> Any:
        assert request.metadata == {"_validation": True}
        return []

    async def run(self, ctx: Any) -> Any:
        return None


def changed(**attributes: Any) -> Any:
    made = Plain()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def raising(request: Any) -> Any:
    raise OSError("no disk")


@pytest.mark.parametrize(
    ("loop", "code"),
    [
        (changed(name=None), "MISSING_NAME"),
        (changed(name=3), "INVALID_NAME_TYPE"),
        (changed(name=" "), "EMPTY_NAME"),
        (changed(get_tools=raising), "GET_TOOLS_EXCEPTION"),
        (changed(get_tools=lambda _: None), "GET_TOOLS_RETURNS_NONE"),
        (changed(get_tools=lambda _: {}), "GET_TOOLS_INVALID_TYPE"),
        (changed(run=None), "MISSING_RUN_METHOD"),
        (changed(run=3), "RUN_NOT_CALLABLE"),
        (changed(run=lambda ctx: None), "RUN_NOT_ASYNC"),
        (odd_tools(3), "INVALID_TOOL_TYPE"),
        (odd_tools({"function": {"name": "x"}}), "MISSING_TOOL_TYPE"),
        (odd_tools({"type": "function"}), "MISSING_FUNCTION"),
        (odd_tools({"type": "function", "function": 3}), "INVALID_FUNCTION_TYPE"),
        (odd_tools({"type": "function", "function": {}}), "MISSING_FUNCTION_NAME"),
        (odd_tools({"type": "function", "function": {"name": 3}}), "INVALID_FUNCTION_NAME"),
        (odd_tools({"type": "function", "function": {"name": "x", "parameters": []}}),
         "INVALID_PARAMETERS_TYPE"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_agent_is_named(loop: Any, code: str) -> None:
    result = rollout.validate_agent_loop(loop)
    assert not result
    assert code in [one.code for one in result.errors]
    with pytest.raises(rollout.AgentLoopValidationError, match=r"1 error\(s\)"):
        result.raise_if_invalid()
    assert str(result.errors[0]).startswith(f"[{code}] ")


def test_what_may_be_wrong_is_a_warning() -> None:
    loop = odd_tools(
        {"type": "retrieval", "function": {"name": "x", "parameters": {"type": "array"}}}
    )
    result = rollout.validate_agent_loop(loop)
    assert result
    assert {one.code for one in result.warnings} == {
        "UNKNOWN_TOOL_TYPE", "MISSING_FUNCTION_DESCRIPTION", "PARAMETERS_TYPE_NOT_OBJECT",
    }  # fmt: skip
    assert (result.agent_name, result.tool_count) == ("agent", 1)

    async def in_a_loop() -> bool:
        async def later(request: Any) -> list[Any]:
            return []

        return bool(rollout.validate_agent_loop(Agent(tools=later)))

    assert asyncio.run(in_a_loop())
    details = rollout.validate_agent_loop(changed(get_tools=raising)).errors[0].details
    assert details == {"exception_type": "OSError", "exception_message": "no disk"}


def test_addresses() -> None:
    for address, valid in (
        ("1.2.3.4", True),
        ("01.2.3.4", False),
        ("1.2.3", False),
        ("::1", False),
    ):
        assert network.validate_ipv4(address) is valid
    for address, private in (
        ("10.0.0.1", True), ("127.0.0.1", True), ("169.254.1.1", True), ("0.0.0.0", True),
        ("fd00::1", True), ("100.64.0.1", False), ("8.8.8.8", False), ("host", False),
    ):  # fmt: skip
        assert network.is_private_ip(address) is private
    for host, valid in (
        ("example.com", True), ("my_host-1:80", True), ("256.1.1.1", True), ("1.2.3.4:65535", True),
        ("::1", True), ("[::1]:80", True), ("", False), ("a:99999", False), ("a:0", False),
        ("-a.com", False), ("a-.com", False), ("a..b", False), ("a" * 64, False),
        (".".join(["a" * 60] * 5), False), ("host\n", False), ("ho st", False), ("a:80:90", False),
    ):  # fmt: skip
        assert network.is_valid_hostname_or_ip(host) is valid, host


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


def test_an_agent_against_the_mock_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    from osmosis_ai.rollout.testing import (
        RolloutCompletionTracker,
        create_mock_trainer_app,
        fake_prompt_token_ids,
        fake_token_ids,
        patch_httpx_for_mock_trainer,
    )

    class Adder(rollout.RolloutAgentLoop):
        name = "adder"

        def get_tools(self, request: Any) -> Any:
            return []

        async def run(self, ctx: Any) -> Any:
            messages = list(ctx.request.messages)
            result = await ctx.chat(messages)
            messages.append(result.message)
            for call in result.tool_calls:
                call_id, name, arguments = tools.get_tool_call_info(call)
                assert (call_id, name) == ("call_mock_add", "add")
                messages.append(tools.create_tool_result(call_id, str(sum(arguments.values()))))
            messages.append((await ctx.chat(messages)).message)
            return ctx.complete(messages)

    async def test() -> None:
        tracker = RolloutCompletionTracker()
        assert not await tracker.wait(0.01)
        app = create_mock_trainer_app(tracker)

        class Client:
            pass

        mock: Any = Client()
        mock.app = app
        patch_httpx_for_mock_trainer(mock, monkeypatch)
        server = rollout.create_app(Adder())
        transport = httpx.ASGITransport(app=server)
        body = {
            "rollout_id": "r",
            "server_url": "http://trainer",
            "messages": [{"role": "user", "content": "Please calculate 5 plus 3"}],
            "completion_params": {},
        }
        async with httpx.AsyncClient(transport=transport, base_url="http://server") as http:
            assert (await http.post("/v1/rollout/init", json=body)).status_code == 202
            assert await tracker.wait()
        (terminal,) = tracker.responses
        assert terminal["final_messages"][-1]["content"] == "The tool says: 8"
        asking = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://t")
        async with asking as http:
            assert (await http.get("/v1/rollout/completed/r")).json() == terminal
            assert (await http.get("/v1/rollout/completed/x")).status_code == 404
            health = (await http.get("/health")).json()
            assert health == {"status": "healthy", "service": "mock-trainer"}
        tracker.clear()
        assert tracker.responses == []
        while server.state.rollouts.active_count:
            await asyncio.sleep(0)

    asyncio.run(test())
    assert fake_token_ids(3) == [0, 1, 2]
    assert len(fake_prompt_token_ids([])) == 10
    assert len(fake_prompt_token_ids([{}] * 3)) == 30
    assert json.dumps(fake_token_ids(2)) == "[0, 1]"
