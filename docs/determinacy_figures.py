"""The figures of docs/decided.md, from the tables of the determinacy study: ``python docs/determinacy_figures.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from verdict_figures import BLUE, GREY, INK, LIGHT, ORANGE, PICTURES, heading, line, picture, rectangle, text

from workbench.claims.determinacy.cells import CELLS, FORK_STEPS, STEPS, StudyCell, cell_named
from workbench.claims.determinacy.families import determinacy_at, determinacy_by_step, families_at
from workbench.claims.determinacy.feature_table import FEATURE_FILE
from workbench.claims.determinacy.forecast_rows import CellForecast, first_step_forecasts, forecasts_by_cell
from workbench.claims.determinacy.statistics import DECIDED, DECIDED_FROM, TOO_UNIFORM, Determinacy
from workbench.claims.determinacy.stored_rows import read_rows
from workbench.claims.determinacy.study import FAMILY_FILE, StudyTable

COLUMNS, PANEL, GAP, TOP, LEFT, DOWN = 4, 170.0, 38.0, 92.0, 52.0, 130.0
ROW = DOWN + 74
LOWEST, HIGHEST = -0.4, 1.0
SHOWN_SHARES = (0.0, 0.3, 0.6, 0.8)


def determinacy_figure() -> str:
    """Determinacy over the step of the fork, in a panel for each kind of run."""
    rows = StudyTable.read(*FAMILY_FILE).rows
    width = round(LEFT + COLUMNS * (PANEL + GAP) + 4)
    parts = [
        text(10, 24, "When in training is it decided how far a run reaches?", INK, "start", heading(15)),
        text(10, 44, "Each dot: how alike the reach of a run and three forks of it is (determinacy, 95 % interval).",
             GREY, "start"),
        text(10, 62, "Decided: the interval is above the dashed line. Grey band: forks assigned to runs at random.",
             GREY, "start"),
    ]  # fmt: skip
    trained = [cell for cell in CELLS if determinacy_by_step(rows, cell)]
    for place, cell in enumerate(trained):
        left = LEFT + place % COLUMNS * (PANEL + GAP)
        top = TOP + 22 + place // COLUMNS * ROW
        parts += _panel(cell, rows, left, top, named=place % COLUMNS == 0)
    bottom = TOP + 22 + (len(trained) - 1) // COLUMNS * ROW + DOWN + 62
    parts.append(text(LEFT, bottom, "blue: falling learning rate (cosine); hollow: too uniform", BLUE, "start"))
    if any(determinacy_by_step(rows, cell.with_schedule("constant")) for cell in trained):
        parts.append(text(LEFT + 420, bottom, "orange: constant learning rate", ORANGE, "start"))
    return picture(width, round(bottom + 16), "Determinacy over the step of the fork for several kinds of run", parts)


def _panel(cell: StudyCell, rows: Sequence[Mapping[str, object]], left: float, top: float, named: bool) -> list[str]:
    """One kind of run, at both learning-rate schedules where both were trained."""

    def across(step: float) -> float:
        return left + PANEL * (step - 130) / 290

    def down(value: float) -> float:
        return top + DOWN * (HIGHEST - value) / (HIGHEST - LOWEST)

    cosine, constant = (determinacy_by_step(rows, cell.with_schedule(name)) for name in ("cosine", "constant"))
    name, _, positions = cell.words.partition(", ")
    parts = [text(left, top - 20, name, INK, "start", heading(12)), text(left, top - 6, positions, GREY, "start")]
    chance = max((result.chance for result in cosine.values()), default=0.0)
    parts.append(rectangle(left, down(chance), PANEL, down(-chance) - down(chance), LIGHT))
    for tick in (0.0, 0.5, 1.0):
        parts.append(line(left, down(tick), left + PANEL, down(tick), LIGHT))
        parts += [text(left - 6, down(tick) + 4, f"{tick:g}", GREY, "end")] if named else []
    parts.append(line(left, down(DECIDED_FROM), left + PANEL, down(DECIDED_FROM), INK, ' stroke-dasharray="4,4"'))
    for step in FORK_STEPS:
        parts.append(line(across(step), top + DOWN, across(step), top + DOWN + 4, GREY))
        parts.append(text(across(step), top + DOWN + 18, str(step), GREY))
    parts.append(text(left + PANEL / 2, top + DOWN + 34, f"fork at step, of {STEPS}", GREY))
    shift = 5.0 if constant else 0.0
    for results, colour, moved in ((cosine, BLUE, -shift), (constant, ORANGE, shift)):
        for step, result in results.items():
            parts += _mark(across(step) + moved, down, result, colour)
    return parts


def _mark(x: float, down: Callable[[float], float], result: Determinacy, colour: str) -> list[str]:
    """A dot with its interval; hollow where reach hardly differs between runs."""
    low, high = (down(max(LOWEST, min(HIGHEST, value))) for value in (result.low, result.high))
    fill = "#ffffff" if result.label == TOO_UNIFORM else colour
    y = down(max(LOWEST, result.value))
    dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
    return [line(x, low, x, high, colour, ' stroke-width="2"'), dot]


SCATTERED = (("bounded_dyck_2-none", 150), ("bounded_dyck_2-none", 300), ("abd_bc-rotary", 150))
"""Cells and fork steps of the figure of runs against their forks."""


def forks_figure() -> str:
    """The reach of each run against that of its forks: scattered where it is open, on the diagonal where decided."""
    rows = StudyTable.read(*FAMILY_FILE).rows
    size, gap, top = 190.0, 54.0, 128.0
    parts = [
        text(10, 24, "Do the forks of a run reach as far as the run itself?", INK, "start", heading(15)),
        text(10, 44, "Each dot: one fork. Across: reach of its run. Up: reach of the fork. On the dotted line both are "
             "equal.", GREY, "start"),
        text(10, 61, "At random: 97.5 % of correlations stay below this if forks are assigned to runs at random.", GREY,
             "start"),
    ]  # fmt: skip
    for place, (name, step) in enumerate(SCATTERED):
        left = LEFT + place * (size + gap)
        parts += _scatter(cell_named(name), rows, step, left, top, size)
    mark = f' transform="rotate(-90 14 {top + size / 2:.1f})"'
    parts.append(text(14, top + size / 2, "reach of the fork", GREY, "middle", mark))
    width = LEFT + len(SCATTERED) * (size + gap)
    return picture(round(width), round(top + size + 48), "Reach of runs against the reach of their forks", parts)


def _scatter(
    cell: StudyCell, rows: Sequence[Mapping[str, object]], step: int, left: float, top: float, size: float
) -> list[str]:
    """The runs of one cell against their forks at a step."""
    found = determinacy_at(rows, cell, step)
    assert found is not None
    interval = f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
    parts = [
        text(left, top - 38, cell.words, INK, "start", heading(12)),
        text(left, top - 23, f"fork at step {step}: {found.label}", INK, "start"),
        text(left, top - 8, f"{interval}, at random {found.chance:.2f}", GREY, "start"),
        line(left, top + size, left + size, top, GREY, ' stroke-dasharray="2,4"'),
        text(left + size / 2, top + size + 34, "reach of the run", GREY),
    ]
    for tick in (0.0, 0.5, 1.0):
        parts.append(line(left, top + size * (1 - tick), left + size, top + size * (1 - tick), LIGHT))
        parts.append(text(left - 6, top + size * (1 - tick) + 4, f"{tick:g}", GREY, "end"))
        parts.append(text(left + size * tick, top + size + 16, f"{tick:g}", GREY))
    for members in families_at(rows, cell, step).values():
        for fork in members[1:]:
            x, y = left + size * members[0], top + size * (1 - fork)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{BLUE}" fill-opacity="0.55"/>')
    return parts


def forecast_figure() -> str:
    """The best rank correlation of features with reach in each cell and at each step, with its chance level."""
    families = StudyTable.read(*FAMILY_FILE).rows
    found = [*(first_step_forecasts(families) or []), *(forecasts_by_cell(families) or [])]
    steps = sorted({one.step for one in found})
    width, across, top, height = 760, 640.0, 92.0, 250.0

    def down(value: float) -> float:
        return top + height * (1 - value)

    parts = [
        text(10, 24, "Does anything measured inside the trained lengths forecast how far a run reaches?", INK, "start",
             heading(15)),
        text(10, 44, "Each dot: the best feature of one kind of run at one step (of four scores at the first step, of "
             "eight later).", GREY, "start"),
        text(10, 62, "Grey tick: 95 % of random labels stay below it. Filled: reach is decided. Ring: above chance "
             "(corrected).", GREY, "start"),
    ]  # fmt: skip
    for tick in (0.0, 0.5, 1.0):
        parts.append(line(LEFT, down(tick), LEFT + across, down(tick), LIGHT))
        parts.append(text(LEFT - 8, down(tick) + 4, f"{tick:g}", GREY, "end"))
    label = f' transform="rotate(-90 16 {top + height / 2:.1f})"'
    parts.append(text(16, top + height / 2, "rank correlation (absolute)", GREY, "middle", label))
    for place, step in enumerate(steps):
        own = [one for one in found if one.step == step]
        left = LEFT + place * across / len(steps)
        for i, one in enumerate(own):
            parts += _forecast_mark(left + (i + 1) * across / len(steps) / (len(own) + 1.5), down, one)
        name = "first step" if step == 0 else f"step {step}"
        parts.append(text(left + across / len(steps) / 2, top + height + 22, name, GREY))
    return picture(width, round(top + height + 40), "Best forecasts of reach against their chance level", parts)


def _forecast_mark(x: float, down: Callable[[float], float], one: CellForecast) -> list[str]:
    """The chance level as a tick and the best feature as a dot."""
    y = down(abs(one.correlation))
    fill = BLUE if one.label == DECIDED else "#ffffff"
    parts = [line(x - 4, down(one.chance), x + 4, down(one.chance), GREY, ' stroke-width="3"')]
    if one.p_holm < 0.05:
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="{ORANGE}" stroke-width="2"/>')
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{fill}" stroke="{BLUE}" stroke-width="1.5"/>')
    return parts


FIGURES: dict[str, Callable[[], str]] = {
    "determinacy-by-step.svg": determinacy_figure,
    "determinacy-forks.svg": forks_figure,
    "determinacy-forecasts.svg": forecast_figure,
}
"""Name of the file in docs/pictures -> the function that draws it."""


def main() -> None:
    """Write the figures whose tables are there."""
    for name, draw in FIGURES.items():
        if name == "determinacy-forecasts.svg" and not read_rows(*FEATURE_FILE):
            continue
        (PICTURES / name).write_text(draw(), encoding="utf-8")
        print(PICTURES / name)


if __name__ == "__main__":
    main()
