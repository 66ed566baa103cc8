"""The strip *Why* at the top of the Run page: why a run fails, or why it keeps working, next to bars.

A bar is the share of the accuracy drop that an intervention recovers, with its interval and its control on one scale.
For a run that keeps working, it is the share of sequences that follow a copied code of the task state.
"""

from __future__ import annotations

from typing import Any

from dash import html

from workbench.core.names import NOT_EXPLAINED
from workbench.core.thresholds import LEVEL_TEXT
from workbench.core.verdicts import LENGTH_COUPLED, SCALE_ROBUST
from workbench.dashboard.components import prose
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.state.run_description import headline_words
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import estimate, whole
from workbench.figures.text.carried_across import CarriedAcross, carried_across
from workbench.figures.text.cause import Cause, RecoveredShare, cause

LOWEST, HIGHEST = -1.0, 1.5
"""Ends of the scale at most; a number beyond them is drawn at the end, and stands beside its bar."""
WRONG_CONSTANT = "The same edit with a wrong constant"
RANDOM_SUBSPACE = "The same edit with a random subspace of equal rank"
"""What a control is, by the kind of edit."""
UNNAMED = "No cause is named. "
NOT_DIAGNOSED = "Not diagnosed at this step. To find the cause:"


def strip(run: RunView, step: int) -> list[Any]:
    """Return the children of the strip.

    They are cause and bars, or what a robust run still reads past training; a command, if a run fails and is not
    diagnosed; or nothing.
    """
    since = _since(run, step)
    carried = _carried(run, step) if run.brief.verdicts.get(step) == SCALE_ROBUST else None
    try:
        diagnosed = run.memo(("cause", step), lambda: cause(run.frame, step=step, longest=run.trained))
    except NotMeasured:
        if carried is not None:
            return _robust(carried, since)
        missing = run.brief.verdicts.get(step) == LENGTH_COUPLED
        ask = run.measuring(f" --only diagnosis --steps {step}")
        ways = [html.Div([NOT_DIAGNOSED, command(ask)], className="ways")] if missing else []
        return [_words([*since, *ways])] if since or ways else []
    named = bool(diagnosed.named["label"])
    if carried is not None and not named:
        return _robust(carried, since)
    words = prose.pieces(diagnosed.sentence)
    sentence = html.P(
        words if named else [html.Strong(UNNAMED), *words], className="cause-said" if named else "unnamed"
    )
    said = _words([sentence, *since, *_next(run, step, diagnosed)])
    return [said, *([bars(diagnosed)] if diagnosed.shares else [])]


def _carried(run: RunView, step: int) -> CarriedAcross | None:
    found: CarriedAcross | None = run.memo(
        ("carried across", step), lambda: carried_across(run.frame, step=step, longest=run.trained)
    )
    return found


def _robust(carried: CarriedAcross, since: list[Any]) -> list[html.Div]:
    """What a robust run still reads past training, and how it was tested."""
    result = html.P(prose.pieces(carried.result), className="cause-said")
    evidence = html.P(prose.pieces(carried.evidence), className="unnamed")
    return [_words([result, evidence, *since]), copied_code(carried)]


def _next(run: RunView, step: int, diagnosed: Cause) -> list[Any]:
    """What to do next about a named cause: see the intervention at work, and train anew."""
    link = prose.try_repair(run, step, diagnosed.named)
    if diagnosed.named["label"] in ("", NOT_EXPLAINED) or "compiled" in run.config["training"] or run.run.rows_only:
        return [html.P(["Next: ", link[0].children], className="next")] if link else []
    first = (
        ["Next: ", link[0].children, ", or print a suggested retraining:"]
        if link
        else ["Next: a suggested retraining:"]
    )
    return [html.Div([html.Span(first), command(f"lengthlens prescribe {run.typed_path}")], className="next")]


def _words(children: list[Any]) -> html.Div:
    return html.Div([html.H2("Why"), *children], className="cause-text")


