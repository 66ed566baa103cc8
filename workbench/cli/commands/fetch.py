"""``lengthlens fetch``: runs from an object store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def fetch(
    url: Annotated[str, typer.Argument(metavar="URL", help="The folder of runs, e.g. s3://bucket/study; gs:// too.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder to copy into.")],
) -> None:
    """Copy runs from an object store: configurations, logs and measurements, without weights.

    Given again it fetches what is new or has changed. Credentials are those of the store's own tools; another server
    than the public one: s3://bucket/study?endpoint_override=host:9000&scheme=http.
    """
    from workbench.cli.progress import Bar
    from workbench.table.object_store import fetch as fetch_runs

    with Bar(0, "fetching", "object") as bar:

        def progress(done: int, total: int) -> None:
            bar.update(done, "", total)

        done = fetch_runs(url, out, progress)
    removed = f", {done.gone:,} removed" if done.gone else ""
    print(
        f"{out}: {done.runs:,} run{'s' * (done.runs != 1)}; {done.new:,} objects fetched ({done.size / 1e6:.1f} MB), "
        f"{done.kept:,} were there{removed}"
    )
    for problem in done.problems:
        print(f"problem: {problem}")
    if done.problems:
        raise SystemExit(1)
    print(f"Next: lengthlens app {out}")
