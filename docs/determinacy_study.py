"""Train the determinacy study, and print when the reach of each kind of run is decided.

``python docs/determinacy_study.py --minutes 60 --workers 2`` trains what the published table lacks, and stores each
block when it ends. The same command continues. ``--features`` then computes the features that might forecast reach, and
``--switches`` trains forks whose trained lengths change. ``--settings`` and ``--two-settings`` train runs in which one
setting or two settings are changed. ``--print`` only prints the tables.
"""

from __future__ import annotations

import argparse
import math
import time

from workbench.claims.determinacy.cells import FORK_STEPS, MORE_CELLS, cell_named, planned_cells
from workbench.claims.determinacy.families import determinacy_by_step
from workbench.claims.determinacy.feature_table import FEATURE_FILE, FIRST, add_features
from workbench.claims.determinacy.forecast_rows import (
    CellForecast,
    first_step_forecasts,
    forecasts_by_cell,
    pooled_forecast,
)
from workbench.claims.determinacy.settings_study import (
    SETTINGS_FILE,
    AxisEffect,
    LevelReach,
    axis_effects,
    level_rows,
    planned_levels,
    run_levels,
)
from workbench.claims.determinacy.stored_rows import read_rows
from workbench.claims.determinacy.study import FAMILY_FILE, StudyTable, run_study_in_processes
from workbench.claims.determinacy.switches import (
    DIRECTIONS,
    SWITCH_CELLS,
    SWITCH_FILE,
    SWITCH_STEPS,
    bracket,
    change_by_step,
    run_switches,
)
from workbench.claims.determinacy.two_settings import (
    PAIRS,
    PAIRS_FILE,
    Combination,
    SettingPair,
    combination_rows,
    combinations,
    planned_combinations,
)


def determinacy_lines(table: StudyTable) -> list[str]:
    """The table of determinacy, as lines of Markdown."""
    head = ("runs", "schedule", "fork at step", "determinacy", "p of no correlation", "spread of reach", "families")
    found = [f"| {' | '.join(head)} | label |", "|---|---|---|---|---|---|---|---|"]
    for cell in [*planned_cells(), *MORE_CELLS]:
        for step, result in determinacy_by_step(table.rows, cell).items():
            value = f"{result.value:.2f} [{result.low:.2f}, {result.high:.2f}]"
            spread = f"{result.spread:.2f}"
            cells = (cell.words, cell.schedule, step, value, f"{result.p:.4f}", spread, result.families, result.label)
            found.append(f"| {' | '.join(map(str, cells))} |")
    return found


def forecast_lines(table: StudyTable) -> list[str]:
    """The tables of forecasts, as lines of Markdown; none if features are missing."""
    first, later = first_step_forecasts(table.rows), forecasts_by_cell(table.rows)
    if first is None or later is None:
        return []
    pooled = []
    for step in (FIRST, *FORK_STEPS):
        found = pooled_forecast(table.rows, step)
        assert found is not None
        name, best = found
        pooled.append(f"| {step} | {name} | {best.correlation:+.2f} | {best.chance:.2f} | {best.p:.3f} |")
    return [
        "| step | feature | mean rank correlation | chance level | p |", "|---|---|---|---|---|", *pooled, "",
        "| runs | schedule | step | label | feature | rank correlation | chance level | p (Holm) |",
        "|---|---|---|---|---|---|---|---|", *map(_forecast_line, [*first, *later]),
    ]  # fmt: skip


def _forecast_line(one: CellForecast) -> str:
    cells = (one.cell, one.schedule, one.step, one.label, one.feature)
    return f"| {' | '.join(map(str, cells))} | {one.correlation:+.2f} | {one.chance:.2f} | {one.p_holm:.3f} |"


def switch_lines() -> list[str]:
    """The table of forks whose lengths change, as lines of Markdown."""
    rows = read_rows(*SWITCH_FILE)
    found = [f"| runs | direction | {' | '.join(map(str, SWITCH_STEPS))} | last step with a change |"]
    found.append("|---|---|" + "---|" * (len(SWITCH_STEPS) + 1))
    for cell in SWITCH_CELLS:
        for direction in DIRECTIONS:
            changes = change_by_step(rows, cell, direction)
            values = [f"{_digits(c.value):+.2f} [{_digits(c.low):.2f}, {_digits(c.high):.2f}]" for c in changes]
            found += [f"| {' | '.join([cell.words, direction, *values, bracket(changes)])} |"] if changes else []
    return found


