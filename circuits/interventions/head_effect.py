"""``circuits.head_effect``: the head whose removal costs most accuracy, and whether it may be named.

The largest of many noisy drops is biased upwards, so the choice and the report use different sequences. Three disjoint
sets of sequences are drawn:

- Set A chooses the head. A head's drop is the smaller of its drops in the two modes, *mean* and *resample*.
- Set B reports the drop of the chosen head and of the control, in both modes.
- Set C supplies the replacement: the head's mean output at each position, or its output on one of its sequences.

The intervals on B include the sampling of C. For *mean*, C is resampled with replacement. For *resample*, each sequence
of B has one partner in C, so that the pairs are independent. The control is the head of the same layer with the
smallest drop on A. In a layer with one head, the control adds a random direction of equal norm to what attention
writes, at every token.

Accuracy is *above chance* only if it is shown to be above that of the best constant answer on the same sequences of B.
The constant is chosen on B, so that a model that always gives the same answer can never pass. The chance level of the
task does not suffice, because the share of one answer in B varies around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from circuits.interventions.ablate_components import Head, answers, counted_queries
from circuits.passes import Clean, Edit, canary, edited_pass, evaluation_ids, resumable
from workbench.core.names import ABOVE_CHANCE as ABOVE_CHANCE
from workbench.core.names import LEAST_HEAD as LEAST_HEAD
from workbench.core.names import MATCHED
from workbench.core.names import NAMED as NAMED
from workbench.core.names import TO_CHANCE as TO_CHANCE
from workbench.measure.grid import lengths_for
from workbench.measure.intervals import discordant, interval, tango, wilson
from workbench.measure.measurement import MeasurementWithoutBatches, Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import missing_row, share_row
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Count, Factors
from workbench.table.schema import Row, row
from workbench.tasks.best_constant import in_best_reach

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

NAME = "circuits.head_effect"
LAW = MATCHED
EffectMode = Literal["mean", "resample"]
MODES: tuple[EffectMode, ...] = ("mean", "resample")
DIRECTION = "random direction"
"""Value of the column ``control``, besides ``LEAST_HEAD``: a change of equal norm."""
ONE_HEAD, MORE_HEADS = "the layer has one head", "the layer has another head"
UNNAMED = "not named"
"""Label of ``necessary_head`` if the head is not named."""
Flags = NDArray[np.float64]

QUANTITIES = (
    Quantity(
        "head_drop",
        "Accuracy drop at exactly prefix length n without the chosen head, on the sequences of set B. The mode names "
        "what replaces the head's output: its mean over set C at each position, or the output on another sequence of "
        "set C. The head was chosen on a separate set A, and the interval covers the draws of B and C. The label "
        "states a fall to chance only if the whole model is significantly above the best constant answer on B.",
        "share",
        -1,
        1,
        formula="a(n) − a_{−h}(n)",
        where="a(n): accuracy of the unchanged model, a_{−h}: accuracy with the output of the head h replaced",
        controls=(LEAST_HEAD, DIRECTION),
    ),
    Quantity(
        "accuracy_without_head",
        "Accuracy on set B without the chosen head, for each mode. A row without a mode has the accuracy of the "
        "whole model. The label is above chance if accuracy is significantly above that of the best constant answer "
        "on B.",
        "share",
        0,
        1,
        formula="a_{−h}(n)",
        where="symbols as in head_drop",
    ),
    Quantity(
        "selection_drop",
        "Accuracy drop on set A without one head, for each mode. Each head has two drops. We take the smaller one, "
        "and choose the head for which it is largest. The largest of many drops is biased upwards, so these drops "
        "have no interval.",
        "share",
        -1,
        1,
        formula="a(n) − a_{−h}(n)",
        where="symbols as in head_drop, on set A",
        interval=False,
    ),
    Quantity(
        "necessary_head",
        "Whether the chosen head is shown to matter. On set B, in both modes, the lower limit of its drop must be "
        "above 0 and above the drop of the control. No correction for many heads is needed, because set B was not "
        "used to choose the head.",
        "label",
    ),
)


class HeadEffect(MeasurementWithoutBatches):
    """Measure the accuracy drop without the most important head, on sequences that did not choose it.

    Args:
        factors: lengths, as multiples of the longest trained one.
        replicates: bootstrap samples of set C, with one forward pass of set B each.
        resamples: bootstrap samples of set B, divided among those of C.
    """

    name = NAME
    title = "Effect of a head"
    quantities = QUANTITIES
    laws = ()
    sequences = 512
    version = 2
    needs = "attention"

    factors: Factors = (1, 4)
    replicates: Count = 12
    resamples: Count = 2000

    def finish(self, study: Study) -> list[Row]:
        near = lengths_for(study.grid, self.factors)
        return [row for length in near for row in self._rows(study, length)]

    def _rows(self, study: Study, length: int) -> list[Row]:
        place: dict[str, Any] = {"law": LAW, "length": length}
        sets = _Sets(study, length)
        if not sets.heads:
            why = "the model has no attention heads"
            return [missing_row("not_applicable", why, quantity=q.name, **place) for q in QUANTITIES]
        means = sets.means()
        drops, count = sets.selection(means)
        if not count:
            why = "the task asks nothing at this length"
            return [missing_row("undefined", why, quantity=q.name, **place) for q in QUANTITIES]
        chosen, control = choose(drops)
        tested = sets.test_head(chosen, control, means, self.replicates)
        effects = [self._effect(study, tested, mode, place) for mode in MODES]
        rows = [
            row(quantity="selection_drop", layer=head[0], head=head[1], mode=mode, value=lost / count, n=count, **place)
            for head, by_mode in drops.items()
            for mode, lost in by_mode.items()
        ]
        label = ABOVE_CHANCE if tested.whole_above else ""
        rows.append(share_row(tested.whole > 0.5, "", quantity="accuracy_without_head", label=label, **place))
        for effect in effects:
            rows += effect.rows(place)
        passing = all(effect.passes for effect in effects)
        note = f"set A chose {noted_head(*chosen)} of {len(drops)} heads; control: {tested.control_name}"
        label = NAMED if passing else UNNAMED
        shared = {"layer": chosen[0], "head": chosen[1], "label": label, "n": len(tested.whole), "note": note}
        return [*rows, row(quantity="necessary_head", **shared, **place)]

    def _effect(self, study: Study, tested: Tested, mode: EffectMode, place: Mapping[str, Any]) -> Effect:
        rng = study.rng(NAME, "interval", *place.values(), mode)
        replicates = tested.replicates if mode == "mean" else tested.without[mode][None]
        return Effect(
            tested, mode,
            drop_ends(tested.whole, tested.without[mode], replicates, rng, self.resamples),
            share_ends(tested.without[mode], replicates, rng, self.resamples),
            beats_constant(
                tested.constant, tested.without[mode], replicates, study.rng(NAME, "chance", *place.values(), mode),
                self.resamples,
            ),
        )  # fmt: skip


def noted_head(layer: int, head: int) -> str:
    """Return the label of a head in the notes of stored rows, ``L0 H1``. Screens show ``L0H1``."""
    return f"L{layer} H{head}"


@dataclass(frozen=True)
class Tested:
    """The results of ablating the chosen head and its control on set B.

    Attributes:
        head: the chosen head.
        control: the control head; None = a random direction.
        whole: ``[sequence]`` 0/1, whether the whole model answers right.
        without: by mode, the same without the head.
        replicates: ``[replicate, sequence]``, the same with means of bootstrap samples of C.
        of_control: by mode, the same without the control.
        constant: ``[sequence]``, the same for the constant answer that is right for most of set B.
    """

    head: Head
    control: Head | None
    whole: Flags
    without: Mapping[str, Flags]
    replicates: Flags
    of_control: Mapping[str, Flags]
    constant: Flags

    @property
    def whole_above(self) -> bool:
        """Whether the whole model is shown to be more accurate than the best constant answer."""
        return tango(*discordant(self.whole - self.constant), len(self.whole))[0] > 0

    @property
    def control_name(self) -> str:
        """The label of the control head, or the random direction."""
        return "a random direction of equal norm" if self.control is None else noted_head(*self.control)


@dataclass(frozen=True)
class Effect:
    """The accuracy drop without the chosen head for one kind of ablation, with its interval and that of the remaining
    accuracy.

    Attributes:
        tested: results on set B.
        mode: what replaces the head's output.
        ends: interval of the drop.
        left: interval of the remaining accuracy.
        above: whether that accuracy is shown to be above that of the best constant answer.
    """

    tested: Tested
    mode: EffectMode
    ends: tuple[float, float]
    left: tuple[float, float]
    above: bool

    @property
    def control_drop(self) -> float:
        """The drop without the control."""
        return float((self.tested.whole - self.tested.of_control[self.mode]).mean())

    @property
    def passes(self) -> bool:
        """Whether the lower limit of the accuracy drop is above 0 and above the drop of the control."""
        return self.ends[0] > max(0.0, self.control_drop)

    def rows(self, place: Mapping[str, Any]) -> list[Row]:
        """Return the drop, its control, and the remaining accuracy."""
        tested, n = self.tested, len(self.tested.whole)
        layer, head = tested.head
        kind, at = (DIRECTION, None) if tested.control is None else (LEAST_HEAD, tested.control[1])
        without, control = tested.without[self.mode], tested.of_control[self.mode]
        shared: dict[str, Any] = {"mode": self.mode, "layer": layer, "n": n, **place}
        other, why = (LEAST_HEAD, ONE_HEAD) if tested.control is None else (DIRECTION, MORE_HEADS)
        absent = {"mode": self.mode, "layer": layer, "control": other, **place}
        low, high = tango(*discordant(tested.whole - control), n)
        drop = {"value": float((tested.whole - without).mean()), "low": self.ends[0], "high": self.ends[1]}
        of_control = {"value": self.control_drop, "low": low, "high": high}
        label = TO_CHANCE if tested.whole_above and not self.above else ""
        remaining = {"value": float(without.mean()), "low": self.left[0], "high": self.left[1]}
        left_label = ABOVE_CHANCE if self.above else ""
        note = f"the best constant answer on set B: {tested.constant.mean():.2f}"
        return [
            row(quantity="head_drop", head=head, label=label, **drop, **shared),
            row(quantity="head_drop", head=at, control=kind, **of_control, **shared),
            missing_row("not_applicable", why, quantity="head_drop", **absent),
            row(quantity="accuracy_without_head", head=head, label=left_label, note=note, **remaining, **shared),
        ]


def choose(drops: Mapping[Head, Mapping[EffectMode, int]]) -> tuple[Head, Head | None]:
    """Return the head whose smaller drop of the two modes is largest, and its control (None = no other head).

    Args:
        drops: by head and mode, how many more sequences of set A the whole model answers right. The first of equal
            heads is taken. The control is in the same layer.
    """
    least = {head: min(by_mode.values()) for head, by_mode in drops.items()}
    chosen = max(least, key=lambda head: least[head])
    others = [head for head in least if head[0] == chosen[0] and head != chosen]
    return chosen, min(others, key=lambda head: least[head], default=None)


def drop_ends(
    whole: Flags, without: Flags, replicates: Flags, rng: np.random.Generator, resamples: int
) -> tuple[float, float]:
    """Return the 95 % interval of a drop that includes the sampling of B (Tango), and of B and C (bootstrap).

    Of the two intervals, the wider ends are taken.

    Args:
        whole, without: ``[sequence]`` 0/1.
        replicates: ``[replicate, sequence]`` 0/1: without the head, by bootstrap sample of C.
        rng, resamples: generator and number of bootstrap resamples over B.
    """
    low, high = tango(*discordant(whole - without), len(whole))
    least, most = _resampled_ends(whole - replicates, rng, resamples)
    return min(low, least), max(high, most)


def beats_constant(
    constant: Flags, without: Flags, replicates: Flags, rng: np.random.Generator, resamples: int
) -> bool:
    """Return whether accuracy without the head is shown to be above that of a constant answer on the same sequences.

    Args:
        constant: ``[sequence]`` 0/1, whether the constant answer is right.
        without, replicates, rng, resamples: as for :func:`drop_ends`.
    """
    return drop_ends(constant, without, replicates, rng, resamples)[1] < 0


def best_constant(task: Task, batches: Sequence[Batch]) -> Flags:
    """Return ``[sequence]`` 0/1: whether the constant answer that is right for most of these sequences is right.

    If answers have several tokens, the constant is a whole answer. The first of equally frequent answers is taken.

    Args:
        task: the task of the sequences.
        batches: sequences of one length; those without a query at that length are left out.
    """
    answered: list[Tensor] = []
    for batch in batches:
        counted = counted_queries(batch)
        targets = batch.targets[counted.any(1)]
        whole = targets.where(counted[counted.any(1)], -1) if batch.prompt is not None else targets[:, -1]
        answered.append(whole)
    values = torch.cat(answered)
    if task.real:
        right = in_best_reach(values, task.tolerance_, task._within)
    else:
        _, which, counts = values.unique(dim=0, return_inverse=True, return_counts=True)
        right = which == counts.argmax()
    return right.double().numpy(force=True)


def share_ends(without: Flags, replicates: Flags, rng: np.random.Generator, resamples: int) -> tuple[float, float]:
    """Return the 95 % interval of the remaining accuracy, as :func:`drop_ends` but with Wilson's."""
    low, high = wilson(int(without.sum()), len(without))
    least, most = _resampled_ends(replicates, rng, resamples)
    return min(low, least), max(high, most)


