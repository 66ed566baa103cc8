"""Residual interchange: the row of one query is replaced by that of another sequence, at any site of any layer.

The state of a transformer is its whole cache, not one residual row. So the numbers here show at which site the
information from the prefix has arrived. They need not be 1 for a scale-invariant model, because rows contain the unit
1/K of their own length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from circuits.interchange.last_query import SITES, LastRow, sites
from circuits.interchange.prefix_exchange import NONE, Chosen, ending, take
from circuits.interchange.summary_subspace import exchanged_within
from circuits.passes import layer_of, pieces

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class QueryRows:
    """The model's outputs and activations at the last query of every sequence of a batch.

    Attributes:
        outputs: clean outputs ``[sequence, out]``.
        rows: activation at each site, ``[sequence, ...]``.
    """

    outputs: Float[Tensor, "sequence out"]
    rows: Mapping[str, Tensor]


@dataclass(frozen=True)
class Patched:
    """Answers of the recipients that have a donor, with their row at one site replaced by the donor's.

    Attributes:
        follows_donor: the patched answer is the donor's clean answer, ``[sequence]``.
        follows_recipient: it is the recipient's own clean answer.
        right: it is the recipient's right answer.
        donors_target: it is the donor's right answer.
        donor_right, recipient_right: the clean answers are right.
        sequences: indices of the recipients.
    """

    follows_donor: Flags
    follows_recipient: Flags
    right: Flags
    donors_target: Flags
    donor_right: Flags
    recipient_right: Flags
    sequences: NDArray[np.int64]


def query_rows(model: HookedModel, batch: Batch, names: Sequence[str]) -> QueryRows:
    """Return clean rows and outputs of the last query of every sequence."""
    parts = [LastRow(model, piece, names) for piece in pieces(batch)]
    return QueryRows(
        torch.cat([part.outputs for part in parts]),
        {name: torch.cat([part.rows[name] for part in parts]) for name in names},
    )


def residual_interchange(
    model: HookedModel,
    task: Task,
    recipients: Batch,
    donors: Batch,
    chosen: Mapping[str, Chosen],
    names: Sequence[str] | None = None,
    donor_rows: QueryRows | None = None,
    within: Mapping[str, Mapping[str, Tensor]] | None = None,
) -> dict[tuple[str, str], Patched]:
    """Patch the last query's row of every recipient with its donor's, at each site in turn.

    Args:
        model: any model with TransformerLens's hook names.
        task: the task, which determines the right answers.
        recipients, donors: sequences, each of one length.
        chosen: name of a choice -> the donors (see :func:`circuits.interchange.prefix_exchange.choose_donors`).
        names: hook names of sites; None = all of :data:`circuits.interchange.last_query.SITES`.
        donor_rows: see :func:`query_rows`; None = make them.
        within: for some choices, site -> basis ``[d, rank]``. Only these sites are patched, and only the row's
            component in that subspace.

    Returns:
        by (choice, site); choices without any donor are left out.
    """
    listed = list(names) if names is not None else sites(model, SITES)
    source_rows = donor_rows or query_rows(model, donors, listed)
    with_donor = {choice: np.flatnonzero(picked != NONE) for choice, picked in chosen.items()}
    outputs: dict[tuple[str, str], list[Tensor]] = {}
    clean, start = [], 0
    for piece in pieces(recipients):
        row = LastRow(model, piece, listed)
        clean.append(row.outputs)
        for choice, picked in chosen.items():
            # Recipients without a donor are patched with an arbitrary row, and dropped below.
            index = torch.as_tensor(np.maximum(picked[start : start + len(piece)], 0))
            bases = (within or {}).get(choice)
            for name in listed if bases is None else bases:
                theirs = source_rows.rows[name][index]
                made = theirs if bases is None else exchanged_within(row.rows[name], theirs, bases[name])
                outputs.setdefault((choice, name), []).append(row.patched_outputs(name, made))
        start += len(piece)
    clean_outputs = torch.cat(clean)
    results = {}
    for (choice, name), parts in outputs.items():
        to = with_donor[choice]
        if len(to):
            source = chosen[choice][to]
            answers = clean_outputs[to], source_rows.outputs[source], torch.cat(parts)[to]
            results[choice, name] = _judge(task, take(recipients, to), take(donors, source), *answers, to)
    return results


def _judge(task: Task, mine: Batch, source: Batch, own: Tensor, theirs: Tensor, made: Tensor, kept: Chosen) -> Patched:
    """Compare answers; all arguments are those of recipients that have a donor."""

    def same(a: Tensor, b: Tensor) -> Flags:
        return _right(task, a, b if task.real else b.argmax(-1), mine)

    return Patched(
        follows_donor=same(made, theirs),
        follows_recipient=same(made, own),
        right=_right(task, made, mine.targets[:, -1], mine),
        donors_target=_right(task, made, source.targets[:, -1], mine),
        donor_right=_right(task, theirs, source.targets[:, -1], mine),
        recipient_right=_right(task, own, mine.targets[:, -1], mine),
        sequences=kept,
    )


def _right(task: Task, outputs: Tensor, targets: Tensor, batch: Batch) -> Flags:
    """Return whether answers ``[sequence, out]`` equal the given ones."""
    right = task.correct(outputs[:, None], ending(batch, 1, targets[:, None]))
    found: Flags = right[:, 0].numpy(force=True)
    return found


def tautological(model: HookedModel, name: str) -> bool:
    """Return whether patching the last query's whole row there always gives the donor's own output.

    This is so where the whole residual row is replaced and no later block moves information between positions.
    """
    layer, kind = layer_of(name), name.split(".", 2)[2]
    if kind not in ("hook_resid_mid", "hook_resid_post"):
        return False
    return not any(mixes(model, later) for later in range(layer + 1, model.cfg.n_layers))


def mixes(model: HookedModel, layer: int) -> bool:
    """Return whether a block can move information between positions; not if its W_V or W_O is 0."""
    block = model.blocks[layer]  # type: ignore[attr-defined]
    weights: Iterable[Tensor] = [getattr(getattr(block, "attn", None), part, None) for part in ("W_V", "W_O")]  # type: ignore[misc]
    return not any(weight is not None and not bool(weight.any()) for weight in weights)
