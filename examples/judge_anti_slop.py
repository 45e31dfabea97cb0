"""Judges one text by a built-in rubric: python examples/judge_anti_slop.py [FILE]."""

import sys
from pathlib import Path

from agent_eval_rpc import Client

DEFAULT_TEXT = "The retry budget is checked before each provider call."


def main() -> None:
    """Print the verdict on a file, or on a sentence of our own."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8") if len(sys.argv) > 1 else DEFAULT_TEXT
    client = Client()
    result = client.judge(content=text, rubric_name="anti-slop")

    print(result.composite)
    print(result.dimensions)
    print(result.failure_modes)
    print(result.rationale)
    print(f"judged over {client.transport}: {client.transport_reason}")


if __name__ == "__main__":
    main()
