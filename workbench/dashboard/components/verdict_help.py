"""The help drawer: what the verdicts mean and what the keys do."""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html

from workbench.core.thresholds import LEVEL_TEXT
from workbench.core.verdicts import VERDICTS
from workbench.dashboard.components.icons import chip

KEYS = (
    ("\u2190 \u2192", "previous, next checkpoint (Shift: five)"),
    ("\u2193 \u2191", "shorter, longer prefix"),
    ("[ ]", "previous, next head"),
    ("+ \u2212 0", "closer, wider, all of an attention pattern (or drag over it)"),
    ("Space", "play through training"),
    ("/", "filter runs"),
    ("1 \u2013 9", "focus a panel; then T table, M maximise, E menu"),
    ("Ctrl K", "find a run, quantity, head, step, term or command"),
    ("C", "copy the link to this view"),
    ("X", "lengths as multiples of the trained one, or in tokens"),
    ("D", "light or dark"),
    ("?", "this help"),
    ("Esc", "close"),
)


def help_drawer() -> dmc.Drawer:
    keys = [html.Div([html.Dt(html.Kbd(key)), html.Dd(what)]) for key, what in KEYS]
    verdicts = [html.Div([html.Dt(chip(label)), html.Dd(kind.meaning)]) for label, kind in VERDICTS.items()]
    return dmc.Drawer(
        [
            html.H3("Verdicts"),
            html.Dl(verdicts, className="help verdicts"),
            html.P(
                "A verdict depends only on behaviour. Probes and attention help to explain it, and do not change it. "
                f"All intervals are {LEVEL_TEXT}, and n counts sequences.",
                className="soft",
            ),
            html.H3("Colours"),
            html.P(
                [
                    html.Span("Blue", className="summary"),
                    " marks what does not depend on length, ",
                    html.Span("orange", className="position"),
                    " marks what depends on position or length, and ",
                    html.Span("magenta", className="train strong"),
                    " marks the longest trained length.",
                ]
            ),
            html.H3("Keys"),
            html.Dl(keys, className="help keys"),
            dmc.Switch(id="letters", label="Single-letter keys", checked=True, size="sm", persistence=True),
        ],
        id="help",
        title="Help",
        position="right",
        size=420,
        closeButtonProps={"aria-label": "Close help"},
    )
