"""In which order did it happen? Events of a run on one axis of training steps, each with its bracket."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.names import BEHAVIOUR
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import join_with_dots, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.pictures.training_events import TrainingEvent, training_events
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, unique
from workbench.figures.rows.select_rows import run_name, smallest_n, stack, tidy
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import Cursor, add_cursor, span_meta
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import blank, step_axis, u_step

WITHOUT, WITH = "last step without", "first step with"
_LEFT, _ROOM = 150, 0.35
"""Pixels for the names of the lanes, and the share of the axis that the words of an event need beside it."""
_BELOW = 0.3
"""How far below a lane's own mark its seeds are drawn, in lanes."""


def event_order_rows(
    frame: Frame, *, trained: float, layer: int | None = None, head: int | None = None, run: str | None = None
) -> Frame:
    """The rows of :func:`event_order`: of each event the row at the last step without it and at the first step with it.

    The series names the event and which of both ends a row is. Rows of further runs are their seeds.
    """
    parts = []
    for name in _runs(frame, run):
        for event in training_events(frame.where(run=name), trained=trained, layer=layer, head=head):
            for end, row in ((WITHOUT, event.without), (WITH, event.holds)):
                if row is not None:
                    parts.append(tidy(Frame.from_rows([row]), f"{event.name}: {end}", "step"))
    if not parts:
        raise NotMeasured(BEHAVIOUR, "No step decides any of the events: behaviour is not measured for this run.")
    return stack(parts)


