"""What `from agent_eval_rpc import Client` costs, against the two libraries it stands on.

Usage: python bench/import_cost.py [--runs 15] [--json]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from rows import print_rows, row

STATEMENTS = {
    "empty": "pass",
    "base": "from pydantic import BaseModel; import httpx",
    "client": "from agent_eval_rpc import Client",
}
UNCOUNTED = 2
GOAL = 1.4


def timed(statement: str) -> float:
    """Milliseconds of an interpreter that runs one statement."""
    before = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return (time.perf_counter() - before) * 1000


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    given = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for run in range(-UNCOUNTED, given.runs):
        for name, statement in STATEMENTS.items():
            spent = timed(statement)
            if run >= 0:
                times[name].append(spent)
    empty, base, client = (statistics.median(spent) for spent in times.values())
    # What the interpreter itself costs is no import, so it is taken off both.
    ratio = (client - empty) / (base - empty)
    rows = [
        row("import of pydantic and httpx", base - empty, "ms"),
        row("`from agent_eval_rpc import Client`", ratio, "times that", GOAL),
    ]
    print_rows(rows, as_json=given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
