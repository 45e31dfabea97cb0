"""openevals: an async LLM-as-judge with a continuous score and its reasoning."""

import harness
from openai import AsyncOpenAI
from openevals.llm import create_async_llm_as_judge


def make_judge(url: str) -> harness.Judge:
    """A judge on one shared OpenAI client."""
    evaluator = create_async_llm_as_judge(
        prompt="Score how good this text is, from 0 to 1.\n\n{outputs}",
        judge=AsyncOpenAI(base_url=url, api_key="sk-fake", max_retries=0),
        model="fake-model",
        continuous=True,
        feedback_key="slop",
    )

    async def judge(text: str) -> float:
        result = await evaluator(outputs=text)
        return float(result["score"])

    return judge


harness.run(make_judge)
