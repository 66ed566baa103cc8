"""The base class of measurements, and the study of one checkpoint that a measurement receives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.core.former_names import FormerName, OverridableFormerNames
from workbench.measure.settings import refusal

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.base.architecture import Architecture
    from workbench.models.base.protocol import HookedModel
    from workbench.table.schema import Row
    from workbench.tasks.base import Batch, Task

T = TypeVar("T")

Needs = Literal["", "attention", "scan"]


@dataclass(frozen=True)
class Quantity:
    """The description of one measured quantity, as the Glossary shows it.

    Attributes:
        name: the stored name, as in the ``quantity`` column.
        definition: one line, with the formula where there is one.
        unit: unit or scale, e.g. "share", "nats", "tokens", "label".
        low: smallest possible value, or None.
        high: largest possible value, or None.
        about: ``summary`` or ``position`` where the quantity is about one of the two, else "".
        formula: the definition as a formula, or "" for labels and simple counts. Subscripts are written ``p_{(j)}``,
            superscripts ``x^{2}``. The glossary typesets the formula and explains the letters that all formulas share.
        where: the meaning of the other letters, in the same notation.
        controls: values of the column ``control`` that its rows may have.
        interval: whether its values have intervals. A value without an interval states the reason in its note.
    """

    name: str
    definition: str
    unit: str
    low: int | float | None = None
    high: int | float | None = None
    about: str = ""
    formula: str = ""
    where: str = ""
    controls: tuple[str, ...] = ()
    interval: bool = True

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The smallest and the largest possible value; None if the quantity is unbounded in a direction."""
        return None if self.low is None or self.high is None else (float(self.low), float(self.high))


@dataclass(frozen=True)
class Spec:
    """The description of a measurement as plain data, readable without a model and without torch.

    Attributes:
        name: e.g. ``circuits.hardmax``.
        version: raised whenever its numbers may change, so that old shards become stale.
        title: a short human name.
        settings: every setting with its value, JSON-able; part of the shard's key.
        quantities: the quantities of its rows.
        laws: names of the test sets whose batches it observes.
        sequences: default number of sequences per test set and length.
        needs: what a model must have: ``attention``, a ``scan`` over states, or "" for nothing special. Without it
            every quantity becomes a row of status *not_applicable*.
        deepens: whether it draws more sequences where the first ones are inconclusive. It does so at the last
            checkpoint, and at others on request.
    """

    name: str
    version: int
    title: str
    settings: Mapping[str, Any]
    quantities: tuple[Quantity, ...]
    laws: tuple[str, ...] = ("matched",)
    sequences: int = 256
    needs: Needs = ""
    deepens: bool = False


@dataclass(frozen=True)
class Grid:
    """The prefix lengths at which a model is measured.

    Attributes:
        trained: N, the longest prefix length seen in training; 0 for a model in memory whose N is unknown.
        lengths: all measured lengths, ascending.
        inside: G_in: N/4, N/2 and N, each rounded up to a length that the task has.
        outside: G_out: the measured lengths beyond N.
        named: the lengths that the caller named, which every measurement measures or refuses; empty = none.
        shortest: length of the shortest training sequences; no length inside is shorter.
    """

    trained: int
    lengths: tuple[int, ...]
    inside: tuple[int, ...]
    outside: tuple[int, ...]
    named: tuple[int, ...] = ()
    shortest: int = 1


