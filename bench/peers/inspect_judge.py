"""Inspect AI: an evaluation graded by `model_graded_qa`, with nothing to solve."""

import tempfile
import time

import harness
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import Generate, Solver, TaskState, solver


@solver
def given() -> Solver:
    """Takes the text to grade from the sample instead of asking a model for one."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("given", state.input_text)
        return state

    return solve


def grade(url: str, first: int, calls: int, in_flight: int) -> None:
    """One evaluation of so many samples."""
    judge = get_model("openai-api/fake/fake-model", base_url=url, api_key="sk-fake", memoize=False)
    task = Task(
        dataset=[
            Sample(input=harness.text(number), target="A good text.")
            for number in range(first, first + calls)
        ],
        solver=given(),
        scorer=model_graded_qa(model=judge),
    )
    with tempfile.TemporaryDirectory() as logs:
        (log,) = evaluate(
            task,
            model=judge,
            log_dir=logs,
            display="none",
            max_connections=in_flight,
            max_samples=in_flight,
            log_samples=False,
        )
    if log.status != "success" or log.results.scores[0].metrics["accuracy"].value != 1:
        raise SystemExit(f"a wrong score: {log.status} {log.error}")


options = harness.options()
grade(options.url, 0, options.warm_up, options.in_flight)
cpu, started = harness.cpu_s(), time.perf_counter()
grade(options.url, options.warm_up, options.calls, options.in_flight)
harness.report(options.calls, time.perf_counter() - started, harness.cpu_s() - cpu)
