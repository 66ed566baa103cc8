"""Reach (:mod:`workbench.core.reach`) from the stored rows of ``behaviour``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.core.names import BEHAVIOUR, MATCHED
from workbench.core.reach import REACH, Reach, Score, reach_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

QUANTITIES = ("accuracy", "skill", "chance")
"""Quantities that reach is computed from."""
WHERE = {"measurement": BEHAVIOUR, "law": MATCHED, "mode": "teacher_forced"}
"""The rows that reach is computed from, besides their quantity."""
VALUES = ("quantity", "step", "length", "value", "low", "n", "status")
"""Columns that :func:`reach_by_step` reads of these rows."""
COLUMNS = (*WHERE, *VALUES)


def reach_by_step(rows: Iterable[Mapping[str, Any]], trained: int) -> dict[int, Reach]:
    """Return step -> reach, for each step with accuracies.

    Args:
        rows: rows of :data:`WHERE` and :data:`QUANTITIES` with the columns :data:`VALUES`; other rows are left out.
        trained: N, the longest trained length.
    """
    values: dict[int, dict[int, dict[str, Mapping[str, Any]]]] = {}
    for row in rows:
        if row["quantity"] in QUANTITIES and not _missing(row["length"]):
            values.setdefault(int(row["step"]), {}).setdefault(int(row["length"]), {})[row["quantity"]] = row
    steps = {step: at for step, at in sorted(values.items()) if any("accuracy" in cell for cell in at.values())}
    return {
        step: reach_of({n: score for n, cell in at.items() if (score := _score(cell)) is not None}, trained)
        for step, at in steps.items()
    }


def reach_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """Return the rows that reach is computed from, as :func:`reach_by_step` takes them.

    Args:
        rows: with :data:`COLUMNS`, as :data:`workbench.table.parquet.ENCODED`.
    """
    import pyarrow.compute as pc

    mask = pc.is_in(rows["quantity"].cast("string"), value_set=_texts(QUANTITIES))
    for column, text in WHERE.items():
        mask = pc.and_(mask, pc.equal(rows[column].cast("string"), text))
    listed: list[dict[str, Any]] = rows.filter(mask).select(list(VALUES)).to_pylist()
    return listed


def reach_table(rows: Mapping[str, Iterable[Mapping[str, Any]]], trained: Mapping[str, int]) -> pd.DataFrame:
    """Return reach of runs as rows of the table's schema, which figures and pandas take.

    Args:
        rows: run -> its rows, as :func:`reach_by_step` takes them.
        trained: run -> N, the longest trained length.
    """
    import pyarrow as pa

    from workbench.table.schema import SCHEMA, row

    listed = []
    for run, own in rows.items():
        for step, reach in reach_by_step(own, trained[run]).items():
            known = {"value": reach.value, "low": reach.low, "high": reach.high, "n": min(reach.n or (0,)) or None}
            status = "undefined" if reach.value is None else "ok"
            made = row(quantity=REACH, law=MATCHED, mode=WHERE["mode"], status=status, note=reach.reason, **known)
            listed.append({"setting": "{}", **made, "run": run, "step": step, "measurement": BEHAVIOUR})
    return pa.Table.from_pylist(listed, schema=SCHEMA).to_pandas()


def _texts(texts: Iterable[str]) -> Any:
    import pyarrow as pa

    return pa.array(list(texts), pa.string())


def _score(cell: Mapping[str, Mapping[str, Any]]) -> Score | None:
    """The answers at one length; None where a quantity is missing."""
    accuracy, skill, chance = (cell.get(quantity) for quantity in QUANTITIES)
    if accuracy is None or skill is None or _missing(accuracy["value"]) or not accuracy["n"]:
        return None
    share, n, counted = float(accuracy["value"]), int(accuracy["n"]), _missing(accuracy["low"])
    if _missing(skill["value"]):
        return Score(share, n, None, counted) if skill["status"] == "undefined" else None
    if share < 1:
        # The baseline of a test set over several lengths is a mean over them, which only the skill contains.
        above = float(skill["value"])
        return Score(share, n, (share - above) / (1 - above), counted)
    known = chance is not None and not _missing(chance["value"])
    return Score(share, n, float(chance["value"]), counted) if chance is not None and known else None


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