def _since(run: RunView, step: int) -> list[Any]:
    """Since which step the verdict holds."""
    try:
        words = headline_words(run, step).since
    except NotMeasured:
        return []
    return [html.P(prose.pieces(words), className="since")] if words else []


def bars(diagnosed: Cause) -> html.Div:
    """Return a bar for each share, the scale below them, and accuracy with and without the intervention."""
    lengths = {row.share["length"] for row in diagnosed.shares}
    at = f" at length {whole(min(lengths))}" if len(lengths) == 1 else ""
    title = f"Share of the accuracy drop recovered{at}, with {LEVEL_TEXT} CI"
    accuracy = [html.P(prose.pieces(diagnosed.accuracy), className="soft")] if diagnosed.accuracy else []
    return _bars(title, diagnosed.shares, WRONG_CONSTANT, accuracy)


def copied_code(carried: CarriedAcross) -> html.Div:
    """Return a bar for how often a copied code gives the copied answer, with its control."""
    length = whole(carried.share["length"])
    title = f"Share of sequences of length {length} that give the copied answer, with {LEVEL_TEXT} CI"
    share = RecoveredShare("code of the task state", "", carried.share, carried.control)
    return _bars(title, (share,), RANDOM_SUBSPACE, [])


def _bars(title: str, shares: tuple[RecoveredShare, ...], control: str, below: list[Any]) -> html.Div:
    low, high = scale(shares)
    several = len({row.share["length"] for row in shares}) > 1
    rows = [_bar(share, low, high, several, control) for share in shares]
    ends = [html.Span(str(end), style={"left": _percent(end, low, high)}) for end in (0, 1)]
    axis = html.Div([html.Span(), html.Div(ends, className="share-axis num"), html.Span()], className="share")
    return html.Div([html.P(title, className="caption"), *rows, axis, *below], className="cause-shares")


def scale(shares: tuple[RecoveredShare, ...]) -> tuple[float, float]:
    """The ends of the scale: 0 and 1, and every value and limit within :data:`LOWEST` and :data:`HIGHEST`."""
    rows = [row for share in shares for row in (share.share, share.control) if row is not None]
    ends = [float(row[name]) for row in rows for name in ("value", "low", "high")]
    return max(LOWEST, min(-0.1, *ends)), min(HIGHEST, max(1.1, *ends))


def _percent(value: float, low: float, high: float) -> str:
    return f"{100 * (min(max(value, low), high) - low) / (high - low):.2f}%"


def _span(first: float, last: float, low: float, high: float) -> dict[str, str]:
    """Left end and width of a part of the scale."""
    left, right = (100 * (min(max(one, low), high) - low) / (high - low) for one in sorted((first, last)))
    return {"left": f"{left:.2f}%", "width": f"{right - left:.2f}%"}


def _bar(share: RecoveredShare, low: float, high: float, several: bool, control_said: str) -> html.Div:
    row, control = share.share, share.control
    value = float(row["value"])
    text = estimate(value, row["low"], row["high"])
    name = share.name + (f", length {whole(row['length'])}" if several else "") + (f" ({share.why})" * bool(share.why))
    drawn = [
        html.I(className="zero", style={"left": _percent(0, low, high)}),
        html.I(className="zero", style={"left": _percent(1, low, high)}),
        html.I(className="fill", style=_span(0, value, low, high)),
        html.I(className="whisker", style=_span(float(row["low"]), float(row["high"]), low, high)),
    ]
    said = [html.Strong(text, className="num")]
    if control is not None:
        drawn += [
            html.I(className="whisker control", style=_span(control["low"], control["high"], low, high)),
            html.I(className="tick", style={"left": _percent(float(control["value"]), low, high)}),
        ]
        against = estimate(float(control["value"]), control["low"], control["high"])
        said.append(html.Span(f" control {against}", className="soft num", title=control_said))
    track = html.Div(drawn, className="share-track", role="img", **{"aria-label": f"{name}: {text}"})
    return html.Div([html.Span(name, className="share-name"), track, html.Span(said)], className="share")
