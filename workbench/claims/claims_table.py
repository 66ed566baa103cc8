"""The table of claims: one Parquet file, a row a claim, which holds the reduced rows that its verdict rests on.

The reduced rows are all that is needed to go on and to judge again: the runs may be gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.claims.claim import Claim, Row
from workbench.claims.errors import ClaimError
from workbench.claims.judging import Judgement, judge
from workbench.storage import bounded
from workbench.storage.atomic import replacing
from workbench.storage.bounded import read_bytes
from workbench.table.parquet import read_columns

FILE = "claims.parquet"
_TYPES = {"str": pa.string(), "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
_ROW = pa.struct([pa.field(f.name, _TYPES[str(f.type).split(" ")[0]]) for f in fields(Row)])
_TEXTS = ("claim", "suite", "kind", "source", "prediction", "statistic", "holds_if", "observation", "verdict", "scale")
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        *((name, pa.float64()) for name in ("low", "high")),
        *((name, pa.int64()) for name in ("seeds", "fitted", "settings_tried", "version")),
        *((name, pa.string()) for name in ("rows", "note")),
        ("complete", pa.bool_()),
        ("reduced", pa.list_(_ROW)),
    ]
)
"""Columns of the table; ``rows`` says what gives the reduced rows, ``reduced`` holds them."""


@dataclass(frozen=True)
class Evidence:
    """The reduced rows of one claim.

    Attributes:
        rows: in the order in which they came.
        version: of the claim's computation that they were made with.
        complete: whether they are all that the claim asks for.
    """

    rows: tuple[Row, ...]
    version: int
    complete: bool


def read_evidence(folder: Path) -> dict[str, Evidence]:
    """The reduced rows by claim; empty where there is no table yet.

    Raises:
        ClaimError: for a file that is no table of claims.
    """
    path = folder / FILE
    try:
        # Not pq.read_table, which loads pandas.
        table = read_columns(read_bytes(path, bounded.SHARD), ["claim", "version", "complete", "reduced"])
        return {
            one["claim"]: Evidence(tuple(Row(**row) for row in one["reduced"]), one["version"], one["complete"])
            for one in table.to_pylist()
        }
    except FileNotFoundError:
        return {}
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ClaimError(f"{path} is no table of claims ({reason}); move it away and reproduce again") from error


def current(claim: Claim, evidence: Mapping[str, Evidence]) -> Evidence | None:
    """What is stored of a claim, if it was made with the claim's version."""
    found = evidence.get(claim.id)
    return found if found is not None and found.version == claim.version else None


def judged(claim: Claim, evidence: Mapping[str, Evidence]) -> Judgement:
    """The verdict on a claim from what is stored."""
    found = current(claim, evidence)
    return judge(claim, found.rows, found.complete) if found else judge(claim, ())


def write_table(folder: Path, claims: Sequence[tuple[str, Claim]], evidence: Mapping[str, Evidence]) -> None:
    """Write the table of all claims that have rows, in the order of the suites.

    The same claims and rows give the same bytes. Claims that this version does not know are left out.

    Args:
        folder: where it lies.
        claims: (suite, claim), all there are.
        evidence: the reduced rows by claim.
    """
    rows = [_table_row(suite, claim, found) for suite, claim in claims if (found := current(claim, evidence))]
    with replacing(folder / FILE) as stream:
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), stream, compression="zstd")


def _table_row(suite: str, claim: Claim, found: Evidence) -> dict[str, Any]:
    said = judge(claim, found.rows, found.complete)
    return {
        "claim": claim.id,
        "suite": suite,
        "kind": claim.kind,
        "source": claim.source,
        "prediction": claim.prediction,
        "statistic": claim.statistic,
        "holds_if": claim.holds_if,
        "observation": said.observation,
        "verdict": said.verdict,
        "scale": claim.scale,
        "low": said.low,
        "high": said.high,
        "seeds": said.seeds,
        "fitted": said.fitted,
        "settings_tried": claim.settings_tried,
        "version": found.version,
        "rows": claim.rows,
        "note": "; ".join(filter(None, (said.why, claim.note))),
        "complete": found.complete,
        "reduced": [asdict(row) for row in found.rows],
    }
