"""Every runnable piece of code of the two documents runs as it is written."""

import ast
import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import snippets
from model_server import ModelServer
from scripted_trainer import served, trainer

import osmosis_ai
from osmosis_ai import evaluate_rubric, osmosis_reward, osmosis_rubric

NO_MODEL = {"status": 404, "reply": {"json": {"error": {"code": "model_not_found"}}}}


def run(code: str, folder: Path) -> str:
    """Runs code as a program of its own; gives what it printed."""
    file = folder / "snippet.py"
    file.write_text(code)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(file)],
        cwd=folder,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("snippet", "decorator", "arguments"),
    [
        (snippets.REWARD_SIGNATURE, osmosis_reward, ("s", "g")),
        (snippets.RUBRIC_SIGNATURE, osmosis_rubric, ("s", None, {})),
    ],
)
def test_bare_signatures_are_taken(
    snippet: snippets.Snippet, decorator: Any, arguments: tuple[Any, ...]
) -> None:
    scope: dict[str, Any] = {decorator.__name__: decorator}
    exec(f"{snippet.whole}:\n    return 0.5\n", scope)
    assert scope["function_name"](*arguments) == 0.5


def test_the_signature_of_evaluate_rubric() -> None:
    scope: dict[str, Any] = {}
    exec(f"{snippets.EVALUATE_SIGNATURE.whole}:\n    return 0.5\n", scope)
    documented = inspect.signature(scope["evaluate_rubric"]).parameters
    ours = inspect.signature(evaluate_rubric).parameters
    assert list(ours) == list(documented)
    for name, parameter in documented.items():
        assert ours[name].default == parameter.default
        assert ours[name].kind is parameter.kind


@pytest.mark.parametrize(
    "snippet",
    [
        snippets.REWARD,
        snippets.RUBRIC,
        snippets.EVALUATE,
        snippets.MODEL_INFO_TYPE,
        snippets.MODEL_INFO_TOP,
        snippets.RESULT_TYPE,
    ],
    ids=lambda one: one.name,
)
def test_programs_run(provider: ModelServer, tmp_path: Path, snippet: snippets.Snippet) -> None:
    assert run(snippet.whole, tmp_path) == ""
    assert len(provider.requests()) == (snippet is snippets.EVALUATE)


def test_the_functions_of_the_snippets_score(provider: ModelServer) -> None:
    scope: dict[str, Any] = {}
    exec(snippets.REWARD.whole + snippets.RUBRIC.whole, scope)
    assert scope["exact_match"]("a ", "a") == 1.0
    assert scope["quality_check"]("a", None, {}) == 0.8
    assert provider.requests()[0]["path"].endswith("/responses")


def test_the_structure_of_model_info_is_taken(provider: ModelServer) -> None:
    info = eval(snippets.MODEL_INFO.whole)
    assert evaluate_rubric("r", "s", info) == 0.8
    assert dict(provider.requests()[0]["headers"])["authorization"] == "Bearer sk-..."


def test_results_have_both_documented_forms(provider: ModelServer) -> None:
    payload = eval(snippets.RESULT_RAW_PAYLOAD.whole)
    scope: dict[str, Any] = {}
    exec(snippets.RESULT_TYPE.whole, scope)
    result = evaluate_rubric(
        "r", "s", {"provider": "openai", "model": "gpt-5"}, return_details=True
    )
    assert set(result) == set(payload) | set(scope["result"])
    assert isinstance(result["raw_payload"], dict)


def test_missing_keys_are_caught_as_documented(
    provider: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    code = f"from osmosis_ai import evaluate_rubric\n{snippets.MISSING_KEY.whole}"
    shown = run(code, tmp_path)
    assert shown.startswith("API key not found: Environment variable 'OPENAI_API_KEY' is not set.")


@pytest.mark.parametrize(
    ("snippet", "step", "said"),
    [
        (snippets.PROVIDER_ERROR, {"status": 401}, "Provider error: "),
        (snippets.PROVIDER_ERROR, NO_MODEL, "Provider error: "),
        (snippets.MODEL_NOT_FOUND, NO_MODEL, "Model not found: "),
        (snippets.PROVIDER_ERROR, {}, ""),
    ],
)  # fmt: skip
def test_failures_are_caught_as_documented(
    provider: ModelServer, tmp_path: Path, snippet: snippets.Snippet, step: Any, said: str
) -> None:
    provider.script([{**step, "times": "forever"}])
    shown = run(f"from osmosis_ai import evaluate_rubric\n{snippet.whole}", tmp_path)
    assert shown.startswith(said)
    assert bool(shown) is bool(said)


def test_the_complete_example(
    provider: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-fake-from-env-file\n")
    assert run(snippets.COMPLETE.whole, tmp_path) == "Exact match: 0.0\nSemantic: 0.8\n"
    headers = dict(provider.requests()[0]["headers"])
    assert headers["authorization"] == "Bearer sk-fake-from-env-file"


def test_the_minimal_agent_runs_end_to_end() -> None:
    scope: dict[str, Any] = {"__name__": "snippet"}
    exec(snippets.MINIMAL_AGENT.whole, scope)
    assert scope["app"].title == "Rollout server: my_agent"

    async def test() -> None:
        async with trainer() as one, served(scope["MyAgent"]()) as server:
            answer = await server.init(one.url)
            function = answer.json()["tools"][0]["function"]
            assert function["name"] == "search"
            (terminal,) = await one.terminal()
            assert terminal["status"] == "COMPLETED"
            assert terminal["final_messages"][-1] == {"role": "assistant", "content": "ok"}

    asyncio.run(test())


def test_the_utility_modules_have_their_names() -> None:
    from osmosis_ai.rollout import messages, network, tools, utils

    for module, names in (
        (tools, ["get_tool_call_info", "create_tool_result"]),
        (messages, ["get_message_content", "is_assistant_message"]),
        (utils, ["get_message_content", "is_assistant_message"]),
        (network, ["detect_public_ip", "validate_ipv4"]),
    ):
        for name in names:
            assert callable(getattr(module, name))


def test_every_exported_name_loads() -> None:
    from osmosis_ai import rollout

    for package in (osmosis_ai, rollout):
        assert len(package.__all__) == len(set(package.__all__))
        for name in package.__all__:
            assert getattr(package, name) is not None
        assert {*dir(package)} >= {*package.__all__} - {"__version__"}
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = osmosis_ai.Nothing


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import osmosis_ai", ["pydantic", "httpx", "agent_eval_rpc", "typer"]),
        ("from osmosis_ai import osmosis_reward", ["pydantic", "httpx", "agent_eval_rpc"]),
        ("from osmosis_ai import evaluate_rubric", ["httpx", "fastapi", "pyarrow", "dotenv"]),
        ("from osmosis_ai.rollout import RolloutAgentLoop", ["fastapi", "uvicorn", "httpx"]),
        ("import osmosis_ai.cli.program", ["fastapi", "httpx", "pyarrow", "agent_eval_rpc"]),
    ],
)
def test_imports_stay_light(statement: str, absent: list[str]) -> None:
    code = f"import sys; {statement}; print([n for n in {absent!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_modules_import_in_the_right_direction() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_client_is_used_by_its_public_names() -> None:
    source = Path(osmosis_ai.__file__).parent
    for file in source.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            private = [one for one in modules if one.startswith("agent_eval_rpc.")]
            assert not private, f"{file}: {private}"
