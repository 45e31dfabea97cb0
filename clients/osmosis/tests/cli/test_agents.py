"""``osmosis test``, ``eval``, ``validate`` and ``serve``."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from model_server import ModelServer

from osmosis_ai.cli import main

AGENTS = "agents_under_test"
ROWS = [
    {"User_Prompt": f"Question {n}", "system_prompt": "Be nice.", "ground_truth": "x", "tag": n}
    for n in range(4)
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a dataset, which is the current one and the home; agents are found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    write_rows(ROWS)
    return tmp_path


def write_rows(rows: list[Any]) -> None:
    Path("rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))


def try_out(agent: str, *more: str, dataset: str = "rows.jsonl") -> int:
    return main(["test", "-m", f"{AGENTS}:{agent}", "-d", dataset, "-o", "out.json", *more])


def evaluate(agent: str, *more: str, functions: tuple[str, ...] = ("filled",)) -> int:
    named = [part for one in functions for part in ("--eval-fn", f"{AGENTS}:{one}")]
    options = ["-d", "rows.jsonl", "--model", "gpt-4o", "-o", "out.json", "-q"]
    return main(["eval", "-m", f"{AGENTS}:{agent}", *options, *named, *more])


def result() -> Any:
    return json.loads(Path("out.json").read_text())


def tool_call(arguments: str) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": arguments}}
    return {"reply": {"message": {"role": "assistant", "content": None, "tool_calls": [call]}}}


def test_an_agent_is_run_on_each_row(provider: ModelServer, capsys: Any) -> None:
    assert try_out("Talker", "--temperature", "0.3", "--max-tokens", "9") == 0
    made = result()
    assert {k: made["summary"][k] for k in ("total", "passed", "failed")} == {
        "total": 4, "passed": 4, "failed": 0,
    }  # fmt: skip
    first = made["results"][0]
    assert (first["row_index"], first["success"], first["error"]) == (0, True, None)
    assert (first["reward"], first["finish_reason"]) == (0.5, "stop")
    assert first["token_usage"]["num_llm_calls"] == 1
    assert "Row 0: passed" in capsys.readouterr().out
    preflight, asked = (one["body"] for one in provider.requests()[:2])
    assert preflight["max_tokens"] == 1
    assert (asked["temperature"], asked["max_tokens"]) == (0.3, 9)
    assert asked["messages"] == [
        {"role": "system", "content": "Be nice."},
        {"role": "user", "content": "Question 0"},
    ]


def test_L2_tools_may_be_plain_dicts(provider: ModelServer) -> None:
    provider.script([{}, tool_call('{"tags": ["a"]}'), {"reply": {"content": "done"}}])
    assert try_out("Caller", "--row", "2") == 0
    asked = provider.requests()[1]["body"]
    parameters = asked["tools"][0]["function"]["parameters"]
    assert parameters["properties"] == {"tags": {"type": "array", "items": {}}}
    again = provider.requests()[2]["body"]["messages"]
    assert again[-1] == {"role": "tool", "content": "{'tags': ['a']}", "tool_call_id": "c1"}
    assert again[-2]["tool_calls"][0]["id"] == "c1"
    assert result()["results"][0]["row_index"] == 2


def test_A16_a_row_that_fails_does_not_end_the_run(provider: ModelServer, capsys: Any) -> None:
    rows = [dict(row) for row in ROWS]
    rows[1]["User_Prompt"] = "Please fail"
    write_rows(rows)
    assert try_out("Unsure") == 1
    assert [one["success"] for one in result()["results"]] == [True, False, True, True]
    assert result()["results"][1]["error"] == "out of ideas"
    assert "Row 1: FAILED: out of ideas" in capsys.readouterr().out


def test_A16_a_model_that_can_not_be_used_ends_the_run(provider: ModelServer, capsys: Any) -> None:
    provider.script([{"status": 401, "times": "forever"}])
    assert try_out("Talker") == 1
    assert "The model can't be used" in capsys.readouterr().err
    assert len(provider.requests()) == 1
    # In the middle of a run: what was done is told, and nothing more is tried.
    provider.script([{}, {}, {"status": 401, "times": "forever"}])
    assert try_out("Talker") == 1
    assert [one["success"] for one in result()["results"]] == [True, False]


def test_bare_names_prefixes_and_base_urls(provider: ModelServer, capsys: Any) -> None:
    assert try_out("talker", "--limit", "1", "--model", "anthropic/claude") == 0
    assert provider.requests()[-1]["body"]["model"] == "claude"
    options = ["--base-url", provider.url, "--model", "qwen/qwen3", "--api-key", "sk-fake-own"]
    assert try_out("talker", "--limit", "1", "--offset", "3", *options) == 0
    last = provider.requests()[-1]
    assert last["body"]["model"] == "qwen/qwen3"
    assert dict(last["headers"])["authorization"] == "Bearer sk-fake-own"
    assert result()["results"][0]["row_index"] == 3
    assert try_out("talker", "--model", "nowhere/x") == 1
    assert "nowhere" in capsys.readouterr().err


def test_stepping_through(
    provider: ModelServer, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = iter(["?", "m", "t", "n", "c"])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    provider.script([{}, tool_call("{}"), {"reply": {"content": "done"}}])
    assert try_out("Caller", "--row", "0", "-i") == 0
    shown = capsys.readouterr().out
    for text in ("n: next turn", '"Question 0"', '"name": "look"', '"content": "done"'):
        assert text in shown
    typed = iter(["q"])
    assert try_out("Caller", "--row", "0", "-i") == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.jsonl", None, "Dataset file not found"),
        ("x.txt", "", "Unsupported dataset format '.txt'"),
        ("x.jsonl", "{", "line 1: invalid JSON"),
        ("x.jsonl", "[1]", "Row 0: Expected object, got list"),
        ("x.jsonl", '{"user_prompt": "u"}', "Row 0: missing column 'ground_truth'"),
        ("x.jsonl", '{"user_prompt": 1, "system_prompt": "s", "ground_truth": "g"}',
         "Row 0: 'user_prompt' must be a string, got int"),
        ("x.jsonl", '{"user_prompt": "u", "system_prompt": " ", "ground_truth": "g"}',
         "Row 0: 'system_prompt' is empty"),
        ("x.csv", "user_prompt,system_prompt,ground_truth\na,b", "Row 0: 'ground_truth' is null"),
        ("x.csv", "", "is empty"),
        ("x.parquet", "not parquet", "can't be read as Parquet"),
        ("x.jsonl", "", "has no rows"),
    ],
)  # fmt: skip
def test_datasets_that_are_refused(
    provider: ModelServer, capsys: Any, name: str, content: str | None, said: str
) -> None:
    if content is not None:
        Path(name).write_text(content)
    assert try_out("Talker", dataset=name) == 1
    assert said in capsys.readouterr().err
    assert provider.requests() == []


def test_A15_a_csv_row_with_too_many_fields_is_no_row(provider: ModelServer, capsys: Any) -> None:
    Path("x.csv").write_text("user_prompt,system_prompt,ground_truth\na,b,c\nd,e,f,g\n")
    assert try_out("Talker", dataset="x.csv") == 1
    assert "line 3: 4 fields, but the header has 3" in capsys.readouterr().err


def test_L14_every_form_of_a_dataset_gives_the_same_rows(provider: ModelServer) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    header, line = (
        "user_prompt,system_prompt,ground_truth,note",
        'hi,"be nice,\nplease",x,"a ""b"""',
    )
    text = f"{header}\r\n{line}\r\n\r\n"
    Path("bom.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    Path("wide.csv").write_bytes(text.encode("utf-16"))
    row = {"user_prompt": "hi", "system_prompt": "be nice,\nplease", "ground_truth": "x"}
    row["note"] = 'a "b"'
    Path("bom.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(row).encode())
    pq.write_table(pa.Table.from_pylist([row]), "rows.parquet")
    from osmosis_ai.rollout.eval.datasets import read_rows

    read = [
        [(one.messages, one.metadata) for one in read_rows(Path(name))]
        for name in ("bom.csv", "bom.jsonl", "rows.parquet")
    ]
    # The line break in a field is the file's own.
    read[0] = json.loads(json.dumps(read[0]).replace("\\r\\n", "\\n"))
    read = [json.loads(json.dumps(one)) for one in read]
    assert read[0] == read[1] == read[2]
    assert [one.other for one in read_rows(Path("wide.csv"))] == [{"note": 'a "b"'}]


def test_an_evaluation_has_the_documented_form(provider: ModelServer, capsys: Any) -> None:
    assert evaluate("Talker", "--n", "3", "--batch-size", "4", functions=("filled", "turns")) == 0
    made = result()
    assert made["config"] == {
        "model": "gpt-4o", "n_runs": 3, "pass_threshold": 1.0,
        "eval_fns": [f"{AGENTS}:filled", f"{AGENTS}:turns"],
    }  # fmt: skip
    summary = made["summary"]
    assert (summary["total_rows"], summary["total_runs"], summary["stopped_early"]) == (
        4,
        12,
        False,
    )
    assert summary["eval_fns"][f"{AGENTS}:filled"] == {
        "mean": 1.0, "std": 0.0, "min": 1.0, "max": 1.0, "unscored": 0,
        "pass_at_1": 1.0, "pass_at_3": 1.0,
    }  # fmt: skip
    assert summary["eval_fns"][f"{AGENTS}:turns"]["mean"] == 3.0
    assert [run["run_index"] for run in made["rows"][2]["runs"]] == [1, 2, 3]
    assert made["rows"][2]["row_index"] == 2
    assert "mean=1.0000" in capsys.readouterr().out


def test_A16_a_baseline_does_not_mix_with_the_summary(provider: ModelServer) -> None:
    bad = {"match": {"model": "worse"}, "times": "forever", "reply": {"content": ""}}
    provider.script([bad])
    assert evaluate("Talker", "--baseline-model", "worse", "--n", "2") == 0
    made = result()
    assert made["config"]["baseline_model"] == "worse"
    assert made["summary"]["eval_fns"][f"{AGENTS}:filled"]["mean"] == 1.0
    primary, other = made["model_summaries"]
    assert (primary["model_tag"], other["model_tag"]) == ("primary", "baseline")
    assert other["eval_fns"][f"{AGENTS}:filled"]["mean"] == 0.0
    assert [run["model_tag"] for run in made["rows"][0]["runs"]] == ["primary"] * 2 + [
        "baseline"
    ] * 2


def test_H2_a_function_that_fails_is_no_zero(provider: ModelServer, capsys: Any) -> None:
    for function in ("fails", "not_a_number"):
        assert evaluate("Talker", functions=(function, "filled")) == 0
        figures = result()["summary"]["eval_fns"]
        of_this = figures[f"{AGENTS}:{function}"]
        assert (of_this["mean"], of_this["unscored"]) == (None, 4)
        assert figures[f"{AGENTS}:filled"]["mean"] == 1.0
        assert result()["rows"][0]["runs"][0]["error"]
        assert evaluate("Talker", "--max-failures", "3", functions=(function,)) == 5
        assert evaluate("Talker", "--min-mean", "0.1", functions=(function,)) == 5


def test_an_agent_that_fails_scores_nothing_and_thresholds_tell(provider: ModelServer) -> None:
    rows = [dict(row) for row in ROWS]
    rows[1]["User_Prompt"] = "Please fail"
    write_rows(rows)
    assert evaluate("Unsure") == 0
    assert result()["summary"]["eval_fns"][f"{AGENTS}:filled"]["mean"] == 0.75
    assert evaluate("Unsure", "--min-mean", "0.8") == 4
    assert evaluate("Unsure", "--min-mean", "0.75") == 0
    assert evaluate("Unsure", "--max-failures", "0") == 5


def test_A18_functions_do_not_hold_each_other_up(provider: ModelServer) -> None:
    # Each waits for another one to be running too.
    assert evaluate("Talker", "--batch-size", "8", "--n", "2", functions=("meets",)) == 0
    assert result()["summary"]["eval_fns"][f"{AGENTS}:meets"]["mean"] == 1.0


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("agents_under_test:wrong", "'solution_str' or 'messages' as its first parameter"),
        ("agents_under_test:absent", "has no attribute 'absent'. Available attributes:"),
        ("agents_under_test", "Invalid module path"),
        ("nowhere.at.all:f", "Cannot import module 'nowhere.at.all'"),
        ("agents_under_test:AGENT", "has no attribute"),
    ],
)
def test_functions_that_are_refused(capsys: Any, function: str, said: str) -> None:
    command = ["eval", "-m", f"{AGENTS}:Talker", "-d", "rows.jsonl", "--model", "m"]
    assert main([*command, "--eval-fn", function]) == 1
    assert said in capsys.readouterr().err


