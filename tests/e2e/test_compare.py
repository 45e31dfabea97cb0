"""`agent-eval compare`: two files in, the better one out."""

import json
from pathlib import Path

import pytest
from engine import run
from model_server import ModelServer

Env = dict[str, str]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    names = []
    for name, text in (("old.md", "Synergy."), ("new.md", "31 lost rows went to none.")):
        (tmp_path / name).write_text(text)
        names.append(str(tmp_path / name))
    return names


def prefer(model_server: ModelServer, text: str) -> None:
    """Scripts a judge that prefers a text wherever it stands."""

    def says(winner: str) -> dict:
        return {"message": {"content": json.dumps({"rationale": "It is plain.", "winner": winner})}}

    model_server.script(
        [
            {
                "match": {"bodyContains": f"{text}\\n=== END {place.upper()}"},
                "times": "forever",
                "reply": says(place),
            }
            for place in ("first", "second")
        ]
    )


def test_the_better_file_is_named(
    engine_env: Env, model_server: ModelServer, files: list[str]
) -> None:
    prefer(model_server, "31 lost rows went to none.")
    done = run("compare", *files, "--rubric", "anti-slop", env=engine_env)
    assert done.code == 0, done.err
    assert done.out.startswith("anti-slop: b is better\n")
    assert "26 characters" in done.out
    assert "100 % agree in both orders" in done.out
    assert "It is plain." in done.out


def test_a_preference_for_a_place_is_a_tie(engine_env: Env, files: list[str]) -> None:
    done = run("compare", *files, "--rubric", "anti-slop", env=engine_env)
    assert "a tie: the preference turned with the order" in done.out
    asked = run("compare", *files, "--rubric", "anti-slop", "--json", env=engine_env)
    assert json.loads(asked.out)["flipped"] is True


def test_stdin_samples_and_one_order(
    engine_env: Env, model_server: ModelServer, files: list[str]
) -> None:
    options = ("--samples", "2", "--no-swap", "--json")
    done = run(
        "compare", files[0], "-", "--rubric", "anti-slop", *options, env=engine_env, stdin="x"
    )
    result = json.loads(done.out)
    assert (result["n"], result["consistency"], len(result["order"])) == (2, None, 2)
    assert model_server.stats()["calls"] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["one.md", "--rubric", "anti-slop"], 2, "missing required argument 'b'"),
        (["-", "-", "--rubric", "anti-slop"], 2, "only one of the two"),
        (["{0}", "nowhere.md", "--rubric", "anti-slop"], 2, "nowhere.md can't be read"),
        (["{0}", "{1}", "--rubric", "anti-slop", "--samples", "many"], 2, "whole number"),
        (["{0}", "{1}", "--rubric", "anti-slop", "--samples", "65"], 2, "samples"),
        (["{0}", "{1}", "--rubric", "anti-slap"], 1, "anti-slop"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    engine_env: Env, files: list[str], arguments: list[str], code: int, says: str
) -> None:
    done = run("compare", *(one.format(*files) for one in arguments), env=engine_env)
    assert (done.code, done.out) == (code, "")
    assert says in done.err
