"""Hatching over the lengths at which the challenge test set is not tested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workbench.core.names import CHALLENGE
from workbench.figures.look import Theme
from workbench.figures.rows.baselines import counts_for_verdict
from workbench.figures.style.marks import add_hatching
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import u_length


def hatch_unjudged(figure: Drawing, measured: Mapping[float, Iterable[float]], theme: Theme) -> str:
    """Hatch the lengths beyond training at which the challenge test set is not tested."""
    spans: list[tuple[float, float]] = []
    for trained, lengths in sorted(measured.items()):
        beyond = [float(n) for n in lengths if n > trained]
        tested = [n for n in beyond if counts_for_verdict(CHALLENGE, n, trained)]
        if len(tested) < len(beyond):
            end = u_length(min(tested)) if tested else float(figure.layout.xaxis.range[1])
            spans.append((u_length(trained), float(end)))
    for low, high in _joined(spans):
        add_hatching(figure, low, high, figure.layout.yaxis.range, theme)
    several = " for some" if len(measured) > 1 else ""
    return f" · hatched: challenge not tested{several}" if spans else ""


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans without overlap, in order; those that overlap are one."""
    joined: list[tuple[float, float]] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined
