"""One setting at a time: does it change how far runs reach?

Each axis is a setting with several levels. All other settings are those of the cell. Levels are paired: run i of each
level has the same seed for initial weights and data. All levels, cells and rules were written down before the first
run.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workbench.claims.determinacy.cells import LONGEST, SOLVED, STEPS, StudyCell, cell_named
from workbench.claims.determinacy.forecasts import holm
from workbench.claims.determinacy.stored_rows import read_rows, write_rows
from workbench.claims.determinacy.study import reach_lengths, reach_of, skills, trained_lengths, use_one_thread
from workbench.core.reach import REACH_MULTIPLES

if TYPE_CHECKING:
    from workbench.training.config import RunConfig

SETTINGS_FILE = Path(__file__).parent, "settings.parquet"
"""Folder and name of the published table."""
SETTINGS_CELLS = tuple(map(cell_named, ("bounded_dyck_2-none", "abd_bc-rotary", "flip_flop-rotary")))
SEEDS = 12
LEAST_SOLVING = 9
"""A level enters a test if at least this many of its runs solve their trained lengths."""
FEWEST_SEEDS = 6
"""A test needs this many seeds whose runs solve the trained lengths at all levels that enter."""
PERMUTATIONS = 5000
USUAL = "usual"
"""Axis and level of the runs with the settings of the cell."""


@dataclass(frozen=True)
class Level:
    """One value of a setting.

    Attributes:
        model: changes of the model's config.
        training: changes of the training config.
        task: changes of the task's parameters.
        longest: N, the longest trained length.
        lengths: the only trained lengths; () = all up to N.
    """

    model: Mapping[str, Any] | None = None
    training: Mapping[str, Any] | None = None
    task: Mapping[str, Any] | None = None
    longest: int = LONGEST
    lengths: tuple[int, ...] = ()

    def config(self, cell: StudyCell, seed: int) -> RunConfig:
        """Return the config of a run.

        Args:
            cell: the cell whose setting this level changes.
            seed: seed of the initial weights and of the data.
        """
        from workbench.training.config import RunConfig

        config = self._cell(cell).config(seed)
        model = type(config.model).model_validate({**config.model.model_dump(), **(self.model or {})})
        training = type(config.training).model_validate(
            {**config.training.model_dump(), **self._curriculum(), **(self.training or {})}
        )
        return RunConfig(task=config.task, model=model, training=training, seeds=config.seeds)

    def _cell(self, cell: StudyCell) -> StudyCell:
        """The cell with the task and N of this level."""
        return replace(cell, parameters={**cell.parameters, **(self.task or {})}, longest=self.longest)

    def _curriculum(self) -> dict[str, Any]:
        """The length distribution, if it is that of some lengths alone."""
        if not self.lengths:
            return {}
        parts = [{"law": "fixed", "high": n} for n in self.lengths]
        weights = [1] * len(parts)
        law = {"law": "mixture", "low": 1, "high": LONGEST, "weights": weights, "components": parts}
        return {"curriculum": law}

    def solved_lengths(self, cell: StudyCell) -> list[int]:
        """Return the trained lengths at which a run must solve the task."""
        return list(self.lengths) or trained_lengths(self._cell(cell))

    def reach_lengths(self, cell: StudyCell) -> list[int]:
        """Return the lengths at which reach is evaluated: the same multiples of this level's N."""
        return reach_lengths(self._cell(cell))


def _some_long(share: float) -> Level:
    """Uniform lengths up to N, and a share of batches at twice that length, which is then the longest trained one."""
    law = {"law": "few_long", "low": 1, "high": 2 * LONGEST, "short": LONGEST, "share": share}
    return Level(training={"curriculum": law}, longest=2 * LONGEST)


def _training(**changes: Any) -> Level:
    return Level(training=changes)


def _asked_last(*lengths: int) -> Level:
    return Level(task={"queries": "last"}, lengths=lengths)


