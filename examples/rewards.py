"""Rewards for a batch of answers: a plain function, and a rubric that a model judges.

Without a provider's key it judges with what AGENT_EVAL_LLM_BASE_URL names.
"""

import os

from osmosis_ai import ModelInfo, evaluate_rubric_many, osmosis_reward

ANSWERS = ["Open Settings, choose Security, press Reset.", "Passwords matter.", ""]


@osmosis_reward
def mentions_settings(
    solution_str: str,
    ground_truth: str,
    extra_info: dict | None = None,  # type: ignore[type-arg]
) -> float:
    """Looks for the place where it is done."""
    return float("Settings" in solution_str)


def model() -> ModelInfo:
    """The model that judges."""
    url = os.environ.get("AGENT_EVAL_LLM_BASE_URL")
    if url is None:
        return {"provider": "openai", "model": "gpt-4.1-mini"}
    name = os.environ.get("AGENT_EVAL_LLM_MODEL", "judge")
    return {
        "provider": "mine",
        "model": name,
        "base_url": url,
        "api_key_env": "AGENT_EVAL_LLM_API_KEY",
    }


def main() -> None:
    """Prints both rewards of each answer."""
    judged = evaluate_rubric_many(
        "The answer tells the user how to reset a password, step by step.",
        [{"solution_str": one, "original_input": "How do I reset it?"} for one in ANSWERS],
        model(),
        on_error="return",
    )
    for answer, reward in zip(ANSWERS, judged, strict=True):
        said = f"{reward:.2f}" if isinstance(reward, float) else type(reward).__name__
        print(f"{mentions_settings(answer, ''):.0f}  {said:9}  {answer}")


if __name__ == "__main__":
    main()
