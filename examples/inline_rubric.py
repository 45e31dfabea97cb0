"""Judges a commit message by a rubric of one's own."""

from agent_eval_rpc import Client, FailureMode, Rubric, RubricDimension

RUBRIC = Rubric(
    name="commit-message",
    description="Checks whether a commit message explains why the change exists.",
    system_prompt="Score the commit message using the supplied response schema.",
    dimensions=[
        RubricDimension(
            id="explains_why",
            description="The message states the reason for the change.",
            weight=1.0,
        ),
    ],
    failure_modes=[
        FailureMode(id="what-only", description="The message states the edit without its reason."),
    ],
)


def main() -> None:
    """Print the score, the hash that makes scores comparable, and what was found."""
    with Client() as client:
        result = client.judge(content="fix retry accounting", rubric=RUBRIC)
    print(f"{result.composite:.2f} by {result.rubric_version}")
    print(f"found: {result.failure_modes}")


if __name__ == "__main__":
    main()
