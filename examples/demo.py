"""Judges three texts with the local model and prints a table. Run by `make demo`; needs no key."""

import os
import time
from pathlib import Path

from agent_eval_rpc import Client

TEXTS = Path(__file__).parent / "texts"
MODEL = os.environ.get("AGENT_EVAL_LLM_MODEL", "local/qwen2.5-coder-1.5b")


def main() -> None:
    """Judge each text by the rubric anti-slop."""
    print(f"{'text':<8} {'score':>5}  {'buyer_quality':>13} {'voice':>5} {'signal':>6}  found")
    with Client() as client:
        for name in ("good", "mixed", "sloppy"):
            started = time.monotonic()
            content = (TEXTS / f"{name}.txt").read_text(encoding="utf-8")
            result = client.judge(content=content, rubric_name="anti-slop", model=MODEL)
            scores = result.dimensions
            found = ", ".join([*result.wins, *result.failure_modes]) or "-"
            print(
                f"{name:<8} {result.composite:>5.2f}  {scores['buyer_quality']:>13.2f} "
                f"{scores['voice']:>5.2f} {scores['signal']:>6.2f}  {found} "
                f"({time.monotonic() - started:.1f} s)"
            )
        print(f"\nJudged by {result.model.split('@')[0]}, a small model for trying the tool out.")
    print("For judgements to act on, set AGENT_EVAL_LLM_BASE_URL, AGENT_EVAL_LLM_API_KEY and")
    print("AGENT_EVAL_LLM_MODEL, then: agent-eval judge --rubric anti-slop FILE")


if __name__ == "__main__":
    main()