def _digits(value: float) -> float:
    """A value with two digits, without the sign of a zero."""
    return round(value, 2) + 0.0


def settings_lines() -> list[str]:
    """The table of settings that were changed one at a time, as lines of Markdown."""
    found = ["| setting | runs | mean reach by level | seeds | p | p (Holm) |"]
    return [*found, "|---|---|---|---|---|---|", *map(_effect_line, axis_effects(read_rows(*SETTINGS_FILE)))]


def _effect_line(one: AxisEffect) -> str:
    levels = "; ".join(map(_level_in_words, one.levels))
    p = ("not tested", "") if math.isnan(one.p) else (f"{one.p:.4f}", f"{one.p_holm:.4f}")
    setting = one.axis.replace("_", " ")
    return f"| {' | '.join([setting, cell_named(one.cell).words, levels, str(one.seeds), *p])} |"


def _level_in_words(level: LevelReach) -> str:
    name = level.name.replace("the end, ", "end, ").removesuffix("s").removesuffix(" length")
    if not level.solving:
        return f"{name}: none"
    return f"{name}: {level.mean:.2f}" + f" ({level.solving}/{level.runs})" * (level.solving < level.runs)


def pair_lines(pair: SettingPair) -> list[str]:
    """The table of two settings, as lines of Markdown: a row for each level of the first."""
    found = combinations(pair, [*read_rows(*SETTINGS_FILE), *read_rows(*PAIRS_FILE)])
    columns = list(dict.fromkeys(one.second for one in found))
    corner = f"{pair.first} / {pair.second.replace('_', ' ')}"
    lines = [f"| {corner} | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for first in dict.fromkeys(one.first for one in found):
        of_column = {one.second: one for one in found if one.first == first}
        cells = [_reach_in_words(of_column.get(name)) for name in columns]
        lines.append(f"| {first} | {' | '.join(cells)} |")
    return lines


def _reach_in_words(one: Combination | None) -> str:
    if one is None or not one.solving:
        return "" if one is None else f"none of {one.runs}"
    interval = "" if math.isnan(one.low) else f" [{max(one.low, 0):.2f}, {min(one.high, 1):.2f}]"
    return f"{one.reach:.2f}{interval} ({one.solving} of {one.runs})"


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the determinacy study, and print its tables.")
    parser.add_argument("--minutes", type=float, default=60, help="begin no block after this many minutes; default 60")
    parser.add_argument("--workers", type=int, default=1, help="processes, each with one thread; default 1")
    parser.add_argument("--features", action="store_true", help="compute the features that the table lacks")
    parser.add_argument("--switches", action="store_true", help="train forks whose lengths change at a step")
    parser.add_argument("--settings", action="store_true", help="train runs in which one setting is changed")
    parser.add_argument("--two-settings", action="store_true", help="train runs in which two settings are changed")
    parser.add_argument("--print", action="store_true", help="train nothing")
    arguments = parser.parse_args()
    table = StudyTable.read(*FAMILY_FILE)
    until = time.time() + 60 * arguments.minutes
    if not arguments.print:
        run_study_in_processes(table, [*planned_cells(), *MORE_CELLS], _tell, until, arguments.workers)
    if arguments.switches:
        run_switches(*SWITCH_FILE, _tell)
    if arguments.settings:
        run_levels(*SETTINGS_FILE, planned_levels(), level_rows, _tell, until, arguments.workers)
    if arguments.two_settings:
        run_levels(*PAIRS_FILE, planned_combinations(), combination_rows, _tell, until, arguments.workers)
    if arguments.features:
        parents = {cell: table.parents(cell) for cell in planned_cells()}
        add_features(*FEATURE_FILE, parents, _tell, arguments.workers)
    parts = [determinacy_lines(table), forecast_lines(table), switch_lines(), settings_lines(), *map(pair_lines, PAIRS)]
    print("\n\n".join("\n".join(lines) for lines in parts))


def _tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
