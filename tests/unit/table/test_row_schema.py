"""The row format: columns, statuses and reasons, and the values that a row may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.held import Held, digest
from tests.support.table.making import RunMaker
from workbench.table import Table
from workbench.table.schema import COLUMNS, REASONS, STATUSES, row, to_arrow

ROW = {"run": "r", "measurement": "m", "step": 1, "quantity": "q"}


# ---- rows -------------------------------------------------------------------------------------------------------
def test_the_row_format_held(held: Held) -> None:
    held(
        [
            {c.name: [str(c.type), c.default, c.doc] for c in COLUMNS},
            {c.name: c.since for c in COLUMNS if c.since > 1},
            REASONS,
            STATUSES,
        ]
    )


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("reason", ["", *REASONS])
def test_rows_of_every_status_and_reason(status: str, reason: str) -> None:
    made = row(**ROW, status=status, reason=reason, value=0.5)
    assert to_arrow([made]).to_pylist() == [made]
    assert (made["status"], made["reason"], made["low"], made["setting"]) == (status, reason, None, "{}")


@pytest.mark.parametrize(("fields", "error", "says"), [
    ({"status": "fine"}, ValueError, "'fine'"), ({"reason": "so"}, ValueError, "'so'"), ({"value": float("nan")}, ValueError, "NaN"), ({"valeu": 1}, KeyError, "'valeu'"),
    ({"status": ""}, ValueError, "unknown status"),
])  # fmt: skip
def test_rows_that_cannot_be(fields: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        row(**{**ROW, **fields})


def test_values_that_a_row_may_have() -> None:
    assert [row(**ROW, value=value)["value"] for value in (None, 0.0, float("inf"))] == [None, 0.0, float("inf")]


# ---- names and places ----------------------------------------------------------------------------------------------


# ---- folders ----------------------------------------------------------------------------------------------------------


# ---- strings of another kind ----------------------------------------------------------------------------------------------


# ---- Parquet -------------------------------------------------------------------------------------------------------------------


# ---- what counts ----------------------------------------------------------------------------------------------------------------


# ---- asking ---------------------------------------------------------------------------------------------------------------------


def test_a_dataset_of_one_quantity_by_step_and_length(make_run: Callable[..., RunMaker], held: Held) -> None:
    run = make_run()
    for step in (1, 2):
        run.checkpoint(step)
        run.shard(step=step, rows=run.rows("behaviour", step, [0.1 * step, 0.2], low=0.05, high=0.9, n=7)[: 3 - step])
    made = Table.load(run.path).xarray("accuracy")
    held(
        [
            list(made.sizes.items()),
            made.attrs,
            digest(made["value"].to_numpy()),
            digest(made["n"].to_numpy()),
            made["status"].to_numpy().ravel().tolist(),
        ]
    )


# ---- tables of text --------------------------------------------------------------------------------------------------------------------


# ---- object stores ------------------------------------------------------------------------------------------------------------------------
