"""The base class of measurements that reduce the attention scores of every length and layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from pydantic import PrivateAttr

from circuits.attention.attention_scores import layer_inputs, score_hooks
from workbench.measure.measurement import Measurement, Needs, Observer, Study, show
from workbench.measure.study import Shown, show_pass

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.base.architecture import Architecture
    from workbench.models.base.protocol import HookedModel
    from workbench.models.transformer.scores import ScoreInputs
    from workbench.tasks.base import Batch

Kept = TypeVar("Kept")


class LayerReducer(ABC, Generic[Kept]):
    """Reduces one layer's scores on one batch, some sequences at a time; all scores are never in memory at once."""

    @abstractmethod
    def add(self, inputs: ScoreInputs, part: Batch, seen: Mapping[str, Tensor]) -> None:
        """Add the next sequences: the inputs of their scores, and all other activations that were listed."""

    @abstractmethod
    def result(self) -> Kept:
        """Return the result for the layer."""


class EveryLayer(Observer, Generic[Kept]):
    """An observer that combines one observer for each layer.

    Args:
        cfg: the model's configuration.
        batch: the sequences.
        reducers: one per layer.
        names: further activations that a reducer receives, by layer.
        done: called with the results of all layers.
    """

    def __init__(
        self,
        cfg: Architecture,
        batch: Batch,
        reducers: Sequence[LayerReducer[Kept]],
        done: Callable[[list[Kept]], None],
        names: Callable[[int], list[str]] = lambda layer: [],
    ) -> None:
        self.batch, self.groups = batch, {n: [*cfg.score_hooks(n), *names(n)] for n in range(cfg.n_layers)}
        self._cfg, self._reducers, self._done = cfg, reducers, done

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        self._reducers[key].add(layer_inputs(self._cfg, key, seen), part, seen)

    def close(self) -> Observer | None:
        self._done([reducer.result() for reducer in self._reducers])
        return None


class ScoreObserver(Measurement, Generic[Kept]):
    """A measurement that observes the inputs of attention scores, and keeps the reducers' results per length."""

    needs: ClassVar[Needs] = "attention"

    _cfg: Architecture | None = PrivateAttr(default=None)
    _seen: dict[int, list[Kept]] = PrivateAttr(default_factory=dict)

    def hooks(self, cfg: Architecture) -> list[str]:
        self._cfg = cfg
        further = [name for layer in range(cfg.n_layers) for name in self.further(layer)]
        return [*score_hooks(cfg), *further]

    def further(self, layer: int) -> list[str]:
        """Return the names of activations of a layer that are needed in addition to those from which scores are
        computed.
        """
        return []

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        if self._cfg is None:
            raise ValueError(f"{type(self).__name__}: call hooks(cfg) before the forward pass")
        show(self._observer(self._cfg, length, batch), cache)

    def observer(self, study: Study, law: str, length: int, batch: Batch) -> EveryLayer[Kept]:
        return self._observer(study.cfg, length, batch)

    def _observer(self, cfg: Architecture, length: int, batch: Batch) -> EveryLayer[Kept]:
        def done(layers: list[Kept]) -> None:
            self._seen[length] = layers

        return EveryLayer(cfg, batch, [self.reducer(batch) for _ in range(cfg.n_layers)], done, self.further)

    @abstractmethod
    def reducer(self, batch: Batch) -> LayerReducer[Kept]:
        """Return a reducer of one layer for these sequences."""


def reduced_layers(
    model: HookedModel, batch: Batch, make: Callable[[], LayerReducer[Kept]], chunk: int | None = None
) -> list[Kept]:
    """Make one forward pass, and return a reducer's result for each layer.

    Args:
        model: a model with attention.
        batch: the sequences.
        make: returns a reducer for one layer.
        chunk: sequences at a time; None = as many as one pass takes.
    """
    found: list[Any] = []
    observer = EveryLayer(model.cfg, batch, [make() for _ in range(model.cfg.n_layers)], found.extend)
    show_pass(model, batch, [Shown(observer)], chunk)
    return found
