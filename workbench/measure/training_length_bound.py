"""``bound``: training lengths that suffice according to theorems, computed from a checkpoint's weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from workbench.measure.measurement import MeasurementWithoutBatches, Quantity, Study
from workbench.measure.settings import NotNegative, Positive
from workbench.table.schema import Row, row
from workbench.theory.limit_transformers.bounds import Bound, Reading, one_layer_average_case
from workbench.theory.limit_transformers.checkpoint_bounds import COMPLEXITY, COMPOSITE, NotCovered, checkpoint_bound

if TYPE_CHECKING:
    pass

BOUND, LOG10, PART = "training_length_bound", "training_length_bound_log10", "bound_part"
QUANTITIES = (
    Quantity(
        BOUND,
        "Training length that a theorem (named in the target) guarantees to suffice for errors of at most epsilon "
        "at all lengths. It is computed from the weights of this model. The theorem leaves its constants open, and "
        "they are taken as 1. So use the value to compare runs, and not to plan training.",
        "tokens",
        0,
        interval=False,
    ),
    Quantity(
        LOG10,
        "Base-10 logarithm of `training_length_bound`, which can be too large for a float.",
        "log10 tokens",
        formula="log_{10} B",
        where="B: training_length_bound",
        interval=False,
    ),
    Quantity(
        PART,
        "One of the quantities from which `training_length_bound` is computed; the target names it. Examples are "
        "norms of the weights, margins of the first layer found by enumeration, the period, the locality, and the "
        "terms of theorem 4.1 (Izzo et al. 2025).",
        "see target",
        interval=False,
    ),
)


class TrainingLengthBound(MeasurementWithoutBatches):
    """Evaluate theorems 4.1, 4.2 and 5.2 of Izzo, Nichani, Lee (arXiv 2510.27015) on a checkpoint's weights.

    Where a theorem does not cover the architecture, its row states why. The parts of the bound that can be computed are
    given all the same. Theorem 4.3 of Golowich et al. (arXiv 2502.16792) is about sparse functional attention, which no
    checkpoint has; its row states that.

    Args:
        epsilon: accuracy.
        bits: precision p of theorem 4.1; 24 is the significand of float32.
        prior: smallest parameter of the Dirichlet distribution of token frequencies, for theorem 4.2; 0 = not stated.
        reading: reading of theorem 5.2: ``inside`` or ``outside``.
    """

    name = "bound"
    title = "Training length by theorem"
    quantities = QUANTITIES
    laws = ()
    sequences = 2

    epsilon: Positive = 0.1
    bits: NotNegative = 24.0
    prior: NotNegative = 0.0
    reading: Reading = "inside"

    def finish(self, study: Study) -> list[Row]:
        from workbench.models.transformer.model import HookedTransformer

        if not isinstance(study.model, HookedTransformer):
            return [_refused("theorem 4.1", "the theorems are about transformers, and read on this workbench's own")]
        bound, parts = checkpoint_bound(
            study.model, 0 if study.task.bos else None, epsilon=self.epsilon, bits=self.bits, reading=self.reading
        )
        rows = self._main(bound)
        rows += self._average(study)
        rows.append(_refused("theorem 4.3", "it is about sparse functional attention, not about transformers"))
        entered = parts | (dict(bound.parts) if isinstance(bound, Bound) else {})
        return rows + [_part(name, value) for name, value in entered.items()]

    def _main(self, found: Bound | NotCovered) -> list[Row]:
        if isinstance(found, NotCovered):
            return [_refused(found.theorem, found.reason)]
        read_as = COMPOSITE if found.theorem == "theorem 4.1" else COMPLEXITY
        return _bounded(found, f"read: {read_as}; not stated: {'; '.join(found.unknown)}")

    def _average(self, study: Study) -> list[Row]:
        if study.cfg.n_layers != 1:
            return [_refused("theorem 4.2", f"it is about one layer, not {study.cfg.n_layers}")]
        if not self.prior:
            return [
                _refused("theorem 4.2", "the Dirichlet prior of the token frequencies is not stated (setting prior)")
            ]
        found = one_layer_average_case(epsilon=self.epsilon, prior=self.prior)
        return _bounded(found, f"not stated: {'; '.join(found.unknown)}")


def _bounded(bound: Bound, note: str) -> list[Row]:
    fields: dict[str, Any] = {"target": bound.theorem, "note": note}
    value = bound.value
    if math.isinf(value):
        too_large: dict[str, Any] = {"target": bound.theorem, "status": "undefined"}
        note = f"10^{bound.log10:.4g}, larger than any float" if math.isfinite(bound.log10) else "no finite length"
        first = row(quantity=BOUND, **too_large, note=note)
    else:
        first = row(quantity=BOUND, value=value, **fields)
    if math.isinf(bound.log10):
        return [first]
    return [first, row(quantity=LOG10, value=bound.log10, **fields)]


def _refused(theorem: str, why: str) -> Row:
    return row(quantity=BOUND, target=theorem, status="not_applicable", note=why)


def _part(name: str, value: float) -> Row:
    if math.isfinite(value):
        return row(quantity=PART, target=name, value=float(value))
    why = "all scores always tie, so there is no gap" if value > 0 else "attention does not reach the output"
    return row(quantity=PART, target=name, status="undefined", note=why)
