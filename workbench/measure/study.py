"""One checkpoint under study: evaluation batches, shared forward passes, and further passes on request."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.core.seeds import seed_of
from workbench.measure.measurement import Grid, Observer, join_parts
from workbench.models.base.protocol import HookedModel
from workbench.runs.run import Run
from workbench.tasks.base import EVALUATION_LAWS, Batch, Task
from workbench.tasks.random_generator import generator

T = TypeVar("T")

CHUNK_TOKENS = 16_384
"""Tokens per forward pass. It bounds the memory of activations that are not cached."""

BLOCK = 64
"""Number of sequences that are drawn, or run, at once; a power of two.

Drawn sequences, and the last bits of activations, depend on how many sequences are drawn or run at once. With whole
blocks they do not depend on the other measurements in the same pass. So an interrupted measurement resumes
bit-identically.
"""

MATERIALISING = (
    "hook_attn_scores", "hook_pattern", "hook_scale", "hook_normalized",
    "hook_ssm_gates", "hook_ssm_write", "hook_ssm_state",
)  # fmt: skip
"""Hooks that make a model compute step by step what it otherwise computes in one fused kernel.

The last bits of the activations then differ.
"""

LOGITS = "logits"
"""Name of the outputs among the activations."""

_MEMO: dict[tuple[object, ...], Any] = {}
_MEMO_SIZE = 256


def forward(
    model: HookedModel,
    batch: Batch,
    names: Sequence[str],
    hooks: Sequence[tuple[str, Callable[..., Any]]] = (),
    ids: Tensor | None = None,
) -> dict[str, Tensor]:
    """Return named activations and ``logits`` of a batch, computed in chunks of sequences with evaluation ids.

    Args:
        model: the model.
        batch: the sequences.
        names: activations to return, as they are after the edits.
        hooks: edits. Each is a hook name with a function of the activation and its hook; the pass continues with the
            returned value. A function receives a chunk of the sequences at a time.
        ids: position ids ``[batch or 1, pos]`` instead of those of evaluation.

    Raises:
        KeyError: for a hook name that the model does not have. An edit there would silently do nothing.
    """
    unknown = [name for name in (*names, *(name for name, _ in hooks)) if name not in model.hook_dict]
    if unknown:
        raise KeyError(f"the model has no hook {unknown[0]!r}")
    parts: list[dict[str, Tensor]] = []
    with torch.no_grad(), model.hooks(fwd_hooks=list(hooks)):
        for tokens, of_tokens in chunks(model, batch, ids):
            logits, cache = model.run_with_cache(tokens, of_tokens, names_filter=list(names), return_cache_object=False)
            parts.append({**cache, "logits": logits})
    return join_parts(parts)


def chunks(
    model: HookedModel, batch: Batch, ids: Tensor | None = None, chunk: int | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the tokens and position ids of a batch, ``chunk`` sequences at a time.

    Args:
        model: the model.
        batch: the sequences.
        ids: position ids; None = those of evaluation.
        chunk: sequences at a time; None = as many as one pass takes.
    """
    positions = batch.tokens.shape[1]
    if ids is None:
        ids = model.cfg.ids.evaluation(positions, model.cfg.n_ctx, batch.position_ids)
    size = chunk or _chunk(positions)
    for start in range(0, len(batch), size):
        rows = slice(start, start + size)
        yield batch.tokens[rows], ids if ids.shape[0] == 1 else ids[rows]


