"""The sources of a run's numbers, so that a reader of a page can reproduce them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from workbench.core.failures import isolate_errors
from workbench.dashboard.components.plotly_bundle import VERSION as PLOTLY_JS
from workbench.dashboard.state.run_view import RunView, quote_path
from workbench.runs.run import Run, sha256_of
from workbench.table.layout import shards_of, table_path


@dataclass(frozen=True)
class Provenance:
    """The run, versions and command from which a page was made.

    Attributes:
        facts: name and value of what fits on a line.
        weights: step and SHA-256 of each checkpoint's weights, as recorded when it was saved.
        rows: name and SHA-256 of each file of rows.
        config: the run's settings, as JSON.
        command: makes the page again.
        problems: what could not be read, a sentence each.
    """

    facts: tuple[tuple[str, str], ...]
    weights: tuple[tuple[int, str], ...]
    rows: tuple[tuple[str, str], ...]
    config: str
    command: str
    problems: tuple[str, ...]


def provenance(run: RunView, command: str) -> Provenance:
    """Return which run, versions and command made a page.

    Args:
        run: the run.
        command: that makes the page again.
    """
    problems: list[str] = list(run.problems)
    weights: list[tuple[int, str]] = []
    for step in run.steps:
        with isolate_errors(problems.append, f"the hash of the weights of {run.name} at step {step:,} cannot be read"):
            weights.append((step, str(run.run.meta(step)["sha256"])))
    rows: list[tuple[str, str]] = []
    with isolate_errors(problems.append, f"the rows of {run.name} could not be hashed"):
        rows = _rows(run.run)
    # Where a model's folder lies on this machine is nothing for whoever is handed the page.
    config = {name: value for name, value in run.config.items() if name not in ("seal", "folders")}
    measured = ", ".join(f"{name} {spec.get('version', '?')}" for name, spec in sorted(run.specs.items()))
    facts = (
        ("Run id", str(run.config["id"])),
        ("Made", str(run.config.get("created", "not recorded"))),
        (run.kind.made_with, _versions(run.config.get("versions", {}))),
        ("Measured with", measured or "nothing yet"),
        ("Rows", f"{run.brief.rows:,}"),
        ("Page drawn with", f"LengthLens {own_version()}, plotly.js {PLOTLY_JS}"),
    )
    text = orjson.dumps(config, option=orjson.OPT_INDENT_2).decode()
    return Provenance(facts, tuple(weights), tuple(rows), text, command, tuple(problems))


def own_version() -> str:
    """Return the version of this package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("lengthlens")
    except PackageNotFoundError:  # read from a folder that is not installed
        return "(not installed)"


def report_command(runs: Sequence[RunView], out: str) -> str:
    """Return the command that makes a page of these runs again."""
    return " ".join(["lengthlens report", *(run.typed_path for run in runs), "-o", quote_path(out)])


def _versions(found: Any) -> str:
    return ", ".join(f"{name} {version}" for name, version in found.items()) or "not recorded"


def _rows(run: Run) -> list[tuple[str, str]]:
    """The compacted table, and all shards as one: SHA-256 of a line ``<hash>  <path>`` for each, by path."""
    rows = []
    table = table_path(run.path)
    if table.is_file():
        rows.append((table.name, sha256_of(table)))
    shards = [shard.path for shard in shards_of(run.path)]
    if shards:
        lines = (f"{sha256_of(path)}  {path.relative_to(run.path).as_posix()}\n" for path in sorted(shards))
        named = f"measurements/ ({len(shards):,} shard{'' if len(shards) == 1 else 's'})"
        rows.append((named, hashlib.sha256("".join(lines).encode()).hexdigest()))
    return rows
