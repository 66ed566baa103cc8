"""``circuits.repeats``: what each head attends to on random tokens that recur, at every length.

``circuits.heads`` asks this at trained lengths, of uniformly random tokens. Here it is asked at all lengths of the
grid, since a head that looks behind an earlier occurrence may cease to past N; and, of a model of text, by the law of
its text, for uniformly random tokens are more foreign to it than anything it was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from circuits.heads.head_scores import LAW, QUANTITIES, rows_of_scores, scores_on_repeats
from workbench.measure.measurement import Measurement
from workbench.measure.rows import missing_row
from workbench.measure.settings import Count
from workbench.table.schema import Row
from workbench.tasks.batch import TaskError
from workbench.tasks.random_tokens import TokenLaw, token_weights

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.measure.measurement import Study
    from workbench.models.base.architecture import Architecture
    from workbench.tasks.base import Batch

KINDS = ("previous_token", "previous_token_mass", "induction", "induction_mass")
"""The scores of ``circuits.heads`` that are asked, under names of their own."""
OF_REPEATS = tuple(
    replace(q, name=f"repeats_{q.name}", definition=f"{q.definition}; on random repeats")
    for q in QUANTITIES
    if q.name in KINDS
)


class Repeats(Measurement):
    """Scores of every head on random tokens in which a block of eight recurs after random lags.

    Args:
        window: queries with prefix length in (n - window, n].
        token_law: of the random tokens.
        resamples: bootstrap resamples.
    """

    name = "circuits.repeats"
    title = "Heads on random repeats"
    quantities = OF_REPEATS
    laws = (LAW,)
    sequences = 64
    on_request = True

    window: Count = 16
    token_law: TokenLaw = "uniform"
    resamples: Count = 400

    def hooks(self, cfg: Architecture) -> list[str]:
        return []

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Nothing: the strings of this measurement are its own."""

    def finish(self, study: Study) -> list[Row]:
        try:
            weights = token_weights(study.task, self.token_law)
        except TaskError as error:
            return [missing_row("not_applicable", str(error), quantity=q.name, law=LAW) for q in OF_REPEATS]
        rows: list[Row] = []
        for length in study.grid.lengths:
            generator = torch.Generator().manual_seed(int(study.rng(self.name, length).integers(2**31)))
            layers = scores_on_repeats(study, length, generator, self.window, "same", weights)
            asked = [{kind: layer[kind] for kind in KINDS} for layer in layers]
            rows += rows_of_scores(study, self.name, length, asked, "", "same", self.resamples)
        return [{**r, "quantity": f"repeats_{r['quantity']}"} for r in rows]
