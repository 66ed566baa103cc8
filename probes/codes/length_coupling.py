"""Is it the same code past training? One number per checkpoint: 0 = the same, 1 = nothing of it is left.

C(n) compares the class means of the task state at the output, at prefix length n, with those inside training:

    C(n) = |b(n) - a|^2 / (|b(n)|^2 + |a|^2)

Here a is the mean over the lengths inside training of the matrices of class means, and b(n) is the matrix at n. Both
are centred at the grand mean inside training. C(n) is 0 if the code is the same, and 1 if nothing of it is left or only
position is coded. It is invariant under rotation, translation and common scale.

*used* takes the centred logits at the query, *stored* the residual stream. A direction that no later layer reads may
change without effect. So *used_inner* takes the residual stream as the rest of the model reads it: mapped to the
centred logits by the mean Jacobian inside training.

The test set must be matched, or the distribution of the task state would change with length. It must also be
challenging, or a shortcut for easy sequences would count as the code. The number measures whether the code stays the
same, not whether it is right. A model that has learned nothing keeps its code, so read the number only for checkpoints
that solve the training lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from pydantic import PrivateAttr
from torch import Tensor

from probes.codes.class_means import NoCode
from probes.codes.code_change import STILL, Change, Codes, codes_of, mean_change
from probes.codes.mean_jacobian import mean_jacobian
from probes.fitting import controls
from probes.fitting.metrics import ProbeScore, fields_of
from probes.fitting.probe_rows import MID, ProbeError, RowCollector, RowPlaces, layer_of
from probes.residual_stream import ROWS, TARGET, ResampledMeasurement
from workbench.core.names import STORED as STORED
from workbench.measure.intervals import interval
from workbench.measure.measurement import Observer, Quantity, Study
from workbench.measure.study import LOGITS
from workbench.table.schema import Row, row
from workbench.tasks.base import Batch

#: The lengths past training over which the number per checkpoint is averaged, as multiples of N.
FACTORS = (2, 4, 8)
USED, INNER = "used", "used_inner"
#: Sequences per length for the mean Jacobian.
JACOBIAN_SEQUENCES = 64
OUTPUTS = -1
"""Key of the outputs, which are not a site of the residual stream."""


class LengthCoupling(ResampledMeasurement):
    """Measure how much the representation of the task state changes with length, C(n), in the logits and the residual
    stream.

    Four controls are computed in the same way. Two change the labels: they are shuffled, or a hash of the sequence. Two
    change the logits: they are those of the untrained model, or replaced by the last tokens. A code of only position
    has the value 1 by definition.

    Args:
        law: name of a test set with the same distribution of the task state at every length, on which shortcuts fail.
            The challenge test sets of the built-in tasks are made for both.
        resamples: bootstrap resamples, inside class and half.
        layers: layers to read; None = all.
    """

    name = "probes.length_coupling"
    version = 3
    title = "Length coupling of the code"
    quantities = (
        Quantity(
            "length_coupling",
            "Mean change of the code of the task state at 2N, 4N and 8N. 0 means the same code as at trained "
            "lengths; 1 means that nothing of that code is left. The change at n is |b - a|^2 / (|b|^2 + |a|^2), with "
            "class means a at trained lengths and b at n. Mode `used` takes the centred logits; this value summarizes "
            "a checkpoint. `stored` takes the residual stream; `used_inner` takes the residual stream times the mean "
            "Jacobian of the centred logits. Controls at the logits are shuffled and hashed labels, the untrained "
            "model, and codes of only the last token or the last 8 tokens. It does not measure correctness, so read "
            "it only if the checkpoint solves the trained lengths.",
            "share",
            low=0.0,
            high=1.0,
            about="summary",
            formula="(C(2N) + C(4N) + C(8N)) / 3, C(n) = |b(n) − a|^{2} / (|b(n)|^{2} + |a|^{2})",
            where="a, b(n): class means of the task state at trained lengths and at n, minus their mean at trained "
            "lengths",
            controls=controls.OF_STATE_CODES,
        ),
        Quantity(
            "length_coupling_in",
            "As `length_coupling`, but between trained lengths: the mean of C(n) over these lengths, where each is "
            "compared with the others. It shows how much the code changes within training.",
            "share",
            low=0.0,
            high=1.0,
            about="summary",
            formula="mean of C(n) over n ≤ N, C(n) = |b(n) − a|^{2} / (|b(n)|^{2} + |a|^{2})",
            where="b(n), a: class means at n, and at the other trained lengths",
            controls=controls.OF_STATE_CODES,
        ),
        Quantity(
            "length_coupling_at",
            "As `length_coupling`, but at one prefix length: C(n), from 0 for the same code to 1 if nothing of the "
            "code is left.",
            "share",
            low=0.0,
            high=1.0,
            about="summary",
            formula="C(n) = |b(n) − a|^{2} / (|b(n)|^{2} + |a|^{2})",
            where="a, b(n): class means of the task state at trained lengths and at n, minus their mean at trained "
            "lengths",
        ),
    )

    law: str = "challenge"

    _logits: dict[int, Tensor] = PrivateAttr(default_factory=dict)

    def collector(self, length: int, batch: Batch, sites: list[str]) -> Observer:
        outputs = output_collector(batch, self.places(batch, length))

        def keep() -> None:
            self._logits[length] = outputs.rows(ROWS).x[0]

        return _WithOutputs(super().collector(length, batch, sites), outputs, keep)

    def finish(self, study: Study) -> list[Row]:
        """Return the rows of one checkpoint, the number per checkpoint first."""
        wanted = [study.task.next_length(study.grid.trained * factor) for factor in FACTORS]
        report = CouplingRows({n: len(rows) for n, rows in self.rows.items()}, study, wanted)
        used = {n: centre_logits(study, x) for n, x in self._logits.items()}
        label_codes = self._codes(study, "")
        new_rows = report.rows(ComparedCode(self._fields(USED, "logits"), used), label_codes)
        for control in (controls.SHUFFLED, controls.HASHED):
            place = ComparedCode(self._fields(USED, "logits", control), used, brief=True)
            new_rows += report.rows(place, self._codes(study, control))
        new_rows += self.memo(
            study, lambda: [r for place in self._fixed(study) for r in report.rows(place, label_codes)]
        )
        for i, site in enumerate(self.read):
            held = {n: rows.x[i] for n, rows in self.rows.items()}
            new_rows += report.rows(ComparedCode(self._fields(STORED, site), held), label_codes)
        return new_rows + [r for place in self._inner(study) for r in report.rows(place, label_codes)]

    def _codes(self, study: Study, control: str) -> Codes | str:
        """Return the codes of the labels, or of a label control; or why there are none."""
        try:
            return codes_of(self, study, control)
        except NoCode as error:
            return str(error)

    def _fixed(self, study: Study) -> Iterator[ComparedCode]:
        """Yield what does not depend on the checkpoint: the untrained model's logits, codes of only the last tokens."""
        batches = {n: study.batch(self.law, n) for n in self.rows}
        collectors = {n: output_collector(batch, self.places(batch, n)) for n, batch in batches.items()}
        if self.show_untrained(study, collectors):
            xs = {n: centre_logits(study, collector.rows(ROWS).x[0]) for n, collector in collectors.items()}
            # The untrained model has seen no ids, so the ids that this checkpoint has seen do not matter.
            yield ComparedCode(self._fields(USED, "logits", controls.UNTRAINED), xs, brief=True, positions=False)
        tokens = {n: rows.tokens for n, rows in self.rows.items()}
        for control in (controls.TOKEN, controls.TOKENS):
            xs = controls.inputs_by_length(tokens, control)
            yield ComparedCode(self._fields(USED, "logits", control), xs, brief=True, positions=False)

    def _inner(self, study: Study) -> Iterator[ComparedCode]:
        """Yield the embedding and the stream after each block, as the rest of the model reads them inside training."""
        sites = [site for site in self.read if not site.endswith(MID)]
        jacobians: list[Tensor] = []
        problem = "none of the lengths inside training was measured"
        for n in study.grid.inside:
            if n not in self.rows or not len(self.rows[n]):
                continue
            chosen = self.rows[n].sequence[:JACOBIAN_SEQUENCES]
            study.passes += 1
            try:
                jacobians.append(mean_jacobian(study.model, study.batch(self.law, n).take(chosen), sites))
            except ProbeError as error:
                problem = str(error)
        mean = centre_logits(study, torch.stack(jacobians).mean(0).transpose(1, 2)) if jacobians else None
        for i, site in enumerate(sites):
            at = self.read.index(site)
            xs = {} if mean is None else {n: rows.x[at].double() @ mean[i] for n, rows in self.rows.items()}
            yield ComparedCode(self._fields(INNER, site), xs, brief=True, problem="" if jacobians else problem)

    def _fields(self, mode: str, site: str, control: str = "") -> Row:
        layer = {} if site == "logits" else {"layer": layer_of(site)}
        return {"law": self.law, "target": TARGET, "mode": mode, "site": site, "control": control, **layer}


