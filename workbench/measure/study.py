"""One checkpoint under study: evaluation batches, shared forward passes, and further ones on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from workbench.measure.measurement import Grid
from workbench.models.protocol import HookedModel
from workbench.runs.folder import Run, RunError
from workbench.tasks.base import Batch, Task
from workbench.tasks.seeds import generator

T = TypeVar("T")

CHUNK_TOKENS = 16_384
"""Tokens per forward pass: bounds the memory of what is not cached."""

_MEMO: dict[tuple[object, ...], Any] = {}
_MEMO_SIZE = 64


def forward(model: HookedModel, batch: Batch, names: Sequence[str]) -> dict[str, Tensor]:
    """Named activations and ``logits`` of a batch, in chunks of sequences, with evaluation ids.

    Raises:
        KeyError: for a name the model does not have.
    """
    unknown = [name for name in names if name not in model.hook_dict]
    if unknown:
        raise KeyError(f"the model has no hook {unknown[0]!r}")
    positions = batch.tokens.shape[1]
    ids = model.cfg.ids.evaluation(positions, model.cfg.n_ctx, batch.position_ids)
    size = max(1, CHUNK_TOKENS // positions)
    parts: list[dict[str, Tensor]] = []
    for start in range(0, len(batch), size):
        rows = slice(start, start + size)
        chosen = ids if ids.shape[0] == 1 else ids[rows]
        with torch.no_grad():
            logits, cache = model.run_with_cache(
                batch.tokens[rows], chosen, names_filter=list(names), return_cache_object=False
            )
        parts.append({**cache, "logits": logits})
    return {name: torch.cat([part[name] for part in parts]) for name in [*names, "logits"]}


@dataclass
class Evaluation:
    """The evaluation batches of one run and grid, made once and shared by all measurements."""

    task: Task
    grid: Grid
    seed: int
    sequences: int
    made: dict[tuple[str, int], Batch] = field(default_factory=dict)

    def source_length(self, law: str, length: int) -> int:
        """Length of the strings that serve ``length``: the longest of all where the law is prefix-closed."""
        return max(self.grid.lengths) if self.task.prefix_closed(law) else length

    def source(self, law: str, length: int) -> Batch:
        """The strings that serve ``length``, uncut."""
        n = self.source_length(law, length)
        if (law, n) not in self.made:
            g = generator("evaluate", self.seed, law, n)
            self.made[law, n] = self.task.sample(self.sequences, n, g, law, window=self.grid.trained)
        return self.made[law, n]

    def batch(self, law: str, length: int) -> Batch:
        """The strings of exactly ``length``."""
        source = self.source(law, length)
        return source if source.length == length else source.prefix(length)


class CheckpointStudy:
    """What ``finish`` is handed; see :class:`workbench.measure.measurement.Study`."""

    def __init__(self, run: Run, step: int, model: HookedModel, evaluation: Evaluation, sequences: int) -> None:
        self.run, self.step, self.model, self.cfg = run.name, step, model, model.cfg
        self.task, self.grid = evaluation.task, evaluation.grid
        self.passes = 0
        self._run, self._evaluation, self._sequences = run, evaluation, sequences
        intervals = run.meta(step).get("trained_ids")
        self.trained_ids = (
            None if intervals is None else np.array([i for a, b in intervals for i in range(a, b + 1)], dtype=np.int64)
        )

    def reads_unseen(self, length: int) -> bool:
        """Whether a query at ``length`` reads position ids that training never showed, absolutely."""
        if not self.cfg.positions.absolute or self.trained_ids is None:
            return False
        used = self.cfg.ids.evaluation(length + self.task.bos, self.cfg.n_ctx)[0].numpy()
        return not bool(np.isin(used, self.trained_ids).all())

    def rng(self, *parts: object) -> np.random.Generator:
        seed = self._run.config["seeds"]["probe"]
        return np.random.default_rng(generator("probe", seed, *parts).initial_seed())

    def batch(self, law: str, length: int) -> Batch:
        return self._evaluation.batch(law, length).rows(0, self._sequences)

    def cache(
        self, law: str, length: int, names: Sequence[str], untrained: bool = False
    ) -> Mapping[str, Tensor] | None:
        model = self.model
        if untrained:
            try:
                model = self.memo(("untrained",), lambda: self._run.load(0))
            except RunError:
                return None
        self.passes += 1
        return forward(model, self.batch(law, length), names)

    def memo(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        whole = (self._run.path, self._run.id, self.grid, self._sequences, self._evaluation.seed, *key)
        if whole not in _MEMO:
            while len(_MEMO) >= _MEMO_SIZE:
                _MEMO.pop(next(iter(_MEMO)))
            _MEMO[whole] = make()
        found: T = _MEMO[whole]
        return found
