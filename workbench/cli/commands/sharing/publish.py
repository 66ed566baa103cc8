"""``lengthlens publish``: a folder of pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def publish(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="Publish these runs, or all runs in these folders.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Write the pages into this folder.")] = Path("site"),
    claims: Annotated[
        bool, typer.Option("--claims", help="Add a page with the published results on claims of papers.")
    ] = False,
) -> None:
    """Write a web site that needs no server: a list of runs with their verdicts, and one page per run."""
    from workbench.dashboard.report.gallery_site import publish as publish_site

    problems: list[str] = []
    listed = []
    if claims:
        from workbench.claims.published import published_claims

        listed = published_claims()
    entries = publish_site(folders, out, problems, listed)
    made = sum(bool(entry.address) for entry in entries)
    print(f"{out / 'index.html'}: {made} page{'s' * (made != 1)}")
    for problem in dict.fromkeys(problems):
        print(f"problem: {problem}")
    if problems:
        raise SystemExit(1)
