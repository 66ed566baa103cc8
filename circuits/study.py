"""A model under study without a run: any measurement of this package on any model, for notebooks and tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from workbench.core.canonical import canonical
from workbench.measure.applicable import lacking, not_applicable
from workbench.measure.grid import make_grid
from workbench.measure.measurement import Grid, Measurement
from workbench.measure.study import Evaluation, forward
from workbench.table.schema import FIELDS, Row
from workbench.tasks.seeds import generator

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from torch import Tensor

    from workbench.models.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """What a measurement found on one model, as rows.

    Attributes:
        measurement: its name.
        rows: rows of the table's format.
        trained: longest training length.
    """

    measurement: str
    rows: list[Row]
    trained: int

    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame with the columns of the table."""
        return pd.DataFrame(self.rows, columns=list(FIELDS))

    def value(self, quantity: str, **where: Any) -> float:
        """The one value of a quantity at a place.

        Raises:
            KeyError: if not exactly one row is there, or it has no value.
        """
        found = [r for r in self.rows if r["quantity"] == quantity and all(r[k] == v for k, v in where.items())]
        if len(found) != 1 or found[0]["value"] is None:
            notes = ", ".join(f"{r['status']}: {r['note']}" for r in found) or "no row"
            raise KeyError(f"{quantity} at {where} has {len(found)} rows ({notes})")
        return float(found[0]["value"])

    def figure(self, quantity: str | None = None, **style: Any) -> go.Figure:
        """The quantity over what it varies with; see :func:`workbench.figures.causes.causes`.

        Args:
            quantity: None = the first one that has a value.
            style: ``theme``, ``size`` and column values that pick rows.
        """
        from workbench.figures.causes import causes

        named = quantity or next((r["quantity"] for r in self.rows if r["value"] is not None), None)
        if named is None:
            raise ValueError(f"{self.measurement} found no value to draw: {self.rows[0]['note'] if self.rows else ''}")
        return causes(self.frame(), self.measurement, named, trained=self.trained, **style)


class ModelStudy:
    """A study (:class:`workbench.measure.measurement.Study`) of one model in memory.

    Args:
        model: any model with TransformerLens's hook names.
        task: the task whose strings are drawn.
        grid: the lengths.
        sequences: strings per law and length.
        seed: of everything.
    """

    def __init__(self, model: HookedModel, task: Task, grid: Grid, sequences: int, seed: int) -> None:
        self.run, self.step, self.passes, self.trained_ids = "", 0, 0, None
        self.seed, self.deep = seed, True
        self.earlier: Sequence[int] = ()
        self.model, self.task, self.cfg, self.grid = model, task, model.cfg, grid
        self._sequences = sequences
        self._evaluation = Evaluation(task, grid, seed, sequences, consistent=model.cfg.ids.consistent)

    def reads_unseen(self, length: int) -> bool:
        """False: which ids were trained is not known."""
        return False

    def rng(self, *parts: object) -> np.random.Generator:
        return np.random.default_rng(generator("probe", self.seed, *parts).initial_seed())

    def batch(self, law: str, length: int) -> Batch:
        return self._evaluation.batch(law, length).rows(0, self._sequences)

    def cache(
        self, law: str, length: int, names: Sequence[str], untrained: bool = False, step: int | None = None
    ) -> Mapping[str, Tensor] | None:
        if untrained:
            return None
        self.passes += 1
        return forward(self.model, self.batch(law, length), names)

    def further(
        self, law: str, length: int, start: int, stop: int, names: Sequence[str], word: str = "evaluate"
    ) -> Iterator[tuple[Batch, Mapping[str, Tensor]]]:
        self.passes += 1
        for batch in self._evaluation.further(law, length, start, stop, word):
            yield batch, forward(self.model, batch, names)

    def answers(self, batch: Batch, names: Sequence[str]) -> Mapping[str, Tensor]:
        self.passes += 1
        return forward(self.model, batch, names)

    def memo(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        return make()


def study_model(
    measurement: Measurement,
    model: HookedModel,
    task: Task,
    *,
    trained: int,
    lengths: Sequence[int],
    sequences: int | None = None,
    seed: int = 0,
) -> Result:
    """Run one measurement on a model in memory.

    Args:
        measurement: a fresh one.
        model: any model with TransformerLens's hook names.
        task: the task whose strings are drawn.
        trained: N, the longest trained length.
        lengths: all prefix lengths; those up to N are the ones inside training.
        sequences: strings per law and length; None = what the measurement wants.
        seed: of strings, choices and bootstrap.

    Raises:
        TaskError: for a length that the task does not admit.
    """
    for n in lengths:
        make_grid(task, trained, [n])
    listed = tuple(sorted(set(lengths)))
    grid = Grid(trained, listed, tuple(n for n in listed if n <= trained), tuple(n for n in listed if n > trained))
    spec = measurement.spec
    study = ModelStudy(model, task, grid, sequences or spec.sequences, seed)
    rows = not_applicable(spec, why) if (why := lacking(measurement, model)) else _measured(measurement, study)
    filled = {"run": "", "step": 0, "measurement": spec.name, "setting": canonical(dict(spec.settings))}
    return Result(spec.name, [{**r, **filled} for r in rows], trained)


def _measured(measurement: Measurement, study: ModelStudy) -> list[Row]:
    names = measurement.hooks(study.cfg)
    for law in measurement.spec.laws:
        for n in study.grid.lengths:
            batch = study.batch(law, n)
            measurement.observe(law, n, batch, forward(study.model, batch, names))
    return measurement.finish(study)
