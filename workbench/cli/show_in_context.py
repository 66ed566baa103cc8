"""A model that was given a task in its prompt, in the terminal; needs no torch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pandas import isna
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from workbench.core.names import IN_CONTEXT
from workbench.core.thresholds import LEVEL_TEXT
from workbench.core.verdicts import VERDICTS

MEASUREMENT = IN_CONTEXT
LIKELY = "answer_log_probability"


def in_context_verdict(console: Console, rows: Any, measurable: Path | None = None) -> None:
    """The verdict of one step, with the presentation that it is about, and the command that adds a longer length.

    Args:
        console: the terminal.
        rows: rows of one step.
        measurable: the run's folder; None where there are no weights to measure.
    """
    for row in rows[rows["quantity"] == "in_context_verdict"].itertuples():
        kind = VERDICTS.get(row.label)
        headline = str(row.label or row.status)
        if kind is not None and kind.at_length is not None:
            before, after = kind.at_length
            headline = f"{before} {row.length:,.0f} items {after}".rstrip()
        headline = headline[:1].upper() + headline[1:]
        why = f", {row.reason}," if row.reason else ""
        console.print(
            f"\n[bold]{escape(headline)}[/], presented as {escape(row.target)}{why} at step {row.step:,}: "
            f"{escape(row.note)}.",
            highlight=False,
        )
        longer = re.search(r"--lengths [\d,]+", row.note)
        if longer and measurable is not None:
            command = f"lengthlens measure {measurable} --only behaviour {longer.group()}"
            console.print(f"Next: {command}", highlight=False, markup=False, soft_wrap=True)


def in_context_curve(rows: Any) -> Grid:
    """Both accuracies and the log-probability by number of items, with the number of tokens."""
    grid = Grid(
        box=None,
        pad_edge=False,
        title_justify="left",
        title=f"\nRight of all answer tokens, in context, {LEVEL_TEXT} intervals",
    )
    for name in ("items", "tokens", "window", "of all tokens", "of the symbols", "log p", "n"):
        grid.add_column(name, justify="right", no_wrap=True)
    for length, here in rows.dropna(subset=["length"]).groupby("length"):
        one = here.drop_duplicates("quantity").set_index("quantity")
        if "answer_accuracy" not in one.index:
            continue
        tokens, share = one.loc["prompt_tokens", "value"], one.loc["window_share", "value"]
        place = "beyond" if share > 1 else f"{100 * share:.2g} %"
        shown = [_estimate(one, name) for name in ("answer_accuracy", "candidate_accuracy")]
        likely = f"{one.loc[LIKELY, 'value']:.2f}" if LIKELY in one.index else "\u2013"
        grid.add_row(
            f"{length:,.0f}", f"{tokens:,.0f}", place, *shown, likely, f"{one.loc['answer_accuracy', 'n']:,.0f}"
        )
    return grid


def _estimate(one: Any, name: str) -> str:
    if name not in one.index:
        return "\u2013"
    value, low, high = (one.loc[name, part] for part in ("value", "low", "high"))
    return f"{value:.3f}" if isna(low) else f"{value:.3f} [{low:.2f}, {high:.2f}]"
