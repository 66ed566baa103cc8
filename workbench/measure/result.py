"""What a measurement found on one model in memory: rows, as a table and as a figure."""

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
    """Rows of the table's format; ``run`` and ``step`` are those that the model was loaded from, else empty and 0.

    Attributes:
        measurement: its name.
        rows: what it found.
        trained: longest training length, or None where it was not given.
    """

    measurement: str
    rows: list[Row]
    trained: int | None
    figure_address: ClassVar[str] = "workbench.figures:causes"
    """The function that :meth:`figure` draws with. It is imported when called: measuring needs no figures."""

    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame with the columns of the table."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(FIELDS))

    def value(self, quantity: str, **where: Any) -> float:
        """The one value of a quantity at a place.

        Raises:
            KeyError: if not exactly one row is there, or it has no value.
        """
        found = [r for r in self.rows if r["quantity"] == quantity and all(r[k] == v for k, v in where.items())]
        if len(found) != 1 or found[0]["value"] is None:
            notes = ", ".join(f"{r['status']}: {r['note']}" for r in found) or "no row"
            raise KeyError(f"{quantity} at {where} has {len(found)} rows ({notes})")
        return float(found[0]["value"])

    def to_markdown(self) -> str:
        """The rows as a table in Markdown: the columns that say something, numbers to four digits."""
        return markdown(self._cells())

    def to_latex(self) -> str:
        """The rows as a ``tabular`` with the rules of booktabs: columns and numbers as in :meth:`to_markdown`."""
        return latex(self._cells())

    def _cells(self) -> list[list[str]]:
        return text_cells(self.rows, list(FIELDS))

    def figure(self, quantity: str | None = None, **style: Any) -> go.Figure:
        """The quantity over what it varies with; see :func:`workbench.figures.causes`.

        Args:
            quantity: None = the first one that has a value.
            style: ``theme``, ``size`` and column values that pick rows.

        Raises:
            ValueError: if nothing has a value.
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
        """The table, as notebooks show it."""
        return str(self.frame().to_html(max_rows=20, index=False))
