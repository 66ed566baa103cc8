"""One checkpoint under study: evaluation batches, shared forward passes, and further ones on request."""

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
from workbench.measure.measurement import Grid, Observer, joined
from workbench.models.base.protocol import HookedModel
from workbench.runs.run import Run
from workbench.tasks.base import EVALUATION_LAWS, Batch, Task
from workbench.tasks.random_generator import generator

T = TypeVar("T")

CHUNK_TOKENS = 16_384
"""Tokens per forward pass: bounds the memory of what is not cached."""

BLOCK = 64
"""Sequences are drawn, and run, in blocks of so many: a power of two.

What is drawn, and the last bits of what a model computes, depend on how many sequences are drawn or run
at once. In whole blocks they do not depend on what else is measured in the same pass, and a measurement
that was interrupted goes on to the same bits.
"""

MATERIALISING = (
    "hook_attn_scores", "hook_pattern", "hook_scale", "hook_normalized",
    "hook_ssm_gates", "hook_ssm_write", "hook_ssm_state",
)  # fmt: skip
"""Hooks that make a model compute in the open what it else computes fused, which changes the last bits."""

LOGITS = "logits"
"""What the outputs are called beside the activations."""

_MEMO: dict[tuple[object, ...], Any] = {}
_MEMO_SIZE = 256


def forward(
    model: HookedModel,
    batch: Batch,
    names: Sequence[str],
    hooks: Sequence[tuple[str, Callable[..., Any]]] = (),
    ids: Tensor | None = None,
) -> dict[str, Tensor]:
    """Named activations and ``logits`` of a batch, in chunks of sequences, with evaluation ids.

    Args:
        model: the model.
        batch: the sequences.
        names: activations to return, as they are after the edits.
        hooks: edits: per hook name, a function of the activation and its hook that returns what to go on with. It
            sees a chunk of the sequences at a time.
        ids: position ids ``[batch or 1, pos]`` instead of those of evaluation.

    Raises:
        KeyError: for a name the model does not have; an edit there would silently do nothing.
    """
    unknown = [name for name in (*names, *(name for name, _ in hooks)) if name not in model.hook_dict]
    if unknown:
        raise KeyError(f"the model has no hook {unknown[0]!r}")
    parts: list[dict[str, Tensor]] = []
    with torch.no_grad(), model.hooks(fwd_hooks=list(hooks)):
        for tokens, of_tokens in chunks(model, batch, ids):
            logits, cache = model.run_with_cache(tokens, of_tokens, names_filter=list(names), return_cache_object=False)
            parts.append({**cache, "logits": logits})
    return joined(parts)


