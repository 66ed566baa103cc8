"""Compute what is missing of some suites; tables are written after each run and each claim, so it may be interrupted.

Exact claims are computed. For trained claims, missing runs are trained and measured, and the results are added to the
table of runs. The rows of the claims are made only from that table, so that the runs may be gone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import zip_longest
from pathlib import Path

from workbench.claims.claim import Claim, Row, Suite
from workbench.claims.claim_pages import write_pages
from workbench.claims.claims_table import Evidence, current_evidence, read_evidence, with_dates, write_table
from workbench.claims.readable import prediction_text
from workbench.claims.suites.registry import SUITES
from workbench.claims.trained.run_rows import RunTable, read_runs
from workbench.claims.trained.training_runs import (
    Workers,
    missing_runs,
    planned_runs,
    remove_starts,
    starts_of,
    train_missing,
)
from workbench.claims.trained_cells import PlannedRun
from workbench.core.failures import isolate_errors
from workbench.storage.atomic import remove_leftovers

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """The work that a call of ``lengthlens reproduce`` has to do.

    Attributes:
        claims: all requested claims, with their suites.
        missing: those that have no complete rows of their version and can be computed.
        unbuilt: claims without code that computes them; their notes state what is needed.
        runs: the runs to be trained or measured for trained ones, the longest first.
        seeds: of each cell, at most; None = those that its claims plan.
        problems: a sentence for each run that failed, and for each claim whose rows could not be made of its runs.
        again: whether existing results are computed and trained again.
    """

    claims: tuple[tuple[Suite, Claim], ...]
    missing: tuple[Claim, ...]
    unbuilt: tuple[Claim, ...] = ()
    runs: tuple[PlannedRun, ...] = ()
    seeds: int | None = None
    problems: tuple[str, ...] = ()
    again: bool = False

    @property
    def minutes(self) -> float:
        """Return roughly how many CPU minutes the missing results take."""
        exact = sum(claim.minutes for claim in self.missing if not claim.cells)
        return exact + sum(run.cell.seconds for run in self.runs) / 60


def plan(claims: Sequence[tuple[Suite, Claim]], folder: Path, seeds: int | None = None, again: bool = False) -> Plan:
    """Return which results of some claims are missing, according to the tables in a folder.

    Args:
        claims: them.
        folder: the folder of the tables.
        seeds: of each cell, at most, in place of those that claims plan.
        again: whether everything counts as missing.
    """
    stored, runs = ({}, RunTable()) if again else (read_evidence(folder), read_runs(folder))
    missing = [claim for _, claim in claims if claim.rows and not _whole(claim, stored, runs)]
    # Once for all suites: a run that two of them ask something else of is trained once, and begins with the first.
    lacking = missing_runs(planned_runs([cell for _, claim in claims for cell in claim.cells], seeds), runs, folder)
    place = {run.recipe: at for at, (_, claim) in reversed([*enumerate(claims)]) for run in planned_runs(claim.cells)}
    suites = list(dict.fromkeys(suite.name for suite, _ in claims))
    lacking.sort(key=lambda run: suites.index(claims[place[run.recipe]][0].name))
    unbuilt = tuple(claim for _, claim in claims if not claim.rows)
    return Plan(tuple(claims), tuple(missing), unbuilt, tuple(lacking), seeds, again=again)


def _whole(claim: Claim, stored: Mapping[str, Evidence], runs: RunTable) -> bool:
    """Whether all rows of a claim are there."""
    evidence = current_evidence(claim, stored)
    if evidence is None or not evidence.complete or not (evidence.rows or claim.cells):
        return False
    return not missing_runs(planned_runs(claim.cells), runs)


def reproduce(
    todo: Plan,
    folder: Path,
    minutes: float | None = None,
    tell: Tell = lambda line: None,
    workers: Workers | None = None,
) -> Plan:
    """Compute missing results, and write the tables and the pages.

    Args:
        todo: from :func:`plan`.
        folder: the folder of tables and pages.
        minutes: begin no run and no claim later than this; None = no limit. Nothing is stopped once begun, and no run
            begins that would end later by the pace of those before it.
        tell: receives a line when a claim begins and when a run ends.
        workers: the processes that train runs; None = in worker processes, one per core.

    Returns:
        what is missing then.
    """
    remove_leftovers(folder)
    begun = time.time()
    until = None if minutes is None else begun + 60 * minutes
    exact = [claim for claim in todo.missing if not claim.cells]
    for at, claim in enumerate(exact, start=1):
        if until is not None and time.time() > until:
            break
        tell(f"{claim.id} ({at} of {len(exact)}): {prediction_text(claim)}")
        store_rows(claim, compute_rows(claim), folder, again=todo.again)
    runs = read_runs(folder)
    workers = workers or Workers()
    problems = train_missing(todo.runs, runs, folder, workers, until, tell, _starts_needed(todo.claims, runs))
    remove_starts(folder, _starts_needed(todo.claims, runs), workers.runs)
    problems += store_trained_rows([claim for _, claim in todo.claims if claim.cells], runs, folder, todo.again)
    write_pages(folder, {claim.id for _, claim in todo.claims})
    return replace(plan(todo.claims, folder, todo.seeds), problems=tuple(problems))


def _starts_needed(claims: Sequence[tuple[Suite, Claim]], runs: RunTable) -> set[str]:
    """Recipes of runs from which missing runs of any claim start, whether the claim was requested or not.

    A claim that is only about a pretrained model is thus reproduced without training its model again for others.
    """
    chosen = [claim for _, claim in claims]
    cells = [cell for claim in (*chosen, *(claim for _, claim in every_claim())) for cell in claim.cells]
    return starts_of(missing_runs(planned_runs(cells), runs))


def store_trained_rows(claims: Sequence[Claim], runs: RunTable, folder: Path, again: bool = False) -> list[str]:
    """Write the rows of trained claims, made only from the table of runs; a claim that lacks runs gets the rows that
    can be made.

    Returns:
        a sentence for each claim whose rows cannot be made of its runs; it then has no rows, and other claims are
        unaffected.
    """
    new_rows: dict[str, Evidence] = {}
    problems: list[str] = []
    for claim in claims:
        new_rows[claim.id] = Evidence((), claim.version, complete=False)
        sentences: list[str] = []
        with isolate_errors(sentences.append, ""):
            new_rows[claim.id] = Evidence(*reduce_runs(claim, runs))
        problems += [f"{claim.id}: {sentence}" for sentence in sentences]
    # Also where nothing was missing: the texts of claims may be newer than the table.
    write_table(folder, every_claim(), with_dates(read_evidence(folder), new_rows, again))
    return problems


def reduce_runs(claim: Claim, runs: RunTable) -> tuple[tuple[Row, ...], int, bool]:
    """Return the rows of a claim from those of its trained models, their version, and whether no run is missing."""
    whole = not missing_runs(planned_runs(claim.cells), runs)
    return (tuple(_function(claim)(claim, runs, **claim.arguments)) if whole else ()), claim.version, whole


def compute_rows(claim: Claim) -> list[Row]:
    """The rows of an exact claim, computed now."""
    rows: list[Row] = _function(claim)()
    return rows


def _function(claim: Claim) -> Callable[..., list[Row]]:
    """What makes the rows of a claim."""
    module, _, name = claim.rows.partition(":")
    function: Callable[..., list[Row]] = getattr(import_module(module), name)
    return function


def store_rows(claim: Claim, rows: Sequence[Row], folder: Path, complete: bool = True, again: bool = False) -> None:
    """Write a claim's rows into the table, in place of its earlier rows."""
    new_rows = {claim.id: Evidence(tuple(rows), claim.version, complete)}
    write_table(folder, every_claim(), with_dates(read_evidence(folder), new_rows, again))


def differences(before: Evidence, after: Evidence) -> int:
    """Count the rows in which two computations of a claim differ by more than rounding, or which only one of them
    has.
    """
    pairs = list(zip_longest(before.rows, after.rows))
    return sum(old is None or new is None or not _alike(old, new) for old, new in pairs)


def _alike(old: Row, new: Row) -> bool:
    """Whether two rows are equal, with numbers within 1e-9 of each other."""
    if (old.quantity, old.item, old.seed, old.n) != (new.quantity, new.item, new.seed, new.n):
        return False
    numbers = [(getattr(old, name), getattr(new, name)) for name in ("value", "low", "high", "expected")]
    return all(a == b if a is None or b is None else math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in numbers)


def every_claim() -> list[tuple[str, Claim]]:
    """All claims of all suites, with the suite's name."""
    return [(suite.name, claim) for suite in SUITES.values() for claim in suite.claims]
