"""Judges many texts in one run; a text that could not be judged is told, never counted as zero."""

from collections import Counter
from collections.abc import Iterator

from agent_eval_rpc import Client


def texts() -> Iterator[str]:
    """Read as they are needed: this could be a file of any length."""
    for number in range(1, 201):
        yield f"Release {number} fixes the cache key of build {number}."


def main() -> None:
    """Print the mean of the texts that were scored, and why the others were not."""
    scores: list[float] = []
    unscored: Counter[str] = Counter()
    with Client() as client:
        run = client.judge_many(
            texts(), rubric_name="anti-slop", on_error="return", max_calls=150, max_unscored=20
        )
        for outcome in run:
            if outcome.result is not None:
                scores.append(outcome.result.composite)
            elif outcome.error is not None:
                unscored[outcome.error.code] += 1
    if scores:
        print(f"mean {sum(scores) / len(scores):.3f} over {len(scores)} texts")
    print(f"unscored: {dict(unscored)}")


if __name__ == "__main__":
    main()
