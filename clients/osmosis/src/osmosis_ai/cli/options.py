"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

_MODULE = typer.Option("--module", "-m", "--agent", help="The agent loop, as module:attribute.")

Module = Annotated[str, _MODULE]
ModuleOrNone = Annotated[str | None, _MODULE]
Mcp = Annotated[Path | None, typer.Option(help="Folder whose main.py makes a FastMCP server.")]
Dataset = Annotated[Path, typer.Option("--dataset", "-d", help=".parquet, .jsonl or .csv")]
Limit = Annotated[int | None, typer.Option(min=1, help="Rows at most.")]
Offset = Annotated[int, typer.Option(min=0, help="Rows to leave out.")]
ApiKey = Annotated[str | None, typer.Option(help="Prefer the provider's variable.")]
BaseUrl = Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible server.")]
MaxTurns = Annotated[int, typer.Option(min=1, help="Turns at most.")]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Tokens of an answer at most.")]
Temperature = Annotated[float | None, typer.Option(min=0, max=2, help="Sampling temperature.")]
Debug = Annotated[bool, typer.Option(help="Write the events of each rollout.")]
ResultFile = Annotated[Path | None, typer.Option("--output", "-o", help="Result file.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Do not take up a run that was broken off.")]
