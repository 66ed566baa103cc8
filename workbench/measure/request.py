"""A request to measure: one object that all layers pass on. It needs no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from workbench.jobs.share import WHOLE, Share
from workbench.models.compute_device import ComputeDevice, current_device

Deepen = Literal["last", "all", "bracket"]
DEEPEN: tuple[Deepen, ...] = ("last", "all", "bracket")


@dataclass(frozen=True)
class MeasureRequest:
    """A request to measure runs, made once by the command line, the dashboard, a sweep or a notebook.

    Attributes:
        folders: runs, or folders of runs.
        only: names of measurements, or families with a trailing dot; None = all except those made on request only.
        steps: checkpoints to measure; None = all, ``last`` = each run's last one.
        lengths: prefix lengths; None = the default grid of each run.
        sequences: per test set and length, for all or by measurement name; None = the default of each measurement.
        settings: by measurement name.
        deepen: the checkpoints at which more sequences may be drawn where the first ones are inconclusive. ``last``:
            each run's last one; ``all``; ``bracket``: those between which its last verdict began. For a bracket, one
            checkpoint of a run is planned at a time. Its rows decide whether another one is needed, so plan again until
            nothing is missing.
        share: the checkpoints to measure, each chosen by its run's id and its step; with ``bracket``, whole runs.
        evaluation_seed: the seed of the sequences; None = each run's own. Rows of another seed are stored next to those
            of the run's own sequences, and are read by their seed only.
        task_parameters: parameters of each run's task that keep its tokens and answers; None = its own. Their rows are
            stored apart in the same way.
        executor: name of an executor; see :func:`workbench.jobs.choose.make_executor`.
        workers: number of worker processes; None = one per available core.
        device: the device on which models compute.
    """

    folders: Sequence[str | Path]
    only: Sequence[str] | None = None
    steps: Sequence[int] | Literal["last"] | None = None
    lengths: Sequence[int] | None = None
    sequences: int | Mapping[str, int] | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    deepen: Deepen = "last"
    share: Share = WHOLE
    evaluation_seed: int | None = None
    task_parameters: Mapping[str, Any] | None = None
    executor: str = "processes"
    workers: int | None = None
    device: ComputeDevice = field(default_factory=current_device)
