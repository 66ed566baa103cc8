"""``circuits.connections``: how much accuracy drops when one component no longer reads another.

Ablation removes a component from all its readers at once. Here each connection of the circuit graph is removed
separately. The embedding (token, and position where one is added), heads and MLPs send. Heads, MLPs and the unembedding
receive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from circuits.connections.cut_connections import NOT_CUT, PARTS, ConnectionCutter, Part, cuttable
from circuits.interventions.ablate_components import Answers
from workbench.core.names import MATCHED, RANDOM_DIRECTION
from workbench.measure.grid import lengths_for
from workbench.measure.measurement import MeasurementWithoutBatches, Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import difference_rows, mean_row, missing_row, p_quantity, share_row
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Count, Factors
from workbench.models.base.graph import Component, Connection, connections_of
from workbench.table.schema import Row

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.measure.measurement import Study
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Task

NAME = "circuits.connections"
LAW = MATCHED
RANDOM = RANDOM_DIRECTION
"""The control: a change of the same size at every token, in random directions."""

QUANTITIES = (
    Quantity(
        "connected_accuracy",
        "Accuracy at exactly prefix length n with no connection cut. It uses the sequences on which connections are "
        "cut.",
        "share",
        0,
        1,
        formula="a(n)",
        where="a(n): accuracy of the unchanged model",
    ),
    Quantity(
        "connection_drop",
        "Accuracy drop when one connection is cut: at every token, the receiver reads the sender's mean output at "
        "that position instead of the actual output. The mean is taken over sequences of the same length; LayerNorm "
        "is recomputed, and all later components react. If the receiver is a head, the cut applies to its queries, "
        "keys and values together, or to only one of them (`mode`). The control changes what the receiver reads by "
        "the same amount, but in random directions. A row that names only a component cuts all connections out of it, "
        "which is mean ablation.",
        "share",
        -1,
        1,
        formula="a(n) − a_{s→r}(n)",
        where="a_{s→r}: accuracy with receiver r reading the mean of sender s",
        controls=(RANDOM,),
    ),
    p_quantity("connection_drop", "correct only with the connection, against correct only without it", (RANDOM,)),
    Quantity(
        "connection_loss_rise",
        "Loss with one connection cut minus the loss of the whole model, in nats. The cut is made as for "
        "`connection_drop`. Positive values mean that the connection helps.",
        "nats",
        formula="l_{s→r}(n) − l(n)",
        where="l: loss",
        controls=(RANDOM,),
    ),
)


class Connections(MeasurementWithoutBatches):
    """Measure the accuracy drop for each cut connection of the circuit graph.

    The sender's mean is taken at each position, as in ``circuits.ablation``. So what a component writes independently
    of the sequence (a constant, its position) stays. Cutting all connections out of a component equals its ablation by
    the mean. Every connection, and every component as a whole, takes two passes per length (the cut and its control),
    from the layer of the first receiver on.

    Args:
        factors: lengths, as multiples of the longest trained one.
        split: whether connections into heads are also cut in queries, keys and values separately.
        most: maximum number of connections. A model with more gets one row that states this.
        resamples: bootstrap resamples.
    """

    name = NAME
    title = "Connections of the circuit"
    quantities = QUANTITIES
    laws = ()
    sequences = 256
    needs = "attention"
    on_request = True

    factors: Factors = (1, 2, 4)
    split: bool = False
    most: Count = 512
    resamples: Count = 400

    def finish(self, study: Study) -> list[Row]:
        if why := self._unfit(study.model):
            return [
                missing_row("not_applicable", why, quantity=q.name, law=LAW, control=control)
                for q in QUANTITIES
                for control in ("", *q.controls)
            ]
        near = lengths_for(study.grid, self.factors)
        return [row for length in near for row in self._rows(study, length)]

    def _unfit(self, model: HookedModel) -> str:
        if not cuttable(model):
            return NOT_CUT
        cfg = model.cfg
        count = len(connections_of(cfg.n_layers, cfg.n_heads, not cfg.attn_only))
        if count > self.most:
            return (
                f"the model has {count:,} connections, and at most {self.most:,} are cut: "
                f"--set {NAME}.most={count} cuts them all"
            )
        return ""

    def _rows(self, study: Study, length: int) -> list[Row]:
        batch = study.batch(LAW, length)
        cutter = ConnectionCutter(study.model, batch, study.task, study.rng(NAME, length, RANDOM))
        whole = cutter.clean()
        place: dict[str, Any] = {"law": LAW, "length": length}
        rows = [share_row(whole.right > 0.5, _NOTHING, quantity="connected_accuracy", **place)]
        study.passes += 1
        for cut, of, parts in self._cuts(cutter):
            for control in ("", RANDOM):
                without = cutter.without(cut, parts, turned=bool(control))
                mode = "" if parts == PARTS else parts[0]
                rows += self._compare(study, whole, without, {**place, **of, "mode": mode, "control": control})
                study.passes += 1
        return rows

    def _cuts(self, cutter: ConnectionCutter) -> Iterator[tuple[list[Connection], dict[str, Any], Sequence[Part]]]:
        """Yield the connections that are cut together, the columns that name them, and the changed inputs of heads."""
        for connection in cutter.connections:
            yield [connection], _of(connection.receiver, connection.name), PARTS
            for part in PARTS if self.split and connection.receiver.kind == "head" else ():
                yield [connection], _of(connection.receiver, connection.name), (part,)
        for sender in dict.fromkeys(connection.sender for connection in cutter.connections):
            yield (
                [connection for connection in cutter.connections if connection.sender == sender],
                _of(sender, sender.name),
                PARTS,
            )

    def _compare(self, study: Study, whole: Answers, without: Answers, place: dict[str, Any]) -> list[Row]:
        rng = study.rng(NAME, *place.values())
        rise = without.loss - whole.loss
        return [
            *difference_rows(whole.right, without.right, _NOTHING, quantity="connection_drop", **place),
            mean_row(rise, rng, self.resamples, _NOTHING, quantity="connection_loss_rise", **place),
        ]


_NOTHING = "the task asks nothing at this length"


def _of(place: Component, name: str) -> dict[str, Any]:
    """Return the columns that name a cut. Layer and head are those of the receiver, or of a fully cut component."""
    return {"layer": place.layer, "head": place.head, "target": name}


def connection_statistics(
    model: HookedModel, data: Data, labels: Tensor | Sequence[Tensor] | None = None, *, task: Task | None = None,
    trained: int | None = None, lengths: Sequence[int] | None = None, sequences: int = 256, seed: int = 0,
    **settings: Any,
) -> Result:  # fmt: skip
    """Return every quantity of ``circuits.connections`` for one model, without a run; see :class:`Connections`."""
    made = Connections(**settings)
    return run(made, model, data, labels, task=task, trained=trained, lengths=lengths, sequences=sequences, seed=seed)
