"""``regularizer``: the norm regularizer R(T) of a checkpoint's weights, and its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.measure.measurement import MeasurementWithoutBatches, Quantity, Study
from workbench.measure.settings import Positive
from workbench.table.schema import Row, row
from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers.norm_regularizer import norm_regularizer

if TYPE_CHECKING:
    pass

TOTAL, PART = "norm_regularizer", "norm_regularizer_part"
QUANTITIES = (
    Quantity(
        TOTAL,
        "Norm regularizer R(T) that the idealized learner of Huang et al. 2024 minimizes, in a context as long as "
        "the longest trained length. It is the sum of its parts, each with weight 1, because the paper's weights are "
        "not known here. Compare only runs of the same model size.",
        "see parts",
        0,
        formula="R = L + H + p + Σ_{W} |W| + max_{i} |p_{i}| + S",
        where="L: layers; H: heads; p: bits; W: each weight matrix; p_{i}: position vectors; S: what attention "
        "reads from positions only, squared and summed",
        interval=False,
    ),
    Quantity(
        PART,
        "One part (target) of R(T). The parts are the numbers of layers and heads, the precision in bits, and the "
        "summed operator norms of the weights. The other parts are the norm of the longest position vector and the "
        "summed squares of what attention reads from positions only.",
        "see target",
        0,
        interval=False,
    ),
)


class InferenceRegularizer(MeasurementWithoutBatches):
    """Compute the norm regularizer of Huang et al. (arXiv 2410.02140) from a checkpoint's weights.

    Their idealized learner chooses, among all models that solve the training data, one with the smallest R(T).

    Args:
        bits: precision in bits; 24 is the significand of float32.
    """

    name = "regularizer"
    title = "Norm regularizer"
    quantities = QUANTITIES
    laws = ()
    sequences = 2
    on_request = True

    bits: Positive = 24.0

    def finish(self, study: Study) -> list[Row]:
        from workbench.models.transformer.model import HookedTransformer

        if not isinstance(study.model, HookedTransformer):
            return [_refused("R(T) is about transformers, and read on this workbench's own")]
        try:
            found = norm_regularizer(study.model, study.grid.trained + study.task.bos, bits=self.bits)
        except TheoryError as error:
            return [_refused(str(error))]
        rows = [row(quantity=TOTAL, value=found.total)]
        return rows + [row(quantity=PART, target=name, value=value) for name, value in found.parts.items()]


def _refused(why: str) -> Row:
    return row(quantity=TOTAL, status="not_applicable", note=why)