def chunks(
    model: HookedModel, batch: Batch, ids: Tensor | None = None, chunk: int | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Tokens and ids (None = those of evaluation) of a batch, ``chunk`` sequences at a time.

    None = as many as one pass takes.
    """
    positions = batch.tokens.shape[1]
    if ids is None:
        ids = model.cfg.ids.evaluation(positions, model.cfg.n_ctx, batch.position_ids)
    size = chunk or _chunk(positions)
    for start in range(0, len(batch), size):
        rows = slice(start, start + size)
        yield batch.tokens[rows], ids if ids.shape[0] == 1 else ids[rows]


def _chunk(positions: int) -> int:
    """Sequences per forward pass: the largest power of two that CHUNK_TOKENS and BLOCK admit."""
    most = min(BLOCK, max(1, CHUNK_TOKENS // positions))
    return 1 << (most.bit_length() - 1)


@dataclass
class Shown:
    """An observer in a pass.

    Attributes:
        observer: it.
        guard: what each call of it is made inside; else what it raises ends the pass.
        lost: whether it raised something, and is shown no more.
    """

    observer: Observer
    guard: Callable[[], AbstractContextManager[None]] = nullcontext
    lost: bool = False

    def close(self) -> list[Shown]:
        """Close the observer; what must see the strings again."""
        if not self.lost:
            with self.guard():
                following = self.observer.close()
                return [] if following is None else [Shown(following, self.guard)]
        return []


def show_pass(model: HookedModel, batch: Batch, shown: Sequence[Shown], chunk: int | None = None) -> int:
    """One forward pass over a batch, shown to all who observe it, and what must be seen again once more.

    Args:
        model: the model.
        batch: the sequences; those at the end that nobody observes are not run.
        shown: the observers, of shorter lengths before those of longer ones.
        chunk: sequences at a time; None = as many as one pass takes.

    Returns:
        the number of passes: none where nobody wants anything.

    Raises:
        KeyError: for a name the model does not have.
    """
    passes = 0
    while shown:
        if wanting := [one for one in shown if one.observer.groups]:
            for tokens, ids, part in _parts(model, batch, wanting, chunk):
                with torch.no_grad(), model.hooks(fwd_hooks=part.hooks):
                    # Outputs may be the largest tensor of all.
                    logits = model(tokens, ids) if LOGITS in part.waiting else model(tokens, ids, return_type=None)
                if logits is not None:
                    part.take(LOGITS, logits)
            passes += 1
        shown = [following for one in shown for following in one.close()]
    return passes


def _parts(
    model: HookedModel, batch: Batch, shown: Sequence[Shown], chunk: int | None
) -> Iterator[tuple[Tensor, Tensor, _PassPart]]:
    """Tokens, ids and observers of some sequences of a pass at a time, as far as anybody observes them."""
    names = {name for one in shown for group in one.observer.groups.values() for name in group}
    if unknown := sorted(names - {*model.hook_dict, LOGITS}):
        raise KeyError(f"the model has no hook {unknown[0]!r}")
    most = max(len(one.observer.batch) for one in shown)
    start = 0
    for tokens, ids in chunks(model, batch, chunk=chunk):
        if start >= most:
            return
        yield tokens, ids, _PassPart(shown, slice(start, start + len(tokens)))
        start += len(tokens)


class _PassPart:
    """Some sequences of a pass: hands on what was computed as soon as a group is whole, and then lets go of it.

    Attributes:
        waiting: by name, how many groups it is still wanted for.
    """

    def __init__(self, shown: Sequence[Shown], rows: slice) -> None:
        self._held: dict[str, Tensor] = {}
        self._open: list[tuple[Shown, int, Sequence[str], slice, Batch]] = []
        for one in shown:
            batch = one.observer.batch
            if rows.start < len(batch):
                own = slice(rows.start, min(rows.stop, len(batch)))
                part = batch.rows(own.start, own.stop)
                self._open += [(one, key, names, own, part) for key, names in one.observer.groups.items()]
        self.waiting = Counter(name for _, _, names, _, _ in self._open for name in dict.fromkeys(names))

    @property
    def hooks(self) -> list[tuple[str, Callable[..., None]]]:
        """The forward hooks of the activations that are waited for."""
        return [(name, partial(self.take, name)) for name in self.waiting if name != LOGITS]

    def take(self, name: str, value: Tensor, hook: object = None) -> None:
        """An activation, which may complete some groups; ``hook`` is given by a model and not read."""
        self._held[name] = value.detach()
        for one, key, names, rows, part in self._open:
            if name not in names or not all(n in self._held for n in names):
                continue
            if not one.lost:
                one.lost = True
                with one.guard():
                    one.observer.see(key, rows, part, {n: _cut(self._held[n], part.tokens.shape) for n in names})
                    one.lost = False
            self.waiting.subtract(dict.fromkeys(names, 1))
        self._held = {n: tensor for n, tensor in self._held.items() if self.waiting[n]}


def _cut(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The first sequences and positions of an activation: exact, for a causal model."""
    return tensor[: shape[0], : shape[1]]


@dataclass
class Evaluation:
    """The evaluation batches of one run and grid, made once and shared by all measurements.

    Attributes:
        task, grid: what is drawn, and at which lengths.
        seed: the run's evaluation seed.
        sequences: how many are wanted; whole blocks are drawn.
        consistent: whether a prefix has the same position ids alone as inside a longer string; else each
            length needs a forward pass of its own.
        made: what was drawn, by law and length.
    """

    task: Task
    grid: Grid
    seed: int
    sequences: int
    consistent: bool = True
    made: dict[tuple[str, int], Batch] = field(default_factory=dict)

    def source_length(self, law: str, length: int) -> int:
        """Length of the strings that serve ``length``: the longest of all where prefixes of those are as good."""
        return max(self.grid.lengths) if self.consistent and self.task.prefix_closed(law) else length

    def source(self, law: str, length: int) -> Batch:
        """The strings that serve ``length``, uncut."""
        n = self.source_length(law, length)
        if (law, n) not in self.made:
            blocks = range(math.ceil(self.sequences / BLOCK))
            self.made[law, n] = Batch.join([self._block(law, n, block) for block in blocks])
        return self.made[law, n]

    def _block(self, law: str, length: int, block: int, word: str = "evaluate") -> Batch:
        g = generator(word, self.seed, law, length, block)
        return self.task.sample(BLOCK, length, g, law, window=self.grid.trained)

    def further(self, law: str, length: int, start: int, stop: int, word: str = "evaluate") -> Iterator[Batch]:
        """Strings ``start`` to ``stop`` of the sequence whose first ones :meth:`batch` gives, in blocks; none is kept.

        Another ``word`` gives an independent sequence.
        """
        for block in range(start // BLOCK, math.ceil(stop / BLOCK)):
            whole = self._block(law, self.source_length(law, length), block, word)
            first = block * BLOCK
            rows = whole.rows(max(0, start - first), min(BLOCK, stop - first))
            yield rows if rows.length == length else rows.prefix(length)

    def batch(self, law: str, length: int) -> Batch:
        """The strings of exactly ``length``."""
        source = self.source(law, length)
        return source if source.length == length else source.prefix(length)


class CheckpointStudy:
    """What ``finish`` is handed; see :class:`workbench.measure.measurement.Study`."""

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
        """Whether a query at ``length`` reads position ids that training never showed, absolutely."""
        if self.task.beyond_window(length):
            return True
        if not self.cfg.positions.absolute or self.trained_ids is None:
            return False
        # Ids that the task couples may depend on the string: those of all evaluation strings count.
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
        """This checkpoint, another one, or the run's step 0 where it has one."""
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
    """Whether all ids lie in some of the intervals [first, last]."""
    return bool(covered(ids, intervals).all())


def covered(ids: NDArray[np.int64], intervals: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """Whether each id lies in some of the intervals [first, last], which may be wide: they are not written out."""
    firsts, lasts = np.array(sorted(map(tuple, intervals)), dtype=np.int64).reshape(-1, 2).T
    before = np.searchsorted(firsts, ids, side="right")  # so many intervals begin at an id or before it
    reached = np.concatenate([[-1], np.maximum.accumulate(lasts)])
    found: NDArray[np.bool_] = ids <= reached[before]
    return found
