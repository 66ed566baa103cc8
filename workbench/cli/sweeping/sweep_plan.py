"""The cost of a sweep, estimated from its finished runs: CPU hours, memory, bytes and time."""

from __future__ import annotations

import heapq
import os
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cli.sweeping.sweep_cells import MEMORY_PER_WORKER, cost
from workbench.cli.sweeping.sweep_file import SweepCell
from workbench.cli.table_text import align_columns
from workbench.runs.timing import Timing, read_timing
from workbench.storage.seal import SealError
from workbench.table.layout import checkpoint_steps as steps_there
from workbench.table.layout import table_path
from workbench.table.shards import seconds_of

if TYPE_CHECKING:
    from workbench.measure.request import MeasureRequest
    from workbench.training.config import RunConfig

LOOKED_AT = 100
"""Runs whose times are read; they are spread over the sweep."""


@dataclass(frozen=True)
class Known:
    """Time, memory and disk space of an existing run.

    Attributes:
        cell: which it is.
        rate: seconds of training a token.
        peak_bytes: memory of training.
        bytes_each: bytes of its folder a checkpoint.
        measuring: seconds of measuring a checkpoint, None where nothing was measured or timed.
    """

    cell: SweepCell
    rate: float
    peak_bytes: int
    bytes_each: float
    measuring: float | None


