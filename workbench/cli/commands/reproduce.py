"""``lengthlens reproduce``: claims of the literature, computed by name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.options import ExecutorOption, completing
from workbench.cli.output.print_tables import CsvOption, JsonOption, OutputTable, print_tables, refuse_both
from workbench.cli.output.table_kinds import CLAIMS

if TYPE_CHECKING:
    from workbench.claims.claim import Claim, Suite
    from workbench.claims.claims_table import Evidence
    from workbench.claims.reproducing import Plan


def _suite_names() -> list[str]:
    from workbench.claims.suites.registry import SUITES

    return list(SUITES)


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME ...]",
            help="Reproduce these suites (e.g. crasp-exact) or claims (e.g. HE07). --list prints the names of all.",
            autocompletion=completing(_suite_names),
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Start nothing new after this many minutes. Run the same command to resume. Default: no limit.",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Train at most this many seeds per combination of settings. Claims that need more seeds are "
            "not run. Default: all.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Use this many worker processes. Default: one per core.")
    ] = None,
    executor: ExecutorOption = "processes",
    runs: Annotated[
        Path | None,
        typer.Option(help="Keep the trained runs in this folder. Default: delete each run after it is measured."),
    ] = None,
    add: Annotated[
        list[Path] | None,
        typer.Option("--add", help="Add the rows of this runs.parquet, which another machine wrote. Repeatable."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Compute stored claims again, training included, and compare the new results with the stored ones.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print which claims are missing and how long they take, without computing them."
        ),
    ] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="List the suites, or the claims of NAME, with kind, cost and last verdict.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Read and write claims.parquet, runs.parquet and the pages in this folder.")
    ] = Path("docs/claims"),
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Reproduce claims of papers about length generalization, and print the verdict on each.

    Stored verdicts are printed and not computed again, unless you give --again or a new folder in --out. Each claim
    states what is computed and when it holds. It also states whether this criterion was chosen after the numbers were
    known. Verdicts: *holds*, *does not hold at this scale*, *depends on the seed*, *undecided*, *outside the theorem's
    range*, *not run*.

    Numbers go to claims.parquet, with one page per suite in the same folder. Results of a trained run go to
    runs.parquet as soon as the run ends. If other runs start from a run, it is kept in the folder starting_runs until
    they are trained.
    """
    from workbench.claims.suites.registry import SUITES
    from workbench.cli.errors import UsageError
    from workbench.cli.table_text import align_columns

    refuse_both(as_json, as_csv)
    for_program = as_json or as_csv
    if for_program and dry_run:
        raise UsageError("--dry-run prints text; leave out --json and --csv, or give --list instead")
    if not names and not list_:
        raise UsageError(f"name a suite or a claim: {', '.join(SUITES)}; `lengthlens reproduce --list` lists them")
    if list_:
        if names or for_program:
            _print_claims(names or SUITES, out, as_json, as_csv)
            return
        for line in align_columns(_suites(out)):
            print(line)
        return
    # Only now, as judging takes scipy and a list of stored verdicts does without.
    from workbench.claims.claims_table import read_evidence
    from workbench.claims.reproducing import plan
    from workbench.claims.reproducing import reproduce as carry_out
    from workbench.claims.trained.run_rows import take_in
    from workbench.claims.trained.training_runs import Workers
    from workbench.jobs.choose import make_executor

    if again and minutes is not None:
        raise UsageError(
            "--again and --minutes were both given, but --again cannot be resumed; leave --minutes out, "
            "or give --out a new folder instead"
        )
    make_executor(executor, workers=workers)  # refuse an unknown one before any work
    for file in () if dry_run else add or ():
        print(f"{take_in(file, out):,} rows of {file} added", file=sys.stderr if for_program else sys.stdout)
    todo = plan(_named(names or []), out, seeds, again)
    if dry_run:
        _tell(todo)
        return
    before = read_evidence(out)
    # With --json and --csv standard output has the table alone.
    messages: AbstractContextManager[object] = redirect_stdout(sys.stderr) if for_program else nullcontext()
    with messages:
        left = carry_out(todo, out, minutes, print, Workers(executor, workers, runs))
    _print_claims(names or [], out, as_json, as_csv)
    with messages:
        if len(todo.claims) == 1:
            _tell_seeds(todo.claims[0][1], out)
        _tell_origin(todo, out, before)
        if left.missing:
            print(f"not run yet: {', '.join(claim.id for claim in left.missing)}; run the same command to resume")
        _tell_unbuilt(left)
    for problem in left.problems:
        print(f"problem: {problem}", file=sys.stderr)
    if left.problems:
        raise SystemExit(1)


def _named(names: Iterable[str]) -> list[tuple[Suite, Claim]]:
    """The claims of some suites and ids, each once."""
    from workbench.claims.suites.registry import claims_named

    found = {claim.id: (suite, claim) for name in names for suite, claim in claims_named(name)}
    return list(found.values())


