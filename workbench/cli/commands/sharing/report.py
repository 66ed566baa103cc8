"""``lengthlens report``: a page of runs in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Put these runs, or all runs in these folders, on the page.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Write the page to this file.")] = Path("page.html"),
) -> None:
    """Write runs to one HTML file that needs no server.

    The page shows verdict and evidence, figures with sliders for step and length, and the source of every number.
    """
    from workbench.dashboard.report.report_page import ReportError, report_html, runs_below
    from workbench.storage.atomic import write_named

    if out.is_dir():
        raise ReportError(f"{out} is a folder; name a file in it: -o {out}/page.html")
    problems: list[str] = []
    found = runs_below(runs, problems)
    data = report_html(found, str(out)).encode() if found else b""
    if data:
        write_named(out, data)
        print(f"{out}: {len(found)} run{'s' * (len(found) != 1)}, {len(data) / 1e6:.1f} MB")
    for problem in dict.fromkeys(problems):
        print(f"problem: {problem}")
    if problems:
        raise SystemExit(1)
