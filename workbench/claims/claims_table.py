"""The table of claims: one sealed Parquet file, a row a claim, which holds the reduced rows that its verdict rests on.

The reduced rows suffice to resume and to compute verdicts again: the runs may be gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from workbench import __version__
from workbench.claims.claim import Claim, Row
from workbench.claims.errors import ClaimError
from workbench.claims.labels import NOT_RUN, RULE, verdict_text
from workbench.claims.sealed_table import read_sealed, write_sealed

if TYPE_CHECKING:  # judging takes scipy, which a list of stored verdicts does without
    from workbench.claims.verdict_rule import Judgement

FILE = "claims.parquet"
KIND = "table of claims"
_TYPES = {
    "str": pa.string(),
    "float": pa.float64(),
    "int": pa.int64(),
    "bool": pa.bool_(),
    "tuple[float,": pa.list_(pa.float64()),
}
_ROW = pa.struct([pa.field(f.name, _TYPES[str(f.type).split(" ")[0]]) for f in fields(Row)])
_COUNTS = ("seeds", "fitted", "on_side", "of_seeds", "needs", "settings_tried", "version", "rule")
_TEXTS = ("claim", "suite", "kind", "source", "prediction", "statistic", "holds_if", "observation", "verdict", "scale")
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        *((name, pa.float64()) for name in ("low", "high", "share_low", "share_high")),
        *((name, pa.int64()) for name in _COUNTS),
        *((name, pa.string()) for name in ("why", "cause", "rows", "note", "computed", "program")),
        ("complete", pa.bool_()),
        ("reduced", pa.list_(_ROW)),
    ]
)
"""Columns of the table.

``rows`` is the address of what computes the reduced rows, and ``reduced`` contains them. ``on_side`` of ``of_seeds``
seeds are on the claim's side; ``share_low`` and ``share_high`` are the exact limits of their share at 95 %.
``computed`` and ``program`` are the day and the version of the program, and ``rule`` is that of the verdict.
"""


@dataclass(frozen=True)
class Evidence:
    """The stored rows from which one claim is decided.

    Attributes:
        rows: in the order in which they came.
        version: the version of the claim's computation that they were made with.
        complete: whether they are all that the claim needs.
        computed: the day on which they were made, ``2026-11-25``; "" for rows that were made just now.
        program: version of LengthLens that made them; "" as above.
    """

    rows: tuple[Row, ...]
    version: int
    complete: bool
    computed: str = ""
    program: str = ""


def read_evidence(folder: Path) -> dict[str, Evidence]:
    """The reduced rows by claim; empty where there is no table yet.

    Raises:
        ClaimError: for a file that is not a table of claims, or that was changed since it was written.
    """
    columns = ["claim", "version", "complete", "computed", "program", "reduced"]
    table = read_sealed(folder / FILE, KIND, columns)
    try:
        return {
            line["claim"]: Evidence(
                tuple(Row(**{**row, "each": tuple(row["each"] or ())}) for row in line["reduced"]),
                line["version"],
                line["complete"],
                line["computed"],
                line["program"],
            )
            for line in (table.to_pylist() if table is not None else ())
        }
    except (TypeError, KeyError) as error:
        reason = f"is no {KIND} of this version ({error}); move it away and reproduce again"
        raise ClaimError(f"{folder / FILE} {reason}") from error


def today() -> str:
    """The day in UTC, so that machines in all time zones write the same table."""
    return datetime.now(UTC).date().isoformat()


def with_dates(
    stored: Mapping[str, Evidence], new_rows: Mapping[str, Evidence], again: bool = False
) -> dict[str, Evidence]:
    """Return the rows of claims, with newly computed rows in place of older ones.

    Args:
        stored: the older ones.
        new_rows: those made just now.
        again: whether rows that came out as they were take today's day (UTC); else they keep theirs.
    """
    day, newest = today(), dict(stored)
    for name, new in new_rows.items():
        old = None if again else stored.get(name)
        same = old is not None and (old.rows, old.version, old.complete) == (new.rows, new.version, new.complete)
        newest[name] = old if same and old is not None else replace(new, computed=day, program=__version__)
    return newest


def current_evidence(claim: Claim, evidence: Mapping[str, Evidence]) -> Evidence | None:
    """Return the stored rows of a claim if they belong to the claim's version; otherwise None."""
    stored = evidence.get(claim.id)
    return stored if stored is not None and stored.version == claim.version else None


def judge_stored(claim: Claim, evidence: Mapping[str, Evidence]) -> Judgement:
    """Decide a claim from its stored rows."""
    from workbench.claims.verdict_rule import judge

    stored = current_evidence(claim, evidence)
    return judge(claim, stored.rows, stored.complete) if stored else judge(claim, ())


