"""What the measurements share that keep something of the attention scores of every length."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from pydantic import PrivateAttr

from circuits.attention.attention_scores import cached_inputs, score_hooks
from workbench.measure.measurement import Measurement, Needs

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.base.architecture import Architecture
    from workbench.models.transformer.scores import ScoreInputs
    from workbench.tasks.base import Batch

Kept = TypeVar("Kept")


class ScoreObserver(Measurement, Generic[Kept]):
    """Asks for what scores are made of, and keeps per length what :meth:`reduce` makes of each layer."""

    needs: ClassVar[Needs] = "attention"

    _cfg: Architecture | None = PrivateAttr(default=None)
    _seen: dict[int, list[Kept]] = PrivateAttr(default_factory=dict)

    def hooks(self, cfg: Architecture) -> list[str]:
        self._cfg = cfg
        return score_hooks(cfg)

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        if self._cfg is None:
            raise ValueError(f"{type(self).__name__}: ask hooks(cfg) what to observe before observing it")
        layers = enumerate(cached_inputs(self._cfg, cache))
        self._seen[length] = [self.reduce(inputs, batch, cache, layer) for layer, inputs in layers]

    @abstractmethod
    def reduce(self, inputs: ScoreInputs, batch: Batch, cache: Mapping[str, Tensor], layer: int) -> Kept:
        """What is kept of one layer at one length: never the scores of all queries."""
