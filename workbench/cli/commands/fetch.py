"""``lengthlens fetch``: runs from an object store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def fetch(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Copy the runs in this folder: s3://bucket/study or gs://bucket/study.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Copy the runs into this folder.")],
) -> None:
    """Copy runs from an object store: settings, logs and measurements, but no weights.

    Run the same command again to fetch only new or changed objects. Credentials come from the standard configuration of
    the store (e.g. the AWS profile). For another S3 server write
    s3://bucket/study?endpoint_override=host:9000&scheme=http.
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
        f"{done.kept:,} existed already{removed}"
    )
    for problem in done.problems:
        print(f"problem: {problem}")
    if done.problems:
        raise SystemExit(1)
    print(f"Next: lengthlens app {out}")
