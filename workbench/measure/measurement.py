"""What a measurement is, and what it is handed: the study of one checkpoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

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
    """One measured quantity, described well enough for a glossary entry.

    Attributes:
        name: the binding name, as in the ``quantity`` column.
        definition: one line, with the formula where there is one.
        unit: unit or scale, e.g. "share", "nats", "tokens", "label".
        low: smallest possible value, or None.
        high: largest possible value, or None.
        about: ``summary`` or ``position`` where the quantity is about one of the two, else "".
        formula: what the definition says in words, or "" for a label, or a count that words say best. Written plainly,
            ``p_{(j)}`` and ``x^{2}`` for what stands below and above the line; the glossary sets it, and says what the
            letters are that all formulas share.
        where: what its other letters are; in the same notation.
        controls: what stands in the column ``control`` of the rows beside its own.
        interval: whether its values have one; one value without says in its note why it has none.
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
        """Between which all its values lie; None where an end is open."""
        return None if self.low is None or self.high is None else (float(self.low), float(self.high))


@dataclass(frozen=True)
class Spec:
    """What a measurement is, as plain data: no model and no torch is needed to read it.

    Attributes:
        name: e.g. ``circuits.hardmax``.
        version: raised whenever its numbers may change, so that old shards become stale.
        title: a short human name.
        settings: every setting with its value, JSON-able; part of the shard's key.
        quantities: what its rows hold.
        laws: evaluation laws whose batches it wants to observe.
        sequences: number of sequences per law and length it wants by default.
        needs: what a model must have to be measured: ``attention``, a ``scan`` over states, or "" = nothing
            that some architecture lacks. Without it every quantity is a row of status *not_applicable*.
        deepens: whether it draws further strings where the first ones leave a question open. That is done at the
            last checkpoint, and elsewhere where it is asked for.
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
    """The prefix lengths of a study.

    Attributes:
        trained: N, the longest prefix length seen in training; 0 of a model in memory of which it is not known.
        lengths: all measured lengths, ascending.
        inside: G_in: those of N/4, N/2, N (each rounded up to an admissible length).
        outside: G_out: the measured lengths beyond N.
        named: the lengths that the caller named, which every measurement measures or refuses; empty = none.
        shortest: length of the shortest trained strings; no length inside is shorter.
    """

    trained: int
    lengths: tuple[int, ...]
    inside: tuple[int, ...]
    outside: tuple[int, ...]
    named: tuple[int, ...] = ()
    shortest: int = 1


@runtime_checkable
class Study(Protocol):
    """One checkpoint under study, as ``finish`` sees it."""

    run: str
    step: int
    task: Task
    cfg: Architecture
    model: HookedModel
    grid: Grid
    seed: int
    """The run's evaluation seed."""
    deep: bool
    """Whether further strings may be drawn where the first ones leave a question open."""
    trained_ids: Any
    """Position ids seen in training, as intervals [first, last], or None where not recorded."""
    earlier: Sequence[int]
    """Steps of the run's checkpoints before this one, ascending."""
    passes: int
    """Further forward passes made in ``finish``; whoever makes one without :meth:`cache` adds it here."""

    def reads_unseen(self, length: int) -> bool:
        """Whether a query at ``length`` reads position ids that training never showed, absolutely."""
        ...

    def rng(self, *parts: object) -> np.random.Generator:
        """A generator that is a pure function of the run's probe seed and ``parts``."""
        ...

    def batch(self, law: str, length: int) -> Batch:
        """The evaluation batch that ``observe`` saw for this law and length."""
        ...

    def cache(
        self, law: str, length: int, names: Sequence[str], untrained: bool = False, step: int | None = None
    ) -> Mapping[str, Tensor] | None:
        """A further forward pass (counted and reported) of this checkpoint, of another step, or of the run's step 0.

        Returns None for ``untrained`` where the run has no step 0.

        Raises:
            RunError: for a ``step`` that the run lacks, or whose checkpoint is damaged.
        """
        ...

    def further(
        self, law: str, length: int, start: int, stop: int, names: Sequence[str], word: str = "evaluate"
    ) -> Iterator[tuple[Batch, Mapping[str, Tensor]]]:
        """Strings ``start`` to ``stop`` of the sequence that begins with :meth:`batch`, in blocks with their caches.

        Counts as one further forward pass. Another ``word`` gives strings that are independent of those.
        """
        ...

    def show(
        self, law: str, length: int, observers: Sequence[Observer], untrained: bool = False, step: int | None = None
    ) -> bool:
        """A further forward pass as of :meth:`cache`, shown to observers of its strings or their beginnings.

        Returns False, and makes none, where :meth:`cache` returns None.
        """
        ...

    def answers(self, batch: Batch, names: Sequence[str]) -> Mapping[str, Tensor]:
        """A further forward pass, of strings of the measurement's own: ``names`` and the logits."""
        ...

    def memo(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """Keep what depends on the run and the grid but not on the step, e.g. the untrained control."""
        ...


class Observer(ABC):
    """Reduces one batch while a forward pass goes over it: some sequences and some activations at a time.

    What it is shown is freed as soon as all who asked for it have seen it, so that the memory of a pass is bounded
    by what observers keep.

    Attributes:
        batch: the strings it is about: the first ones of those that the pass reads, and their beginnings.
        groups: what it wants to see together, names of activations by a key of its own (the layer, where there is
            one); ``logits`` is a name too. Nothing = it needs no pass.
    """

    batch: Batch
    groups: Mapping[int, Sequence[str]]

    @abstractmethod
    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        """Reduce one group of some sequences; these come in their order, the groups of each in that of the model.

        Args:
            key: which group.
            rows: which sequences of :attr:`batch`.
            part: these.
            seen: the activations, each ``[sequence, pos, ...]``. They must not be changed.
        """

    def close(self) -> Observer | None:
        """Everything was seen; shorter lengths of the same law are closed before longer ones.

        Returns:
            what must see the same strings again, now that all of them are known; None = nothing.
        """
        return None


def show(observer: Observer, cache: Mapping[str, Tensor]) -> None:
    """Show an observer activations of its whole batch.

    Raises:
        KeyError: for an activation that the cache lacks.
    """
    if missing := [name for names in observer.groups.values() for name in names if name not in cache]:
        raise KeyError(f"the cache contains no {missing[0]}")
    for key, names in observer.groups.items():
        observer.see(key, slice(0, len(observer.batch)), observer.batch, {name: cache[name] for name in names})
    if (again := observer.close()) is not None:
        show(again, cache)


class Measurement(BaseModel):
    """Observes forward passes, reduces them at once, and ends in rows.

    A subclass is a frozen pydantic model: its fields are its settings, and all have defaults. It states the class
    variables below and implements :meth:`hooks`, :meth:`observe` and :meth:`finish`; what it keeps between these is
    private (``_seen: ... = PrivateAttr(default_factory=dict)``). :attr:`spec` follows from both. The engine makes a
    fresh instance per checkpoint, calls ``start``, then ``observe`` once per law in ``spec.laws`` and length in the
    grid, lengths ascending, and ``finish`` at the end. One that would rather not be handed the activations of all
    sequences and layers at once gives an :meth:`observer`, which is shown them bit by bit instead.

    Raises:
        MeasurementError: on construction, for a setting that there is not or a value that it cannot have.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    name: ClassVar[str]
    """E.g. ``circuits.hardmax``: as in the column ``measurement``."""
    title: ClassVar[str]
    """A short human name."""
    quantities: ClassVar[tuple[Quantity, ...]]
    """What its rows hold."""
    version: ClassVar[int] = 1
    """Raised whenever its numbers may change, so that old shards become stale."""
    laws: ClassVar[tuple[str, ...]] = ("matched",)
    """Evaluation laws whose batches it wants to observe."""
    any_law: ClassVar[bool] = False
    """Whether it can observe batches of any law that it is given, and says in its rows which."""
    unlabelled: ClassVar[bool] = False
    """Whether it reads neither answers nor summaries, so that plain tokens without labels will do."""
    sequences: ClassVar[int] = 256
    """Sequences per law and length that it wants by default."""
    needs: ClassVar[Needs] = ""
    """See :class:`Spec`."""
    deepens: ClassVar[bool] = False
    """See :class:`Spec`."""
    lists: ClassVar[bool] = False
    """Whether it evaluates each sequence once where the task lists a test set."""
    on_request: ClassVar[bool] = False
    """Whether it is made only where it is named: one that costs much, or that has yet to be proven."""
    presented: ClassVar[Literal["no", "also", "only"]] = "no"
    """Whether it is made of models that were given a task in their prompt, and of no others."""
    not_presented: ClassVar[str] = (
        "it compares lengths with those of training, prefix by prefix, and this model was given the task in its prompt "
        "alone; behaviour.in_context, circuits.heads and circuits.hardmax are made of it, and where they are named "
        "circuits.in_context, circuits.in_context_rows and probes.in_context"
    )
    """Why it is not made of models that were given a task in their prompt, where it is not."""
    in_prompt: ClassVar[str] = ""
    """Which measurement takes its place where it is named for a model that was given the task in its prompt."""
    about: ClassVar[tuple[str, ...]] = ()
    """Which targets it is about, ``summary`` and ``position``: what ``python -m probes --targets`` chooses by."""

    def __init__(self, /, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise refusal(self.name, list(type(self).model_fields), error) from None

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting with its value, JSON-able; ``type(m)(**m.settings)`` makes it again."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @property
    def spec(self) -> Spec:
        """What it is, as plain data."""
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

    def unmeasured(self, grid: Grid) -> str:
        """Why it cannot measure a length that the caller named, in a sentence; "" where it measures all of them."""
        return ""

    @abstractmethod
    def hooks(self, cfg: Architecture) -> list[str]:
        """Names of the activations ``observe`` wants in ``cache`` (``logits`` is always there)."""

    @abstractmethod
    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Reduce one batch. Position axis of every cached tensor = that of ``batch.tokens``."""

    def start(self, study: Study) -> None:
        """What it is about to observe; called once, before anything is. Nothing, unless overridden."""

    def observer(self, study: Study, law: str, length: int, batch: Batch) -> Observer:
        """What takes in the batch of one law and length while a pass goes over it, some sequences at a time.

        Unless overridden, by one that would rather never hold the activations of all sequences and layers at once,
        they are put together for :meth:`observe`.
        """
        return _Whole(self, law, length, batch, self.hooks(study.cfg))

    @abstractmethod
    def finish(self, study: Study) -> list[Row]:
        """Rows made with ``schema.row``; the engine adds run, step, measurement and setting."""


class _Whole(Observer):
    """Puts the activations of a batch together, for a measurement that wants them so."""

    def __init__(self, measurement: Measurement, law: str, length: int, batch: Batch, names: Sequence[str]) -> None:
        self.batch, self.groups = batch, {0: tuple(dict.fromkeys([*names, "logits"]))}
        self._measurement, self._law, self._length = measurement, law, length
        self._parts: list[Mapping[str, Tensor]] = []

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        self._parts.append(seen)

    def close(self) -> None:
        self._measurement.observe(self._law, self._length, self.batch, joined(self._parts))
        self._parts.clear()


def joined(parts: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The activations of parts of a batch, at least one, as those of the whole."""
    import torch

    first, *others = parts
    return {name: torch.cat([first[name], *(part[name] for part in others)]) for name in first}