@runtime_checkable
class Study(Protocol):
    """The model at one checkpoint that is being measured, with everything that the method ``finish`` may use."""

    run: str
    step: int
    task: Task
    cfg: Architecture
    model: HookedModel
    grid: Grid
    seed: int
    """The run's evaluation seed."""
    deep: bool
    """Whether more sequences may be drawn where the first ones are inconclusive."""
    trained_ids: Any
    """Position ids seen in training, as intervals [first, last]; None if they were not recorded."""
    earlier: Sequence[int]
    """Steps of the run's checkpoints before this one, ascending."""
    passes: int
    """Number of further forward passes made in ``finish``. Code that makes one without :meth:`cache` adds it here."""

    def reads_unseen(self, length: int) -> bool:
        """Return whether a query at ``length`` reads absolute position ids that training never used."""
        ...

    def rng(self, *parts: object) -> np.random.Generator:
        """Return a random generator whose seed depends only on the run's probe seed and ``parts``."""
        ...

    def batch(self, law: str, length: int) -> Batch:
        """Return the evaluation batch that ``observe`` received for this test set and length."""
        ...

    def cache(
        self, law: str, length: int, names: Sequence[str], untrained: bool = False, step: int | None = None
    ) -> Mapping[str, Tensor] | None:
        """Make a further forward pass, and return the named activations; the pass is counted.

        Args:
            law: name of the test set.
            length: prefix length.
            names: hook names of the activations.
            untrained: use the run's checkpoint at step 0.
            step: use the checkpoint of this step; None = this one.

        Returns:
            activations by name; None for ``untrained`` if the run has no checkpoint at step 0.

        Raises:
            RunError: for a ``step`` that the run lacks, or whose checkpoint is damaged.
        """
        ...

    def further(
        self, law: str, length: int, start: int, stop: int, names: Sequence[str], word: str = "evaluate"
    ) -> Iterator[tuple[Batch, Mapping[str, Tensor]]]:
        """Yield sequences ``start`` to ``stop`` of the random stream that begins with :meth:`batch`, and their
        activations.

        They come in blocks. The call counts as one further forward pass. Another ``word`` names an independent random
        stream.
        """
        ...

    def show(
        self, law: str, length: int, observers: Sequence[Observer], untrained: bool = False, step: int | None = None
    ) -> bool:
        """Make a further forward pass as :meth:`cache` does, and show it to observers of its sequences or of their
        prefixes.

        Returns:
            False, without a pass, in the cases in which :meth:`cache` returns None.
        """
        ...

    def answers(self, batch: Batch, names: Sequence[str]) -> Mapping[str, Tensor]:
        """Make a further forward pass over the measurement's own sequences; return ``names`` and the logits."""
        ...

    def memo(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return ``make()``, cached under ``key``; for values that depend on the run and grid but not on the step."""
        ...


class Observer(ABC):
    """Reduces one batch during a forward pass, some sequences and some activations at a time.

    Activations are freed as soon as every observer that listed them has received them. So the memory of a pass is
    bounded by what observers keep.

    Attributes:
        batch: the observed sequences. They are the first sequences of those in the pass, or prefixes of them.
        groups: names of activations that must arrive together, by a key of the observer (the layer, where there is
            one). ``logits`` is a valid name. If empty, no pass is needed.
    """

    batch: Batch
    groups: Mapping[int, Sequence[str]]

    @abstractmethod
    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        """Reduce one group of activations for some sequences.

        Sequences arrive in order. For each part of the sequences, groups arrive in the model's order.

        Args:
            key: the group.
            rows: which sequences of :attr:`batch`.
            part: these sequences.
            seen: the activations, each ``[sequence, pos, ...]``. They must not be changed.
        """

    def close(self) -> Observer | None:
        """Finish, after all sequences have arrived. Shorter lengths of the same test set are closed before longer ones.

        Returns:
            an observer that must see the same sequences again, or None.
        """
        return None


def show(observer: Observer, cache: Mapping[str, Tensor]) -> None:
    """Give an observer the activations of its whole batch.

    Raises:
        KeyError: for an activation that the cache lacks.
    """
    if missing := [name for names in observer.groups.values() for name in names if name not in cache]:
        raise KeyError(f"the cache contains no {missing[0]}")
    for key, names in observer.groups.items():
        observer.see(key, slice(0, len(observer.batch)), observer.batch, {name: cache[name] for name in names})
    if (again := observer.close()) is not None:
        show(again, cache)


class Measurement(OverridableFormerNames, BaseModel):
    """The base class of measurements. A measurement observes forward passes, reduces the activations to statistics, and
    returns rows.

    A subclass is a frozen pydantic model. Its fields are its settings, and all have defaults. It sets the class
    variables below and implements :meth:`hooks`, :meth:`observe` and :meth:`finish`. What it keeps between these calls
    is private (``_seen: ... = PrivateAttr(default_factory=dict)``). :attr:`spec` follows from the class variables and
    settings.

    The engine makes a fresh instance per checkpoint and calls ``start``. It then calls ``observe`` once per test set in
    ``spec.laws`` and length in the grid, lengths ascending, and finally ``finish``. A measurement that must not hold
    the activations of all sequences and layers at once overrides :meth:`observer`, which receives them in parts.

    Raises:
        MeasurementError: on construction, for an unknown setting or an invalid value.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    name: ClassVar[str]
    """E.g. ``circuits.hardmax``, as in the column ``measurement``."""
    title: ClassVar[str]
    """A short human name."""
    quantities: ClassVar[tuple[Quantity, ...]]
    """The quantities of its rows."""
    version: ClassVar[int] = 1
    """Raised whenever its numbers may change, so that old shards become stale."""
    laws: ClassVar[tuple[str, ...]] = ("matched",)
    """Names of the test sets whose batches it observes."""
    any_law: ClassVar[bool] = False
    """Whether it can observe batches of any test set; its rows name the test set."""
    unlabelled: ClassVar[bool] = False
    """Whether it reads neither answers nor task states, so that plain tokens without labels suffice."""
    sequences: ClassVar[int] = 256
    """Default number of sequences per test set and length."""
    needs: ClassVar[Needs] = ""
    """See :class:`Spec`."""
    deepens: ClassVar[bool] = False
    """See :class:`Spec`."""
    lists: ClassVar[bool] = False
    """Whether it evaluates each sequence once where the task lists a test set."""
    on_request: ClassVar[bool] = False
    """Whether it runs only if it is named, because it costs much or is not yet validated."""
    presented: ClassVar[Literal["no", "also", "only"]] = "no"
    """Whether it runs on models that were given a task in their prompt: never, also, or only on these."""
    not_presented: ClassVar[str] = (
        "it compares lengths with those of training, prefix by prefix, and this model was given the task in its prompt "
        "alone; behaviour.in_context, circuits.heads and circuits.hardmax are made of it, and where they are named "
        "circuits.in_context, circuits.in_context_rows and probes.in_context"
    )
    """Why it does not run on models that were given a task in their prompt."""
    in_prompt: ClassVar[str] = ""
    """Name of the measurement that replaces it on a model that was given the task in its prompt."""
    about: ClassVar[tuple[str, ...]] = ()
    """The targets it is about, ``summary`` and ``position``; ``python -m probes --targets`` selects by them."""

    def __init__(self, /, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise refusal(self.name, list(type(self).model_fields), error) from None

    @property
    def settings(self) -> dict[str, Any]:
        """The measurement's settings with their values, as JSON data; ``type(m)(**m.settings)`` makes an equal
        measurement.
        """
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @property
    def spec(self) -> Spec:
        """The description of the measurement as plain data."""
        return Spec(
            name=self.name,
            version=self.version,
            title=self.title,
            settings=self.settings,
            quantities=self.quantities,
            laws=self.laws,
            sequences=self.sequences,
            needs=self.needs,
            deepens=self.deepens,
        )

    def why_not_measured(self, grid: Grid) -> str:
        """Return why the measurement cannot measure a length that the caller named; "" if it can measure all of
        them.
        """
        return ""

    unmeasured: ClassVar[FormerName] = FormerName("why_not_measured")

    @abstractmethod
    def hooks(self, cfg: Architecture) -> list[str]:
        """Return the names of the activations that ``observe`` needs in ``cache``. ``logits`` is always included."""

    @abstractmethod
    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Reduce one batch. Every cached tensor has the position axis of ``batch.tokens``."""

    def start(self, study: Study) -> None:
        """Prepare for the study; called once, before the first batch. By default this does nothing."""

    def observer(self, study: Study, law: str, length: int, batch: Batch) -> Observer:
        """Return the observer for the batch of one test set and length, which receives some sequences at a time.

        By default it joins all activations and calls :meth:`observe`. Override it if the activations of all sequences
        and layers must not be in memory at once.
        """
        return _Whole(self, law, length, batch, self.hooks(study.cfg))

    @abstractmethod
    def finish(self, study: Study) -> list[Row]:
        """Return rows made with ``schema.row``; the engine adds run, step, measurement and setting."""


class MeasurementWithoutBatches(Measurement):
    """The base class of measurements that observe no batches.

    A subclass reads the weights, draws sequences of its own, or makes its own forward passes, all in :meth:`finish`.
    """

    def hooks(self, cfg: Architecture) -> list[str]:
        return []

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Do nothing."""


class _Whole(Observer):
    """Joins the activations of a batch for a measurement that needs them all at once."""

    def __init__(self, measurement: Measurement, law: str, length: int, batch: Batch, names: Sequence[str]) -> None:
        self.batch, self.groups = batch, {0: tuple(dict.fromkeys([*names, "logits"]))}
        self._measurement, self._law, self._length = measurement, law, length
        self._parts: list[Mapping[str, Tensor]] = []

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        self._parts.append(seen)

    def close(self) -> None:
        self._measurement.observe(self._law, self._length, self.batch, join_parts(self._parts))
        self._parts.clear()


def join_parts(parts: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Join the activations of consecutive parts of a batch (at least one part) along the first axis."""
    import torch

    first, *others = parts
    return {name: torch.cat([first[name], *(part[name] for part in others)]) for name in first}
