"""``circuits.repeats``: what each head attends to on random tokens that recur, at every length.

``circuits.heads`` measures this at trained lengths, with uniformly random tokens. Here it is measured at all lengths of
the grid, because a head that attends to the token after an earlier occurrence may stop doing so past N. For a model of
text, tokens are also drawn with the frequencies of its text, and from held-out passages. Uniformly random tokens are
unlike anything in its training text.

A head that copies need not attend directly after the earlier occurrence. The layer below may carry the tokens at d and
at d - 1 positions back. Then the key d positions after the occurrence contains both what occurred and what followed,
for any d. A model with rotary positions that learns to copy from repeats only finds this solution
(docs/small_model.md). So the head's mass d positions after the occurrence is measured too, at the d with the most mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int

from circuits.attention.target_keys import Targets, induction
from circuits.heads.head_scores import LAW, QUANTITIES, Scores, TokenScores, rows_of_scores, scores_on_repeats
from workbench.measure.measurement import MeasurementWithoutBatches, Quantity
from workbench.measure.rows import missing_row
from workbench.measure.settings import Count
from workbench.table.schema import Row, row
from workbench.tasks.batch import TaskError
from workbench.tasks.random_tokens import TokenLaw, TokenLaws, passages, token_weights

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.measure.measurement import Study

KINDS = ("previous_token", "previous_token_mass", "induction", "induction_mass")
"""The scores of ``circuits.heads`` that are measured, under other names."""
OF_REPEATS = tuple(
    replace(
        q,
        name=f"repeats_{q.name}",
        definition=f"{q.definition} It is measured on sequences in which random tokens occur twice.",
    )
    for q in QUANTITIES
    if q.name in KINDS
)
BEHIND = 8
"""Largest displacement d that is tested."""
DISPLACED = (
    Quantity(
        "repeats_displaced_induction",
        "Attention mass on the keys d positions after earlier occurrences of the query's token, corrected for "
        f"chance, in sequences in which random tokens occur twice. The d from 1 to {BEHIND} with the most mass is "
        "chosen. 0 means as much mass as uniform attention gives, and 1 means all mass.",
        "share",
        None,
        1,
        formula="(M − |T|/K) / (1 − |T|/K)",
        where="M = Σ_{j ∈ T} p_{j}, T = {j + d : j + d < t, x_{j} = x_{t}}, t: the query; one half of the sequences "
        "chooses d, the other gives M",
    ),
    Quantity(
        "repeats_displacement",
        "The distance d at which the head has the most attention mass on the keys d positions after earlier "
        "occurrences of the query's token. It is measured in sequences in which random tokens occur twice. An "
        "ordinary induction head has 1.",
        "positions",
        1,
        BEHIND,
        formula="arg max_{d} ⟨(M_{d} − |T_{d}|/K) / (1 − |T_{d}|/K)⟩",
        where="M_{d}: the mass on T_{d}, the keys d positions after; means over one half of the sequences",
        interval=False,
    ),
)


class Repeats(MeasurementWithoutBatches):
    """Measure scores of every head on random tokens in which a block of eight recurs after random lags.

    Args:
        window: queries with prefix length in (n - window, n].
        token_laws: distributions of the tokens, each measured separately. With ``passages``, a block of a held-out
            passage recurs.
        resamples: bootstrap resamples.
    """

    name = "circuits.repeats"
    title = "Heads on random repeats"
    quantities = (*OF_REPEATS, *DISPLACED)
    laws = (LAW,)
    sequences = 64
    needs = "attention"
    on_request = True

    window: Count = 16
    token_laws: TokenLaws = ("uniform", "unigram", "passages")
    resamples: Count = 400

    def finish(self, study: Study) -> list[Row]:
        return [row for token_law in self.token_laws for row in self._of_law(study, token_law)]

    def _of_law(self, study: Study, token_law: TokenLaw) -> list[Row]:
        """Return the rows of all lengths for one distribution of tokens, which is their ``mode``."""
        try:
            weights = token_weights(study.task, token_law)
        except TaskError as error:
            place = {"law": LAW, "mode": token_law}
            return [missing_row("not_applicable", str(error), quantity=q.name, **place) for q in self.quantities]
        rows: list[Row] = []
        for length in study.grid.lengths:
            generator = torch.Generator().manual_seed(int(study.rng(self.name, token_law, length).integers(2**31)))
            count, positions = study.batch(LAW, length).tokens.shape
            strings = passages(study.task, token_law, count, positions, generator)
            make = partial(BehindScores, self.window)
            layers = scores_on_repeats(study, length, generator, make, weights, strings)
            asked = [{**{kind: layer[kind] for kind in KINDS}, **displaced_scores(layer)} for layer in layers]
            of_length = rows_of_scores(study, self.name, length, asked, token_law, "same", self.resamples)
            rows += [{**r, "quantity": f"repeats_{r['quantity']}"} for r in of_length]
            rows += _displacements(layers, law=LAW, length=length, mode=token_law)
        return rows


class BehindScores(TokenScores):
    """Computes scores of the heads of one layer, also for keys 1 to :data:`BEHIND` positions after occurrences."""

    def further(self, tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"]) -> dict[str, Targets]:
        return {_behind(d): induction(tokens, queries, d) for d in range(1, BEHIND + 1)}


def _behind(places: int) -> str:
    return f"behind_{places}"


def displacements(scores: Scores) -> Int[np.ndarray, " head"]:
    """Return, per head, the displacement with the most mass, on the first half of the sequences."""
    half = len(scores[_behind(1)]) // 2
    means = [_mean(scores[_behind(d)][:half]) for d in range(1, BEHIND + 1)]
    found: Int[np.ndarray, " head"] = 1 + np.argmax(np.stack(means), 0)
    return found


def displaced_scores(scores: Scores) -> Scores:
    """Return each head's score at its displacement, on the other half of the sequences."""
    half = len(scores[_behind(1)]) // 2
    best = [scores[_behind(int(d))][half:, head] for head, d in enumerate(displacements(scores))]
    return {"displaced_induction": np.concatenate([np.full((half, len(best)), np.nan), np.stack(best, 1)])}


def _mean(values: Float[np.ndarray, "sequence head"]) -> Float[np.ndarray, " head"]:
    """Return the mean over sequences with such a key; -1, less than any score, if there is none."""
    known = ~np.isnan(values)
    return np.where(known.any(0), np.where(known, values, 0).sum(0) / np.maximum(known.sum(0), 1), -1.0)


def _displacements(layers: Sequence[Scores], **place: Any) -> list[Row]:
    shared = {"quantity": "repeats_displacement", "note": "from the first half of the strings", **place}
    return [
        row(value=float(d), layer=layer, head=head, **shared)
        for layer, scores in enumerate(layers)
        for head, d in enumerate(displacements(scores))
    ]
