"""The result file of a run."""

import re
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from osmosis_ai.eval_rubric.records import Record
from osmosis_ai.eval_rubric.runner import Runs
from osmosis_ai.eval_rubric.statistics import delta_statistics, statistics_of
from osmosis_ai.eval_rubric.suite import RubricConfig


def places(output: str | None, rubric_id: str) -> tuple[Path, Path, str | None]:
    """Where results go, where they are kept until then, and the identifier of the output.

    Args:
        output: A file, or a folder where it has no suffix; None for the folder of the cache.
        rubric_id: The rubric.
    """
    if output is not None and Path(output).suffix:
        file = Path(output)
        return file, file.with_name(f".{file.name}.partial.jsonl"), None
    safe = re.sub(r"[^a-z0-9._-]+", "_", rubric_id.lower()).strip("._") or "rubric"
    if output is not None:
        folder, identifier = Path(output), None
    else:
        folder = Path.home() / ".cache" / "osmosis" / "eval_result" / safe
        identifier = safe
    file = folder / f"rubric_eval_result_{int(time.time())}.json"
    return file, folder / f".rubric_eval_{safe}.partial.jsonl", identifier


def document(  # noqa: PLR0913 - what a result file says
    config: RubricConfig,
    records: list[Record],
    runs: Runs,
    *,
    number: int,
    config_path: Path,
    data_path: Path,
    identifier: str | None,
    baseline: tuple[Path, dict[str, float]] | None,
) -> dict[str, Any]:
    """The results of a run, in the documented order."""
    overall = statistics_of(_scores([one for of in runs.of_record.values() for one in of]),
                            number * len(records))  # fmt: skip
    made: dict[str, Any] = {
        "generated_at": datetime.now(timezone.utc).isoformat(),
        "rubric_id": config.id,
        "rubric_source": config.label,
        "provider": config.model_info.get("provider"),
        "model": config.model_info.get("model"),
        "number": number,
        "config_path": str(config_path),
        "data_path": str(data_path),
        "overall_statistics": overall,
        "records": [_record(one, runs.of_record[one.index]) for one in records],
    }
    if identifier is not None:
        made["output_identifier"] = identifier
    if baseline is not None:
        source, figures = baseline
        made["baseline_comparison"] = {
            "source_path": str(source),
            "baseline_statistics": figures,
            "delta_statistics": delta_statistics(overall, figures),
        }
    return made


def _record(record: Record, runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": record.id,
        "record_index": record.index,
        "conversation_id": record.conversation,
        "input_record": record.payload,
        "statistics": statistics_of(_scores(runs), len(runs)),
        "runs": runs,
    }


def _scores(runs: list[dict[str, Any]]) -> list[float]:
    return [one["score"] for one in runs if one["status"] == "success"]