@dataclass
class SweepPlan:
    """The remaining work of a sweep, as far as it can be estimated.

    Attributes:
        training: seconds of each run that is to be trained, lowest, middle and highest estimate; empty without times.
        measuring: the same of each checkpoint that is to be measured.
        runs: to be trained.
        checkpoints: to be measured.
        new_bytes: that both leave on the disk.
        peak_bytes: memory of a training process, 0 where unknown.
        known: runs that the estimates rest on.
        measured: those of them whose measuring was timed.
    """

    runs: int = 0
    checkpoints: int = 0
    training: list[tuple[float, float, float]] = field(default_factory=list)
    measuring: list[tuple[float, float, float]] = field(default_factory=list)
    new_bytes: float = 0.0
    peak_bytes: int = 0
    known: int = 0
    measured: int = 0

    def hours(self, part: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
        """Return the CPU hours of a part: lowest, middle and highest estimate."""
        low, middle, high = (sum(one[at] for one in part) / 3600 for at in range(3))
        return low, middle, high

    def seconds_on(self, workers: int) -> float:
        """Return the wall-clock seconds on a number of workers, with the longest runs first; measuring begins when
        training has ended.
        """
        return span((one[1] for one in self.training), workers) + span((one[1] for one in self.measuring), workers)


def span(seconds: Iterable[float], workers: int) -> float:
    """Return when a number of workers has finished, if each takes the longest remaining piece of work first.

    Example:

        >>> span([3.0, 3.0, 2.0, 2.0, 2.0], 2)
        7.0
    """
    free = [0.0] * workers
    for piece in sorted(seconds, reverse=True):
        heapq.heapreplace(free, free[0] + piece)
    return max(free)


def plan_sweep(
    cells: Sequence[SweepCell],
    configs: Mapping[str, RunConfig],
    states: Mapping[str, str],
    root: Path,
    request: MeasureRequest | None,
) -> SweepPlan:
    """Return the plan of the remaining work of a sweep.

    Args:
        cells: those that count.
        configs: the configs of each cell, by name.
        states: done, begun, missing or damaged, by name.
        root: the folder of the runs.
        request: what is measured; None = nothing.
    """
    known = list(_known(cells, configs, root))
    plan = SweepPlan(known=len(known), measured=sum(one.measuring is not None for one in known))
    plan.peak_bytes = max((one.peak_bytes for one in known), default=0)
    for cell in cells:
        config, there = configs[cell.name], steps_there(root / cell.name)
        due = checkpoints_of(config)
        near = nearest_known(cell, known)
        if states[cell.name] in ("missing", "begun"):
            left = 1 - (there[-1] if there else 0) / config.training.steps
            plan.runs += 1
            plan.new_bytes += _bytes_each(near, config) * len(due.difference(there))
            if near:
                plan.training.append(_three([one.rate * cost(config) * left for one in near]))
        if request is not None and states[cell.name] != "damaged" and not table_path(root / cell.name).exists():
            wanted = _wanted(request.steps, due)
            plan.checkpoints += wanted
            if times := [
                one.measuring for one in nearest_known(cell, [k for k in known if k.measuring]) if one.measuring
            ]:
                plan.measuring += [_three(times)] * wanted
    return plan


def checkpoints_of(config: RunConfig) -> set[int]:
    """Return the steps at which a finished run has checkpoints."""
    return set(config.training.planned_steps)


def nearest_known(cell: SweepCell, known: Sequence[Known]) -> list[Known]:
    """Return the runs that share the most settings with a cell, apart from its seed."""

    def shared(one: Known) -> int:
        mine, other = cell.settings, one.cell.settings
        return sum(other.get(key) == value for key, value in mine.items() if not key.startswith("seed"))

    most = max(map(shared, known), default=0)
    return [one for one in known if shared(one) == most]


def _known(cells: Sequence[SweepCell], configs: Mapping[str, RunConfig], root: Path) -> Iterator[Known]:
    timed = [(cell, timing) for cell in cells if (timing := _timing(root / cell.name)) and timing.updates]
    for cell, timing in timed[:: max(1, len(timed) // LOOKED_AT)]:
        folder, law = root / cell.name, configs[cell.name].training
        there = max(1, len(steps_there(folder)))
        rate = timing.seconds / timing.updates / (law.batch_size * law.trained_length)
        times = list(seconds_of(folder).values())
        measuring = statistics.mean(times) if times else None
        yield Known(cell, rate, timing.peak_bytes, bytes_below(folder) / there, measuring)


def _timing(folder: Path) -> Timing | None:
    with suppress(SealError, OSError):  # `lengthlens check` names it
        return read_timing(folder)
    return None


def bytes_below(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    sizes = (os.path.join(here, name) for here, _, names in os.walk(folder) for name in names)
    return sum(os.lstat(path).st_size for path in sizes)


def _bytes_each(near: Sequence[Known], config: RunConfig) -> float:
    """Bytes a checkpoint: of the nearest runs, or at least those of its weights."""
    if near:
        return statistics.median(one.bytes_each for one in near)
    return 4.0 * config.model.least_numbers


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    return min(values), statistics.median(values), max(values)


def _wanted(steps: Any, due: set[int]) -> int:
    """How many checkpoints of a run are measured."""
    if steps is None:
        return len(due)
    return 1 if steps == "last" else len(steps)


def cost_row(plan: SweepPlan, workers: int) -> dict[str, Any]:
    """Return the plan with the keys of :data:`workbench.cli.output.table_kinds.COST`; None for unknown values."""
    row: dict[str, Any] = {
        "runs": plan.runs,
        "checkpoints": plan.checkpoints,
        "new_bytes": plan.new_bytes,
        "finished_runs": plan.known,
    }
    known = True
    for name, pieces, part in (
        ("training", plan.runs, plan.training),
        ("measuring", plan.checkpoints, plan.measuring),
    ):
        if pieces and not part:
            known = False
            continue
        keys = (f"{name}_hours_low", f"{name}_hours", f"{name}_hours_high")
        row |= dict(zip(keys, plan.hours(part), strict=True))
    if known:
        row["seconds"] = plan.seconds_on(workers)
    return row


def plan_lines(plan: SweepPlan, workers: int) -> list[str]:
    """Return the plan as lines of text."""
    if not plan.runs and not plan.checkpoints:
        return ["Nothing is left to be trained or measured."]
    rows = [("", "pieces", "CPU hours", f"on {workers:,} workers")]
    for name, pieces, part in (
        ("training", f"{plan.runs:,} runs", plan.training),
        ("measuring", f"{plan.checkpoints:,} checkpoints", plan.measuring),
    ):
        low, middle, high = plan.hours(part)
        spread = f" ({low:,.3g} to {high:,.3g})" if high > 1.1 * low else ""
        count = plan.runs if part is plan.training else plan.checkpoints
        if not count:
            continue
        if not part:
            rows.append((name, pieces, "unknown", "unknown"))
        else:
            rows.append((name, pieces, f"{middle:,.3g}{spread}", _time(span((one[1] for one in part), workers))))
    lines = align_columns(rows)
    memory = f"{plan.peak_bytes / 1e9:,.2f} GB of memory a training process" if plan.peak_bytes else "memory unknown"
    least = "" if plan.known else "at least "
    aside = f"the executor sets {MEMORY_PER_WORKER / 1e9:,.1f} GB aside"
    lines.append(f"{least}{plan.new_bytes / 1e9:,.3g} GB on the disk; {memory} ({aside}).")
    if plan.known:
        lines.append(
            f"Estimated from {plan.known:,} timed runs of this sweep ({plan.measured:,} of them measured). The time "
            f"of a missing run is that of the timed runs with the most similar settings, scaled by the number of "
            f"tokens. It "
            "assumes one thread per process and similar machines."
        )
    else:
        lines.append(
            "No run of this sweep is trained yet, so there is no time to estimate from. Train some runs first, "
            "e.g. with --shard 1/100."
        )
    return lines


def _time(seconds: float) -> str:
    """A time as one says it."""
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} seconds"
