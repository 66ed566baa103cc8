"""``lengthlens export``: a run for a model hub, for TensorBoard, for Weights & Biases, or as a file of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Export the run in this folder.")],
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="Write the measured rows to this file, as -o FILE does.", show_default=False
        ),
    ] = None,
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a new folder that is ready for a model hub.")
    ] = None,
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write scalars for TensorBoard into this folder.")
    ] = None,
    wandb_offline: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write scalars for Weights & Biases into a new folder, for `wandb sync`."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the measured rows to this new .csv, .parquet or .json file. Default: NAME.FORMAT.",
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Write the measured rows as csv, parquet or json. Default: the file ending of -o.",
        ),
    ] = None,
    quantity: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Write only rows of this quantity, e.g. accuracy. Default: all rows."),
    ] = None,
) -> None:
    """Export a run for a model hub, for TensorBoard or for Weights & Biases, or write its measured rows to a file.

    The folder of --to contains a model card, weights and the table. The folder is a run itself, so `lengthlens info`
    and `Run.open` read it.
    """
    from workbench.cli.errors import UsageError
    from workbench.cli.exporting.hub_folder import export_to_hub
    from workbench.cli.exporting.tensorboard_scalars import export_to_tensorboard
    from workbench.cli.exporting.wandb_offline import export_to_wandb
    from workbench.runs.run import Run

    if file is not None and out is not None:
        raise UsageError(f"{file} and -o {out} both name the file; leave one out")
    out = out or file
    as_rows = out is not None or format_ is not None
    if to is None and tensorboard is None and wandb_offline is None and not as_rows:
        raise UsageError(
            "name what to write: -o FILE.csv for the measured rows, --to DIR for a model hub, --tensorboard DIR for "
            "TensorBoard, or --wandb-offline DIR"
        )
    if quantity is not None and not as_rows:
        raise UsageError("--quantity works with -o FILE or --format; give one of them, or leave --quantity out")
    opened = Run.open(run)
    problems: list[str] = []
    if as_rows:
        from workbench.cli.exporting.rows_file import export_rows, rows_file

        target, kind = rows_file(opened, out, format_)
        print(f"{target}: {export_rows(opened, target, kind, quantity, problems):,} rows")
    if to is not None:
        problems += export_to_hub(opened, to)
        print(f"{to}: {len(opened.steps)} checkpoints, README.md, run.json and table.parquet")
    if tensorboard is not None:
        print(
            f"{tensorboard}: {export_to_tensorboard(opened, tensorboard):,} scalars; tensorboard --logdir {tensorboard}"
        )
    if wandb_offline is not None:
        count, made = export_to_wandb(opened, wandb_offline)
        print(f"{made}: {count:,} scalars, nothing sent; with an account: wandb sync {made}")
    for problem in dict.fromkeys(problems):
        print(f"problem: {problem}")
    if problems:
        raise SystemExit(1)
