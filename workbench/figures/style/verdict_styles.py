"""The verdicts on trained models and on tasks in a prompt: words, colours, glyphs, and when in training they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from workbench.figures.errors import NotMeasured
from workbench.figures.offered import offered
from workbench.figures.rows.door import of_rows
from workbench.figures.rows.frame import Frame


@dataclass(frozen=True)
class VerdictStyle:
    """How a verdict looks.

    Attributes:
        word: as written on chips and in sentences.
        role: ``summary``, ``position`` or ``plain``: the colour of the word.
        tint: token of the chip's ground.
        ribbon: token of its stretch on the verdict ribbon.
        curve: path of its accuracy curve on a 16 x 16 glyph.
        dash: whether that curve is dashed.
        dot: end of the curve, or None.
    """

    word: str
    role: str
    tint: str
    ribbon: str
    curve: str
    dash: bool
    dot: tuple[float, float] | None


UNDECIDED = "undecided"

VERDICTS: dict[str, VerdictStyle] = {
    "scale-robust": VerdictStyle("Scale-robust", "summary", "tint_robust", "summary", "M1.5 6h11", False, (13.2, 6)),
    "length-coupled": VerdictStyle(
        "Length-coupled",
        "position",
        "tint_coupled",
        "position",
        "M1.5 4h5c2.6 0 1.6 7.5 4.6 7.5h1.4",
        False,
        (13.2, 11.5),
    ),
    "not fitted": VerdictStyle(
        "Not fitted", "plain", "tint_grey", "ribbon_unfitted", "M1.5 11.5h11", True, (13.2, 11.5)
    ),
    "undecided": VerdictStyle(
        "Undecided", "plain", "tint_grey", "line2", "M1.5 7.5h5M6.5 7.5l7-3.5M6.5 7.5l7 3.5", False, None
    ),
    "unseen position": VerdictStyle(
        "Unseen position", "plain", "tint_grey", "control", "M1.5 5h4M8 5h1.6M11.6 5h1.6", False, None
    ),
    "holds": VerdictStyle("Holds in context", "summary", "tint_robust", "summary", "M1.5 5h11", False, (13.2, 5)),
    "decays": VerdictStyle(
        "Decays in context", "position", "tint_coupled", "position", "M1.5 4c6 0 6 8 11.7 8", False, (13.2, 12)
    ),
    "not capable": VerdictStyle("Not capable", "plain", "tint_grey", "ribbon_unfitted", "M1.5 12h11", True, (13.2, 12)),
}


def verdict_style(label: str) -> VerdictStyle:
    """The style of a verdict label.

    Raises:
        KeyError: for a label that is none of them.
    """
    if label not in VERDICTS:
        raise KeyError(f"unknown verdict {label!r}; the verdicts are {', '.join(VERDICTS)}")
    return VERDICTS[label]


@offered
def glyph_svg(verdict: str) -> str:
    """The glyph of a verdict (its accuracy curve past the training length) as SVG in ``currentColor``."""
    style = verdict_style(verdict)
    dashed = ' stroke-dasharray="2 2"' if style.dash else ""
    dot = ""
    if style.dot is not None:
        x, y = style.dot
        dot = f'<circle cx="{x:g}" cy="{y:g}" r="1.6" fill="currentColor" stroke="none"/>'
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16" fill="none" '
        f'stroke="currentColor" stroke-width="1.5" role="img" aria-label="{escape(style.word)}">'
        '<path d="M5.5 2v12" stroke-width="1" stroke-dasharray="1.5 1.5"/>'
        f'<path d="{style.curve}"{dashed}/>{dot}</svg>'
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
        raise ValueError("several verdicts at one step; pass the rows of one run and one setting")
    return [(int(s), str(v)) for s, v in zip(rows["step"], rows["label"], strict=True)]


@offered
@dataclass(frozen=True)
class Since:
    """When in training the last verdict began: after ``low``, at ``high`` at the latest.

    Attributes:
        low: the last step that was decided otherwise; None where none was.
        high: the first step after it with the last verdict.
    """

    low: int | None
    high: int

    def __str__(self) -> str:
        """``since 300 (last different: 200)``."""
        return f"since {self.high:,}" + ("" if self.low is None else f" (last different: {self.low:,})")


@offered
def since(labels: Mapping[int, str]) -> Since | None:
    """When the verdict of the last checkpoint began; None where that is undecided, or there is no verdict.

    Steps in between that are undecided neither confirm it nor break it: they were not shown to be anything.

    Args:
        labels: step -> verdict.
    """
    if not labels or labels[max(labels)] == UNDECIDED:
        return None
    last = labels[max(labels)]
    low = max((step for step, label in labels.items() if label not in (last, UNDECIDED)), default=None)
    return Since(low, min(step for step, label in labels.items() if label == last and (low is None or step > low)))
