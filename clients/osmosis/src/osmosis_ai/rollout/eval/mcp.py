"""An agent whose tools are those of an MCP server in a folder."""

import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from osmosis_ai.errors import CLIError
from osmosis_ai.rollout.core.base import RolloutAgentLoop, RolloutContext, RolloutResult, Tool
from osmosis_ai.rollout.core.schemas import RolloutRequest
from osmosis_ai.rollout.tools import (
    create_tool_error_result,
    create_tool_result,
    get_tool_call_info,
    serialize_tool_result,
)


def load_mcp_agent(folder: Path) -> "MCPAgentLoop":
    """Makes an agent of ``main.py`` in a folder, which holds a FastMCP server.

    Raises:
        CLIError: fastmcp is not installed, or there is no such server.
    """
    try:
        from fastmcp import FastMCP  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise CLIError('MCP tools need fastmcp: pip install "osmosis-ai[mcp]"') from error
    file = folder / "main.py"
    if not file.is_file():
        raise CLIError(f"'{folder}' must be a folder with a main.py that makes a FastMCP server.")
    module = _loaded(file)
    servers = [one for one in vars(module).values() if isinstance(one, FastMCP)]
    if not servers:
        raise CLIError(f"'{file}' makes no FastMCP server.")
    return MCPAgentLoop(servers[0])


def _loaded(file: Path) -> ModuleType:
    """Runs a file as a module of its own, with its folder on the path while it is read."""
    name = f"_osmosis_mcp_{abs(hash(file.resolve()))}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CLIError(f"'{file}' is not Python.")
    module = importlib.util.module_from_spec(spec)
    with _only_here(file.parent, name):
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise CLIError(f"'{file}' failed: {type(error).__name__}: {error}") from error
    return module


@contextmanager
def _only_here(folder: Path, name: str) -> Iterator[None]:
    """Modules of the folder are found, and are no other folder's modules afterwards."""
    before, path = set(sys.modules), list(sys.path)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = path
        for loaded in set(sys.modules) - before - {name}:
            origin = getattr(sys.modules[loaded], "__file__", None)
            if origin is not None and folder.resolve() in Path(origin).resolve().parents:
                del sys.modules[loaded]


class MCPAgentLoop(RolloutAgentLoop):
    """Has the model call the tools of an MCP server until it calls none, or has no turn left.

    Args:
        server: A FastMCP server; it is spoken to in this process.
    """

    name = "mcp"

    def __init__(self, server: Any) -> None:
        self._server = server

    async def get_tools(self, request: RolloutRequest) -> list[Tool]:
        """The tools of the server."""
        async with self._client() as client:
            tools = await client.list_tools()
        return [
            {
                "type": "function",
                "function": {
                    "name": one.name,
                    "description": one.description or "",
                    "parameters": _input_schema(one),
                },
            }
            for one in tools
        ]

    async def run(self, ctx: RolloutContext) -> RolloutResult:
        """Runs the conversation."""
        messages = list(ctx.request.messages)
        async with self._client() as client:
            for _ in range(ctx.request.max_turns):
                result = await ctx.chat(messages)
                messages.append(result.message)
                if not result.has_tool_calls:
                    return ctx.complete(messages, finish_reason=result.finish_reason)
                for call in result.tool_calls:
                    messages.append(await self._call(client, ctx, call))
        return ctx.complete(messages, finish_reason="max_turns")

    def _client(self) -> Any:
        from fastmcp import Client  # noqa: PLC0415 - an optional extra

        return Client(self._server)

    async def _call(self, client: Any, ctx: RolloutContext, call: dict[str, Any]) -> dict[str, Any]:
        started = time.monotonic()
        call_id = str(call.get("id") or "unknown")
        try:
            call_id, name, arguments = get_tool_call_info(call)
            answer = await client.call_tool(name, arguments)
            return create_tool_result(call_id, _content(answer))
        except Exception as error:  # noqa: BLE001 - the model is told
            return create_tool_error_result(call_id, str(error) or type(error).__name__)
        finally:
            ctx.record_tool_call((time.monotonic() - started) * 1000)


def _input_schema(tool: Any) -> dict[str, Any]:
    schema = getattr(tool, "input_schema", None) or getattr(tool, "inputSchema", None)
    return {"type": "object", "properties": {}, **(schema or {})}


def _content(answer: Any) -> str:
    if getattr(answer, "data", None) is not None:
        try:
            return serialize_tool_result(answer.data)
        except TypeError:
            pass
    texts = [text for one in answer.content if (text := getattr(one, "text", None)) is not None]
    if texts:
        return "\n".join(texts)
    return json.dumps(getattr(answer, "structured_content", None))
