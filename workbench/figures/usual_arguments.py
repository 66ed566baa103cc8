"""The arguments that a caller may leave out, because the rows of a figure state them: N, step, prefix length, head."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from workbench.core.suggest import nearest
from workbench.figures.rows.conversion import in_kind_of
from workbench.figures.rows.frame import Frame, Rows


@runtime_checkable
class HasRuns(Protocol):
    """What lists its runs with their longest trained length ``high``, as :class:`workbench.table.Table` does."""

    def runs(self) -> pd.DataFrame: ...


def rows_of_run(figure: str, rows: Rows, run: str) -> Rows:
    """The rows of one run, as a DataFrame unless they are a frame.

    Args:
        figure: its name, for the error message.
        rows: of one or several runs.
        run: name of the run.

    Raises:
        ValueError: if the rows have no such run.
    """
    frame = Frame.of(rows)
    known = sorted(_runs_of(frame))
    if run not in known:
        raise ValueError(f"{figure}: the rows have no run {run!r}: {nearest(str(run), known)}")
    chosen: Rows = in_kind_of([rows], frame.where(run=run))
    return chosen


def required_parameters(signature: inspect.Signature) -> list[str]:
    """Names of the parameters that have no default."""
    return [name for name, parameter in signature.parameters.items() if parameter.default is inspect.Parameter.empty]


def usual_arguments(figure: str, missing: Collection[str], rows: Rows, chosen: Rows) -> dict[str, Any]:
    """Values for the arguments that were left out, as far as the rows state them.

    ``trained`` is N of the run, ``step`` is the last step, ``length`` is the measured prefix length closest to 2N, and
    ``layer`` and ``head`` are None.

    Args:
        figure: its name, for the error message.
        missing: names of the arguments that were left out.
        rows: as the caller passed them.
        chosen: those of them that the figure draws from.

    Raises:
        TypeError: if N is needed and the rows do not state it, or if their runs have different N.
    """
    frame = Frame.of(chosen)
    usual: dict[str, Any] = {one: None for one in missing if one in ("layer", "head")}
    if "trained" in missing:
        usual["trained"] = _trained(figure, rows, frame)
    if "step" in missing and (steps := _numbers(frame, "step")):
        usual["step"] = steps[-1]
    if "length" in missing and (lengths := _numbers(frame, "length")):
        target = 2 * (usual.get("trained") or _trained(figure, rows, frame))
        usual["length"] = min(lengths, key=lambda length: (abs(length - target), length))
    return usual


def _trained(figure: str, rows: Rows, frame: Frame) -> int:
    """N of the runs of some rows, as their table states it or :meth:`workbench.table.Table.frame` noted it."""
    runs = _runs_of(frame)
    attributes: Mapping[str, Any] = getattr(rows, "attrs", {})
    if isinstance(rows, HasRuns):
        listed = rows.runs()
        lengths = {int(high) for high in listed[listed["run"].isin(runs)]["high"].dropna()}
    else:
        lengths = {int(attributes["trained"])} if "trained" in attributes else set()
    if len(lengths) > 1:
        several = ", ".join(map(str, sorted(lengths)))
        raise TypeError(f"{figure}: the longest trained length differs between these runs ({several}); pass run=NAME")
    if not lengths:
        raise TypeError(f"{figure}: the rows do not state the longest trained length; pass trained=run.trained_length")
    return lengths.pop()


def _runs_of(frame: Frame) -> set[str]:
    return {str(run) for run in frame["run"]} if "run" in frame.names else set()


def _numbers(frame: Frame, column: str) -> list[int]:
    """The different numbers of a column, ascending; none if there is no such column."""
    found = frame.distinct(column) if column in frame.names else ()
    return [int(number) for number in found if number == number]