AXES: Mapping[str, Mapping[str, Level]] = {
    "positions": {name: Level(model={"positions": name}) for name in ("none", "learned", "sinusoidal", "rotary")},
    "learning_rate": {f"{rate:g}": _training(learning_rate=rate) for rate in (7.5e-4, 1.5e-3, 3e-3, 6e-3, 0.012)},
    "weight_decay": {f"{decay:g}": _training(weight_decay=decay) for decay in (0.0, 0.01, 0.1, 0.3, 1.0, 3.0)},
    "share of sequences at 2 N": {"0": Level(), **{f"{share:g}": _some_long(share) for share in (0.02, 0.1, 0.3, 0.5)}},
    "steps": {f"{steps}": _training(steps=steps) for steps in (250, 500, 1000, 2000)},
    "steps at equal rate x steps": {
        f"{steps}": _training(steps=steps, learning_rate=3e-3 * STEPS / steps) for steps in (250, 500, 1000, 2000)
    },
    "schedule": {name: _training(rate_law=name) for name in ("cosine", "constant", "linear")},
    "queries": {
        "every prefix": Level(),
        "the end, 15 lengths": _asked_last(*range(2, LONGEST + 1)),
        "the end, 8 lengths": _asked_last(*range(2, LONGEST + 1, 2)),
        "the end, 4 lengths": _asked_last(4, 8, 12, 16),
        "the end, 2 lengths": _asked_last(8, 16),
        "the end, 1 length": _asked_last(16),
    },
}  # fmt: skip
"""The levels of each setting by name."""
SCHEMA = pa.schema(
    [
        ("cell", pa.string()),
        ("axis", pa.string()),
        ("level", pa.string()),
        ("seed", pa.int32()),
        ("solves", pa.float32()),
        *((f"skill_{multiple:g}", pa.float32()) for multiple in REACH_MULTIPLES),
        ("reach", pa.float32()),
    ]
)
"""One row for each run; ``solves`` is the least skill at the trained lengths at the end.

Lengths at which a constant answer is always right are left out.
"""


def levels_of(cell: StudyCell, axis: str) -> dict[str, tuple[str, str]]:
    """Return where the rows of the levels of an axis are: (axis, level) by name of the level.

    A level with the settings of the cell has the rows of :data:`USUAL`. Flip-flop has its own queries, so its axis
    *queries* is empty.
    """
    if axis == "queries" and "queries" not in type(cell.make_task()).model_fields:
        return {}
    usual = cell.config(0)
    return {
        name: (USUAL, USUAL) if level.config(cell, 0) == usual else (axis, name) for name, level in AXES[axis].items()
    }


def planned_levels() -> list[tuple[StudyCell, str, str]]:
    """Return all cells with their axes and levels, in the order in which they are trained."""
    found = [(cell, USUAL, USUAL) for cell in SETTINGS_CELLS]
    for axis in AXES:
        for cell in SETTINGS_CELLS:
            found += [(cell, *place) for place in levels_of(cell, axis).values() if place != (USUAL, USUAL)]
    return found


def level_rows(cell: StudyCell, axis: str, name: str) -> list[dict[str, Any]]:
    """Train all runs of a level, and return their rows.

    Args:
        cell: the cell.
        axis, name: the setting and its level.
    """
    return rows_of_level(cell, axis, name, Level() if axis == USUAL else AXES[axis][name], SEEDS)


def rows_of_level(cell: StudyCell, axis: str, name: str, level: Level, runs: int) -> list[dict[str, Any]]:
    """Train the runs of a level, and return their rows.

    Args:
        cell: the cell.
        axis, name: the names of the setting and the level in the rows.
        level: what it changes.
        runs: how many, with the seeds 0, 1, 2, ...
    """
    from workbench.training.stacked import train_stacked

    configs = [level.config(cell, seed) for seed in range(runs)]
    trained = train_stacked(configs)
    seeds = [seed for seed in range(runs) if seed not in trained.not_finite]
    states = [trained.last(seed) for seed in seeds]
    words = [("settings", axis, name, seed) for seed in seeds]
    skill = skills(cell, states, level.reach_lengths(cell), words, configs[0])
    solves = np.nanmin(skills(cell, states, level.solved_lengths(cell), words, configs[0]), 1)
    return [
        {
            "cell": cell.name,
            "axis": axis,
            "level": name,
            "seed": seed,
            "solves": float(solves[place]),
            **{f"skill_{multiple:g}": float(skill[place, i]) for i, multiple in enumerate(REACH_MULTIPLES)},
            "reach": float(reach_of(skill)[place]),
        }
        for place, seed in enumerate(seeds)
    ]


Planned = tuple[StudyCell, str, str]
"""A cell, an axis and a level."""


