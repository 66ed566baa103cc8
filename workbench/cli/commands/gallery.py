"""``lengthlens gallery``: the runs that come with LengthLens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.errors import UsageError


def open_gallery(
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Copy the runs to a new folder, to work on; nothing is served.")
    ] = None,
    serve: Annotated[bool, typer.Option(help="Open the dashboard; else list the runs and say where they lie.")] = True,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8050,
    browser: Annotated[bool, typer.Option("--open", help="Open a browser on it.")] = False,
) -> None:
    """Open the dashboard over the small runs that come with LengthLens, or copy them."""
    from workbench.runs import gallery

    source = gallery()
    if not source.is_dir():
        raise UsageError(f"no gallery lies in {source}; install LengthLens again, or make it: lengthlens sweep gallery")
    if to is not None:
        copied(source, to)
        print(f"The runs of the gallery lie in {to}.\nNext: lengthlens show {to}")
    elif serve:
        from workbench.dashboard.app import serve as serve_dashboard

        typed = ["lengthlens", "gallery"]
        serve_dashboard([source], host=host, port=port, open_browser=browser, typed=typed)
    else:
        from rich.console import Console

        from workbench.cli.run_in_terminal import verdicts
        from workbench.runs import find_runs

        console = Console()
        console.print(verdicts(source, find_runs(source), console.width))
        print("\nNext: lengthlens gallery, or lengthlens gallery --to checkpoints/gallery to work on a copy")


def copied(source: Path, to: Path) -> None:
    """Copy the gallery to a folder that is not there yet; whole, or not at all.

    Raises:
        UsageError: where something is there already.
    """
    import shutil

    from workbench.storage.atomic import require_room

    if to.exists():
        raise UsageError(f"{to} is there already; choose another folder by --to")
    to.parent.mkdir(parents=True, exist_ok=True)
    require_room(to.parent, sum(file.stat().st_size for file in source.rglob("*") if file.is_file()))
    part = to.with_name(f".{to.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(source, part, copy_function=shutil.copyfile)
    part.rename(to)