def output_collector(batch: Batch, places: RowPlaces) -> RowCollector:
    """Return a collector of the outputs at the given positions."""
    return RowCollector(batch, {ROWS: places}, [LOGITS], torch.float64)


class _WithOutputs(Observer):
    """Passes outputs to one observer, and all other activations to another."""

    def __init__(self, stream: Observer, outputs: RowCollector, keep: Callable[[], None]) -> None:
        self.batch, self._stream, self._outputs, self._keep = stream.batch, stream, outputs, keep
        self.groups = {**stream.groups, OUTPUTS: [LOGITS]}

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        if key == OUTPUTS:
            self._outputs.see(0, rows, part, seen)
        else:
            self._stream.see(key, rows, part, seen)

    def close(self) -> None:
        self._stream.close()
        self._keep()


def centre_logits(study: Study, outputs: Float[Tensor, "*of out"]) -> Float[Tensor, "*of out"]:
    """Return logits minus their mean, since softmax ignores a common constant; real outputs are unchanged."""
    return outputs if study.task.real else outputs - outputs.mean(-1, keepdim=True)


@dataclass(frozen=True)
class ComparedCode:
    """An activation whose representation of the task state is compared over lengths.

    Attributes:
        fields: columns that its rows share.
        xs: the activation at each length.
        brief: whether C(n) of single lengths is left out.
        positions: whether the position ids that the checkpoint has seen matter.
        problem: why there are no activations, or "".
    """

    fields: Row
    xs: Mapping[int, Tensor]
    brief: bool = False
    positions: bool = True
    problem: str = ""


