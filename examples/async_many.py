"""Judges many texts at once; a text that could not be judged is told, never counted as zero."""

import asyncio

from agent_eval_rpc import AgentEvalError, AsyncClient, JudgeResult

TEXTS = [f"Release {n} fixes the cache key of build {n}." for n in range(1, 21)]


async def main() -> None:
    """Print the mean of the texts that were scored, and how many were not."""
    async with AsyncClient() as client:
        calls = [client.judge(content=text, rubric_name="anti-slop") for text in TEXTS]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    scored = [outcome for outcome in outcomes if isinstance(outcome, JudgeResult)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, AgentEvalError)]
    if scored:
        mean = sum(result.composite for result in scored) / len(scored)
        print(f"mean {mean:.3f} over {len(scored)} texts")
    print(f"{len(failed)} unscored: {sorted({error.code for error in failed})}")


if __name__ == "__main__":
    asyncio.run(main())
