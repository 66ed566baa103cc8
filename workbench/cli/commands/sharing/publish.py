"""``lengthlens publish``: a folder of pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def publish(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Runs, or folders of runs.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder to write.")] = Path("site"),
) -> None:
    """Write a folder of pages that needs no server: a list of runs with their verdicts, and a page for each."""
    from workbench.dashboard.report.gallery_site import publish as publish_site

    problems: list[str] = []
    entries = publish_site(folders, out, problems)
    made = sum(bool(entry.address) for entry in entries)
    print(f"{out / 'index.html'}: {made} page{'s' * (made != 1)}")
    for problem in dict.fromkeys(problems):
        print(f"problem: {problem}")
    if problems:
        raise SystemExit(1)