def _chunk(positions: int) -> int:
    """Return the sequences per forward pass: the largest power of two that CHUNK_TOKENS and BLOCK permit."""
    most = min(BLOCK, max(1, CHUNK_TOKENS // positions))
    return 1 << (most.bit_length() - 1)


@dataclass
class Shown:
    """An observer of a forward pass, with the handling of errors that it raises.

    Attributes:
        observer: the observer.
        guard: a context manager around each call of the observer. Without one, an error of the observer ends the pass.
        lost: whether the observer raised an error; it then receives nothing more.
    """

    observer: Observer
    guard: Callable[[], AbstractContextManager[None]] = nullcontext
    lost: bool = False

    def close(self) -> list[Shown]:
        """Close the observer, and return the observer that must see the sequences again, if any."""
        if not self.lost:
            with self.guard():
                following = self.observer.close()
                return [] if following is None else [Shown(following, self.guard)]
        return []


def show_pass(model: HookedModel, batch: Batch, shown: Sequence[Shown], chunk: int | None = None) -> int:
    """Make one forward pass over a batch for all observers, and another one as long as observers need it.

    Args:
        model: the model.
        batch: the sequences. Sequences at the end that no observer reads are not run.
        shown: the observers, those of shorter lengths first.
        chunk: sequences at a time; None = as many as one pass takes.

    Returns:
        the number of passes; 0 if no observer needs activations.

    Raises:
        KeyError: for a hook name that the model does not have.
    """
    passes = 0
    while shown:
        if wanting := [entry for entry in shown if entry.observer.groups]:
            for tokens, ids, part in _parts(model, batch, wanting, chunk):
                with torch.no_grad(), model.hooks(fwd_hooks=part.hooks):
                    # Outputs may be the largest tensor of all.
                    logits = model(tokens, ids) if LOGITS in part.waiting else model(tokens, ids, return_type=None)
                if logits is not None:
                    part.take(LOGITS, logits)
            passes += 1
        shown = [following for entry in shown for following in entry.close()]
    return passes


def _parts(
    model: HookedModel, batch: Batch, shown: Sequence[Shown], chunk: int | None
) -> Iterator[tuple[Tensor, Tensor, _PassPart]]:
    """Yield tokens, ids and observers for some sequences at a time, as far as an observer reads them."""
    names = {name for entry in shown for group in entry.observer.groups.values() for name in group}
    if unknown := sorted(names - {*model.hook_dict, LOGITS}):
        raise KeyError(f"the model has no hook {unknown[0]!r}")
    most = max(len(entry.observer.batch) for entry in shown)
    start = 0
    for tokens, ids in chunks(model, batch, chunk=chunk):
        if start >= most:
            return
        yield tokens, ids, _PassPart(shown, slice(start, start + len(tokens)))
        start += len(tokens)


class _PassPart:
    """Some sequences of a pass. It passes on activations as soon as a group is complete, then frees them.

    Attributes:
        waiting: by activation, the number of groups that still need it.
    """

    def __init__(self, shown: Sequence[Shown], rows: slice) -> None:
        self._held: dict[str, Tensor] = {}
        self._open: list[tuple[Shown, int, Sequence[str], slice, Batch]] = []
        for entry in shown:
            batch = entry.observer.batch
            if rows.start < len(batch):
                entry_rows = slice(rows.start, min(rows.stop, len(batch)))
                part = batch.rows(entry_rows.start, entry_rows.stop)
                self._open += [(entry, key, names, entry_rows, part) for key, names in entry.observer.groups.items()]
        self.waiting = Counter(name for _, _, names, _, _ in self._open for name in dict.fromkeys(names))

    @property
    def hooks(self) -> list[tuple[str, Callable[..., None]]]:
        """The forward hooks of the activations that are still needed."""
        return [(name, partial(self.take, name)) for name in self.waiting if name != LOGITS]

    def take(self, name: str, value: Tensor, hook: object = None) -> None:
        """Store an activation, and pass on the groups that it completes. The model supplies ``hook``; it is unused."""
        self._held[name] = value.detach()
        for entry, key, names, rows, part in self._open:
            if name not in names or not all(n in self._held for n in names):
                continue
            if not entry.lost:
                entry.lost = True
                with entry.guard():
                    entry.observer.see(key, rows, part, {n: _cut(self._held[n], part.tokens.shape) for n in names})
                    entry.lost = False
            self.waiting.subtract(dict.fromkeys(names, 1))
        self._held = {n: tensor for n, tensor in self._held.items() if self.waiting[n]}


def _cut(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the first sequences and positions of an activation. This is exact for a causal model."""
    return tensor[: shape[0], : shape[1]]


@dataclass
class Evaluation:
    """The evaluation batches of one run and its lengths, drawn once and shared by all measurements.

    Attributes:
        task, grid: the task, and the prefix lengths.
        seed: the run's evaluation seed.
        sequences: the required number of sequences; whole blocks are drawn.
        consistent: whether a prefix has the same position ids as a separate sequence and inside a longer one. If not,
            each length needs a forward pass of its own.
        made: the drawn batches, by test set and length.
    """

    task: Task
    grid: Grid
    seed: int
    sequences: int
    consistent: bool = True
    made: dict[tuple[str, int], Batch] = field(default_factory=dict)

    def source_length(self, law: str, length: int) -> int:
        """Return the length of the sequences whose prefixes serve ``length``.

        This is the longest length of the grid if its prefixes have the right distribution and ids, else ``length``.
        """
        return max(self.grid.lengths) if self.consistent and self.task.prefix_closed(law) else length

    def source(self, law: str, length: int) -> Batch:
        """Return the sequences whose prefixes of ``length`` tokens are evaluated, without cutting them."""
        n = self.source_length(law, length)
        if (law, n) not in self.made:
            blocks = range(math.ceil(self.sequences / BLOCK))
            self.made[law, n] = Batch.join([self._block(law, n, block) for block in blocks])
        return self.made[law, n]

    def _block(self, law: str, length: int, block: int, word: str = "evaluate") -> Batch:
        g = generator(word, self.seed, law, length, block)
        return self.task.sample(BLOCK, length, g, law, window=self.grid.trained)

    def further(self, law: str, length: int, start: int, stop: int, word: str = "evaluate") -> Iterator[Batch]:
        """Yield sequences ``start`` to ``stop`` of the random stream that begins with :meth:`batch`, in blocks.

        They are not kept. Another ``word`` names an independent random stream.
        """
        for block in range(start // BLOCK, math.ceil(stop / BLOCK)):
            whole = self._block(law, self.source_length(law, length), block, word)
            first = block * BLOCK
            rows = whole.rows(max(0, start - first), min(BLOCK, stop - first))
            yield rows if rows.length == length else rows.prefix(length)

    def batch(self, law: str, length: int) -> Batch:
        """Return the sequences of exactly ``length``."""
        source = self.source(law, length)
        return source if source.length == length else source.prefix(length)


class CheckpointStudy:
    """A checkpoint of a run that is being measured, as ``finish`` receives it; see
    :class:`workbench.measure.measurement.Study`.
    """

    def __init__(
        self, run: Run, step: int, model: HookedModel, evaluation: Evaluation, sequences: int, deep: bool = False
    ) -> None:
        self.run, self.step, self.model, self.cfg, self.deep = run.name, step, model, model.cfg, deep
        self.task, self.grid, self.seed = evaluation.task, evaluation.grid, evaluation.seed
        self.passes = 0
        self.earlier: Sequence[int] = tuple(s for s in run.steps if s < step)
        self._run, self._evaluation, self._sequences = run, evaluation, sequences
        self.trained_ids = run.meta(step).get("trained_ids")

    def reads_unseen(self, length: int) -> bool:
        """Return whether a query at ``length`` reads absolute position ids that training never used."""
        if self.task.beyond_window(length):
            return True
        if not self.cfg.positions.absolute or self.trained_ids is None:
            return False
        # Ids that the task couples may depend on the sequence, so those of all evaluation sequences count.
        coupled = [self.batch(law, length).position_ids for law in EVALUATION_LAWS] if self.cfg.ids.coupled else [None]
        used = [self.cfg.ids.evaluation(self.task.positions(length), self.cfg.n_ctx, ids).flatten() for ids in coupled]
        return not within(torch.cat(used).numpy(), self.trained_ids)

    def rng(self, *parts: object) -> np.random.Generator:
        seed = self._run.config["seeds"]["probe"]
        return np.random.default_rng(seed_of("probe", seed, *parts))

    def batch(self, law: str, length: int) -> Batch:
        return self._evaluation.batch(law, length).rows(0, self.task.affordable(length, self._sequences))

    def cache(
        self, law: str, length: int, names: Sequence[str], untrained: bool = False, step: int | None = None
    ) -> Mapping[str, Tensor] | None:
        model = self._model(untrained, step)
        if model is None:
            return None
        self.passes += 1
        return forward(model, self.batch(law, length), names)

    def show(
        self, law: str, length: int, observers: Sequence[Observer], untrained: bool = False, step: int | None = None
    ) -> bool:
        model = self._model(untrained, step)
        if model is None:
            return False
        self.passes += show_pass(model, self.batch(law, length), [Shown(observer) for observer in observers])
        return True

    def _model(self, untrained: bool, step: int | None) -> HookedModel | None:
        """Return the model of this checkpoint, of another step, or of step 0 (None if the run has no step 0)."""
        if untrained:
            return self.memo(("untrained",), lambda: self._run.load(0)) if 0 in self._run.steps else None
        return self.model if step is None else self._run.load(step)

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
        whole = (self._run.path, self._run.id, self.grid, self._sequences, self._evaluation.seed, *key)
        if whole not in _MEMO:
            while len(_MEMO) >= _MEMO_SIZE:
                _MEMO.pop(next(iter(_MEMO)))
            _MEMO[whole] = make()
        found: T = _MEMO[whole]
        return found


def within(ids: NDArray[np.int64], intervals: Sequence[Sequence[int]]) -> bool:
    """Return whether each id is in at least one of the intervals [first, last]."""
    return bool(ids_in_intervals(ids, intervals).all())


def ids_in_intervals(ids: NDArray[np.int64], intervals: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """Return, per id, whether it is in at least one of the intervals [first, last]. Wide intervals cost no memory."""
    firsts, lasts = np.array(sorted(map(tuple, intervals)), dtype=np.int64).reshape(-1, 2).T
    before = np.searchsorted(firsts, ids, side="right")  # number of intervals that begin at or before each id
    reached = np.concatenate([[-1], np.maximum.accumulate(lasts)])
    found: NDArray[np.bool_] = ids <= reached[before]
    return found
