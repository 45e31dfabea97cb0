"""Agents whose tools are those of an MCP server in a folder."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from osmosis_ai.cli import main

SERVER = """
from fastmcp import FastMCP
from helper import DOUBLE

mcp = FastMCP("numbers")

@mcp.tool
def twice(number: int | str, tags: list[str] | None = None) -> int:
    "Doubles a number."
    return int(number) * DOUBLE

@mcp.tool
def breaks() -> str:
    raise ValueError("no such luck")
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    row = {"user_prompt": "Double it", "system_prompt": "Be nice.", "ground_truth": "x"}
    Path("rows.jsonl").write_text(json.dumps(row))
    for name, factor in (("one", 2), ("two", 3)):
        Path(name).mkdir()
        Path(name, "main.py").write_text(SERVER)
        Path(name, "helper.py").write_text(f"DOUBLE = {factor}\n")
    return tmp_path


def try_out(mcp: str, *more: str) -> int:
    return main(["test", "--mcp", mcp, "-d", "rows.jsonl", "-o", "out.json", *more])


def calling(name: str, arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": "c1", "type": "function", "function": function}
    return {"reply": {"message": {"role": "assistant", "content": None, "tool_calls": [call]}}}


def test_A17_each_folder_has_its_own_modules(provider: ModelServer) -> None:
    path = list(sys.path)
    for name, answer in (("one", "42"), ("two", "63")):
        provider.script([{}, calling("twice", {"number": 21}), {"reply": {"content": "done"}}])
        assert try_out(name) == 0
        said = provider.requests()[-1]["body"]["messages"][-1]
        assert said == {"role": "tool", "content": answer, "tool_call_id": "c1"}
    assert sys.path == path
    assert "helper" not in sys.modules


def test_L14_schemas_are_kept_and_failures_are_told_to_the_model(provider: ModelServer) -> None:
    provider.script(
        [{}, calling("breaks", {}), calling("twice", []), calling("absent", {}),
         {"reply": {"content": "done"}}]
    )  # fmt: skip
    assert try_out("one") == 0
    asked = provider.requests()[1]["body"]
    tools = {one["function"]["name"]: one["function"] for one in asked["tools"]}
    assert tools["twice"]["description"] == "Doubles a number."
    properties = tools["twice"]["parameters"]["properties"]
    assert properties["number"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert properties["tags"]["anyOf"][0]["items"] == {"type": "string"}
    said = [
        one["content"]
        for one in provider.requests()[-1]["body"]["messages"]
        if one["role"] == "tool"
    ]
    assert all(one.startswith("Error: ") for one in said)
    assert "no such luck" in said[0]
    assert "Expected dict" in said[1]


def test_A17_turns_have_an_end(provider: ModelServer) -> None:
    provider.script([{}, {**calling("twice", {"number": 1}), "times": "forever"}])
    assert try_out("one", "--max-turns", "3") == 0
    made = json.loads(Path("out.json").read_text())["results"][0]
    assert (made["finish_reason"], made["token_usage"]["num_llm_calls"]) == ("max_turns", 3)


def test_folders_that_are_no_servers(capsys: Any) -> None:
    for content, said in (
        (None, "must be a folder with a main.py"),
        ("x = 1", "makes no FastMCP server"),
        ("1/0", "failed: ZeroDivisionError"),
        ("def", "failed: SyntaxError"),
    ):
        Path("odd").mkdir(exist_ok=True)
        if content is not None:
            Path("odd/main.py").write_text(content)
        assert try_out("odd") == 1
        assert said in capsys.readouterr().err
    assert main(["test", "-d", "rows.jsonl"]) == 1
    assert "either --module" in capsys.readouterr().err
    assert main(["test", "-d", "rows.jsonl", "--mcp", "one", "-m", "a:b"]) == 1
