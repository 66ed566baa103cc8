"""Run any measurement on a model in memory, without a run: ``run(measurement, model, task, trained=50)``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from torch import Tensor, nn

from workbench.core.canonical import canonical
from workbench.measure.grid import make_grid, named_lengths
from workbench.measure.measurement import Grid, Measurement, Observer
from workbench.measure.refuse_rows import declared_rows, whole_rows
from workbench.measure.result import Result
from workbench.measure.running.applicable import lacking, not_applicable
from workbench.measure.running.plain_tokens import Data, batches_of
from workbench.measure.settings import MeasurementError
from workbench.measure.study import Evaluation, Shown, forward, show_pass
from workbench.models.base.architecture import Architecture
from workbench.table.other_strings import EVALUATION_SEED
from workbench.tasks.base import Batch, Task
from workbench.tasks.random_generator import generator

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel

T = TypeVar("T")


class _NoTask:
    """A placeholder for an unknown task, where batches were given without it. Prefixes are not shared."""

    presented = False

    def prefix_closed(self, law: str) -> bool:
        return False

    def beyond_window(self, length: int) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        raise MeasurementError(
            f"the measurement needs the task ({name}), which batches do not contain; give both: "
            "run(measurement, model, batches, task=task)"
        )


class ModelStudy:
    """A model in memory that is being measured, as ``finish`` receives it; see
    :class:`workbench.measure.measurement.Study`.

    Args:
        model: any model with TransformerLens's hook names.
        task: the task whose sequences are drawn, or to which the ``given`` batches belong; None = unknown.
        grid: prefix lengths.
        sequences: drawn sequences per test set and length.
        seed: seed of sequences, random choices and bootstrap.
        untrained: the same architecture before training, or None.
        given: batches by test set and length, used instead of drawn ones.
    """

    def __init__(
        self,
        model: HookedModel,
        task: Task | None,
        grid: Grid,
        sequences: int,
        seed: int,
        untrained: HookedModel | None = None,
        given: Mapping[tuple[str, int], Batch] | None = None,
    ) -> None:
        self.run, self.step, self.deep, self.trained_ids = "memory", 0, True, None
        self.model, self.cfg, self.grid, self.seed = model, model.cfg, grid, seed
        self.task: Task = _NoTask() if task is None else task  # type: ignore[assignment]
        self.earlier: Sequence[int] = ()
        self.passes = 0
        self._sequences, self._untrained, self._given = sequences, untrained, given
        self._evaluation = Evaluation(self.task, grid, seed, sequences, consistent=model.cfg.ids.consistent)

    def reads_unseen(self, length: int) -> bool:
        """Return whether a query at ``length`` exceeds the model's window. The trained ids are unknown here."""
        return bool(self.task.beyond_window(length))

    def rng(self, *parts: object) -> np.random.Generator:
        return np.random.default_rng(generator("probe", self.seed, *parts).initial_seed())

    def batch(self, law: str, length: int) -> Batch:
        """Return the sequences of exactly this test set and length.

        Raises:
            MeasurementError: if batches were given, but none for this test set and length.
        """
        if self._given is None:
            return self._evaluation.batch(law, length).rows(0, self.task.affordable(length, self._sequences))
        if (law, length) not in self._given:
            raise MeasurementError(f"no batch of the test set {law} and length {length} was given")
        return self._given[law, length]

    def cache(
        self, law: str, length: int, names: Sequence[str], untrained: bool = False, step: int | None = None
    ) -> Mapping[str, Tensor] | None:
        model = self._untrained if untrained else self.model
        if model is None:
            return None
        self.passes += 1
        return forward(model, self.batch(law, length), names)

    def show(
        self, law: str, length: int, observers: Sequence[Observer], untrained: bool = False, step: int | None = None
    ) -> bool:
        model = self._untrained if untrained else self.model
        if model is None:
            return False
        self.passes += show_pass(model, self.batch(law, length), [Shown(observer) for observer in observers])
        return True

    def further(
        self, law: str, length: int, start: int, stop: int, names: Sequence[str], word: str = "evaluate"
    ) -> Iterator[tuple[Batch, Mapping[str, Tensor]]]:
        if self._given is not None:
            raise MeasurementError("more sequences cannot be drawn from batches; give only the task")
        self.passes += 1
        for batch in self._evaluation.further(law, length, start, stop, word):
            yield batch, forward(self.model, batch, names)

    def answers(self, batch: Batch, names: Sequence[str]) -> Mapping[str, Tensor]:
        self.passes += 1
        return forward(self.model, batch, names)

    def memo(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        return make()


def run(
    measurement: Measurement,
    model: HookedModel | nn.Module,
    data: Data,
    labels: Tensor | Sequence[Tensor] | None = None,
    *,
    task: Task | None = None,
    trained: int | None = None,
    lengths: Sequence[int] | None = None,
    inside: Sequence[int] | None = None,
    sequences: int | None = None,
    untrained: HookedModel | None = None,
    seed: int = 0,
    step: int | None = None,
    refuse: bool = True,
) -> Result:
    """Run one measurement on a model in memory.

    Args:
        measurement: a measurement that was not used before.
        model: a model of this package, of TransformerLens, or any module with the same hook names
            (docs/your_own_model.md), which is tested first.
        data: the task whose sequences are drawn; or a batch, or one per test set and length; or plain token ids
            ``[batch, pos]``, or such a tensor per length.
        labels: labels of plain tokens; see :func:`workbench.measure.running.plain_tokens.batches_of`.
        task: for given batches: the task, if the measurement needs it. For plain tokens: the source of labels.
        trained: N, the longest trained length; optional for given batches.
        lengths: all prefix lengths of drawn sequences; None = the grid of a run. Each is measured, or refused with the
            reason.
        inside: the lengths inside training; None = those up to N.
        sequences: drawn sequences per test set and length; None = the measurement's default.
        untrained: the same architecture before training, for controls.
        seed: seed of sequences, random choices and bootstrap. For drawn sequences, a seed other than 0 is stored in the
            rows' setting as ``evaluation_seed``.
        step: the step in the rows; None = that of the checkpoint that the model was loaded from, else 0. The run in the
            rows is the one that the model was loaded from, or empty.
        refuse: whether rows are refused whose quantity the measurement does not declare, or whose value lies outside
            the declared range. With False, :func:`workbench.measure.testing.check_measurement` lists all of them.

    Example:
        >>> from workbench.models.handmade.transformers import majority
        >>> from workbench.measure.behaviour.measurement import Behaviour
        >>> from workbench.tasks import make_task
        >>> result = run(Behaviour(), majority(), make_task("majority"), trained=9, sequences=64)
        >>> result.value("accuracy", law="matched", length=9, mode="teacher_forced")
        1.0

    Raises:
        MeasurementError: if no batch is given, or two of one test set and length. Also for a test set that the
            measurement does not read, a task without ``trained``, or tokens without the labels that the measurement
            reads.
        RowsError: for rows that the measurement does not declare.
        TaskError: for a length that is not a whole number from 1 on, or that the task does not have.
    """
    batches = None if isinstance(data, Task) else _by_law(_given_batches(measurement, data, labels, task))
    if isinstance(data, Task):
        task = data
        grid = drawn_grid(data, trained, lengths)
    else:
        assert batches is not None
        _refuse_laws(measurement, batches)
        grid = _parted(trained, sorted({length for _, length in batches}))
    if inside is not None:
        grid = replace(grid, inside=tuple(named_lengths(None, inside)))
    spec = measurement.spec
    if why := measurement.why_not_measured(grid):
        raise MeasurementError(why)
    model = readable_model(model, task)
    study = ModelStudy(model, task, grid, sequences or spec.sequences, seed, untrained, batches)
    if why := lacking(measurement, model, task):
        rows = not_applicable(spec, why)
    else:
        observe(measurement, study, batches)
        rows = (declared_rows if refuse else whole_rows)(spec, measurement.finish(study))
    # Seed 0 is a run's default, so only other seeds are stored.
    setting = canonical({**spec.settings, **({EVALUATION_SEED: seed} if seed and batches is None else {})})
    name, loaded = getattr(model, "loaded_from", None) or ("", 0)
    filled = {"run": name, "step": loaded if step is None else step, "measurement": spec.name, "setting": setting}
    return Result(spec.name, [{**r, **filled} for r in rows], trained)


def readable_model(model: Any, task: Task | None = None) -> HookedModel:
    """Return a model that measurements can read: a model of this package unchanged, another one wrapped after tests.

    Args:
        model: the model. For a module without hooks, only its outputs are read, which needs the task.
        task: the task, which gives the numbers of tokens and outputs of such a module.

    Raises:
        NotebookModelError: as :func:`workbench.models.interop.notebook_model.notebook_model`.
    """
    if isinstance(getattr(model, "cfg", None), Architecture):
        return cast("HookedModel", model)
    from workbench.models.interop.notebook_model import notebook_model

    return notebook_model(model, None if task is None else (task.d_vocab, task.d_vocab_out))


def observe(measurement: Measurement, study: ModelStudy, given: Iterable[tuple[str, int]] | None = None) -> None:
    """Give a measurement its batches, lengths ascending: those in ``given``, or all its test sets and lengths."""
    laws = measurement.spec.laws
    every = [(law, n) for law in laws for n in study.grid.lengths]
    measurement.start(study)
    for law, length in every if given is None else sorted(given) if laws else ():
        batch = study.batch(law, length)
        show_pass(study.model, batch, [Shown(measurement.observer(study, law, length, batch))])


def _given_batches(
    measurement: Measurement,
    data: Batch | Tensor | Iterable[Batch | Tensor],
    labels: Tensor | Sequence[Tensor] | None,
    task: Task | None,
) -> list[Batch]:
    """Convert the given data to batches.

    Raises:
        MeasurementError: for plain tokens without the labels that the measurement reads.
    """
    listed = [data] if isinstance(data, Batch | Tensor) else list(data)
    plain = any(isinstance(one, Tensor) for one in listed)
    if plain and labels is None and task is None and not measurement.unlabelled:
        raise MeasurementError(
            f"{measurement.name} needs answers or task states: give labels with the tokens, or give task="
        )
    laws = measurement.spec.laws
    return batches_of(listed, [labels] if isinstance(labels, Tensor) else labels, task, laws[0] if laws else "matched")


def drawn_grid(task: Task, trained: int | None, lengths: Sequence[int] | None) -> Grid:
    """Return the lengths at which sequences of a task are drawn: the named lengths, or the grid of a run."""
    if trained is None:
        raise MeasurementError("sequences of a task are drawn around N: give trained=N, the longest trained length")
    if lengths is None:
        return make_grid(task, trained)
    return _parted(trained, named_lengths(task, lengths))


def _parted(trained: int | None, lengths: Sequence[int]) -> Grid:
    """Split lengths into those inside and outside training. Without ``trained``, N is 0 and both are empty."""
    n = trained or 0
    inside, outside = tuple(x for x in lengths if x <= n), tuple(x for x in lengths if x > n)
    return Grid(n, tuple(lengths), inside, outside if n else (), tuple(lengths))


def _by_law(batches: Iterable[Batch]) -> dict[tuple[str, int], Batch]:
    listed = list(batches)
    by_key = {(batch.law, batch.length): batch for batch in listed}
    if not by_key:
        raise MeasurementError("a measurement needs at least one batch")
    if len(by_key) < len(listed):
        raise MeasurementError("a measurement takes one batch per test set and length; join those of equal length")
    return by_key


def _refuse_laws(measurement: Measurement, given: Iterable[tuple[str, int]]) -> None:
    laws = measurement.spec.laws
    other = sorted({law for law, _ in given if law not in laws})
    if other and laws and not measurement.any_law:
        raise MeasurementError(
            f"{measurement.name} needs sequences of the test set {' or '.join(laws)}, not of {other[0]}"
        )
