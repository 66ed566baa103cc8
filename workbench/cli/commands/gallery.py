"""``lengthlens gallery``: the runs that come with LengthLens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.errors import UsageError


def open_gallery(
    to: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Copy the runs to this new folder instead of starting the dashboard."),
    ] = None,
    serve: Annotated[
        bool, typer.Option(help="Start the dashboard. With --no-serve, only list the runs and their folder.")
    ] = True,
    host: Annotated[str, typer.Option(help="Listen on this address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Listen on this port.")] = 8050,
    browser: Annotated[bool, typer.Option("--open", help="Open the dashboard in a browser.")] = False,
) -> None:
    """Open the example runs of LengthLens in the dashboard, or copy them to a folder."""
    from workbench.runs import gallery

    source = gallery()
    if not source.is_dir():
        raise UsageError(f"there is no gallery in {source}; install LengthLens again, or run lengthlens sweep gallery")
    if to is not None:
        copy_gallery(source, to)
        print(f"The runs of the gallery are in {to}.\nNext: lengthlens list {to}")
    elif serve:
        from workbench.dashboard.app import serve as serve_dashboard

        typed = ["lengthlens", "gallery"]
        serve_dashboard([source], host=host, port=port, open_browser=browser, typed=typed)
    else:
        from rich.console import Console

        from workbench.cli.listed_runs import listed_runs
        from workbench.cli.run_list import print_run_list, run_list

        console = Console()
        print_run_list(console, run_list(source, listed_runs(source, []), console.width))
        print("\nNext: lengthlens gallery, or lengthlens gallery --to checkpoints/gallery to work on a copy")


def copy_gallery(source: Path, to: Path) -> None:
    """Copy the gallery to a folder that does not exist yet; whole, or not at all.

    Raises:
        UsageError: if the target exists and is not empty.
        StorageError: if it cannot be written.
    """
    from workbench.storage.atomic import make_folder, remove_leftovers, replacing_folder, require_room
    from workbench.storage.below import write_new
    from workbench.storage.bounded import WEIGHTS, read_bytes

    if os.path.lexists(to):
        raise UsageError(f"{to} exists already; choose another folder with --to")
    places = sorted(file.relative_to(source) for file in source.rglob("*") if file.is_file())
    make_folder(to.parent)
    remove_leftovers(to.parent, to.name)
    require_room(to.parent, sum((source / place).stat().st_size for place in places))
    with replacing_folder(to.parent, to.name) as copy:
        for place in places:
            make_folder(copy, place.parent)
            # Links are followed here: some installers link the files of a package.
            write_new(copy, place, read_bytes(source / place, WEIGHTS))
