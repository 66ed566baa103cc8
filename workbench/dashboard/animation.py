"""A panel over training as an animated GIF: a frame for each checkpoint, drawn without a browser."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

from workbench.dashboard.panels.panel_spec import BASE_SIZE, SIZE, Panel, PanelCursor
from workbench.figures.errors import ExportError, NotMeasured
from workbench.figures.export.png import to_png
from workbench.figures.export.titled_figure import picture_of
from workbench.figures.labels import whole

FRAME_MS, LAST_MS = 700, 2500
"""How long a frame stays, and the last one, milliseconds."""
MOST_FRAMES = 30
"""Frames of one animation. If a run has more checkpoints, evenly spaced ones are drawn, with the first and the last."""
COLOURS = 128
"""Colours of a frame."""


def to_gif(panel: Panel, at: PanelCursor) -> bytes:
    """Return the panel at each measured checkpoint as an animated GIF, at the selected length and head.

    Checkpoints at which the panel has nothing to draw are left out.

    Raises:
        NotMeasured: if the panel has nothing to draw at any checkpoint.
        ExportError: if Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError:
        raise ExportError("a GIF needs Pillow: run `pip install pillow`, or save a picture as SVG") from None
    drawn = [
        Image.open(io.BytesIO(frame)).quantize(COLOURS)
        for step in evenly(place_steps(panel, at))
        if (frame := _frame(panel, at, step)) is not None
    ]
    if not drawn:
        raise NotMeasured(panel.measurement, f"{panel.title} has nothing to draw at any checkpoint of {at.run.name}.")
    durations = [FRAME_MS] * (len(drawn) - 1) + [LAST_MS]
    data = io.BytesIO()
    drawn[0].save(data, "GIF", save_all=True, append_images=drawn[1:], duration=durations, loop=0, disposal=2)
    return data.getvalue()


def place_steps(panel: Panel, at: PanelCursor) -> Sequence[int]:
    """Return the checkpoints of the selected run that a panel can show."""
    run = panel.place(at).run
    return run.measured_steps or run.steps


def evenly(steps: Sequence[int], most: int = MOST_FRAMES) -> list[int]:
    """Return at most so many of the steps, evenly spaced in their order, with the first and the last.

    Example:

        >>> evenly([0, 1, 2, 3, 4, 5, 6], 3)
        [0, 3, 6]
    """
    if len(steps) <= most:
        return list(steps)
    return [steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most)]


def _frame(panel: Panel, at: PanelCursor, step: int) -> bytes | None:
    """The panel at a checkpoint as PNG; None where it has nothing to draw."""
    there = replace(at, cursor=replace(at.cursor, step=step))
    try:
        figure = panel.draw(there, "light", BASE_SIZE, line=True)
    except NotMeasured:
        return None
    meta = dict(figure.layout.meta or {}) | {"slice": ""}
    title = str(figure.update_layout(meta=meta).with_titles().layout.title.text)
    parts = (f"step {whole(step)}", f"length {whole(at.cursor.length)}")
    figure.update_layout(meta=meta | {"slice": " \u00b7 ".join(part for part in parts if part not in title)})
    return to_png(picture_of(figure, *SIZE), scale=1)
