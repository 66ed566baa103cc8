"""The figure of docs/first_token.md: ``python docs/window_figure.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verdict_figures import BLUE, GREY, INK, LIGHT, ORANGE, PICTURES, heading, line, picture, text
from window_study import CONDITIONS, INSIDE, PAST, TABLE, WINDOW, Condition, accuracy_of

from workbench.claims.determinacy.statistics import mean_interval
from workbench.claims.determinacy.stored_rows import read_rows

WIDTH, HEIGHT, LEFT, TOP = 520.0, 260.0, 62.0, 92.0
LOWEST, LONGEST = 380, 830
"""Tokens at the left and right end."""
NAME = "first-token.svg"
LABELS = {"token 1 kept": "", "token 2 kept": "token 1, 2 or 37 stays visible", "token 37 kept": ""}
"""Labels of lines that end close together: one for all of them."""


def _across(length: int) -> float:
    return LEFT + WIDTH * (2 * length - LOWEST) / (LONGEST - LOWEST)


def _down(accuracy: float) -> float:
    return TOP + HEIGHT * (1 - accuracy)


def window_figure() -> str:
    """Accuracy of copying over tokens, as it is and with changes of what the layers with a window see."""
    rows = read_rows(*TABLE)
    edge = LEFT + WIDTH * (WINDOW - LOWEST) / (LONGEST - LOWEST)
    parts = [
        text(10, 24, "Gemma-3-270M copies worse once the first token is out of sight", INK, "start", heading(15)),
        text(10, 44, "Up: share of right copied words (24 sequences, 95 % interval). Across: tokens of the prompt.",
             GREY, "start"),
        text(10, 62, "Fifteen of 18 layers see the last 512 tokens only. Orange, left of the line: another token is "
             "hidden.", GREY, "start"),
        line(edge, TOP - 8, edge, TOP + HEIGHT, INK, ' stroke-dasharray="4,4"'),
        text(edge, TOP - 12, "512 tokens", INK),
    ]  # fmt: skip
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(line(LEFT, _down(tick), LEFT + WIDTH, _down(tick), LIGHT))
        parts.append(text(LEFT - 8, _down(tick) + 4, f"{tick:g}", GREY, "end"))
    for length in (*INSIDE, *PAST):
        parts.append(text(_across(length), TOP + HEIGHT + 18, str(2 * length), GREY))
    for one in CONDITIONS:
        colour = INK if not one.change else BLUE if one.name.startswith("first") else ORANGE
        dashed = ' stroke-dasharray="5,4"' if one.change and "hidden" not in one.name and colour == ORANGE else ""
        parts += _curve(rows, one.name, one.lengths, colour, dashed)
        if "hidden" not in one.name or colour == BLUE:
            parts.append(_label(rows, one, colour))
    width, height = round(LEFT + WIDTH + 190), round(TOP + HEIGHT + 40)
    return picture(width, height, "Accuracy of copying over tokens", parts)


def _curve(rows: Sequence[Mapping[str, Any]], name: str, lengths: Sequence[int], colour: str, dashed: str) -> list[str]:
    """One condition: means with intervals, joined by a line."""
    parts, before = [], None
    for length in lengths:
        mean, low, high = mean_interval(accuracy_of(rows, name, length))
        x, y = _across(length), _down(mean)
        parts.append(line(x, _down(max(low, 0.0)), x, _down(min(high, 1.0)), colour, ' stroke-width="1.5"'))
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
        if before is not None:
            parts.append(line(*before, x, y, colour, f' stroke-width="2"{dashed}'))
        before = x, y
    return parts


def _label(rows: Sequence[Mapping[str, Any]], one: Condition, colour: str) -> str:
    """The words of a condition: at the right end of its line, or below a line inside the window."""
    last = one.lengths[-1]
    height = _down(mean_interval(accuracy_of(rows, one.name, last))[0])
    if last == PAST[-1]:
        return text(_across(last) + 12, height + 4, LABELS.get(one.name, one.words), colour, "start")
    return text(LEFT + 2, height + 20, one.words, colour, "start")


def main() -> None:
    """Write the figure."""
    (PICTURES / NAME).write_text(window_figure(), encoding="utf-8")
    print(PICTURES / NAME)


if __name__ == "__main__":
    main()
