"""``probes.erasure``: accuracy by prefix length with the task state, or position, erased from the residual stream.

The *task state* (target ``summary``) is erased at only the query. Its eraser is fitted at queries of the same prefix
length (mode refit) or of the lengths inside training (transfer).

*Position* is the same for all queries of one length, so it is erased at every token. Its eraser is fitted at tokens
drawn from the whole prefix. The concept is which of 8 bins contains log i, minus the prediction from the task state at
that token. Otherwise erasing position would erase part of a count. Erasers are fitted on one half of the sequences, and
accuracies are measured on the other.

Each erasure has a random control of equal rank and variance. Shuffled labels would give the same control, because on
whitened activations they covary with a random direction. The task state has two more controls. One erases the query's
token, which may merely correlate with the task state. The other erases hashed labels: as many classes that depend on
the last tokens and are useless to the model. Three other controls make no sense here. The last 8 tokens together would
remove most of the stream, position is constant at the query, and an untrained model has no accuracy that could drop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from pydantic import PrivateAttr
from torch import Tensor

from probes.erasure.leace import Eraser, Whitened, residual
from probes.erasure.resumed_pass import ResumedPasses
from probes.fitting import controls
from probes.fitting.decode import REFIT, TRANSFER
from probes.fitting.probe_rows import ProbeRows, RowCollector, RowPlaces, halves, join, layer_of
from probes.residual_stream import POSITION, TARGET, RealFactors, StreamMeasurement, summary_labels
from workbench.measure.grid import exact_multiples
from workbench.measure.intervals import clopper_pearson
from workbench.measure.measurement import Quantity, Study
from workbench.measure.rows import difference_rows, p_quantity
from workbench.measure.settings import Count
from workbench.table.schema import Row, row
from workbench.tasks.base import Batch

BINS = 8
CONTROL = "random_of_equal_rank"
CONCEPTS = (controls.TOKEN, controls.HASHED)
"""Concepts that are erased instead of the task state, as controls."""
TOKENS = "tokens"
"""Name of the rows on which erasers of position are fitted."""
FEWEST = 16
"""Minimum number of sequences for fitting an eraser, and for an accuracy."""


@dataclass(frozen=True)
class ErasureArm:
    """One erasure: the concept, whether it is erased or kept, and how the eraser was fitted."""

    target: str
    mode: str
    control: str
    kept: bool
    eraser: Eraser


class Erasure(StreamMeasurement):
    """Measure accuracy with the task state or position erased after each block, and with only the task state kept.

    The embedding is edited, too.

    Args:
        law: name of the test set.
        layers: layers to edit; None = all.
        factors: prefix lengths, as multiples of N; lengths that the caller names are measured as well.
        positions: tokens per sequence on which erasers of position are fitted.
    """

    name = "probes.erasure"
    version = 3
    title = "Erasure of task state and position"
    about = ("summary", "position")
    sequences = 256
    mids = False
    quantities = (
        Quantity(
            "erased_accuracy",
            "Accuracy at exactly prefix length n while LEACE erases the target from the residual stream. LEACE is a "
            "linear edit that removes all linear information about the target (Belrose et al. 2023). The target is "
            "the task state at the query, or position at every token (8 bins of log i, minus what the task state "
            "predicts). One control erases as many random directions of equal variance. If the target is the task "
            "state, there are two more controls: one erases the query's token, and the other erases hashed labels. A "
            "value far below `accuracy` shows that the model uses what was erased.",
            "share",
            low=0.0,
            high=1.0,
            formula="a(n), where x − W^{+} U U^{T} W (x − μ) replaces x",
            where="x: residual stream of mean μ, W: whitens it, U: basis of W Σ_{x,z}, z: the concept",
            controls=(CONTROL, *CONCEPTS),
        ),
        Quantity(
            "erasure_effect",
            "Accuracy of the unchanged model minus `erased_accuracy`, on the same sequences. Positive values mean "
            "that erasing the target lowers accuracy.",
            "difference of shares",
            low=-1.0,
            high=1.0,
            formula="a(n) − a′(n)",
            where="a(n): accuracy of the unchanged model, a′: accuracy as in erased_accuracy",
            controls=(CONTROL,),
        ),
        p_quantity("erasure_effect", "correct only without the erasure, against correct only with it", (CONTROL,)),
        Quantity(
            "erasure_selectivity",
            "`erased_accuracy` of the control minus `erased_accuracy` of the target, on the same sequences. Positive "
            "values mean that the target matters more than random directions.",
            "difference of shares",
            low=-1.0,
            high=1.0,
            formula="a_{control}(n) − a′(n)",
            where="a′: erased_accuracy, a_{control}: of its control",
        ),
        p_quantity(
            "erasure_selectivity", "correct only with the control erased, against correct only with the target erased"
        ),
        Quantity(
            "kept_accuracy",
            "Accuracy at the query when its residual stream contains only the mean and its projection onto the "
            "subspace of the task state. If it stays high, this subspace is sufficient.",
            "share",
            low=0.0,
            high=1.0,
            about="summary",
            formula="a(n), where μ + W^{+} U U^{T} W (x − μ) replaces x",
            where="symbols as in erased_accuracy",
            controls=(CONTROL,),
        ),
    )

    factors: RealFactors = (1.0, 2.0, 4.0)
    positions: Count = 16

    _tokens: dict[int, ProbeRows] = PrivateAttr(default_factory=dict)
    """By prefix length, tokens drawn from the whole prefix."""

    def every_place(self, batch: Batch, length: int) -> Mapping[str, RowPlaces]:
        return {**super().every_place(batch, length), TOKENS: self._draw(batch, length)}

    def keep(self, length: int, collector: RowCollector) -> None:
        super().keep(length, collector)
        self._tokens[length] = collector.rows(TOKENS)

    def _draw(self, batch: Batch, length: int) -> RowPlaces:
        """Draw some tokens of every sequence, anywhere in the prefix, with their position and task state."""
        order = np.random.default_rng([1, length]).random((len(batch), length)).argsort(1)
        place = torch.from_numpy(1 + order[:, : self.positions])
        sequence = torch.arange(len(batch))[:, None].expand_as(place).flatten()
        index = place.flatten() - (0 if batch.bos else 1)
        labels = {TARGET: summary_labels(batch)[sequence, index].cpu(), POSITION: place.flatten().double().log()}
        return RowPlaces.of(batch, torch.stack([sequence, index], 1), labels)

    def finish(self, study: Study) -> list[Row]:
        """Return the accuracies of all edits of one checkpoint."""
        fit = halves(self.sequences_per_length, study.rng(self.name, "split"))
        lengths = exact_multiples(study.grid, study.task, self.factors)
        return [made for n in lengths if n in self.rows for made in self._length(study, n, fit)]

    def _length(self, study: Study, length: int, fit: Bool[Tensor, "sequence"]) -> Iterator[Row]:
        """Yield all rows of one prefix length."""
        batch = study.batch(self.law, length)
        chosen = (~fit & batch.mask[:, batch.index(length)].cpu()).nonzero()[:, 0]
        if len(chosen) < FEWEST:
            yield self._undefined(length, {}, f"{len(chosen)} sequences to test on; at least {FEWEST} are needed")
            return
        tested = batch.take(chosen)
        passes = ResumedPasses(study.model, tested)
        intact = self._right(study, passes.clean(), tested, length)
        for i, site in enumerate(self.read):
            place = {"site": site, "layer": layer_of(site)}
            for target in (TARGET, POSITION):
                arms, lost = self._every_arm(study, i, target, length, fit)
                yield from (self._undefined(length, place | fields, problem) for fields, problem in lost)
                outputs = (passes.edited_outputs(site, _edit(arm, tested, length)) for arm in arms)
                right = [self._right(study, logits, tested, length) for logits in outputs]
                yield from self._report(length, place, arms, right, intact)

    def _every_arm(
        self, study: Study, site: int, target: str, length: int, fit: Bool[Tensor, "sequence"]
    ) -> tuple[list[ErasureArm], list[tuple[Row, str]]]:
        """Return all edits of one concept at one site, and those that are undefined, with the reason."""
        makers: dict[tuple[str, str], Callable[[], list[ErasureArm]]] = {
            (mode, ""): partial(self._arms, study, site, target, mode, length, fit) for mode in (REFIT, TRANSFER)
        }
        if target == TARGET:
            makers |= {
                (REFIT, control): partial(self._control, study, site, control, length, fit) for control in CONCEPTS
            }
        arms: list[ErasureArm] = []
        lost: list[tuple[Row, str]] = []
        for (mode, control), make in makers.items():
            try:
                arms += make()
            except ValueError as error:
                lost.append(({"target": target, "mode": mode, "control": control}, str(error)))
        return arms, lost

    def _arms(
        self, study: Study, site: int, target: str, mode: str, length: int, fit: Bool[Tensor, "sequence"]
    ) -> list[ErasureArm]:
        """Return the edits of one concept at one site.

        Raises:
            ValueError: where no eraser can be fitted.
        """
        source = self.rows if target == TARGET else self._tokens
        lengths = [length] if mode == REFIT else [n for n in study.grid.inside if n in source]
        if not lengths:
            raise ValueError("none of the lengths inside training was measured")
        rows = _fitting_rows([source[n] for n in lengths], fit)
        # The same draws at every checkpoint.
        rng = study.rng(self.name, target, site, length, mode)
        white = Whitened.of(rows.x[site])
        eraser = white.leace(concept(rows, target), rng)
        arms = [ErasureArm(target, mode, "", False, eraser)]
        if mode == TRANSFER:
            return arms
        control = white.random(eraser.rank, rng)
        arms.append(ErasureArm(target, mode, CONTROL, False, control))
        if target == TARGET:
            arms += [ErasureArm(target, mode, "", True, eraser), ErasureArm(target, mode, CONTROL, True, control)]
        return arms

    def _control(
        self, study: Study, site: int, control: str, length: int, fit: Bool[Tensor, "sequence"]
    ) -> list[ErasureArm]:
        """Return the erasure of another concept instead of the task state.

        Raises:
            ValueError: where no eraser can be fitted.
        """
        rows = _fitting_rows([self.rows[length]], fit)
        labels = (
            rows.tokens[:, -1] if control == controls.TOKEN else controls.hash_labels(rows.labels[TARGET], rows.tokens)
        )
        rng = study.rng(self.name, control, site, length)
        eraser = Whitened.of(rows.x[site]).leace(_indicators(labels), rng)
        return [ErasureArm(TARGET, REFIT, control, False, eraser)]

    def _right(self, study: Study, logits: Tensor, batch: Batch, length: int) -> Bool[Tensor, " sequence"]:
        study.passes += 1
        return study.task.correct(logits, batch)[:, batch.index(length)].cpu()

    def _report(
        self,
        length: int,
        place: Row,
        arms: Sequence[ErasureArm],
        right: Sequence[Bool[Tensor, " sequence"]],
        intact: Bool[Tensor, " sequence"],
    ) -> Iterator[Row]:
        for arm, hit in zip(arms, right, strict=True):
            fields = {**place, "law": self.law, "length": length, "target": arm.target, "mode": arm.mode}
            fields |= {
                "control": arm.control,
                "n": len(hit),
                "note": f"rank {arm.eraser.rank}, variance {arm.eraser.variance:.3g}; {arm.eraser.left_out}",
            }
            low, high = clopper_pearson(int(hit.sum()), len(hit))
            share = float(hit.double().mean())
            yield row(
                **fields, quantity="kept_accuracy" if arm.kept else "erased_accuracy", value=share, low=low, high=high
            )
            if not arm.kept and arm.control not in CONCEPTS:
                yield from difference_rows(intact, hit, "", quantity="erasure_effect", **fields)
        erased = {(a.mode, a.control): hit for a, hit in zip(arms, right, strict=True) if not a.kept}
        if (REFIT, CONTROL) not in erased:
            return
        fields = {**place, "law": self.law, "length": length, "target": arms[0].target, "mode": REFIT}
        control, own = erased[REFIT, CONTROL], erased[REFIT, ""]
        yield from difference_rows(control, own, "", quantity="erasure_selectivity", **fields)

    def _undefined(self, length: int, place: Row, problem: str) -> Row:
        return row(
            **{"law": self.law, "length": length, "quantity": "erased_accuracy", **place},
            status="undefined",
            note=problem,
        )


def _fitting_rows(parts: Sequence[ProbeRows], fit: Bool[Tensor, "sequence"]) -> ProbeRows:
    """Return the rows on which an eraser is fitted.

    Raises:
        ValueError: for too few sequences.
    """
    rows = join([part.take(fit[part.sequence]) for part in parts])
    if len(rows.sequence.unique()) < FEWEST:
        raise ValueError(f"fewer than {FEWEST} sequences to fit an eraser on")
    return rows


def concept(rows: ProbeRows, target: str) -> Float[Tensor, "row concept"]:
    """Return the concept to erase, ``[row, concept]``.

    For the task state, these are its indicators or values. For position, these are 8 bins of log i minus their linear
    prediction from the task state.
    """
    summary = _indicators(rows.labels[TARGET])
    if target == TARGET:
        return summary
    log_i = rows.labels[POSITION]
    edges = torch.linspace(0, float(log_i.max()), BINS + 1, dtype=torch.float64)[1:-1]
    return residual(_indicators(torch.bucketize(log_i, edges)), summary)


def _indicators(labels: Shaped[Tensor, "row *s"]) -> Float[Tensor, "row value"]:
    if labels.is_floating_point():
        return labels.double().reshape(len(labels), -1)
    values, place = labels.unique(return_inverse=True)
    return torch.nn.functional.one_hot(place, len(values)).double()


def _edit(arm: ErasureArm, batch: Batch, length: int) -> Callable[..., Any]:
    """Return the edit as a hook: at the query for the task state, at every token except BOS for position."""
    where = slice(batch.index(length), None) if arm.target == TARGET else slice(1 if batch.bos else 0, None)
    return partial(_apply, change=arm.eraser.keep if arm.kept else arm.eraser.erase, where=where)


def _apply(x: Tensor, hook: Any, change: Callable[[Tensor], Tensor], where: slice) -> Tensor:
    edited = x.clone()
    edited[:, where] = change(x[:, where])
    return edited
