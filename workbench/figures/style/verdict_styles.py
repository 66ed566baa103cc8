"""Glyphs of the verdicts, and the verdict of every checkpoint of a run."""

from __future__ import annotations

from html import escape

from workbench.core.verdicts import Since as Since
from workbench.core.verdicts import since as since
from workbench.core.verdicts import verdict_kind
from workbench.figures.errors import AmbiguousRows, NotMeasured
from workbench.figures.offered import register_public
from workbench.figures.rows.conversion import of_rows
from workbench.figures.rows.frame import Frame

register_public(Since)
register_public(since)


@register_public
def glyph_svg(verdict: str) -> str:
    """Return the glyph of a verdict (a small accuracy curve beyond the longest trained length) as SVG in
    ``currentColor``.
    """
    kind = verdict_kind(verdict)
    dashed = ' stroke-dasharray="2 2"' if kind.dashed else ""
    dot = ""
    if kind.end is not None:
        x, y = kind.end
        dot = f'<circle cx="{x:g}" cy="{y:g}" r="1.6" fill="currentColor" stroke="none"/>'
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16" fill="none" '
        f'stroke="currentColor" stroke-width="1.5" role="img" aria-label="{escape(kind.word)}">'
        '<path d="M5.5 2v12" stroke-width="1" stroke-dasharray="1.5 1.5"/>'
        f'<path d="{kind.curve}"{dashed}/>{dot}</svg>'
    )


@of_rows
def verdict_ribbon(frame: Frame) -> list[tuple[int, str]]:
    """(step, verdict label) of every measured checkpoint of a run, ascending.

    Raises:
        NotMeasured: without verdicts.
    """
    rows = frame.where(measurement="behaviour", quantity="verdict").sort("step")
    if not len(rows):
        raise NotMeasured("behaviour", "No verdict for this run: behaviour is not measured.")
    if rows.repeats("step").any():
        raise AmbiguousRows("several verdicts at one step; pass the rows of one run and one setting")
    return [(int(s), str(v)) for s, v in zip(rows["step"], rows["label"], strict=True)]
