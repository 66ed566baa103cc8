"""The result of a measurement on a model in memory: rows, as a table and as a figure."""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.table.schema import FIELDS, Row
from workbench.table.text_tables import latex, markdown, text_cells

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Result:
    """The rows of a measurement, in the format of the result tables. ``run`` and ``step`` name the loaded checkpoint,
    or are "" and 0.

    Attributes:
        measurement: the measurement's name.
        rows: the rows.
        trained: N, the longest training length, or None if it was not given.
    """

    measurement: str
    rows: list[Row]
    trained: int | None
    figure_address: ClassVar[str] = "workbench.figures:causes"
    """Address of the function that :meth:`figure` draws with; imported when called, as measuring needs no figures."""

    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame, with the columns of the result tables."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(FIELDS))

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a DataFrame, another name of :meth:`frame`."""
        return self.frame()

    def value(self, quantity: str, **where: Any) -> float:
        """Return the value of the only row with this quantity and these column values.

        Raises:
            KeyError: if there is not exactly one such row, or it has no value.
        """
        found = [r for r in self.rows if r["quantity"] == quantity and all(r[k] == v for k, v in where.items())]
        if len(found) != 1 or found[0]["value"] is None:
            notes = ", ".join(f"{r['status']}: {r['note']}" for r in found) or "no row"
            raise KeyError(f"{quantity} at {where} must have one row with a value, but has {len(found)} ({notes})")
        return float(found[0]["value"])

    def to_markdown(self) -> str:
        """Return the rows as a Markdown table without uninformative columns, numbers to four digits."""
        return markdown(self._cells())

    def to_latex(self) -> str:
        """Return the rows as a booktabs ``tabular``, with columns and numbers as in :meth:`to_markdown`."""
        return latex(self._cells())

    def _cells(self) -> list[list[str]]:
        return text_cells(self.rows, list(FIELDS))

    def figure(self, quantity: str | None = None, **style: Any) -> go.Figure:
        """Draw a quantity over the columns in which its rows differ; see :func:`workbench.figures.causes`.

        Args:
            quantity: None = the first one that has a value.
            style: ``theme``, ``size`` and column values that select rows.

        Raises:
            ValueError: if no row has a value.
        """
        named = quantity or next((r["quantity"] for r in self.rows if r["value"] is not None), None)
        if named is None:
            raise ValueError(f"{self.measurement} found no value to draw: {self.rows[0]['note'] if self.rows else ''}")
        return self._draw(self.measurement, named, trained=self.trained, **style)

    def _draw(self, *arguments: Any, **keywords: Any) -> go.Figure:
        """Draw the rows with the figure of this class of results."""
        figure: go.Figure = resolve_name(self.figure_address)(self.frame(), *arguments, **keywords)
        return figure

    def _repr_html_(self) -> str:
        """What was measured, where, and the range of each quantity, as notebooks show it."""
        from workbench.core.html_card import card, ends_of
        from workbench.measure.registry import measurements

        declared = measurements().get(self.measurement)
        quantities = declared.quantities if declared else ()
        definitions = {quantity.name: quantity.definition.replace("`", "") for quantity in quantities}
        by_quantity: dict[str, list[Row]] = {}
        for row in self.rows:
            by_quantity.setdefault(row["quantity"], []).append(row)
        first = self.rows[0] if self.rows else None
        lengths = sorted({int(row["length"]) for row in self.rows if row["length"] is not None})
        facts = [
            ("run", first["run"] if first else ""),
            ("step", f"{first['step']:,}" if first else ""),
            ("trained on lengths up to", self.trained),
            ("measured at lengths", ends_of([f"{length:,}" for length in lengths])),
            ("next", ".figure(), .frame(), .to_markdown(), .value(QUANTITY, length=...)"),
        ]
        lines = [(name, len(rows), _shown(rows), definitions.get(name, "")) for name, rows in by_quantity.items()]
        title = f"{self.measurement}: {declared.title}" if declared else self.measurement
        return card(title, facts, columns=("quantity", "rows", "values", "definition"), lines=lines)


def _shown(rows: list[Row]) -> str:
    """The only value of some rows, or their range; of rows without values the labels, else the first note."""
    values = [row["value"] for row in rows if row["value"] is not None]
    if values:
        low, high = f"{min(values):.4g}", f"{max(values):.4g}"
        return low if low == high else f"{low} to {high}"
    labels = dict.fromkeys(row["label"] for row in rows if row["label"])
    return ", ".join(labels) or next((row["note"] for row in rows if row["note"]), "")
