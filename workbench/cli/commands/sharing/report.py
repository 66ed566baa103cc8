"""``lengthlens report``: a page of runs in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs, or folders of runs.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The file to write.")] = Path("page.html"),
) -> None:
    """Write a page of runs as one HTML file that needs no server: verdict, evidence, figures with both sliders, and
    where every number comes from."""
    from workbench.dashboard.report.report_page import ReportError, report_html, runs_below
    from workbench.storage.atomic import replacing

    if out.is_dir():
        raise ReportError(f"{out} is a folder; name a file in it: -o {out}/page.html")
    problems: list[str] = []
    found = runs_below(runs, problems)
    data = report_html(found, str(out)).encode() if found else b""
    if data:
        with replacing(out) as file:
            file.write(data)
        print(f"{out}: {len(found)} run{'s' * (len(found) != 1)}, {len(data) / 1e6:.1f} MB")
    for problem in dict.fromkeys(problems):
        print(f"problem: {problem}")
    if problems:
        raise SystemExit(1)