def test_C7_an_evaluation_that_was_broken_off_goes_on(provider: ModelServer) -> None:
    write_rows([{**ROWS[0], "User_Prompt": f"Question {n}"} for n in range(40)])
    provider.script([{"times": "forever", "delayMs": 50}])
    code = "import sys; from osmosis_ai.cli import main; sys.exit(main())"
    arguments = ["eval", "-m", f"{AGENTS}:Talker", "-d", "rows.jsonl", "--model", "gpt-4o"]
    more = ["--eval-fn", f"{AGENTS}:filled", "-o", "out.json", "--batch-size", "4"]
    paths = os.pathsep.join([str(Path(__file__).parent)])
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments, *more],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,
    ) as process:
        while len(provider.requests()) < 14:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    done = len(provider.requests())
    assert done < 40
    assert evaluate("Talker") == 0
    assert result()["summary"]["total_runs"] == 40
    preflights, in_flight = 2, 4
    assert 40 + preflights <= len(provider.requests()) <= 40 + preflights + in_flight


@pytest.mark.parametrize(
    ("agent", "code", "said"),
    [
        ("Talker", 0, "The agent loop 'talker' is valid, with 0 tool(s)."),
        ("talker", 0, "is valid"),
        ("Caller", 0, "warning: [MISSING_FUNCTION_DESCRIPTION]"),
        ("Broken", 1, "Cannot instantiate"),
        ("Nameless", 1, "is not a RolloutAgentLoop subclass"),
        ("ROWS", 1, "has no attribute"),
        ("filled", 1, "must be a RolloutAgentLoop instance or subclass"),
    ],
)
def test_validate(capsys: Any, agent: str, code: int, said: str) -> None:
    assert main(["validate", "-v", "-m", f"{AGENTS}:{agent}"]) == code
    shown = capsys.readouterr()
    assert said in shown.out + shown.err