def _resampled_ends(values: Flags, rng: np.random.Generator, resamples: int) -> tuple[float, float]:
    """Return the percentile interval of means over ``[replicate, sequence]``; each draws a replicate and sequences."""
    replicates, n = values.shape
    weights = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
    picked = rng.integers(0, replicates, resamples)
    low, high = interval(np.einsum("rn,rn->r", weights, values[picked]) / n)
    return float(low), float(high)


@dataclass
class _Sets:
    """The three sets of one length, drawn and run in blocks; none is kept."""

    study: Study
    length: int
    heads: list[Head] = field(init=False)

    def __post_init__(self) -> None:
        model, layers = self.study.model, range(self.study.cfg.n_layers)
        self._z = {i: name for i in layers if (name := f"blocks.{i}.attn.hook_z") in model.hook_dict}
        self._starts = [f"blocks.{i}.hook_resid_pre" for i in layers] if resumable(model) else []
        self.heads = [(layer, head) for layer in self._z for head in range(int(model.cfg.n_heads))]
        self._size = len(self.study.batch(LAW, self.length))

    def _blocks(self, which: int, also: Sequence[str] = ()) -> Iterator[tuple[Batch, Clean]]:
        """Yield the clean passes over set A (0), B (1) or C (2), a block at a time."""
        names = [*self._z.values(), *also]
        size = self._size
        drawn = self.study.further(
            LAW, self.length, which * size, (which + 1) * size, [*self._starts, *names], "head effect"
        )
        for batch, cache in drawn:
            seen = {name: cache[name] for name in names}
            ids = evaluation_ids(self.study.model, batch)
            residuals = tuple(cache[name] for name in self._starts)
            yield batch, Clean(batch.tokens, ids, residuals, seen, cache["logits"])

    def means(self) -> dict[int, Tensor]:
        """Return, by layer, the mean output of its heads over set C, ``[pos, head, d_head]``."""
        totals: dict[int, Tensor] = {}
        for batch, clean in self._blocks(2):
            if not totals:
                canary(self.study.model, batch, list(self._z.values()))
            for layer, name in self._z.items():
                part = clean.seen[name].double().sum(0)
                totals[layer] = totals[layer] + part if layer in totals else part
        return {layer: total / self._size for layer, total in totals.items()}

    def selection(self, means: Mapping[int, Tensor]) -> tuple[dict[Head, dict[EffectMode, int]], int]:
        """Return the drop on set A in sequences by head and mode, and the number of sequences with a query.

        *Resample* uses the output on the next sequence of A, because nothing is inferred from A.
        """
        drops: dict[Head, dict[EffectMode, int]] = {head: dict.fromkeys(MODES, 0) for head in self.heads}
        count = 0
        for batch, clean in self._blocks(0):
            whole = self._right(clean.outputs, batch)
            count += len(whole)
            for head in self.heads:
                layer, which = head
                other = clean.seen[self._z[layer]][:, :, which].roll(1, 0)
                for mode, new in zip(MODES, (means[layer][:, which], other), strict=True):
                    right = self._without(batch, clean, head, new)
                    drops[head][mode] += round(float((whole - right).sum()))
        self.study.passes += len(self.heads) * len(MODES)
        return drops, count

    def test_head(self, head: Head, control: Head | None, means: Mapping[int, Tensor], replicates: int) -> Tested:
        """Return the results on set B without the chosen head, and without its control."""
        layer, which = head
        kept = [which] if control is None else [which, control[1]]
        rng = self.study.rng(NAME, "replicates", self.length)
        weights = torch.as_tensor(rng.multinomial(self._size, np.full(self._size, 1 / self._size), size=replicates))
        donors, mean_samples = self._donors(layer, kept, weights.double() / self._size)
        parts: dict[str, list[Flags]] = {}
        start = 0
        attn_out_hook = f"blocks.{layer}.hook_attn_out"
        batches: list[Batch] = []
        for batch, clean in self._blocks(1, [attn_out_hook] if control is None else ()):
            batches.append(batch)
            rows = slice(start, start + len(batch))
            start = rows.stop
            parts.setdefault("whole", []).append(self._right(clean.outputs, batch))
            replacements = dict(zip(MODES, (means[layer][:, which], donors[rows, :, 0]), strict=True))
            for mode, new in replacements.items():
                parts.setdefault(mode, []).append(self._without(batch, clean, head, new))
            at_once = np.stack([self._without(batch, clean, head, new) for new in mean_samples])
            parts.setdefault("replicates", []).append(at_once)
            for mode, new in replacements.items():
                name = f"control {mode}"
                if control is None:
                    right = self._turned(batch, clean, head, new, attn_out_hook, (mode, rows.start))
                else:
                    other = {"mean": means[layer][:, control[1]], "resample": donors[rows, :, -1]}
                    right = self._without(batch, clean, control, other[mode])
                parts.setdefault(name, []).append(right)
        self.study.passes += 2 * len(MODES) + replicates + (len(MODES) if control is None else 0)
        joined = {name: np.concatenate(part, -1) for name, part in parts.items()}
        return Tested(
            head, control, joined["whole"], {mode: joined[mode] for mode in MODES}, joined["replicates"],
            {mode: joined[f"control {mode}"] for mode in MODES}, best_constant(self.study.task, batches),
        )  # fmt: skip

    def _donors(self, layer: int, heads: Sequence[int], weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return outputs of heads of a layer on set C, and means of the first head over bootstrap samples of C.

        Args:
            layer: index of the layer.
            heads: indices of the heads.
            weights: ``[replicate, sequence]``, weights of the sequences in each bootstrap sample.

        Returns:
            ``[sequence, pos, head, d_head]`` and ``[replicate, pos, d_head]``.
        """
        outputs: list[Tensor] = []
        means: Tensor | None = None
        start = 0
        for batch, clean in self._blocks(2):
            part = clean.seen[self._z[layer]][:, :, list(heads)]
            outputs.append(part)
            own = weights[:, start : start + len(batch)].to(part.device)
            more = torch.einsum("kb,bpd->kpd", own, part[:, :, 0].double())
            means = more if means is None else means + more
            start += len(batch)
        assert means is not None
        return torch.cat(outputs), means

    def _without(self, batch: Batch, clean: Clean, head: Head, new: Tensor) -> Flags:
        """Return which sequences are right with ``new`` ``[(sequence,) pos, d_head]`` in place of a head's output."""
        outputs, _ = edited_pass(self.study.model, clean, {self._z[head[0]]: _replaced(head[1], new)})
        return self._right(outputs, batch)

    def _turned(self, batch: Batch, clean: Clean, head: Head, new: Tensor, hook: str, part: tuple[str, int]) -> Flags:
        """Return which sequences are right if what attention writes changes by as much, in a random direction."""
        model = self.study.model
        edits = {self._z[head[0]]: _replaced(head[1], new)}
        _, seen = edited_pass(model, clean, edits, [hook])
        size = (seen[hook] - clean.seen[hook]).norm(dim=-1, keepdim=True)
        rng = self.study.rng(NAME, DIRECTION, self.length, *part)
        drawn = rng.standard_normal((len(batch), 1, seen[hook].shape[-1]))
        unit = torch.as_tensor(drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)).to(size)
        outputs, _ = edited_pass(model, clean, {hook: lambda value: value + size * unit})
        return self._right(outputs, batch)

    def _right(self, outputs: Tensor, batch: Batch) -> Flags:
        return answers(self.study.task, outputs, batch).right


def _replaced(head: int, new: Tensor) -> Edit:
    def edit(value: Tensor) -> Tensor:
        made = value.clone()
        made[:, :, head] = new.to(value)
        return made

    return edit


def head_effect_statistics(
    model: HookedModel, data: Data, labels: Tensor | Sequence[Tensor] | None = None, *, task: Task | None = None,
    trained: int | None = None, lengths: Sequence[int] | None = None, sequences: int = 512, seed: int = 0,
    **settings: Any,
) -> Result:  # fmt: skip
    """Return every quantity of ``circuits.head_effect`` for one model, without a run; see :class:`HeadEffect`.

    Args:
        model: any model with TransformerLens's hook names.
        data: the task; three sets of its sequences are drawn, so that batches are refused.
        labels, task: as for the other functions; not needed if ``data`` is a task.
        trained: N, the longest trained length.
        lengths: prefix lengths; None = N and four times N.
        sequences: sequences in each of the three sets.
        seed: seed of sequences, choices and bootstrap.
        settings: settings of the measurement.

    Raises:
        MeasurementError: for batches in place of a task.
    """
    made = HeadEffect(**settings)
    return run(made, model, data, labels, task=task, trained=trained, lengths=lengths, sequences=sequences, seed=seed)
