"""The figures of docs/decided.md on what changes reach: ``python docs/determinacy_change_figures.py``.

The first shows what other trained lengths change from a step on, the second what each setting changes, and the third
what two settings change together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verdict_figures import BLUE, GREY, INK, LIGHT, ORANGE, PICTURES, heading, line, picture, rectangle, text

from workbench.claims.determinacy.cells import LONGEST, STEPS, StudyCell, cell_named
from workbench.claims.determinacy.settings_study import (
    AXES,
    SETTINGS_CELLS,
    SETTINGS_FILE,
    USUAL,
    AxisEffect,
    LevelReach,
    axis_effects,
    levels_of,
)
from workbench.claims.determinacy.stored_rows import read_rows
from workbench.claims.determinacy.switches import (
    LEAST,
    RESCUE,
    SPOIL,
    SWITCH_CELLS,
    SWITCH_FILE,
    SWITCH_STEPS,
    Change,
    change_by_step,
)
from workbench.claims.determinacy.two_settings import (
    PAIR_SEEDS,
    PAIRS,
    PAIRS_FILE,
    SIGNIFICANT,
    Combination,
    SettingPair,
    combinations,
    place_of,
    random_range,
)

COLUMNS, PANEL, GAP, LEFT, DOWN = 3, 200.0, 44.0, 58.0, 130.0
COLOURS = {RESCUE: BLUE, SPOIL: ORANGE}
AXIS_PANEL, AXIS_DOWN, AXIS_ROW = 250.0, 92.0, 166.0


def switch_figure() -> str:
    """What a change of the trained lengths changes in reach, by the step of the change, in a panel for each cell."""
    rows, top, row = read_rows(*SWITCH_FILE), 128.0, DOWN + 86
    width = LEFT + COLUMNS * (PANEL + GAP)
    parts = [
        text(10, 24, "Until which step do other trained lengths change how far a run reaches?", INK, "start",
             heading(15)),
        text(10, 44, "Up: mean reach of runs whose trained lengths change at a step, less that of runs whose lengths "
             "stay (95 % interval).", GREY, "start"),
        text(10, 62, f"Filled: a change of at least {LEAST:g}, shown by the interval. Grey ticks: 95 % of means would "
             "lie nearer to 0 if signs were random.", GREY, "start"),
        text(10, 84, f"blue: sequences of up to {2 * LONGEST} letters are added", BLUE, "start"),
        text(330, 84, "orange: they are taken away", ORANGE, "start"),
    ]  # fmt: skip
    for place, cell in enumerate(SWITCH_CELLS):
        left, high = LEFT + place % COLUMNS * (PANEL + GAP), top + place // COLUMNS * row
        parts += _switch_panel(cell, rows, left, high, named=place % COLUMNS == 0)
    bottom = top + math.ceil(len(SWITCH_CELLS) / COLUMNS) * row
    return picture(
        round(width), round(bottom - 24), "Change of reach by the step at which trained lengths change", parts
    )


def _switch_panel(
    cell: StudyCell, rows: Sequence[Mapping[str, Any]], left: float, top: float, named: bool
) -> list[str]:
    """One cell, in both directions."""

    def across(step: float) -> float:
        return left + PANEL * (step - 70) / 360

    def down(value: float) -> float:
        return top + DOWN * (1 - max(-1.0, min(1.0, value))) / 2

    changes = {direction: change_by_step(rows, cell, direction) for direction in COLOURS}
    name, _, positions = cell.words.partition(", ")
    parts = [text(left, top - 20, name, INK, "start", heading(12)), text(left, top - 6, positions, GREY, "start")]
    for tick in (-1.0, 0.0, 1.0):
        parts.append(line(left, down(tick), left + PANEL, down(tick), LIGHT if tick else GREY))
        parts += [text(left - 6, down(tick) + 4, f"{tick:+g}" if tick else "0", GREY, "end")] if named else []
    for step in SWITCH_STEPS:
        parts.append(line(across(step), top + DOWN, across(step), top + DOWN + 4, GREY))
        parts.append(text(across(step), top + DOWN + 18, str(step), GREY))
    parts.append(text(left + PANEL / 2, top + DOWN + 34, f"change at step, of {STEPS}", GREY))
    for direction, colour in COLOURS.items():
        moved = -5.0 if direction == RESCUE else 5.0
        for change in changes[direction]:
            parts += _change_mark(across(change.step) + moved, down, change, colour)
    return parts


def _change_mark(x: float, down: Callable[[float], float], change: Change, colour: str) -> list[str]:
    """A dot with its interval and the level of random signs; filled if it counts as a change."""
    fill = colour if change.changed else "#ffffff"
    dot = f'<circle cx="{x:.1f}" cy="{down(change.value):.1f}" r="4" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
    ticks = [line(x - 5, down(v), x + 5, down(v), GREY, ' stroke-width="2"') for v in (-change.chance, change.chance)]
    return [*ticks, line(x, down(change.low), x, down(change.high), colour, ' stroke-width="2"'), dot]


def settings_figure() -> str:
    """Mean reach at the levels of each setting: a row for each setting, and a column for each cell."""
    effects = {(effect.axis, effect.cell): effect for effect in axis_effects(read_rows(*SETTINGS_FILE))}
    axes = [axis for axis in AXES if any((axis, cell.name) in effects for cell in SETTINGS_CELLS)]
    width, top = LEFT + len(SETTINGS_CELLS) * (AXIS_PANEL + GAP), 128.0
    parts = [
        text(10, 24, "Which settings change how far runs reach?", INK, "start", heading(15)),
        text(10, 44, "Up: mean reach over the runs that solve their trained lengths. Triangle: the usual level. Long "
             "sequences double N.", GREY, "start"),
        text(10, 62, "Hollow: too few runs solve them, so the level is not tested. Grey band: 95 % of means if levels "
             "did not matter.", GREY, "start"),
        text(10, 80, "Orange: some level differs (permutation test, corrected for all 23 tests). Fractions: runs that "
             "solve them.", GREY, "start"),
    ]  # fmt: skip
    for column, cell in enumerate(SETTINGS_CELLS):
        left = LEFT + column * (AXIS_PANEL + GAP)
        parts.append(text(left, top - 18, cell.words, INK, "start", heading(12)))
        for place, axis in enumerate(axes):
            if (axis, cell.name) in effects:
                parts += _axis_panel(effects[axis, cell.name], left, top + 20 + place * AXIS_ROW, column == 0)
    height = top + 20 + len(axes) * AXIS_ROW
    return picture(round(width), round(height), "Mean reach at the levels of each setting", parts)


def _axis_panel(effect: AxisEffect, left: float, top: float, named: bool) -> list[str]:
    """One setting in one cell."""

    def down(value: float) -> float:
        return top + AXIS_DOWN * (1 - value)

    if math.isnan(effect.p):
        outcome, colour = "not tested", BLUE
    else:
        colour = ORANGE if effect.p_holm < SIGNIFICANT else BLUE
        outcome = f"p = {effect.p_holm:.2g}"
    name = effect.axis.replace("_", " ")
    parts = [text(left, top - 8, name, INK, "start"), text(left + AXIS_PANEL, top - 8, outcome, colour, "end")]
    if not math.isnan(effect.low):
        parts.append(rectangle(left, down(effect.high), AXIS_PANEL, down(effect.low) - down(effect.high), LIGHT))
    for tick in (0.0, 0.5, 1.0):
        parts.append(line(left, down(tick), left + AXIS_PANEL, down(tick), GREY, ' stroke-dasharray="1,5"'))
        parts += [text(left - 6, down(tick) + 4, f"{tick:g}", GREY, "end")] if named else []
    usual = levels_of(cell_named(effect.cell), effect.axis)
    for place, level in enumerate(effect.levels):
        x = left + AXIS_PANEL * (place + 0.5) / len(effect.levels)
        parts += _level_marks(x, top + AXIS_DOWN, down, level, colour)
        if usual.get(level.name) == (USUAL, USUAL):
            parts.append(f'<path d="M{x - 5:.1f},{top + AXIS_DOWN:.1f} l10,0 l-5,-8 z" fill="{GREY}"/>')
    return parts


def _level_marks(x: float, bottom: float, down: Callable[[float], float], level: LevelReach, colour: str) -> list[str]:
    """The mean of a level as a dot, above its name and the number of runs that solve the trained lengths."""
    words = level.name.replace("the end, ", "end, ").removesuffix("s").removesuffix(" length").split(" ")
    small = ' font-size="10"'
    parts = [text(x, bottom + 16 + 13 * i, word, GREY, "middle", small) for i, word in enumerate(words)]
    parts.append(text(x, bottom + 42, f"{level.solving}/{level.runs}", GREY, "middle", small))
    if level.solving:
        fill = colour if level.enters else "#ffffff"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{down(level.mean):.1f}" r="4" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
        )
    return parts


GRID_CELL, GRID_ROW, GRID_TOP = 92.0, 62.0, 128.0
FULL = 0.7
"""Opacity of the colour at reach 1; on it, dark text is legible."""


def pairs_figure() -> str:
    """Mean reach at each combination of two settings, in a panel for each pair."""
    rows = [*read_rows(*SETTINGS_FILE), *read_rows(*PAIRS_FILE)]
    parts = [
        text(10, 24, "How far do runs reach when two settings change?", INK, "start", heading(15)),
        text(10, 44, "Mean reach over the runs that solve their trained lengths, its 95 % interval, and how many of "
             f"{PAIR_SEEDS} runs solve them.", GREY, "start"),
        text(10, 62, "The darker, the farther. Bold frame: the settings of the study of forks.", GREY, "start"),
    ]  # fmt: skip
    top, width = GRID_TOP, 0.0
    for pair in PAIRS:
        found = combinations(pair, rows)
        parts += _pair_panel(pair, found, random_range(pair, rows), top)
        width = max(width, 120 + GRID_CELL * len(AXES[pair.second]) + 20)
        top += GRID_ROW * len(AXES[pair.first]) + 112
    return picture(round(width), round(top - 60), "Mean reach at each combination of two settings", parts)


def _pair_panel(
    pair: SettingPair, found: Sequence[Combination], at_random: tuple[float, float], top: float
) -> list[str]:
    """One pair: a row for each level of the first setting, a column for each of the second."""
    left, rows, columns = 120.0, list(AXES[pair.first]), list(AXES[pair.second])
    across = left + GRID_CELL * len(columns) / 2
    parts = [
        text(10, top - 26, pair.cell.words.partition(", ")[0], INK, "start", heading(12)),
        text(
            left,
            top - 8,
            f"If neither setting mattered, 95 % of means would lie between {at_random[0]:.2f} and {at_random[1]:.2f}.",
            GREY,
            "start",
        ),
        text(10, top - 8, pair.first.replace("_", " "), GREY, "start"),
        text(across, top + GRID_ROW * len(rows) + 36, pair.second.replace("_", " "), GREY),
    ]
    parts += [text(left - 8, top + GRID_ROW * (i + 0.55), name, INK, "end") for i, name in enumerate(rows)]
    for i, name in enumerate(columns):
        parts.append(text(left + GRID_CELL * (i + 0.5), top + GRID_ROW * len(rows) + 18, name, INK))
    usual = None
    for one in found:
        x, y = left + GRID_CELL * columns.index(one.second), top + GRID_ROW * rows.index(one.first)
        parts += _combination_marks(x, y, one)
        if place_of(pair, one.first, one.second) == (USUAL, USUAL):
            usual = x, y
    if usual is not None:
        frame = f'<rect x="{usual[0]:.1f}" y="{usual[1]:.1f}" width="{GRID_CELL:.1f}" height="{GRID_ROW:.1f}"'
        parts.append(f'{frame} fill="none" stroke="{INK}" stroke-width="2.5"/>')
    return parts


def _combination_marks(x: float, y: float, one: Combination) -> list[str]:
    """A cell of the grid, coloured by reach, with its numbers."""
    share = 0.0 if math.isnan(one.reach) else one.reach
    fill = f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{GRID_CELL - 2:.1f}" height="{GRID_ROW - 2:.1f}"'
    words = [f"{one.reach:.2f}" if one.solving else "none"]
    words.append("" if math.isnan(one.low) else f"[{max(one.low, 0):.2f}, {min(one.high, 1):.2f}]")
    words.append(f"{one.solving} of {one.runs}")
    background = f'{fill} fill="{LIGHT}"/>{fill} fill="{BLUE}" fill-opacity="{FULL * share:.2f}"/>'
    return [background, *(text(x + GRID_CELL / 2, y + 21 + 16 * i, word, INK) for i, word in enumerate(words))]


FIGURES: dict[str, Callable[[], str]] = {
    "determinacy-switches.svg": switch_figure,
    "determinacy-settings.svg": settings_figure,
    "determinacy-two-settings.svg": pairs_figure,
}
"""Name of the file in docs/pictures -> the function that draws it."""


def main() -> None:
    """Write the figures."""
    for name, draw in FIGURES.items():
        (PICTURES / name).write_text(draw(), encoding="utf-8")
        print(PICTURES / name)


if __name__ == "__main__":
    main()
