"""autoevals: one LLMClassifier with reasoning, as its own templates have it."""

import harness
from autoevals import LLMClassifier
from openai import AsyncOpenAI


def make_judge(url: str) -> harness.Judge:
    """A judge on one shared OpenAI client."""
    client = AsyncOpenAI(base_url=url, api_key="sk-fake", max_retries=0)
    classifier = LLMClassifier(
        name="slop",
        prompt_template="Is this text good or bad?\n\n{{output}}",
        choice_scores={"good": 1, "bad": 0},
        model="fake-model",
        use_cot=True,
        client=client,
    )

    async def judge(text: str) -> float:
        result = await classifier.eval_async(output=text)
        return float(result.score)

    return judge


harness.run(make_judge)
