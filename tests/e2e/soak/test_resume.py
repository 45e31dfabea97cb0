"""`judge_many` with a cache, through a kill of client and engine: the benchmark, shorter."""

import subprocess
import sys

from engine import ROOT

RESUME = ROOT / "bench" / "soak" / "resume.py"
ITEMS = 1200


def resume(env: dict[str, str], *options: str) -> tuple[int, dict[str, str]]:
    """Exit code and what was printed, by name."""
    ran = subprocess.run(
        [sys.executable, str(RESUME), "--items", str(ITEMS), *options],
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert ran.stderr == ""
    return ran.returncode, dict(line.split(": ", 1) for line in ran.stdout.splitlines())


def test_a_killed_run_goes_on_where_it_was(engine_env: dict[str, str]) -> None:
    code, said = resume(engine_env, "--kill-after", "400")
    assert code == 0, said
    assert said["killed"] == "engine and client"
    assert 400 <= int(said["answered before the kill"]) < ITEMS
    assert said["results at the end"] == f"{ITEMS}, in order"
    assert said["judged twice"] == "0"
    assert said["silently wrong"] == "0"
    # The endpoint's count and the client's agree on what was left to judge.
    assert int(said["from the cache"]) + int(said["asked in the second run"]) == ITEMS


def test_a_run_that_nothing_killed_shows_nothing(engine_env: dict[str, str]) -> None:
    code, said = resume(engine_env, "--kill-after", str(ITEMS + 1))
    assert code == 1, said
    assert said["killed"] == "NOTHING"
