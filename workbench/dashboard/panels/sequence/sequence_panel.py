"""Panels whose numbers come from the worker rather than from the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from workbench import figures
from workbench.dashboard.panels.sequence.sequence_query import EXTRAS, POOLED, SequenceQuestion, asked_of, check_extras
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.run_view import RunView
from workbench.figures.look import Look, Theme
from workbench.figures.sequence.sequence_data import Part, RowName
from workbench.measure.edits.reading import ProbeReading, SequenceReading


@dataclass(frozen=True, kw_only=True)
class ComputedPanel:
    """A panel on one forward pass of one sequence, which can be exported.

    Attributes:
        id: prefix of its component ids, and its name in export links.
        title: as on screen.
        part: which pass (see :func:`workbench.figures.sequence_view`).
        rows_drawn: what it draws, from top to bottom.
        strip: whether tokens stand below the pattern.
        cells: largest side of the pattern.
        size: the size of an exported picture, pixels.
        answers_apart: whether the answers stand in a panel of their own as soon as something is edited.
    """

    id: str
    title: str
    part: Part
    rows_drawn: tuple[RowName, ...]
    strip: bool = False
    cells: int = POOLED
    size: tuple[int, int] = (900, 760)
    answers_apart: bool = False

    def rows_at(self, asked: SequenceQuestion) -> tuple[RowName, ...]:
        """What it draws of a request, from top to bottom."""
        apart = self.answers_apart and asked.edits
        return tuple(row for row in self.rows_drawn if row != "outputs") if apart else self.rows_drawn

    def question(self, run: RunView, cursor: Cursor, said: Mapping[str, str]) -> SequenceQuestion:
        """The request that a link describes."""
        good, _ = check_extras(None, run, {key: said.get(key, default) for key, default in EXTRAS.items()})
        return asked_of(run, cursor, good, self.cells)

    def rows(self, context: Context, run: RunView, cursor: Cursor, said: Mapping[str, str]) -> pd.DataFrame:
        """Return exactly the rows that are drawn; raises
        :class:`workbench.dashboard.panels.sequence.sequence_query.NotComputed`.
        """
        asked = self.question(run, cursor, said)
        found, read = asked.wait(context)
        return figures.sequence_view.data(
            found, read, part=self.part, rows=self.rows_at(asked), view=cursor.view, site=asked.site
        )

    def draw(self, context: Context, run: RunView, cursor: Cursor, said: Mapping[str, str], theme: Theme) -> go.Figure:
        """The figure, waited for; raises :class:`workbench.dashboard.panels.sequence.sequence_query.NotComputed`."""
        asked = self.question(run, cursor, said)
        found, read = asked.wait(context)
        return self.figure(found, read, asked, theme, 11, outline=True)

    def snippet(self, run: RunView, cursor: Cursor, said: Mapping[str, str]) -> str:
        """Python that computes and draws the same in a notebook."""
        extra = "" if self.part == "clean" else f', part="{self.part}"'
        asked = self.question(run, cursor, said)
        return asked.snippet(extra, self.rows_at(asked))

    def figure(
        self,
        found: SequenceReading,
        read: ProbeReading | None,
        asked: SequenceQuestion,
        theme: Theme,
        size: int,
        waiting: str = "",
        outline: bool = False,
    ) -> go.Figure:
        """The figure of given answers; on screen the outline of the query is drawn by the browser."""
        return figures.sequence_view(
            found,
            read,
            part=self.part,
            rows=self.rows_at(asked),
            view=asked.cursor.view,
            site=asked.site,
            query=query_index(found, asked.prefix) if outline else None,
            strip=self.strip,
            waiting=waiting,
            look=Look(theme, size),
        )


@dataclass(frozen=True, kw_only=True)
class AnswersPanel(ComputedPanel):
    """The answers at every prefix: of the model as it is, above those of the edited model."""

    part: Part = "edited"
    rows_drawn: tuple[RowName, ...] = ("outputs",)

    def rows(self, context: Context, run: RunView, cursor: Cursor, said: Mapping[str, str]) -> pd.DataFrame:
        """Return exactly the rows that are drawn; raises as :meth:`ComputedPanel.rows`."""
        return figures.answer_maps.data(self.question(run, cursor, said).wait(context)[0])

    def snippet(self, run: RunView, cursor: Cursor, said: Mapping[str, str]) -> str:
        """Python that computes and draws the same in a notebook."""
        found = self.question(run, cursor, said).looking
        imports = "from circuits.one_sequence import look\nfrom workbench.figures import answer_maps\n\n"
        return f"{imports}answer_maps({found})\n"

    def figure(
        self,
        found: SequenceReading,
        read: ProbeReading | None,
        asked: SequenceQuestion,
        theme: Theme,
        size: int,
        waiting: str = "",
        outline: bool = False,
    ) -> go.Figure:
        """The figure of given answers; on screen the line of the query is drawn by the browser."""
        query = query_index(found, asked.prefix) if outline else None
        return figures.answer_maps(found, query=query, look=Look(theme, size))


def query_index(found: SequenceReading, prefix: int | None) -> int:
    """The selected query's index on the position axis; the last if none is selected or the sequence does not have
    it."""
    last = len(found.tokens) - 1
    return last if prefix is None else min(last, prefix if found.bos else prefix - 1)
