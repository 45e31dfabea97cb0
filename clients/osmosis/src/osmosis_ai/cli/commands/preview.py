"""``osmosis preview``: shows what is in a file of rubrics or of records."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from osmosis_ai.errors import CLIError
from osmosis_ai.eval_rubric.records import read_records
from osmosis_ai.eval_rubric.suite import entries_of, read_documents

_YAML = frozenset({".yaml", ".yml"})


def preview(
    path: Annotated[Path, typer.Option("--path", "-p", help="A .yaml, .yml or .jsonl file.")],
) -> None:
    """Show the rubrics of a YAML file, or the records of a JSONL file."""
    if not path.exists():
        raise CLIError(f"Path '{path}' does not exist.")
    if path.is_dir():
        raise CLIError(f"Expected a file path but got directory '{path}'.")
    kind = path.suffix.lower()
    if kind in _YAML:
        lines = _rubrics(path)
    elif kind == ".jsonl":
        lines = _records(path)
    else:
        raise CLIError(
            f"Unsupported file extension '{path.suffix}'. Expected .yaml, .yml, or .jsonl."
        )
    for line in lines:
        typer.echo(line)


def _rubrics(path: Path) -> Iterator[str]:
    entries = list(entries_of(read_documents(path)))
    yield f"Loaded {len(entries)} rubric config(s) from {path}"
    for number, (label, entry, _) in enumerate(entries, start=1):
        yield ""
        yield f"Rubric config #{number} ({entry.get('id') or label})"
        yield _yaml(entry).rstrip()


def _records(path: Path) -> Iterator[str]:
    records = [value for _, value in read_records(path)]
    yield f"Loaded {len(records)} JSONL record(s) from {path}"
    for number, record in enumerate(records, start=1):
        yield ""
        yield f"JSONL record #{number}"
        yield json.dumps(record, indent=2, ensure_ascii=False)


def _yaml(value: Any) -> str:
    import yaml  # noqa: PLC0415 - slow to import

    class Readable(yaml.SafeDumper):
        """Shows texts of several lines as such."""

    def text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
        style = "|" if "\n" in data else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    Readable.add_representer(str, text)
    return yaml.dump(value, Dumper=Readable, sort_keys=False, allow_unicode=True)
