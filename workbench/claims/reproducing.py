"""Computing what is missing of a suite, claim by claim; the table is written after each, so any end will do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from workbench.claims.claim import Claim, Row, Suite
from workbench.claims.claim_pages import write_pages
from workbench.claims.claims_table import Evidence, current, read_evidence, write_table
from workbench.claims.suites.registry import SUITES

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What a call of the command has to do.

    Attributes:
        claims: all that were asked for, with their suites.
        missing: those that have no complete rows of their version and can be computed.
        unbuilt: those for which nothing is built that computes them; their notes say what is needed.
    """

    claims: tuple[tuple[Suite, Claim], ...]
    missing: tuple[Claim, ...]
    unbuilt: tuple[Claim, ...] = ()

    @property
    def minutes(self) -> float:
        """Processor minutes of what is missing, roughly."""
        return sum(claim.minutes for claim in self.missing)


def plan(claims: Sequence[tuple[Suite, Claim]], folder: Path) -> Plan:
    """What is missing of some claims, by the table in a folder."""
    stored = read_evidence(folder)
    missing = []
    for _, claim in claims:
        found = current(claim, stored)
        if found is None or not found.complete:
            missing.append(claim)
    built = tuple(claim for claim in missing if claim.rows)
    return Plan(tuple(claims), built, tuple(claim for claim in missing if not claim.rows))


def reproduce(todo: Plan, folder: Path, minutes: float | None = None, tell: Tell = lambda line: None) -> Plan:
    """Compute what is missing, write the table and the pages; returns what is missing then.

    Args:
        todo: from :func:`plan`.
        folder: of table and pages.
        minutes: stop before the first claim that begins later than this; None = no limit. It is never stopped in one.
        tell: is given a line when a claim begins.
    """
    begun = time.monotonic()
    for at, claim in enumerate(todo.missing, start=1):
        if minutes is not None and time.monotonic() - begun > 60 * minutes:
            break
        tell(f"{claim.id} ({at} of {len(todo.missing)}): {claim.prediction}")
        keep(claim, computed(claim), folder)
    # Also where nothing was missing: the texts of claims may be newer than the table.
    write_table(folder, every_claim(), read_evidence(folder))
    write_pages(folder)
    return plan(todo.claims, folder)


def computed(claim: Claim) -> list[Row]:
    """The rows of an exact claim, computed now."""
    module, _, name = claim.rows.partition(":")
    found: list[Row] = getattr(import_module(module), name)()
    return found


def keep(claim: Claim, rows: Sequence[Row], folder: Path, complete: bool = True) -> None:
    """Write a claim's rows into the table, in place of those that it had."""
    stored = read_evidence(folder) | {claim.id: Evidence(tuple(rows), claim.version, complete)}
    write_table(folder, every_claim(), stored)


def every_claim() -> list[tuple[str, Claim]]:
    """All claims of all suites, with the suite's name."""
    return [(suite.name, claim) for suite in SUITES.values() for claim in suite.claims]
