"""Refuse rows of a measurement that cannot be stored, or that the measurement does not declare."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from workbench.core.errors import quoted_value
from workbench.measure.settings import MeasurementError
from workbench.table.schema import FIELDS, Row

if TYPE_CHECKING:
    from workbench.measure.measurement import Spec

ROUNDING = 1e-6
"""How far a value may lie beyond the declared range of its quantity."""


class RowsError(MeasurementError):
    """Raised if the rows that a measurement's ``finish`` returns cannot be stored; the message states the reason and
    what to do.
    """


def whole_rows(spec: Spec, returned: Any) -> list[Row]:
    """The rows that ``finish`` returned, if each has every column of the table.

    Raises:
        RowsError: for anything else; names the first row and its missing columns.
    """
    if not isinstance(returned, list | tuple):
        raise RowsError(
            f"finish of {spec.name} returned {quoted_value(returned)}, not a list of rows; make rows with "
            "workbench.table.schema.row and return them"
        )
    for number, row in enumerate(returned):
        if not isinstance(row, Mapping):
            raise RowsError(
                f"row {number} of {spec.name} is {quoted_value(row)}, not a row; "
                "make it with workbench.table.schema.row"
            )
        if missing := [name for name in FIELDS if name not in row]:
            keys = ", ".join(missing)
            raise RowsError(f"row {number} of {spec.name} lacks {keys}; make it with workbench.table.schema.row")
    return list(returned)


def declared_rows(spec: Spec, returned: Any) -> list[Row]:
    """The rows that ``finish`` returned, if they have every column and the measurement declares each of them.

    It applies to built-in measurements, to plug-ins, and to measurements of a notebook.

    Raises:
        RowsError: as :func:`whole_rows` and :func:`refuse_undeclared`.
    """
    rows = whole_rows(spec, returned)
    refuse_undeclared(spec, rows)
    return rows


def refuse_undeclared(spec: Spec, rows: list[Row]) -> None:
    """Refuse rows of a quantity that the measurement does not declare, and values outside the declared range.

    Raises:
        RowsError: naming the quantity.
    """
    quantities = {quantity.name: quantity for quantity in spec.quantities}
    for row in rows:
        quantity = quantities.get(row["quantity"])
        if quantity is None:
            raise RowsError(
                f"{spec.name} returned rows of {row['quantity']!r}, which it does not declare; add a Quantity of that "
                "name, or leave the rows out"
            )
        value = row["value"]
        if value is None:
            continue
        if not isinstance(value, Real):
            raise RowsError(
                f"{spec.name}: {quantity.name} is {quoted_value(value)}, not a number; put words into the column label"
            )
        if quantity.low is not None and float(value) < quantity.low - ROUNDING:
            raise RowsError(
                f"{spec.name}: {quantity.name} is {value}, but its declared low is {quantity.low}; correct one"
            )
        if quantity.high is not None and float(value) > quantity.high + ROUNDING:
            raise RowsError(
                f"{spec.name}: {quantity.name} is {value}, but its declared high is {quantity.high}; correct one"
            )
