"""``lengthlens reproduce``: claims of the literature, computed by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.options import completing

if TYPE_CHECKING:
    from workbench.claims.claim import Claim, Suite
    from workbench.claims.reproducing import Plan


def _suite_names() -> list[str]:
    from workbench.claims.suites.registry import SUITES

    return list(SUITES)


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME ...]",
            help="Suites (crasp-exact) or claims (HE07), one or several; see --list.",
            autocompletion=completing(_suite_names),
        ),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="Begin nothing after so many minutes; the same command goes on.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Train so many seeds of each cell at most; claims with fewer are not run.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; default: one per core.")] = None,
    executor: Annotated[str, typer.Option(help="serial or processes.")] = "processes",
    runs: Annotated[
        Path | None, typer.Option(help="Keep the trained runs in this folder; else they go once measured.")
    ] = None,
    add: Annotated[
        list[Path] | None,
        typer.Option("--add", help="Take in the rows of a runs.parquet that was made elsewhere. Repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is missing and what it costs; compute nothing.")
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="The suites, or the claims of NAMES, with kind, cost and last verdict.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of claims.parquet, runs.parquet and of the pages.")] = Path(
        "docs/claims"
    ),
) -> None:
    """Reproduce what papers claim about length generalization: whatever is missing; what is there stays.

    A claim states what is computed and when it holds, and says so where that was settled with its numbers known.
    Verdicts: *holds*, *does not hold at this scale*, *undecided*, *not run*. Numbers go to claims.parquet, with a page
    per suite beside it; what was measured of each trained run goes to runs.parquet as soon as the run has ended, and
    verdicts need nothing else. A run that others begin from stays in starting_runs beside it until none of these is
    missing. --out with a new folder computes everything anew.
    """
    from workbench.claims.reproducing import plan
    from workbench.claims.reproducing import reproduce as carry_out
    from workbench.claims.suites.registry import SUITES
    from workbench.claims.trained.run_rows import take_in
    from workbench.claims.trained.training_runs import Workers
    from workbench.cli.errors import UsageError
    from workbench.cli.table_text import aligned
    from workbench.jobs.choose import make_executor

    if not names and not list_:
        raise UsageError(f"name a suite or a claim: {', '.join(SUITES)}; `lengthlens reproduce --list` lists them")
    if list_:
        for line in aligned(_claims(names, out) if names else _suites(out)):
            print(line)
        return
    make_executor(executor, workers=workers)  # refuse an unknown one before any work
    for file in () if dry_run else add or ():
        print(f"{take_in(file, out):,} rows of {file} taken in")
    todo = plan(_named(names or []), out, seeds)
    if dry_run:
        _tell(todo)
        return
    left = carry_out(todo, out, minutes, print, Workers(executor, workers, runs))
    for line in aligned(_claims(names or [], out)):
        print(line)
    if left.missing:
        print(f"not run yet: {', '.join(claim.id for claim in left.missing)}; the same command goes on")
    _tell_unbuilt(left)
    for problem in left.problems:
        print(f"problem: {problem}", file=sys.stderr)
    if left.problems:
        raise SystemExit(1)


def _named(names: Sequence[str]) -> list[tuple[Suite, Claim]]:
    """The claims of some suites and ids, each once."""
    from workbench.claims.suites.registry import claims_named

    found = {claim.id: (suite, claim) for name in names for suite, claim in claims_named(name)}
    return list(found.values())


def _suites(out: Path) -> list[list[str]]:
    """A line per suite: how many claims, what they cost, and how they came out."""
    from workbench.claims.claims_table import judged, read_evidence
    from workbench.claims.judging import LABELS
    from workbench.claims.suites.registry import SUITES

    stored = read_evidence(out)
    rows = [["suite", "claims", "minutes", "verdicts", "about"]]
    for suite in SUITES.values():
        found = [judged(claim, stored).verdict for claim in suite.claims]
        verdicts = ", ".join(f"{found.count(label)} {label}" for label in LABELS if label in found)
        rows.append([suite.name, str(len(suite.claims)), f"{suite.minutes:.0f}", verdicts, suite.title])
    return rows


def _claims(names: Sequence[str], out: Path) -> list[list[str]]:
    """A line per claim: kind, cost, verdict and the number behind it."""
    from workbench.claims.claims_table import judged, read_evidence
    from workbench.claims.judging import verdict_text

    stored = read_evidence(out)
    rows = [["claim", "kind", "minutes", "verdict", "observed"]]
    for _, claim in _named(names):
        said = judged(claim, stored)
        rows.append([claim.id, claim.kind, f"{claim.minutes:g}", verdict_text(claim, said), said.observation])
    return rows


def _tell(todo: Plan) -> None:
    """What a plan would do, in words."""
    from workbench.cli.table_text import aligned, count_of

    if todo.missing:
        count = f"{len(todo.missing)} of {len(todo.claims)} claims"
        runs = f"{count_of(len(todo.runs), 'run')}" if todo.runs else "no training"
        print(f"{count} are missing, about {todo.minutes:.1f} processor minutes and {runs}:")
        for line in aligned([[f"  {c.id}", f"{c.minutes:g} min", c.prediction] for c in todo.missing]):
            print(line)
    else:
        print("nothing is missing that can be computed")
    _tell_unbuilt(todo)


def _tell_unbuilt(todo: Plan) -> None:
    """The claims that cannot be computed yet, each with what it needs."""
    for claim in todo.unbuilt:
        print(f"{claim.id} cannot be run yet: {claim.note.removeprefix('not built: ')}")
