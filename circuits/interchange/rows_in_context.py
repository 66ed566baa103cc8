"""``circuits.in_context_rows``: in which layer is the answer to a question in the prompt, and at which lengths?

After one layer, the row of the residual stream at the last answer is replaced by that of another prompt. If the model
then gives the answer of that other prompt, this row contains all that it has found. After lower layers, the model still
reads its own prompt. A row of the shortest prompt, used in longer ones, tests whether its content can be read at any
length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from circuits.passes import edits_in_place, pieces, require
from workbench.core.names import MATCHED
from workbench.measure.in_context.layers_read import spread, stream
from workbench.measure.in_context.measurement import AnswerShares
from workbench.measure.measurement import MeasurementWithoutBatches, Observer, Quantity
from workbench.measure.rows import missing_row, share_row
from workbench.measure.settings import Count
from workbench.measure.study import CHUNK_TOKENS, Shown, show_pass
from workbench.table.schema import Row

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.tasks.base import Batch

NAME = "circuits.in_context_rows"
LAW = MATCHED
SAME, SHORTEST = "another prompt of this length", "a prompt of the shortest length"

QUANTITIES = (
    Quantity(
        "row_followed",
        "Share of sequences on which the model gives the last answer of another prompt (target). The residual stream "
        "at the last answer token, after a layer, comes from that prompt. The model chooses from its whole "
        "vocabulary, and only pairs with different answers count. High values mean that the answer is present at this "
        "layer.",
        "share", 0, 1,
        formula="⟨1[ŷ(h ← h′) = y′]⟩",
        where="h, h′: residual streams of the sequence and of the other prompt, y′: its answer",
    ),
    Quantity(
        "row_ceiling",
        "Share of the other prompts of `row_followed` (target) on which the unchanged model gives the correct last "
        "answer. `row_followed` can hardly exceed this share.", "share", 0, 1,
        formula="⟨1[ŷ′ = y′]⟩", where="y′: answer of the other prompt, ŷ′: what the model gives there",
    ),
)  # fmt: skip


class RowsInContext(MeasurementWithoutBatches):
    """Measure whether the last answer follows a row of the residual stream from another prompt.

    Args:
        layers_read: number of tested layers, evenly spread, including the last one.
    """

    name = NAME
    title = "Rows in context"
    quantities = QUANTITIES
    sequences = 32
    presented = "only"
    on_request = True

    layers_read: Count = 8

    def finish(self, study: Study) -> list[Row]:
        layers = spread(study.cfg.n_layers, self.layers_read)
        require(study.model, [stream(layer) for layer in layers])
        shortest = min(study.grid.lengths)
        rows: list[Row] = []
        observers: dict[int, _Last] = {}
        for n in study.grid.lengths:
            batch = study.batch(LAW, n)
            observers[n] = _Last(study, batch, layers)
            study.passes += show_pass(study.model, batch, [Shown(observers[n]), Shown(observers[n].shares)])
            for target, source in ((SAME, observers[n]), (SHORTEST, observers[shortest])):
                if target == SAME or n > shortest:
                    rows += self._rows(study, batch, source, target, layers)
        return rows

    def _rows(self, study: Study, batch: Batch, source: _Last, target: str, layers: list[int]) -> list[Row]:
        count = min(len(batch), len(source.answers))
        place: dict[str, Any] = {"law": LAW, "length": batch.length, "target": target}
        if count < 2:
            why = "one prompt has no other"
            return [missing_row("undefined", why, quantity=q.name, **place) for q in QUANTITIES]
        donors = (np.arange(count) + 1) % count  # never the sequence itself
        answers = source.answers[donors]
        differ = (batch.targets[:count, last_of(batch)] != answers).numpy(force=True)
        none = "no two prompts have different answers"
        right = source.shares.shares()["answer_accuracy"][donors] > 0.5
        rows = [share_row(right[differ], none, quantity="row_ceiling", **place)]
        for layer in layers:
            followed = answers_with_rows(study, batch.rows(0, count), layer, source.rows[layer][donors], answers)
            rows.append(share_row(followed[differ], none, quantity="row_followed", layer=layer, **place))
        return rows


def last_of(batch: Batch) -> int:
    """Return the index of the last position with a query."""
    return int(batch.mask.any(0).nonzero()[-1])


def only_last(batch: Batch, answers: Tensor | None = None) -> Batch:
    """Return the same sequences with only the last query, and with other right answers if any are given."""
    mask, targets = torch.zeros_like(batch.mask), batch.targets.clone()
    mask[:, last_of(batch)] = True
    if answers is not None:
        targets[:, last_of(batch)] = answers
    return replace(batch, mask=mask, targets=targets)


class _Last(Observer):
    """Rows after some layers at the last query, the right answers there, and whether the model gives them.

    Attributes:
        rows: by layer ``[string, d_model]``.
        answers: ``[string]``.
        shares: an observer of the last answer.
    """

    def __init__(self, study: Study, batch: Batch, layers: list[int]) -> None:
        self.batch, self.groups = batch, {layer: (stream(layer),) for layer in layers}
        self.shares = AnswerShares(study, only_last(batch))
        self.answers = batch.targets[:, last_of(batch)]
        self._last, self._parts = last_of(batch), dict[int, list[Tensor]]()

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        (value,) = seen.values()
        self._parts.setdefault(key, []).append(value[:, self._last].clone())

    @cached_property
    def rows(self) -> dict[int, Float[Tensor, "string d_model"]]:
        return {layer: torch.cat(parts) for layer, parts in self._parts.items()}


def answers_with_rows(
    study: Study, batch: Batch, layer: int, rows: Float[Tensor, "string d_model"], answers: Tensor
) -> NDArray[np.bool_]:
    """Return ``[string]``: whether the given answers appear if these rows replace the last query's after a layer.

    Raises:
        DeadHookError: if the edit was never called.
    """
    parts: list[NDArray[np.float64]] = []
    start, last = 0, last_of(batch)
    for piece in pieces(only_last(batch, answers), CHUNK_TOKENS):
        new_rows = rows[start : start + len(piece)]
        start += len(piece)

        def put(value: Tensor, new_rows: Tensor) -> Tensor:
            made = value.clone()
            made[:, last] = new_rows
            return made

        shares = AnswerShares(study, piece)
        with edits_in_place(study.model, {stream(layer): partial(put, new_rows=new_rows)}):
            study.passes += show_pass(study.model, piece, [Shown(shares)], len(piece))
        parts.append(shares.shares()["answer_accuracy"])
    return np.concatenate(parts) > 0.5
