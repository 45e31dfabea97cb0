"""``osmosis eval-rubric`` and ``osmosis preview``."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

from osmosis_ai.cli import main
from osmosis_ai.eval_rubric.records import Record
from osmosis_ai.eval_rubric.suite import load_suite
from osmosis_ai.journal import Journal

SUITE = """\
version: 1
default_model_info: {provider: openai, model: gpt-4o}
default_system_prompt: Be strict.
rubrics:
  - id: helpful
    rubric: |
      Score how helpful
      the answer is.
    score_min: 0
    score_max: 10
  - id: short
    rubric: Score how short it is.
    model_info: {provider: openai, model: gpt-4o, system_prompt: Be brief.}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a suite and thirty records, which is the current one and the home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "rubric_configs.yaml").write_text(SUITE)
    write_records(tmp_path, [{"solution_str": f"Text {n}."} for n in range(30)])
    return tmp_path


def write_records(folder: Path, records: list[Any]) -> None:
    lines = [json.dumps({"rubric_id": "Helpful", **one}) for one in records]
    (folder / "data.jsonl").write_text("\n".join(lines))


def evaluate(*more: str) -> int:
    return main(["eval-rubric", "-r", "helpful", "-d", "data.jsonl", "-o", "out.json", *more])


def result() -> Any:
    return json.loads(Path("out.json").read_text())


def test_results_have_the_documented_form(provider: ModelServer, folder: Path, capsys: Any) -> None:
    assert evaluate("-n", "2") == 0
    made = result()
    assert list(made) == [
        "generated_at", "rubric_id", "rubric_source", "provider", "model", "number", "config_path",
        "data_path", "overall_statistics", "records",
    ]  # fmt: skip
    assert made["overall_statistics"] == {
        "average": 8.0, "variance": 0.0, "stdev": 0.0, "min": 8.0, "max": 8.0,
        "total_runs": 60, "success_count": 60, "failure_count": 0,
    }  # fmt: skip
    first = made["records"][0]
    assert (first["id"], first["record_index"], first["conversation_id"]) == (
        "record[1]", 1, "record[1]",
    )  # fmt: skip
    assert first["input_record"] == {"rubric_id": "Helpful", "solution_str": "Text 0."}
    assert [run["run_index"] for run in first["runs"]] == [1, 2]
    assert list(first["runs"][0]) == [
        "run_index", "status", "started_at", "completed_at", "duration_seconds", "score",
        "explanation", "preview", "error", "raw",
    ]  # fmt: skip
    assert first["runs"][0]["raw"]["choices"][0]["message"]["content"]
    shown = capsys.readouterr().out
    assert "[record[1]]\n  Run 01 [SUCCESS]\n    score: 8.0000\n    preview: Text 0." in shown
    assert not list(folder.glob(".*"))


def test_A6_what_a_record_says_wins_and_no_key_is_shown(
    provider: ModelServer, folder: Path
) -> None:
    record = {
        "solution_str": "Grüezi.",
        "original_input": "own question",
        "ground_truth": "own truth",
        "metadata": {"ort": "Zürich"},
        "extra_info": {
            "original_input": "other question",
            "metadata": {"tier": 1, "api_key": "sk-fake-canary"},
        },
        "score_max": 5,
    }
    write_records(folder, [record])
    assert evaluate() == 0
    assert result()["records"][0]["runs"][0]["score"] == 4.0
    system, user = (one["content"] for one in provider.requests()[0]["body"]["messages"])
    assert system.startswith("Be strict.\n\n")
    for text in ("own question", "own truth", '"tier": 1', '"dataset_metadata"', "Zürich"):
        assert text in user
    assert "canary" not in user
    short = load_suite(folder / "rubric_configs.yaml")["short"]
    arguments = Record(1, {"solution_str": "x"}).arguments(short)
    assert arguments["model_info"]["system_prompt"] == "Be strict.\n\nBe brief."


def test_failures_are_told_and_exit_codes_tell_them_apart(
    provider: ModelServer, folder: Path
) -> None:
    write_records(folder, [{"solution_str": "fine"}, {"solution_str": "broken"}])
    broken = {"match": {"bodyContains": "broken"}, "reply": {"content": "?"}, "times": "forever"}
    provider.script([broken])
    assert evaluate() == 0
    made = result()
    assert made["overall_statistics"]["failure_count"] == 1
    assert made["overall_statistics"]["average"] == 8.0
    assert "not valid JSON" in made["records"][1]["runs"][0]["error"]
    assert evaluate("--max-failures", "0", "--min-average", "9") == 5
    assert evaluate("--max-failures", "1", "--min-average", "9") == 4
    assert evaluate("--max-failures", "1", "--min-average", "8") == 0
    provider.script([{"reply": {"content": "?"}, "times": "forever"}])
    assert evaluate() == 0
    assert result()["overall_statistics"]["average"] is None
    assert evaluate("--min-average", "0") == 5