def _suites(out: Path) -> list[list[str]]:
    """A line per suite: how many claims, what they cost, and how they came out."""
    from workbench.claims.claims_table import read_verdicts
    from workbench.claims.labels import LABELS
    from workbench.claims.suites.registry import SUITES

    stored = read_verdicts(out, [claim for suite in SUITES.values() for claim in suite.claims])
    rows = [["suite", "claims", "minutes", "about", "verdicts"]]
    for suite in SUITES.values():
        labels = [stored[claim.id].verdict for claim in suite.claims]
        verdicts = ", ".join(f"{labels.count(label)} {label}" for label in LABELS if label in labels)
        rows.append([suite.name, str(len(suite.claims)), f"{suite.minutes:.0f}", suite.title, verdicts])
    return rows


def _print_claims(names: Iterable[str], out: Path, as_json: bool, as_csv: bool) -> None:
    """Print the claims of some suites and ids: kind, cost, verdict, seeds on the claim's side, and its numbers."""
    from workbench.claims.claim import KINDS
    from workbench.claims.claims_table import current_evidence, read_evidence, read_verdicts
    from workbench.claims.readable import observed_text, reason_text
    from workbench.cli.table_text import align_columns

    claims = _named(names)
    stored = read_verdicts(out, [claim for _, claim in claims])
    rows = [
        {
            "claim": claim.id,
            "suite": suite.name,
            "kind": claim.kind,
            "minutes": claim.minutes,
            "verdict": stored[claim.id].verdict,
            "seeds": stored[claim.id].seeds,
            "observed": stored[claim.id].observation,
        }
        for suite, claim in claims
    ]
    if print_tables("reproduce", [OutputTable(CLAIMS, rows)], as_json, as_csv):
        return
    evidence = read_evidence(out)
    columns = ("claim", "kind", "minutes", "seeds", "verdict")
    cells = [
        (claim.id, claim.kind, f"{claim.minutes:g}", str(stored[claim.id].seeds), reason_text(stored[claim.id].text))
        for _, claim in claims
    ]
    heading, *lines = align_columns([columns, *cells])
    print(heading)
    for (_, claim), line in zip(claims, lines, strict=True):
        print(line)
        current = current_evidence(claim, evidence)
        observation = observed_text(stored[claim.id].observation, current.rows if current else ())
        if observation:
            print(f"       observed: {observation}")
    kinds = dict.fromkeys(claim.kind for _, claim in claims)
    print(f"kind: {'; '.join(f'{kind} is {KINDS[kind]}' for kind in kinds)}")
    if any(stored[claim.id].seeds for _, claim in claims):
        print("seeds: how many seeds support the claim, of those that solve the trained lengths")


def _tell_seeds(claim: Claim, out: Path) -> None:
    """The seeds of a claim, a line of blocks for each item and condition: the bar stands before the claim's side."""
    from workbench.claims.claims_table import current_evidence, read_evidence
    from workbench.claims.seed_blocks import block_lines

    stored = current_evidence(claim, read_evidence(out))
    lines = block_lines(claim, stored.rows) if stored else []
    if lines:
        print(
            "Seeds: each block is one seed, and its height shows the value. Seeds to the right of | support the claim."
        )
    for line in lines:
        print(f"  {line}")


def _tell_origin(todo: Plan, out: Path, before: Mapping[str, Evidence]) -> None:
    """Which of the verdicts were stored before this call, and how those that were computed again compare."""
    from workbench.claims.claims_table import current_evidence, read_evidence
    from workbench.claims.reproducing import differences

    after, made = read_evidence(out), {claim.id for claim in todo.missing}
    lines: dict[str, list[str]] = {}
    for _, claim in todo.claims:
        new, old = current_evidence(claim, after), current_evidence(claim, before)
        if new is None:
            continue
        if claim.id not in made:
            origin = f"stored on {new.computed} with version {new.program}; `--again` computes it again"
        elif old is None or not todo.again:
            origin = "computed now"
        else:
            rows = differences(old, new)
            compared = f"{rows} of {len(new.rows)} rows differ from" if rows else f"all {len(new.rows)} rows equal"
            origin = f"computed again; {compared} those stored on {old.computed} with version {old.program}"
        lines.setdefault(origin, []).append(claim.id)
    for origin, names in lines.items():
        print(f"{', '.join(names)}: {origin}")


def _tell(todo: Plan) -> None:
    """What a plan would do, in words."""
    from workbench.claims.readable import prediction_text
    from workbench.cli.table_text import align_columns, count_of

    if todo.missing:
        count = f"{len(todo.missing)} of {len(todo.claims)} claims"
        runs = f"{count_of(len(todo.runs), 'run')}" if todo.runs else "no training"
        print(f"{count} are missing, about {todo.minutes:.1f} CPU minutes and {runs}:")
        for line in align_columns([[f"  {c.id}", f"{c.minutes:g} min", prediction_text(c)] for c in todo.missing]):
            print(line)
    else:
        print("nothing is missing that can be computed")
    _tell_unbuilt(todo)


def _tell_unbuilt(todo: Plan) -> None:
    """The claims that cannot be computed yet, each with what it needs."""
    for claim in todo.unbuilt:
        print(f"{claim.id} cannot be run yet: {claim.note.removeprefix('not built: ')}")