@figure(rows=event_order_rows)
def event_order(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    layer: int | None = None,
    head: int | None = None,
    run: str | None = None,
    checkpoints: Sequence[int] = (),
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """A lane per event over training steps: it began after the hollow dot, and by the filled dot at the latest.

    The hollow dot is the last measured step without the event. The filled dot is the first measured step from which it
    holds at every later step. What depends on a length is taken at N. Faint marks are further seeds.

    Args:
        frame: rows of one run, or of several seeds of one configuration.
        run: the run whose events are drawn strongly; None = the first in the rows.

    Raises:
        NotMeasured: if no event is measured.
    """
    main, *others = _runs(frame, run)
    events = training_events(frame.where(run=main), trained=trained, layer=layer, head=head)
    own = data.where(run=main)
    steps = sorted({*(float(s) for s in frame.where(run=main).distinct("step")), *(float(s) for s in checkpoints)})
    x_axis = step_axis(steps)
    seeds = f"faint: {len(others)} further seed{'s' * (len(others) != 1)}" if others else ""
    drawing = blank(
        look,
        column="step",
        xaxis=x_axis,
        yaxis={
            "range": [len(events) - 0.35, -0.65],
            "tickvals": list(range(len(events))),
            "ticktext": [event.name for event in events],
            "showgrid": False,
            "tickfont": {"color": TOKENS[look.theme]["ink2"], "size": look.size},
        },
        meta={
            "title": "Order of events",
            "slice": join_with_dots(f"at length {whole(trained)}", _counted(smallest_n(own)), seeds),
            "alt": f"Events over training steps at length {whole(trained)}: "
            + "; ".join(f"{event.name} {when(event)}" for event in events),
            "x": span_meta("step", x_axis),
            "n": smallest_n(own),
        },
        uirevision=f"{run_name(own)}/event_order",
    )
    drawing.update_layout(margin_l=_LEFT, margin_r=24)
    for place in range(len(events)):
        drawing.add_shape(
            type="line", x0=0, x1=1, xref="paper", y0=place, y1=place, layer="below",
            line={"color": TOKENS[look.theme]["grid"], "width": 1}, name="lane",
        )  # fmt: skip
    for seed in others:
        theirs = training_events(frame.where(run=seed), trained=trained, layer=layer, head=head)
        _add_seed(drawing, seed, events, theirs, x_axis["range"], look)
    for place, event in enumerate(events):
        _add_event(drawing, event, place, x_axis["range"], look)
    add_cursor(drawing, cursor, "step", look.theme)
    return drawing


def _counted(n: int | None) -> str:
    return "" if n is None else f"n {whole(n)} or more"


def when(event: TrainingEvent) -> str:
    """Return when an event began, in words: ``after step 70, by step 291``."""
    if event.reason:
        return event.reason
    if event.holds is None:
        step = "" if event.without is None else f" step {whole(event.without['step'])}"
        after = f"after{step}, " if step else ""
        return f"{after}inconclusive" if event.undecided else f"not by{step}"
    by = f"step {whole(event.holds['step'])}"
    return f"already at {by}" if event.without is None else f"after step {whole(event.without['step'])}, by {by}"


def brief(event: TrainingEvent) -> str:
    """Return when an event began, in few words: ``70 to 291``."""
    if event.reason:
        return event.reason
    without = "" if event.without is None else whole(event.without["step"])
    if event.holds is None:
        return f"not by {without}" if not event.undecided else "inconclusive"
    by = whole(event.holds["step"])
    return f"already at {by}" if not without else f"{without} to {by}"


def _runs(frame: Frame, run: str | None) -> list[str]:
    """The runs of the rows: the one that is drawn strongly, then its seeds."""
    names = [str(name) for name in unique(frame["run"])]
    return names if run is None else [run, *(name for name in names if name != run)]


def _add_event(drawing: Drawing, event: TrainingEvent, place: int, span: Sequence[float], look: Look) -> None:
    """The bracket of one event with its words."""
    t = TOKENS[look.theme]
    ends = [None if row is None else u_step(float(row["step"])) for row in (event.without, event.holds)]
    if None not in ends:
        drawing.add_scatter(
            x=ends, y=[place, place], mode="lines", line={"color": t["ink"], "width": 3}, hoverinfo="skip",
            name="between",
        )  # fmt: skip
    for at, row, end in zip(ends, (event.without, event.holds), (WITHOUT, WITH), strict=True):
        if at is None or row is None:
            continue
        said = f" \u00b7 {row['label']}" if row["label"] else ""
        drawing.add_scatter(
            x=[at],
            y=[place],
            mode="markers",
            marker={
                "size": 9,
                "color": t["ink"] if end == WITH else t["surface"],
                "line": {"color": t["ink"], "width": 1.6},
            },
            hovertext=[f"{event.name}<br>{end}: <b>{whole(row['step'])}</b>{said}<br>{event.measurement}"],
            hoverinfo="text",
            name=end,
        )
    _add_words(drawing, event, place, [at for at in ends if at is not None], span, look)


def _add_words(
    drawing: Drawing, event: TrainingEvent, place: int, known: Sequence[float], span: Sequence[float], look: Look
) -> None:
    """When an event began, in few words, on the side of its bracket with more room, or above it without room beside."""
    t = TOKENS[look.theme]
    low, high = float(span[0]), float(span[1])
    first, last = min(known, default=low), max(known, default=low)
    room = max(first - low, high - last) / (high - low)
    beside = high - last > first - low
    side = {"x": last if beside else first, "xanchor": "left" if beside else "right", "xshift": 10 if beside else -10}
    above = {"x": (first + last) / 2, "xanchor": "center", "yshift": 9}
    drawing.add_annotation(
        **(side if room > _ROOM else above),
        y=place,
        yanchor="middle",
        text=brief(event),
        font={"color": t["ink2"] if event.holds is not None else t["ink3"], "size": look.size},
        name="when",
    )


def _add_seed(
    drawing: Drawing,
    seed: str,
    events: Sequence[TrainingEvent],
    theirs: Sequence[TrainingEvent],
    span: Sequence[float],
    look: Look,
) -> None:
    """The brackets of a further seed, faint, below those of the run."""
    t = TOKENS[look.theme]
    by_key = {event.key: event for event in theirs}
    for place, own in enumerate(events):
        event = by_key.get(own.key)
        if event is None or event.holds is None:
            continue
        end = u_step(float(event.holds["step"]))
        start = end if event.without is None else u_step(float(event.without["step"]))
        drawing.add_scatter(
            x=[start, end],
            y=[place + _BELOW, place + _BELOW],
            mode="lines+markers",
            line={"color": t["line2"], "width": 1},
            marker={"size": [0, 8], "symbol": "line-ns-open", "color": t["line2"]},
            hovertext=[f"{seed}<br>{event.name}: {when(event)}"] * 2,
            hoverinfo="text",
            name="seed",
        )