def test_a_baseline_is_compared(provider: ModelServer, folder: Path, capsys: Any) -> None:
    Path("old.json").write_text(json.dumps({"average": 6.5, "stdev": 1, "note": "x"}))
    assert evaluate("-b", "old.json") == 0
    comparison = result()["baseline_comparison"]
    assert comparison["delta_statistics"] == {"average": 1.5, "stdev": -1.0}
    assert "average: baseline=6.5000 current=8.0000 delta=+1.5000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        ("folder", "is a directory"),
        ("{", "Failed to parse baseline JSON"),
        ("[]", "must include an 'overall_statistics' object or top-level statistics."),
        ('{"average": "high"}', "could not be parsed into numeric values."),
    ],
)
def test_baselines_that_are_refused(
    provider: ModelServer, folder: Path, capsys: Any, content: str | None, said: str
) -> None:
    if content == "folder":
        Path("old.json").mkdir()
    elif content is not None:
        Path("old.json").write_text(content)
    assert evaluate("-b", "old.json") == 1
    assert said in capsys.readouterr().err
    assert provider.requests() == []


def test_output_goes_to_a_folder_or_to_the_cache(provider: ModelServer, folder: Path) -> None:
    command = ["eval-rubric", "-r", "helpful", "-d", "data.jsonl"]
    assert main([*command, "-o", "results"]) == 0
    assert main(command) == 0
    (in_folder,) = Path("results").iterdir()
    (in_cache,) = Path("home/.cache/osmosis/eval_result/helpful").iterdir()
    for file in (in_folder, in_cache):
        assert file.name.startswith("rubric_eval_result_")
    assert json.loads(in_cache.read_text())["output_identifier"] == "helpful"


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("", "no rubric found"),
        ("a: [", "is not valid YAML"),
        ("version: 2\nid: helpful\nrubric: r", "version 2 is not known"),
        ("version: one\nid: helpful\nrubric: r", "must be an integer"),
        ("version: -1\nid: helpful\nrubric: r", "version -1"),
        ("id: helpful\nrubric: r", "'model_info' must be a mapping"),
        ("rubric: r\nmodel_info: {}", "'id' must be"),
        ("id: a\nrubric: r\nmodel_info: {}\n---\nid: a\nrubric: r\nmodel_info: {}", "two rubrics"),
        ("id: helpful\nrubric: r\nmodel_info: {}\nextra_info: {}", "'extra_info' is not allowed"),
        ("id: helpful\nrubric: r\nmodel_info: {}\nscore_min: true", "'score_min' must be a number"),
        ("id: other\nrubric: r\nmodel_info: {}", "Available IDs: other"),
        ("id: helpful\nrubric: r\nmodel_info: {provider: xai}", ""),
    ],
)
def test_suites_that_are_refused(
    provider: ModelServer, folder: Path, capsys: Any, suite: str, said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv("XAI_API_KEY")
    Path("rubric_configs.yaml").write_text(suite)
    assert evaluate() == 1
    error = capsys.readouterr().err
    assert error.startswith("Error: ")
    assert (said or "Environment variable 'XAI_API_KEY' is not set.") in error
    assert provider.requests() == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 1: not valid JSON"),
        ("[1]", "line 1: expected a JSON object, got list"),
        ("{}", "line 1: 'solution_str' must be a non-empty string"),
        ('{"solution_str": " "}', "'solution_str' must be"),
        ('{"solution_str": "x", "metadata": []}', "'metadata' must be a dict or null"),
        ('{"solution_str": "x", "score_min": "1"}', "'score_min' must be a number"),
        ('{"solution_str": "x", "rubric_id": "other"}', "has no records for the rubric"),
        ("", "has no records for the rubric"),
    ],
)
def test_records_that_are_refused(
    provider: ModelServer, folder: Path, capsys: Any, line: str, said: str
) -> None:
    Path("data.jsonl").write_text(line)
    assert evaluate() == 1
    assert said in capsys.readouterr().err


def test_files_that_are_not_there(folder: Path, capsys: Any) -> None:
    for arguments, said in (
        (["-r", " ", "-d", "data.jsonl"], "must not be empty"),
        (["-r", "helpful", "-d", "none.jsonl"], "does not exist"),
        (["-r", "helpful", "-d", "."], "is not a file"),
        (["-r", "helpful", "-d", "data.jsonl", "-c", "none.yaml"], "Looked at: 'none.yaml'"),
    ):
        assert main(["eval-rubric", *arguments]) == 1
        assert said in capsys.readouterr().err
    assert main(["eval-rubric", "-r", "helpful", "-d", "data.jsonl", "-n", "0"]) == 2


def test_L14_files_with_a_byte_order_mark(provider: ModelServer, folder: Path) -> None:
    for name in ("data.jsonl", "rubric_configs.yaml"):
        path = folder / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert evaluate() == 0
    assert result()["overall_statistics"]["success_count"] == 30


