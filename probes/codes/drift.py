"""Is the task state coded in the same directions at other lengths, and since when in training?

The code at one length and step is the matrix c of class means, minus their mean. Two codes are compared by

    cos = <c, c'> / sqrt(<c, c> <c', c'>)

Every inner product is taken between disjoint halves of the sequences. So sampling noise lowers no cosine, and equal
codes have cosine 1 at any number of sequences. Scale and offset of a code do not matter here; ``length_coupling``
measures them.

A code may stay the same without being learned. A copy of the last token has cosine 1 at all lengths, and so does the
share of ones that an untrained model writes. Both are controls of the cosines after the last block, together with
shuffled and hashed labels. Over steps, the untrained control is the cosine with step 0. A code of only position has
equal class means, and so no cosine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from probes.codes.class_means import Draws, Labelling, NoCode, centre_means, codes, inner
from probes.codes.code_change import NOISE, STILL, Codes, codes_of
from probes.fitting import controls
from probes.fitting.metrics import ProbeScore, fields_of
from probes.fitting.probe_rows import RowCollector, layer_of
from probes.residual_stream import ROWS, TARGET, ResampledMeasurement
from workbench.core.thresholds import SETTLED
from workbench.measure.intervals import interval
from workbench.measure.measurement import Quantity, Study
from workbench.runs.errors import RunError
from workbench.table.schema import Row, row

KEPT_BYTES = 8 << 20
"""Activations of another checkpoint that are larger than this are not cached."""
LENGTH, STEP = "length", "step"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Cosine:
    """The cosine of two representations with its interval, or the reason why it is undefined."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    problem: str = ""

    @staticmethod
    def of(products: Float[Tensor, "part draw"]) -> Cosine:
        """Return the cosine from draws of <c, c'>, <c, c> and <c', c'>; undefined if a norm is not above its noise."""
        cross, *norms = products.numpy()
        if any(not n[0] > 0 or not float(interval(n[1:])[0]) > 0 for n in norms):
            return Cosine(problem=NOISE)
        with np.errstate(invalid="ignore", divide="ignore"):
            # An unbiased estimate of a cosine may leave [-1, 1] by chance; the cosine cannot.
            values = np.clip(cross / np.sqrt(norms[0] * norms[1]), -1, 1)
        low, high = interval(values[1:])
        return Cosine(float(values[0]), float(low), float(high))


def cosines(
    xs: Mapping[Any, Float[Tensor, "_ d"]], draws: Mapping[Any, Draws], pairs: Sequence[tuple[Any, Any]]
) -> list[Cosine]:
    """Return cosines between pairs of codes. Codes are named by the keys of ``xs``: lengths, or steps."""
    if not all(bool(x.isfinite().all()) for x in xs.values()):
        return [Cosine(problem="activations are not finite")] * len(pairs)
    parts: list[list[Tensor]] = [[] for _ in pairs]
    for means in codes(xs, draws):
        c = {key: centre_means(m) for key, m in means.items()}
        own = {key: inner(m, m) for key, m in c.items()}
        for part, (a, b) in zip(parts, pairs, strict=True):
            part.append(torch.stack([inner(c[a], c[b]), own[a], own[b]]))
    return [Cosine.of(torch.cat(part, 1)) for part in parts]


def first_settled_step(steps: Sequence[int], found: Sequence[Cosine], here: int) -> int:
    """Return the first step from which on the code equals that of ``here``; ``here`` if no earlier step qualifies."""
    first = here
    for step, cosine in reversed(list(zip(steps, found, strict=True))):
        if cosine.problem or cosine.value < SETTLED:
            break
        first = step
    return first


def beyond(trained: int, found: Codes) -> list[tuple[int, int]]:
    """Return the pairs of N and each longer length that has a code."""
    return [(trained, n) for n in sorted(found.draws) if n > trained] if trained in found.draws else []


