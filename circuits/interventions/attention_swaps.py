"""``circuits.swaps``: does a model still work if its attention becomes exactly hard, or stays sharp?

*hardmax_swap* replaces a head's attention by the uniform distribution on its tie set. If accuracy does not drop, the
head is a hardmax as far as the answer is concerned. *logn_swap* multiplies its scores by log K / log K_train past the
trained length. If that recovers accuracy on long prefixes, the failure was dispersion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from circuits.interventions.ablate_components import Answers, Head, answers
from circuits.interventions.replaced_attention import Pattern, log_scaled, replaced_attention, tie_set, within
from circuits.passes import TOKENS, canary, clean_pass, evaluation_ids, pieces
from workbench.core.names import MATCHED
from workbench.measure.grid import lengths_for
from workbench.measure.measurement import MeasurementWithoutBatches, Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import difference_rows, missing_row, p_quantity, share_row
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Factors, NotNegative
from workbench.table.schema import Row

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.measure.measurement import Study
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

NAME = "circuits.swaps"
LAW = MATCHED

QUANTITIES = (
    Quantity(
        "hardmax_swap",
        "Accuracy at n when attention is replaced by the uniform distribution on the tie set of k* keys. If `delta` "
        "is set, the set contains all keys whose scores are within delta of the top score. Either one head is changed "
        "while its inputs stay as they are, or all heads are changed together. If accuracy does not drop, exactly "
        "hard attention is sufficient.",
        "share",
        0,
        1,
        formula="a(n), where 1[j ≤ k*] / k* replaces p_{(j)}",
        where="k*: tie_size",
    ),
    Quantity(
        "hardmax_swap_drop",
        "Accuracy of the unchanged model minus `hardmax_swap`. Values near 0 mean that the head works as a hardmax.",
        "share",
        -1,
        1,
        formula="a(n) − a′(n)",
        where="a(n): accuracy of the unchanged model, a′: accuracy as in hardmax_swap",
    ),
    p_quantity("hardmax_swap_drop", "correct only without the swap, against correct only with it"),
    Quantity(
        "logn_swap",
        "Accuracy at n when attention scores are multiplied by max(1, log K / log K_train), for one head or "
        "for all. This keeps attention as sharp as in training.",
        "share",
        0,
        1,
        formula="a(n), where s_{j} max(1, log K / log K_{train}) replaces s_{j}",
        where="K_{train}: keys seen in training",
    ),
    Quantity(
        "logn_swap_gain",
        "`logn_swap` minus the accuracy of the unchanged model. Positive values mean that dispersed attention "
        "was part of the failure.",
        "share",
        -1,
        1,
        formula="a′(n) − a(n)",
        where="a(n): accuracy of the unchanged model, a′: accuracy as in logn_swap",
    ),
    p_quantity("logn_swap_gain", "correct only with the swap, against correct only without it"),
)


class Swaps(MeasurementWithoutBatches):
    """Replace attention by its hardmax, or rescale its scores, and measure accuracy.

    Args:
        factors: lengths, as multiples of the longest trained one.
        delta: None = the tie set k*; else the keys within ``delta`` of the top score.
    """

    name = NAME
    version = 2
    title = "Attention swaps"
    quantities = QUANTITIES
    laws = ()
    sequences = 32
    needs = "attention"

    factors: Factors = (1, 4)
    delta: NotNegative | None = None

    def finish(self, study: Study) -> list[Row]:
        if study.cfg.attention != "softmax":
            why = "swaps are made of attention by softmax, which this model has not"
            return [missing_row("not_applicable", why, quantity=q.name, law=LAW) for q in QUANTITIES]
        near = lengths_for(study.grid, self.factors)
        return [row for n in near for row in self._rows(study, n)]

    def _rows(self, study: Study, length: int) -> list[Row]:
        batch = study.batch(LAW, length)
        canary(study.model, batch, [f"blocks.{layer}.attn.hook_z" for layer in range(study.cfg.n_layers)])
        heads = [(layer, head) for layer in range(study.cfg.n_layers) for head in range(study.cfg.n_heads)]
        places: list[tuple[dict[str, Any], list[Head]]] = [
            ({"target": "head", "layer": layer, "head": head}, [(layer, head)]) for layer, head in heads
        ]
        places.append(({"target": "all heads"}, heads))
        hard = tie_set if self.delta is None else within(self.delta)
        trained_keys = float(study.grid.trained + int(batch.bos))
        rows = []
        for place, chosen in places:
            rows += self._swap(study, batch, hard, chosen, "hardmax_swap", place)
            if length <= study.grid.trained:
                note = "within the trained length the factor is 1"
                for q in ("logn_swap", "logn_swap_gain", "logn_swap_gain_p"):
                    rows.append(missing_row("not_applicable", note, quantity=q, law=LAW, length=length, **place))
            else:
                rows += self._swap(study, batch, log_scaled(trained_keys), chosen, "logn_swap", place)
        return rows

    def _swap(
        self, study: Study, batch: Batch, pattern: Pattern, heads: Sequence[Head], quantity: str, place: dict[str, Any]
    ) -> list[Row]:
        before, after = swap_attention(study.model, study.task, batch, pattern, heads)
        study.passes += 2
        none = "the task asks nothing at this length"
        shared = {"law": LAW, "length": batch.length, **place}
        if quantity == "logn_swap":
            change = difference_rows(after.right, before.right, none, quantity="logn_swap_gain", **shared)
        else:
            change = difference_rows(before.right, after.right, none, quantity="hardmax_swap_drop", **shared)
        return [share_row(after.right > 0.5, none, quantity=quantity, **shared), *change]


def swap_attention(
    model: HookedModel, task: Task, batch: Batch, pattern: Pattern, heads: Sequence[Head]
) -> tuple[Answers, Answers]:
    """Return answers of the model, and answers with some heads' attention replaced.

    See :mod:`circuits.interventions.replaced_attention`.
    """
    pairs = []
    for piece in pieces(batch, TOKENS):
        clean = clean_pass(model, piece.tokens, evaluation_ids(model, piece))
        made = replaced_attention(model, clean, pattern, heads)
        pairs.append((answers(task, clean.outputs, piece), answers(task, made, piece)))
    before, after = (
        Answers(np.concatenate([pair[i].right for pair in pairs]), np.concatenate([pair[i].loss for pair in pairs]))
        for i in (0, 1)
    )
    return before, after


def swap_statistics(
    model: HookedModel, data: Data, labels: Tensor | Sequence[Tensor] | None = None, *, task: Task | None = None,
    trained: int | None = None, lengths: Sequence[int] | None = None, sequences: int = 32, seed: int = 0,
    **settings: Any,
) -> Result:  # fmt: skip
    """Return every quantity of ``circuits.swaps`` for one model, without a run; see :class:`Swaps`."""
    made = Swaps(**settings)
    return run(made, model, data, labels, task=task, trained=trained, lengths=lengths, sequences=sequences, seed=seed)