def test_C9_half_a_character_in_a_record(provider: ModelServer, folder: Path) -> None:
    (folder / "data.jsonl").write_text(
        '{"solution_str": "sum of \\ud835 and x"}\n{"solution_str": "fine"}\n'
    )
    assert evaluate() == 0
    assert result()["overall_statistics"]["success_count"] == 2
    assert "sum of \ufffd and x" in str(provider.requests()[0]["body"]) + str(
        provider.requests()[1]["body"]
    )


def calls(provider: ModelServer) -> int:
    return len(provider.requests())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_C7_a_run_that_was_broken_off_goes_on(
    provider: ModelServer, folder: Path, how: signal.Signals
) -> None:
    provider.script([{"times": "forever", "delayMs": 50}])
    records = [{"solution_str": f"Text {n}."} for n in range(100)]
    write_records(folder, records)
    command = [
        sys.executable,
        "-c",
        "import sys; from osmosis_ai.cli import main; sys.exit(main())",
    ]
    arguments = ["eval-rubric", "-r", "helpful", "-d", "data.jsonl", "-o", "out.json"]
    with subprocess.Popen(
        [*command, *arguments, "--concurrency", "4"],
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
    ) as process:
        while calls(provider) < 20:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(how)
        code = process.wait(20)
    assert code == (-how if how is signal.SIGKILL else 128 + how)
    assert not Path("out.json").exists()
    done = calls(provider)
    assert done < 100
    # One record is edited and two change places: only what is new is asked for.
    records[0], records[1] = records[1], records[0]
    records[2] = {"solution_str": "Edited."}
    write_records(folder, records)
    assert evaluate() == 0
    assert result()["overall_statistics"]["success_count"] == 100
    # What was in flight when the run was killed is asked for again.
    in_flight = 4
    assert 101 <= calls(provider) <= 101 + in_flight
    assert not list(folder.glob(".*partial*"))


def test_two_runs_do_not_write_one_file(provider: ModelServer, folder: Path, capsys: Any) -> None:
    other = Journal(folder / ".out.json.partial.jsonl")
    assert evaluate() == 1
    assert "Another run is writing" in capsys.readouterr().err
    other.close(remove=True)
    assert evaluate() == 0


def test_fresh_begins_anew(provider: ModelServer, folder: Path) -> None:
    journal = Journal(folder / ".out.json.partial.jsonl")
    journal.add("k", {"status": "success"})
    journal.close(remove=False)
    with (folder / ".out.json.partial.jsonl").open("a") as file:
        file.write('{"key": "cut of')
    again = Journal(folder / ".out.json.partial.jsonl")
    assert set(again.done) == {"k"}
    again.add("l", {})
    again.close(remove=False)
    last = Journal(folder / ".out.json.partial.jsonl")
    assert set(last.done) == {"k", "l"}
    last.close(remove=False)
    assert evaluate("--fresh") == 0


def test_preview(folder: Path, capsys: Any) -> None:
    assert main(["preview", "-p", "rubric_configs.yaml"]) == 0
    shown = capsys.readouterr().out
    assert "Loaded 2 rubric config(s) from rubric_configs.yaml" in shown
    assert "Rubric config #1 (helpful)" in shown
    assert "rubric: |\n  Score how helpful\n  the answer is." in shown
    assert main(["preview", "-p", "data.jsonl"]) == 0
    shown = capsys.readouterr().out
    assert "Loaded 30 JSONL record(s) from data.jsonl" in shown
    assert 'JSONL record #2\n{\n  "rubric_id": "Helpful"' in shown
    Path("x.txt").touch()
    for path, said in (
        ("none", "Path 'none' does not exist."),
        (".", "Expected a file path but got directory '.'."),
        ("x.txt", "Unsupported file extension '.txt'."),
    ):
        assert main(["preview", "-p", path]) == 1
        assert f"Error: {said}" in capsys.readouterr().err


def test_A14_the_env_file_of_the_users_folder_counts(
    provider: ModelServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    (folder / ".env").write_text("OPENAI_API_KEY=sk-fake-from-env-file\n")
    below = folder / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    command = [
        "eval-rubric",
        "-r",
        "helpful",
        "-d",
        "../data.jsonl",
        "-c",
        "../rubric_configs.yaml",
    ]
    try:
        assert main([*command, "-o", "out.json"]) == 0
    finally:
        os.environ.pop("OPENAI_API_KEY", None)
    headers = dict(provider.requests()[0]["headers"])
    assert headers["authorization"] == "Bearer sk-fake-from-env-file"


def test_the_program_itself(capsys: Any) -> None:
    assert main([]) == 1
    assert "Usage: osmosis" in capsys.readouterr().out
    assert main(["-V"]) == 0
    assert capsys.readouterr().out.startswith("osmosis-ai ")
    assert main(["bogus"]) == 2
    for name in ("login", "whoami", "logout", "workspace"):
        assert main([name, "--force", "x"]) == 1
        assert "not part of this distribution" in capsys.readouterr().err