class Drift(ResampledMeasurement):
    """Measure cosines of task-state codes between lengths, and between this checkpoint and all earlier ones at N.

    The embedding and the stream after each block are read.

    Args:
        law: name of the test set.
        resamples: bootstrap resamples, inside class and half.
        layers: layers to read; None = all.
    """

    name = "probes.drift"
    version = 4
    mids = False
    title = "Drift of the code"
    quantities = (
        Quantity(
            "drift",
            "Cosine between the codes of the task state at two lengths or checkpoints. The code is the mean residual "
            "stream for each task state, minus the mean over all task states. Mode `length` compares with the longer "
            "length in the target; mode `step` compares at N with the earlier step in the target. 1 means the same "
            "directions, and 0 means unrelated ones. Inner products use disjoint halves of the sequences, so that "
            "noise does not lower the cosine. Controls after the last block are shuffled and hashed labels, the "
            "untrained model, and codes of only the last token or the last 8 tokens. For mode `step` the control is "
            "the cosine with step 0.",
            "cosine",
            low=-1.0,
            high=1.0,
            about="summary",
            formula="c · c′ / √((c · c)(c′ · c′))",
            where="c, c′: class means at the two lengths or steps, minus their mean",
            controls=controls.OF_STATE_CODES,
        ),
        Quantity(
            "settled_step",
            f"First checkpoint from which on the code at N has a cosine of at least {SETTLED:g} with that of this "
            "checkpoint. If no earlier checkpoint has this code, the status is `censored`.",
            "step",
            low=0,
            about="summary",
            formula=f"min {{ t : cos(c_{{t′}}, c) ≥ {SETTLED:g} for all t′ ≥ t }}",
            where="c_{t}: the code at step t",
            interval=False,
        ),
    )

    def finish(self, study: Study) -> list[Row]:
        """Return cosines over lengths, their controls, then cosines over steps."""
        lengths = sorted(self.rows)
        try:
            all_codes = codes_of(self, study)
        except NoCode as error:
            lost = [self._lost(LENGTH, n, str(m), str(error)) for n, m in combinations(lengths, 2)]
            return lost + self._unsettled(study, str(error))
        new_rows = list[Row]()
        for n, m in combinations(lengths, 2):
            lacking = [f"at length {k}: {all_codes.problems[k]}" for k in (n, m) if k in all_codes.problems]
            new_rows += [self._lost(LENGTH, n, str(m), lacking[0])] if lacking else []
        pairs = list(combinations(sorted(all_codes.draws), 2))
        for i, site in enumerate(self.read):
            new_rows += self._between(site, {n: self.rows[n].x[i] for n in all_codes.draws}, all_codes, pairs)
        new_rows += self._controls(study, all_codes)
        trained = study.grid.trained
        if trained not in all_codes.draws:
            return new_rows + self._unsettled(
                study, all_codes.problems.get(trained, f"length {trained} was not measured")
            )
        return new_rows + self._over_steps(study, all_codes.labelling, all_codes.draws[trained])

    def _between(
        self, site: str, xs: Mapping[int, Tensor], all_codes: Codes, pairs: Sequence[tuple[int, int]], control: str = ""
    ) -> list[Row]:
        """Return cosines of pairs of lengths at one site."""
        if not pairs:
            return []
        note, made = self._note(all_codes.labelling, all_codes.draws, xs), []
        for (n, m), cosine in zip(pairs, cosines(xs, all_codes.draws, pairs), strict=True):
            made.append(self._row(LENGTH, site, n, str(m), cosine, min(len(xs[n]), len(xs[m])), note, control))
        return made

    def _controls(self, study: Study, all_codes: Codes) -> list[Row]:
        """Return control cosines between N and longer lengths, at the last site."""
        site, trained = self.read[-1], study.grid.trained
        stream = {n: rows.x[-1] for n, rows in self.rows.items()}
        new_rows = list[Row]()
        for control in (controls.SHUFFLED, controls.HASHED):
            try:
                coded = codes_of(self, study, control)
            except NoCode as error:
                new_rows += [self._lost(LENGTH, n, str(m), str(error), control) for n, m in beyond(trained, all_codes)]
                continue
            xs = {n: stream[n] for n in coded.draws}
            new_rows += self._between(site, xs, coded, beyond(trained, coded), control)

        def fixed() -> list[Row]:
            untrained = self.untrained_rows(study, [site]) or {}
            features = {n: rows.x[0] for n, rows in untrained.items()}
            read = {controls.UNTRAINED: features} if features else {}
            tokens = {n: rows.tokens for n, rows in self.rows.items()}
            read |= {c: controls.inputs_by_length(tokens, c) for c in (controls.TOKEN, controls.TOKENS)}
            pairs = beyond(trained, all_codes)
            return [r for c, xs in read.items() for r in self._between(site, xs, all_codes, pairs, c)]

        return new_rows + self.memo(study, fixed)

    def _over_steps(self, study: Study, labelling: Labelling, draws: Draws) -> list[Row]:
        """Compare this checkpoint's code at N with those of all earlier ones, on the same sequences and halves."""
        trained, key = study.grid.trained, (self.name, tuple(self.read))
        rows, new_rows = self.rows[trained], list[Row]()
        cosines_by_step: list[list[Cosine]] = []
        for step in study.earlier:
            try:
                x = self._of_step(study, step, key)
            except RunError as error:
                cosines_by_step.append([Cosine(problem=str(error))] * len(self.read))
                continue
            pair = [(step, study.step)]
            both = {step: draws, study.step: draws}
            cosines_by_step.append(
                [cosines({step: x[i], study.step: rows.x[i]}, both, pair)[0] for i in range(len(self.read))]
            )
        for i, site in enumerate(self.read):
            here, note = [at[i] for at in cosines_by_step], self._note(labelling, {0: draws}, {0: rows.x[i]})
            for step, cosine in zip(study.earlier, here, strict=True):
                new_rows.append(self._row(STEP, site, trained, str(step), cosine, len(rows), note))
            new_rows.append(self._settled(study, site, rows.x[i], draws, here))
        return new_rows

    def _of_step(self, study: Study, step: int, key: tuple[Any, ...]) -> Tensor:
        """Return the rows at N of an earlier checkpoint.

        They always come from a separate pass. The checkpoint's own measurement may use a longer pass, which changes the
        last bits. These rows must not depend on which checkpoints a process measures.
        """
        trained = study.grid.trained

        def make() -> Tensor:
            batch = study.batch(self.law, trained)
            collector = RowCollector(batch, {ROWS: self.places(batch, trained)}, self.read)
            study.show(self.law, trained, [collector], step=step)
            return collector.rows(ROWS).x

        return make() if self.rows[trained].x.nbytes > KEPT_BYTES else study.memo((*key, step), make)

    def _settled(self, study: Study, site: str, x: Tensor, draws: Draws, found: Sequence[Cosine]) -> Row:
        """Return the step from which on the code at N equals the present one."""
        fields = self._place(site, study.grid.trained) | {"quantity": "settled_step", "target": TARGET}
        (own,) = cosines({0: x, 1: x}, {0: draws, 1: draws}, [(0, 1)])
        if own.problem:
            return row(**fields, status="undefined", note=own.problem)
        first = first_settled_step(study.earlier, found, study.step)
        late = first == study.step
        return row(
            **fields,
            value=first,
            n=len(self.rows[study.grid.trained]),
            status="censored" if late else "ok",
            note="no earlier checkpoint has this code" if late else "",
        )

    def _unsettled(self, study: Study, problem: str) -> list[Row]:
        """Return the rows at N where this checkpoint has no code."""
        trained = study.grid.trained
        fields = [self._place(site, trained) | {"quantity": "settled_step", "target": TARGET} for site in self.read]
        return [row(**f, status="undefined", note=problem) for f in fields]

    def _note(self, labelling: Labelling, draws: Mapping[Any, Draws], xs: Mapping[Any, Tensor]) -> str:
        still = any(d.still(xs[key]) for key, d in draws.items())
        return "; ".join(filter(None, (labelling.note, STILL if still else "")))

    def _place(self, site: str, length: int) -> Row:
        return {"law": self.law, "length": length, "site": site, "layer": layer_of(site)}

    def _row(
        self, mode: str, site: str, length: int, target: str, found: Cosine, n: int, note: str, control: str = ""
    ) -> Row:
        fields = self._place(site, length) | {"quantity": "drift", "mode": mode, "target": target, "control": control}
        if found.problem:
            return row(**fields, status="undefined", note=found.problem)
        return row(**fields, **fields_of(ProbeScore(found.value, found.low, found.high), n, note))

    def _lost(self, mode: str, length: int, target: str, problem: str, control: str = "") -> Row:
        fields = {"law": self.law, "length": length, "quantity": "drift", "mode": mode, "target": target}
        fields |= {"control": control}
        return row(**fields, status="undefined", note=problem)
