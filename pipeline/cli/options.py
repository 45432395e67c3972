"""Options that several commands share, each told once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help="Where things are kept; default: $ASSAY_STORE, else .assay here."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, nothing else.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
LimitOption = Annotated[int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="Only the first N rows.")]
EngineOption = Annotated[
    Literal["auto", "inline", "ray"] | None,
    typer.Option("--engine", help="auto: this process for small work, else Ray."),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option("--ray-address", metavar="ADDRESS", help="A Ray cluster; default: $RAY_ADDRESS, else our own."),
]
WorkersOption = Annotated[int | None, typer.Option("--workers", metavar="N", min=1, help="Default: one for each CPU.")]
PartRowsOption = Annotated[
    int | None,
    typer.Option("--part-rows", metavar="N", min=1, help="Rows done at once at most; a kill loses no more than that."),
]
TypeOption = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="COLUMN=TYPE", help="Of CSV and JSONL: zip=string; repeatable."),
]
DelimiterOption = Annotated[str, typer.Option("--delimiter", metavar="CHARACTER", help="Of CSV files.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show parts, rows and calls; do nothing.")]
NewOption = Annotated[bool, typer.Option("--new", help="Start anew, where an equal run is there already.")]
PartitionOption = Annotated[
    list[str] | None,
    typer.Option("--partition-by", metavar="COLUMN", help="Cut the result into folders by this column; repeatable."),
]
TrustOption = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="STORE", help="Load functions from this store, or of this digest; repeatable."),
]
FailUnderOption = Annotated[
    list[str] | None,
    typer.Option("--fail-under", metavar="SCORER=X", help="Exit 3 where the scorer's mean is below X; repeatable."),
]
MaxFailuresOption = Annotated[
    int | None, typer.Option("--max-failures", metavar="N", min=0, help="Stop when more outputs and scores failed.")
]
PartTimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--part-timeout", metavar="SECONDS", min=1.0, help="End a worker that finishes no row for so long; default 600."
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Take over a run that another process seems to drive.")]
MemoryLimitOption = Annotated[
    str | None,
    typer.Option("--memory-limit", metavar="SIZE", help="Of all workers together: 2GiB, 800Mi. Changes no result."),
]
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="An id, a unique part of its beginning or end, or `latest`.")
]
RowFormat = Literal["table", "csv", "jsonl", "parquet"]
ResultArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="An id, a unique part of it, `latest`, or the folder of `assay score --to`."),
]
FormatOption = Annotated[RowFormat, typer.Option("--format", help="Form of the rows; a table is for eyes.")]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the rows there instead of stdout.")
]
TrajectoryOption = Annotated[
    Path | None,
    typer.Option("--trajectory", metavar="FILE", help="Write log, capture and report as one object there."),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace the file of --trajectory.")]