def run_levels(
    folder: Path,
    name: str,
    planned: Sequence[Planned],
    train: Callable[[StudyCell, str, str], list[dict[str, Any]]],
    tell: Callable[[str], None],
    until: float,
    workers: int = 1,
) -> None:
    """Train the levels that a table lacks; each level is stored when it ends.

    Args:
        folder, name: the file.
        planned: the levels, in order.
        train: returns the rows of a level: :func:`level_rows`, or another function of a module.
        tell: receives a line when a level ends.
        until: seconds since the epoch after which no level begins.
        workers: processes.
    """
    rows = read_rows(folder, name)
    done = {(row["cell"], row["axis"], row["level"]) for row in rows}
    missing = [one for one in planned if (one[0].name, *one[1:]) not in done]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=use_one_thread) as pool:
        running = {pool.submit(_rows_before, until, train, *one): one for one in missing}
        for job in as_completed(running):
            if found := job.result():
                rows += found
                write_rows(folder, name, rows, SCHEMA)
                cell, axis, level = running[job]
                tell(f"{cell.name}: {axis} {level}, {len(found)} runs")


def _rows_before(
    until: float, train: Callable[[StudyCell, str, str], list[dict[str, Any]]], cell: StudyCell, axis: str, name: str
) -> list[dict[str, Any]]:
    """The rows of a level; none after a time."""
    return train(cell, axis, name) if time.time() < until else []


@dataclass(frozen=True)
class LevelReach:
    """The reach of the runs of a level.

    Attributes:
        name: of the level.
        mean: over the runs that solve their trained lengths; NaN if none does.
        solving: how many do.
        runs: how many were trained.
        enters: whether the level enters the test.
    """

    name: str
    mean: float
    solving: int
    runs: int
    enters: bool


@dataclass(frozen=True)
class AxisEffect:
    """Whether a setting changes reach in a cell.

    Attributes:
        cell: name of the cell.
        axis: the setting.
        levels: its levels.
        p: the share of random assignments of levels within seeds whose level means differ at least as much. NaN if too
            few levels or seeds enter.
        p_holm: p, adjusted for all settings and cells that could be tested.
        seeds: number of seeds in the test.
        low, high: if levels are assigned at random, 95 % of level means lie between these. NaN without a test.
    """

    cell: str
    axis: str
    levels: tuple[LevelReach, ...]
    p: float
    p_holm: float
    seeds: int
    low: float
    high: float


def axis_effects(rows: Sequence[Mapping[str, Any]]) -> list[AxisEffect]:
    """Return the effect of each setting in each cell; without those whose rows are not complete.

    Args:
        rows: the rows of the table.
    """
    of_level: dict[tuple[str, str, str], dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        of_level.setdefault((row["cell"], row["axis"], row["level"]), {})[row["seed"]] = row
    effects = []
    for axis in AXES:
        for cell in SETTINGS_CELLS:
            places = levels_of(cell, axis)
            runs = {name: of_level.get((cell.name, *place), {}) for name, place in places.items()}
            if runs and all(runs.values()):
                effects.append(_effect(cell.name, axis, runs))
    adjusted = iter(holm([effect.p for effect in effects if not np.isnan(effect.p)]))
    return [effect if np.isnan(effect.p) else replace(effect, p_holm=next(adjusted)) for effect in effects]


def _effect(cell: str, axis: str, runs: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> AxisEffect:
    levels, reach = [], {}
    for name, of_seed in runs.items():
        solving = {seed: float(row["reach"]) for seed, row in of_seed.items() if row["solves"] >= SOLVED}
        mean = float(np.mean(list(solving.values()))) if solving else float("nan")
        enters = len(solving) >= LEAST_SOLVING
        levels.append(LevelReach(name, mean, len(solving), len(of_seed), enters))
        if enters:
            reach[name] = solving
    seeds = sorted(set.intersection(*map(set, reach.values()))) if reach else []
    p = low = high = float("nan")
    if len(reach) >= 2 and len(seeds) >= FEWEST_SEEDS:
        tested = np.array([[of_seed[seed] for of_seed in reach.values()] for seed in seeds])
        p, low, high = permutation_test(tested)
    return AxisEffect(cell, axis, tuple(levels), p, p, len(seeds), low, high)


def permutation_test(reach: NDArray[np.float64], seed: int = 0) -> tuple[float, float, float]:
    """Return p and the 95 % range of level means if levels are permuted within each seed: (p, low, high).

    p is the share of random assignments of levels whose means differ at least as much as the measured ones. Means
    differ by their variance.

    Args:
        reach: ``[seed, level]``.
        seed: of the permutations.
    """
    rng = np.random.default_rng(seed)
    drawn = np.stack([rng.permuted(reach, axis=1).mean(0) for _ in range(PERMUTATIONS)])
    at_least = drawn.var(1) >= reach.mean(0).var() - 1e-12
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float((1 + at_least.sum()) / (1 + PERMUTATIONS)), float(low), float(high)
