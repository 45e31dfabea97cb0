"""The programs on the pages of this repository run as they stand there."""

import re
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer

DOCS = Path(__file__).resolve().parents[4] / "docs"


def programs(page: str) -> list[str]:
    """The Python on a page."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run(program: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "page"}
    exec(program, scope)
    return scope


def test_rewards(provider: ModelServer) -> None:
    decorated, many = programs("rewards")
    functions = run(decorated)
    assert functions["exact"]("a", "a ") == 1.0
    assert functions["helpful"]("a", None, {}) == 0.8
    assert run(many)["rewards"] == [0.8, 0.8]
    assert {one["path"] for one in provider.requests()} == {"/v1/responses", "/v1/messages"}


def test_rollouts() -> None:
    (program,) = programs("rollouts")
    assert run(program)["app"].title == "Rollout server: searcher"


def test_every_page_is_python_to_the_last_program() -> None:
    for page in ("rewards", "rollouts", "trainers"):
        for program in programs(page):
            compile(program, page, "exec")


@pytest.mark.parametrize("page", ["rewards", "rollouts", "trainers", "osmosis-cli"])
def test_pages_lead_to_pages_that_are_there(page: str) -> None:
    for target in re.findall(r"\]\(([\w.-]+\.md)\)", (DOCS / f"{page}.md").read_text("utf-8")):
        assert (DOCS / target).is_file(), target
