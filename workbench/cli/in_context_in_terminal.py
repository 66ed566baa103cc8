"""A model that was given a task in its prompt, in the terminal; needs no torch."""

from __future__ import annotations

from typing import Any

from pandas import isna
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

MEASUREMENT = "behaviour.in_context"
LIKELY = "answer_log_probability"


def in_context_verdict(console: Console, rows: Any) -> None:
    """The verdict of one step, with the presentation that it is about."""
    for row in rows[rows["quantity"] == "in_context_verdict"].itertuples():
        label = {"holds": f"Holds to {row.length:,.0f} items", "decays": f"Decays from {row.length:,.0f} items on"}
        said = label.get(row.label, (row.label or row.status).capitalize())
        why = f", {row.reason}," if row.reason else ""
        console.print(
            f"\n[bold]{escape(said)}[/], presented as {escape(row.target)}{why} at step {row.step:,}: "
            f"{escape(row.note)}.",
            highlight=False,
        )


def in_context_curve(rows: Any) -> Grid:
    """Both accuracies and the log-probability by items, tokens beside."""
    grid = Grid(box=None, pad_edge=False, title_justify="left", title="\nAnswers in context, 95 % intervals")
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
