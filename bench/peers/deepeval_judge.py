"""DeepEval: a GEval metric with its steps given, so that a judgement is one request."""

import os

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"

import harness
from deepeval.metrics import GEval
from deepeval.models import LocalModel
from deepeval.test_case import LLMTestCase, SingleTurnParams


def make_judge(url: str) -> harness.Judge:
    """A judge with a metric for each text, since a metric keeps its score."""
    model = LocalModel(model="fake-model", base_url=url, api_key="sk-fake")

    async def judge(text: str) -> float:
        metric = GEval(
            name="slop",
            evaluation_steps=["Score how good the actual output is."],
            evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT],
            model=model,
        )
        case = LLMTestCase(input="a note", actual_output=text)
        return float(await metric.a_measure(case, _show_indicator=False))

    return judge


harness.run(make_judge)
