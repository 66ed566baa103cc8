"""Until which step does a change of the trained lengths still change how far a run reaches?

Runs are forked at several steps. From there on, one child trains on other lengths, and a control child on the same
lengths as before. Both have the same data seed. In the direction *rescue*, the run begins with sequences up to N, and
the changed child also gets long ones. In the direction *spoil* it is the other way round. All settings were written
down before the first run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from workbench.claims.determinacy.cells import LONGEST, STEPS, StudyCell, cell_named
from workbench.claims.determinacy.statistics import mean_interval
from workbench.claims.determinacy.stored_rows import read_rows, write_rows
from workbench.core.seeds import seed_of

if TYPE_CHECKING:
    from workbench.training.config import RunConfig
    from workbench.training.stacked import RunState

SWITCH_FILE = Path(__file__).parent, "switches.parquet"
"""Folder and name of the published table."""
SWITCH_STEPS = (100, 150, 200, 300, 400)
RESCUE, SPOIL = "rescue", "spoil"
DIRECTIONS = (RESCUE, SPOIL)
PARENT, CONTROL, CHANGED = "parent", "control", "changed"
RUNS = 8
"""Runs of each cell and direction. All of them count, whether they solve the trained lengths or not."""
LONG = 2 * LONGEST
"""The length of the long sequences."""
SHARE = 0.3
"""The share of the batches that are long, where there are long ones."""
TESTED = (1.5, 2.0, 3.0, 4.0)
"""Lengths of the comparison, in multiples of the longest length of either distribution."""
LEAST = 0.2
"""The smallest mean difference of reach that counts as a change."""
SWITCH_CELLS = tuple(
    map(
        cell_named,
        (
            "bounded_dyck_2-none", "abd_bc-rotary", "flip_flop-rotary", "abd_bc-none", "even_pairs-none",
            "bounded_dyck_3-none",
        ),
    )
)  # fmt: skip
SCHEMA = pa.schema(
    [
        ("cell", pa.string()),
        ("direction", pa.string()),
        ("seed", pa.int32()),
        ("step", pa.int32()),
        ("kind", pa.string()),
        *((f"skill_{round(multiple * LONG)}", pa.float32()) for multiple in TESTED),
        ("reach", pa.float32()),
    ]
)
"""One row for each run: ``step`` is 0 for a run that is not a child, and ``reach`` the mean of its clipped skill."""


def switch_config(cell: StudyCell, direction: str, seed: int, fork: tuple[int, str] | None = None) -> RunConfig:
    """Return the config of a run.

    Args:
        cell: the cell.
        direction: rescue or spoil.
        seed: seed of the initial weights and of the data.
        fork: (step, kind) of a child: control or changed.
    """
    from workbench.training.config import RunConfig, Seeds
    from workbench.training.curriculum import FewLong, Uniform

    short = Uniform(low=1, high=LONGEST)
    long = FewLong(low=1, high=LONG, short=LONGEST, share=SHARE)
    before, after = (short, long) if direction == RESCUE else (long, short)
    changed = fork is not None and fork[1] == CHANGED
    pairs = () if fork is None else ((fork[0], cell.fork_seed(seed, fork[0], 1)),)
    config = cell.config(seed)
    training = config.training.model_copy(update={"curriculum": after if changed else before})
    seeds = Seeds(init=seed, data=seed, data_from=pairs)
    return RunConfig(task=config.task, model=config.model, training=training, seeds=seeds)


def cell_rows(cell: StudyCell) -> list[dict[str, Any]]:
    """Train all runs of a cell, and return their rows.

    Args:
        cell: the cell.
    """
    from workbench.training.stacked import train_stacked

    runs = [(direction, seed) for direction in DIRECTIONS for seed in range(RUNS)]
    parents = train_stacked([switch_config(cell, *run) for run in runs], keep=SWITCH_STEPS)
    rows = _rows(cell, [(*run, 0, PARENT) for run in runs], [parents.last(place) for place in range(len(runs))])
    for step in SWITCH_STEPS:
        children = [(*run, step, kind) for kind in (CONTROL, CHANGED) for run in runs]
        configs = [switch_config(cell, direction, seed, (step, kind)) for direction, seed, _, kind in children]
        starts = [states[step] for states in parents.states] * 2
        found = train_stacked(configs, start_states=starts, from_step=step)
        rows += _rows(cell, children, [found.last(place) for place in range(len(children))])
    return rows


def _rows(
    cell: StudyCell, names: Sequence[tuple[str, int, int, str]], states: Sequence[RunState]
) -> list[dict[str, Any]]:
    """The rows of trained runs, each with its direction, seed, step and kind."""
    from workbench.claims.determinacy.study import reach_of, skills

    task = cell.make_task()
    lengths = [task.next_length(round(multiple * LONG)) for multiple in TESTED]
    words = [("switch", seed_of("switch", *name)) for name in names]
    skill = skills(cell, states, lengths, words)
    return [
        {
            "cell": cell.name,
            "direction": direction,
            "seed": seed,
            "step": step,
            "kind": kind,
            **{f"skill_{round(m * LONG)}": float(skill[place, i]) for i, m in enumerate(TESTED)},
            "reach": float(reach_of(skill[place : place + 1])[0]),
        }
        for place, (direction, seed, step, kind) in enumerate(names)
    ]


def run_switches(folder: Path, name: str, tell: Callable[[str], None]) -> None:
    """Train the cells that the table lacks; each cell is stored when it ends.

    Args:
        folder, name: the file.
        tell: receives a line when a cell ends.
    """
    for cell in SWITCH_CELLS:
        rows = read_rows(folder, name)
        if not any(row["cell"] == cell.name for row in rows):
            write_rows(folder, name, [*rows, *cell_rows(cell)], SCHEMA)
            tell(f"{cell.name}: forks whose lengths change")


@dataclass(frozen=True)
class Change:
    """What a change of the trained lengths at a step does to reach.

    Attributes:
        step: the step.
        value: mean over runs of reach of the changed child less that of its control.
        low, high: the 95 % t interval over runs.
        runs: number of runs.
        changed: whether the interval excludes 0 and the mean is at least 0.2 from it.
        chance: if the sign of each difference were random, 95 % of means would be nearer to 0 than this.
    """

    step: int
    value: float
    low: float
    high: float
    runs: int
    changed: bool
    chance: float


def change_by_step(rows: Sequence[Mapping[str, Any]], cell: StudyCell, direction: str) -> list[Change]:
    """Return the change of reach for each step at which the lengths change.

    Args:
        rows: the rows of the table.
        cell: the cell.
        direction: rescue or spoil.
    """
    name = (cell.name, direction)
    reach = {(r["step"], r["seed"], r["kind"]): r["reach"] for r in rows if (r["cell"], r["direction"]) == name}
    found = []
    for step in SWITCH_STEPS:
        seeds = sorted(seed for at, seed, kind in reach if (at, kind) == (step, CHANGED))
        if len(seeds) < 2:
            continue
        each = np.array([reach[step, seed, CHANGED] - reach[step, seed, CONTROL] for seed in seeds])
        mean, low, high = mean_interval(each)
        changed = (low > 0 or high < 0) and abs(mean) >= LEAST
        found.append(Change(step, mean, low, high, len(each), changed, random_sign_level(each)))
    return found


def random_sign_level(differences: NDArray[np.float64]) -> float:
    """Return the value below which the absolute mean lies for 95 % of all choices of signs.

    Args:
        differences: ``[run]``.
    """
    signs = np.array(list(product((-1, 1), repeat=len(differences))))
    return float(np.quantile(np.abs(signs @ differences) / len(differences), 0.95))


def bracket(changes: Sequence[Change]) -> str:
    """Return between which steps a change of the lengths stops to change reach, in words.

    Args:
        changes: by step, ascending.
    """
    last = max((change.step for change in changes if change.changed), default=None)
    if last is None:
        return f"no change of at least {LEAST:g} at any step"
    later = [change.step for change in changes if change.step > last]
    return f"between step {last} and step {later[0]}" if later else f"after step {last} of {STEPS}"