@dataclass(frozen=True)
class StoredVerdict:
    """The stored verdict on one claim, as lists show it.

    Attributes:
        verdict: one of :data:`workbench.claims.labels.LABELS`.
        text: the verdict with its reason.
        observation: the decisive number in words.
        seeds: how many seeds are on the claim's side, ``3 of 3 [0.29, 1.00]``; "" where there are none.
        computed: the day on which its rows were made; "" where there are none.
        program: the version of LengthLens that made them.
    """

    verdict: str
    text: str
    observation: str = ""
    seeds: str = ""
    computed: str = ""
    program: str = ""


def read_verdicts(folder: Path, claims: Sequence[Claim]) -> dict[str, StoredVerdict]:
    """The verdicts that a folder's table holds on some claims; *not run* if it has none.

    A verdict is computed again only if the claim or the rule of verdicts has changed since.

    Raises:
        ClaimError: for a file that is not a table of claims, or that was changed since it was written.
    """
    columns = ["claim", "version", "verdict", "why", "observation", "computed", "program"]
    columns += ["on_side", "of_seeds", "share_low", "share_high"]
    table = read_sealed(folder / FILE, KIND, [*columns, "rule", "holds_if"])
    lines = {line["claim"]: line for line in (table.to_pylist() if table is not None else ())}
    stale = [claim for claim in claims if claim.id in lines and not _judged_so(claim, lines[claim.id])]
    evidence = read_evidence(folder) if stale else {}
    for claim in stale:
        lines[claim.id] |= _judgement(judge_stored(claim, evidence))
    return {claim.id: _stored(claim, lines.get(claim.id)) for claim in claims}


def _judged_so(claim: Claim, line: Mapping[str, Any]) -> bool:
    """Whether a stored verdict is that of today's claim and rule."""
    return (line["rule"], line["holds_if"], line["version"]) == (RULE, claim.holds_if, claim.version)


def _stored(claim: Claim, line: Mapping[str, Any] | None) -> StoredVerdict:
    if line is None or line["verdict"] == NOT_RUN:
        return StoredVerdict(NOT_RUN, verdict_text(claim, NOT_RUN, line["why"] if line else ""))
    text = verdict_text(claim, line["verdict"], line["why"])
    share = "{on_side} of {of_seeds} [{share_low:.2f}, {share_high:.2f}]"
    seeds = share.format_map(line) if line["of_seeds"] else ""
    return StoredVerdict(line["verdict"], text, line["observation"], seeds, line["computed"], line["program"])


def _judgement(judgement: Judgement) -> dict[str, Any]:
    """The columns of a verdict."""
    return {
        "observation": judgement.observation,
        "verdict": judgement.verdict,
        "low": judgement.low,
        "high": judgement.high,
        "seeds": judgement.seeds,
        "fitted": judgement.fitted,
        "on_side": judgement.share.on_side if judgement.share else None,
        "of_seeds": judgement.share.seeds if judgement.share else None,
        "share_low": judgement.share.ends[0] if judgement.share else None,
        "share_high": judgement.share.ends[1] if judgement.share else None,
        "needs": judgement.needs,
        "why": judgement.why,
        "cause": judgement.cause,
    }


def write_table(folder: Path, claims: Sequence[tuple[str, Claim]], evidence: Mapping[str, Evidence]) -> None:
    """Write the table of all claims that have rows, in the order of the suites.

    The same claims and rows give the same bytes. Claims that this version does not know are left out.

    Args:
        folder: the folder that contains the table.
        claims: (suite, claim), all there are.
        evidence: the reduced rows by claim.
    """
    rows = [
        _table_row(suite, claim, stored) for suite, claim in claims if (stored := current_evidence(claim, evidence))
    ]
    write_sealed(folder, FILE, pa.Table.from_pylist(rows, schema=SCHEMA))


def _table_row(suite: str, claim: Claim, stored: Evidence) -> dict[str, Any]:
    from workbench.claims.verdict_rule import judge

    return {
        "claim": claim.id,
        "suite": suite,
        "kind": claim.kind,
        "source": claim.source,
        "prediction": claim.prediction,
        "statistic": claim.statistic,
        "holds_if": claim.holds_if,
        "scale": claim.scale,
        **_judgement(judge(claim, stored.rows, stored.complete)),
        "settings_tried": claim.settings_tried,
        "version": stored.version,
        "rows": claim.rows,
        "note": claim.note,
        "computed": stored.computed,
        "program": stored.program,
        "rule": RULE,
        "complete": stored.complete,
        "reduced": [asdict(row) for row in stored.rows],
    }
