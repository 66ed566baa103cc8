"""What the verdicts and the keys mean, as the help drawer says it."""

from __future__ import annotations

import dash_mantine_components as dmc
from dash import html

from workbench.core.thresholds import FITTED, HORIZON, LOOKS, ROBUST
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


MEANINGS = (
    (
        "scale-robust",
        f"Skill is shown to be at least {ROBUST:g} at every judged length up to the horizon, at least {HORIZON} times "
        "the trained length, on matched and on challenge strings. Near ties are told beside it.",
    ),
    (
        "length-coupled",
        f"Fitted, and skill is shown to be below {ROBUST:g} of its trained value at some longer length, and at the "
        "next one too; at the last one, in a second batch of strings.",
    ),
    (
        "not fitted",
        f"Skill is shown to be below {FITTED:g} at some trained length; nothing can be said of longer ones.",
    ),
    (
        "unseen position",
        "The model reads position ids that training never showed, so longer inputs test that instead.",
    ),
    (
        "undecided",
        f"Neither is shown: too few strings so far, at most {LOOKS[-1]:,} a length; or skill lies at a bar, or between "
        "the bars. The sentence says which.",
    ),
)


def help_drawer() -> dmc.Drawer:
    keys = [html.Div([html.Dt(html.Kbd(key)), html.Dd(what)]) for key, what in KEYS]
    verdicts = [html.Div([html.Dt(chip(name)), html.Dd(what)]) for name, what in MEANINGS]
    return dmc.Drawer(
        [
            html.H3("Verdicts"),
            html.Dl(verdicts, className="help verdicts"),
            html.P(
                "A verdict comes from behaviour alone. Probes and attention explain it; they do not make it. "
                "All intervals are 95 %, and a sequence is the unit.",
                className="soft",
            ),
            html.H3("Colours"),
            html.P(
                [
                    html.Span("Blue", className="summary"),
                    " does not depend on length; ",
                    html.Span("orange", className="position"),
                    " depends on position or length; ",
                    html.Span("magenta", className="train strong"),
                    " is the longest length seen in training.",
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