@pytest.mark.parametrize("reload", [False, True])
def test_L14_serve_also_with_reload(provider: ModelServer, reload: bool) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = "import sys; from osmosis_ai.cli import main; sys.exit(main())"
    arguments = ["serve", "-m", f"{AGENTS}:Talker", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments, *(["--reload"] if reload else [])],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parent),
            "OSMOSIS_ROLLOUT_API_KEY": "k-1",
        },
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            for _ in range(300):
                try:
                    health = httpx.get(f"http://127.0.0.1:{port}/health").json()
                    break
                except httpx.TransportError:
                    assert process.poll() is None
                    time.sleep(0.05)
            assert health["agent_loop"] == "talker"
            answer = httpx.post(f"http://127.0.0.1:{port}/v1/rollout/init", json={})
            assert answer.status_code == 401
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(20) in {0, 130}
        shown = process.stderr.read()
    assert "Registration: off" in shown
    assert "k-1" not in shown


def test_serve_refuses_what_it_can_not_serve(capsys: Any) -> None:
    assert main(["serve", "-m", f"{AGENTS}:Nameless"]) == 1
    assert "not a RolloutAgentLoop" in capsys.readouterr().err
    assert main(["serve", "-m", f"{AGENTS}:Talker", "--local", "--api-key", "k"]) == 1
    assert "local_debug asks for no key" in capsys.readouterr().err
