"""``circuits.ablation``: how accuracy changes without a head, an MLP, a set of heads, or a kind of edge.

A mechanism may have several copies of each part, so that no single head matters. So three sets of heads are ablated in
addition to every single head and MLP. These are the heads that read the answer's key (*matching heads*), the
previous-token heads below them, and all other heads together. A retrieval circuit is confirmed if ablating either of
the first two destroys the answer and ablating the third does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator

from circuits.attention.score_observer import reduced_layers
from circuits.heads.head_scores import HeadScores
from circuits.interventions.ablate_components import Ablator, Answers, Head, Mode, roles
from circuits.interventions.ablate_edges import without_circuit
from circuits.passes import canary
from workbench.core.names import MATCHED
from workbench.measure.grid import lengths_for
from workbench.measure.measurement import MeasurementWithoutBatches, Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import difference_rows, mean_row, missing_row, p_quantity, share_row
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Count, Factors, Real
from workbench.table.schema import Row

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.measure.measurement import Study
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

NAME = "circuits.ablation"
LAW = MATCHED

QUANTITIES = (
    Quantity(
        "ablated_accuracy",
        "Accuracy at exactly prefix length n without the part that the row names: a head, an MLP or a set of heads. "
        "The mode names what replaces its output: zero, the mean over sequences at each position, or the output on "
        "another sequence (`resample`).",
        "share",
        0,
        1,
        formula="a_{−h}(n)",
        where="accuracy with the output of the part h replaced",
    ),
    Quantity(
        "accuracy_drop",
        "Accuracy of the whole model minus the accuracy without the part. Positive values mean that the part "
        "is needed.",
        "share",
        -1,
        1,
        formula="a(n) − a_{−h}(n)",
        where="a(n): accuracy of the unchanged model",
    ),
    p_quantity("accuracy_drop", "correct only with the part, against correct only without it"),
    Quantity(
        "loss_rise",
        "Loss without the part minus the loss of the whole model. Positive values mean that the part helps.",
        "nats",
        formula="l_{−h}(n) − l(n)",
        where="l: loss",
    ),
)

Modes = Annotated[Sequence[Mode], AfterValidator(tuple)]
SETS = ("matching heads", "previous-token heads", "all other heads")
CIRCUITS = {"induction edges": "induction", "anti-induction edges": "anti_induction"}


class Ablation(MeasurementWithoutBatches):
    """Ablate heads, MLPs, sets of heads and kinds of edges, and measure accuracy.

    Args:
        modes: any of zero, mean and resample.
        factors: lengths, as multiples of the longest trained one.
        matching: minimum chance-corrected mass on the answer's key of a matching head.
        previous: minimum chance-corrected mass on the previous token of a previous-token head.
        resamples: bootstrap resamples.
    """

    name = NAME
    version = 3
    title = "Ablation"
    quantities = QUANTITIES
    laws = ()
    sequences = 64

    modes: Modes = ("mean", "resample")
    factors: Factors = (1, 4)
    matching: Real = 0.2
    previous: Real = 0.1
    resamples: Count = 400

    def finish(self, study: Study) -> list[Row]:
        near = lengths_for(study.grid, self.factors)
        return [row for n in near for row in self._rows(study, n)]

    def _rows(self, study: Study, length: int) -> list[Row]:
        batch = study.batch(LAW, length)
        ablator = Ablator(study.model, batch, study.task)
        canary(study.model, batch, [*ablator.z.values(), *ablator.mlp.values()])
        whole = ablator.clean()
        place: dict[str, Any] = {"law": LAW, "length": length}
        rows = self._compare(study, whole, whole, {**place, "target": "nothing"})
        for mode in self.modes:
            columns = {**place, "mode": mode}
            for layer, head in ablator.heads:
                without = ablator.without([(layer, head)], (), mode, study.rng(NAME, length, mode))
                rows += self._compare(
                    study, whole, without, {**columns, "layer": layer, "head": head, "target": "head"}
                )
            for layer in ablator.mlp:
                without = ablator.without((), [layer], mode, study.rng(NAME, length, mode))
                rows += self._compare(study, whole, without, {**columns, "layer": layer, "target": "MLP"})
        study.passes += 1 + len(self.modes) * (len(ablator.heads) + len(ablator.mlp))
        return rows + self._sets(study, ablator, whole, place) + self._edges(study, batch, whole, place)

    def _compare(self, study: Study, whole: Answers, without: Answers, place: dict[str, Any]) -> list[Row]:
        none = "the task asks nothing at this length"
        rng = study.rng(NAME, *place.values())
        return [
            share_row(without.right > 0.5, none, quantity="ablated_accuracy", **place),
            *difference_rows(whole.right, without.right, none, quantity="accuracy_drop", **place),
            mean_row(without.loss - whole.loss, rng, self.resamples, none, quantity="loss_rise", **place),
        ]

    def _sets(self, study: Study, ablator: Ablator, whole: Answers, place: dict[str, Any]) -> list[Row]:
        found, why = self._roles(study, ablator)
        rows = []
        for name, heads in found.items():
            for mode in self.modes:
                columns = {**place, "mode": mode, "target": name, "note": _head_list(heads)}
                if not heads:
                    rows += [missing_row("undefined", why, quantity=q.name, **columns) for q in QUANTITIES]
                    continue
                without = ablator.without(heads, (), mode, study.rng(NAME, place["length"], mode))
                rows += self._compare(study, whole, without, columns)
                study.passes += 1
        return rows

    def _roles(self, study: Study, ablator: Ablator) -> tuple[dict[str, list[Head]], str]:
        nothing: dict[str, list[Head]] = {name: [] for name in SETS}
        if not ablator.heads:
            return nothing, "the model has no attention heads"
        scores = reduced_layers(study.model, ablator.batch, HeadScores)
        study.passes += 1
        if "answer_token" not in scores[0]:
            return nothing, "the task names no key that holds the answer"
        matchers, writers = roles(scores, self.matching, self.previous)
        others = [head for head in ablator.heads if head not in matchers and head not in writers]
        return dict(zip(SETS, (matchers, writers, others), strict=True)), "no head is of that kind here"

    def _edges(self, study: Study, batch: Batch, whole: Answers, place: dict[str, Any]) -> list[Row]:
        rows = []
        for name, circuit in CIRCUITS.items():
            columns = {**place, "target": name}
            if study.cfg.attention != "softmax":
                why = "edges are those of attention by softmax, which this model has not"
                rows += [missing_row("not_applicable", why, quantity=q.name, **columns) for q in QUANTITIES]
                continue
            without = without_circuit(study.model, study.task, batch, circuit)  # type: ignore[arg-type]
            study.passes += 3
            rows += self._compare(study, whole, without, columns)
        return rows


def ablation_statistics(
    model: HookedModel, data: Data, labels: Tensor | Sequence[Tensor] | None = None, *, task: Task | None = None,
    trained: int | None = None, lengths: Sequence[int] | None = None, sequences: int = 64, seed: int = 0,
    **settings: Any,
) -> Result:  # fmt: skip
    """Return every quantity of ``circuits.ablation`` for one model, without a run; see :class:`Ablation`."""
    made = Ablation(**settings)
    return run(made, model, data, labels, task=task, trained=trained, lengths=lengths, sequences=sequences, seed=seed)


def _head_list(heads: Sequence[Head]) -> str:
    return ", ".join(f"L{layer}.{head}" for layer, head in heads)
