"""Rows of one quantity as an xarray Dataset over some of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.suggest import nearest
from workbench.table.errors import TableError
from workbench.table.schema import FIELDS

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

#: what each place of the Dataset holds
VARIABLES = ["value", "low", "high", "n", "status"]


def to_dataset(frame: pd.DataFrame, quantity: str, dims: Sequence[str], specs: Mapping[str, Any]) -> xr.Dataset:
    """The rows of one quantity as a Dataset over ``dims``; see :meth:`workbench.table.query.Table.xarray`."""
    try:
        import xarray
    except ImportError:
        raise TableError(
            "xarray is not installed: `pip install xarray`, or use Table.frame(), which returns a pandas table"
        ) from None
    _check(frame, quantity, dims)
    dataset = xarray.Dataset.from_dataframe(frame.set_index(list(dims))[VARIABLES].astype({"status": object}))
    dataset["status"] = dataset["status"].fillna("").astype(str)
    return dataset.assign_attrs(quantity=quantity, **_definition(quantity, specs))


def _check(frame: pd.DataFrame, quantity: str, dims: Sequence[str]) -> None:
    inputs = [name for name in frame.columns if name not in FIELDS or FIELDS[name].identifies]
    for name in dims:
        if name not in inputs:
            raise TableError(f"{name!r} cannot be a dimension: {nearest(name, inputs)}")
        if frame[name].isna().any():
            raise TableError(f"{quantity} has rows without a {name}: leave {name} out of dims")
    if not frame.duplicated(list(dims)).any():
        return
    varying = {name: sorted(map(repr, frame[name].unique())) for name in inputs if name not in dims}
    choices = "; ".join(f"{name} ({', '.join(found)})" for name, found in varying.items() if len(found) > 1)
    raise TableError(
        f"{quantity} has several rows per ({', '.join(dims)}). They differ in {choices}: select one value of each, or "
        "add these columns to dims"
    )


def _definition(quantity: str, specs: Mapping[str, Any]) -> dict[str, str]:
    """Definition and unit of a quantity, from the spec that defines it."""
    for spec in specs.values():
        for one in spec.get("quantities", []):
            if one.get("name") == quantity:
                return {key: str(one[key]) for key in ("definition", "unit") if key in one}
    return {}