@dataclass(frozen=True)
class CouplingRows:
    """Makes the rows of one checkpoint.

    Attributes:
        sizes: sequences per length.
        study: the checkpoint.
        wanted: the lengths of the number per checkpoint.
    """

    sizes: Mapping[int, int]
    study: Study
    wanted: Sequence[int]

    def rows(self, place: ComparedCode, codes: Codes | str) -> list[Row]:
        """Return all rows of one activation; ``codes`` is its codes, or why there are none."""
        if place.problem or isinstance(codes, str):
            return self._nothing(place, place.problem or str(codes))
        changes = codes.changes(place.xs)
        still = any(codes.draws[n].still(place.xs[n]) for n in codes.draws)
        note = "; ".join(filter(None, (codes.labelling.note, STILL if still else "")))

        def at(n: int, apart: bool = False) -> Change:
            if (n, apart) in changes:
                return changes[n, apart]
            absent = f"length {n} was not measured, or cannot be read"
            return Change(np.full(2, np.nan), codes.problems.get(n, absent))

        new_rows = [
            self._row("length_coupling", place, mean_change({n: at(n) for n in self.wanted}), self.wanted, note)
        ]
        inside = codes.inside
        if len(inside) > 1:
            own = mean_change({n: at(n, True) for n in inside})
        else:
            own = Change(np.full(2, np.nan), "needs at least two lengths inside training")
        new_rows.append(self._row("length_coupling_in", place, own, inside, note))
        every = [] if place.brief else sorted(self.sizes)
        return new_rows + [self._row("length_coupling_at", place, at(n), [n], note, n) for n in every]

    def _nothing(self, place: ComparedCode, problem: str) -> list[Row]:
        """Return the rows of an activation without a code."""
        lost = Change(np.full(2, np.nan), problem)
        made = [self._row(q, place, lost, self.wanted, "") for q in ("length_coupling", "length_coupling_in")]
        every = [] if place.brief else sorted(self.sizes)
        return made + [self._row("length_coupling_at", place, lost, [n], "", n) for n in every]

    def _row(
        self,
        quantity: str,
        place: ComparedCode,
        change: Change,
        over: Sequence[int],
        note: str,
        length: int | None = None,
    ) -> Row:
        fields = {**place.fields, "quantity": quantity, "length": length}
        if change.problem:
            return row(**fields, status="undefined", note=change.problem)
        low, high = interval(change.draws[1:])
        at = ProbeScore(float(change.draws[0]), float(low), float(high))
        unseen = place.positions and any(self.study.reads_unseen(n) for n in over)
        return row(
            **fields,
            **fields_of(at, min(self.sizes[n] for n in over), note),
            status="unseen_position" if unseen else "ok",
        )
