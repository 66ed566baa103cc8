"""``circuits.repeats``: what each head attends to on random tokens that recur, at every length.

``circuits.heads`` asks this at trained lengths, of uniformly random tokens. Here it is asked at all lengths of the
grid, since a head that looks behind an earlier occurrence may cease to past N; and, of a model of text, by the law of
its text and in held-out passages too: uniformly random tokens are more foreign to it than all that it was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from circuits.attention.target_keys import Definition
from circuits.heads.head_scores import LAW, QUANTITIES, rows_of_scores, scores_on_repeats
from workbench.measure.measurement import Measurement
from workbench.measure.rows import missing_row
from workbench.measure.settings import Count
from workbench.table.schema import Row
from workbench.tasks.batch import TaskError
from workbench.tasks.random_tokens import TokenLaw, passages, token_weights

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.measure.measurement import Study
    from workbench.models.base.architecture import Architecture
    from workbench.tasks.base import Batch

OF_TOKENS = tuple(q for q in QUANTITIES if not q.name.startswith(("answer_token", "key_token", "ov_copying")))
"""What can be asked of any tokens."""


class Repeats(Measurement):
    """Scores of every head on random tokens in which a block of eight recurs after random lags.

    Args:
        window: queries with prefix length in (n - window, n].
        definition: of anti-induction, see :func:`circuits.attention.target_keys.anti_induction`.
        token_laws: of the tokens, each asked for itself; ``passages``: what recurs is a block of a held-out passage.
        resamples: bootstrap resamples.
    """

    name = "circuits.repeats"
    title = "Heads on random repeats"
    quantities = OF_TOKENS
    laws = (LAW,)
    sequences = 64
    on_request = True

    window: Count = 16
    definition: Definition = "same"
    token_laws: tuple[TokenLaw, ...] = ("uniform", "unigram", "passages")
    resamples: Count = 400

    def hooks(self, cfg: Architecture) -> list[str]:
        return []

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Nothing: the strings of this measurement are its own."""

    def finish(self, study: Study) -> list[Row]:
        return [row for token_law in self.token_laws for row in self._of_law(study, token_law)]

    def _of_law(self, study: Study, token_law: TokenLaw) -> list[Row]:
        """The rows of all lengths on tokens of one law, which is their ``mode``."""
        try:
            weights = token_weights(study.task, token_law)
        except TaskError as error:
            named = {"law": LAW, "mode": token_law}
            return [missing_row("not_applicable", str(error), quantity=q.name, **named) for q in OF_TOKENS]
        rows: list[Row] = []
        for length in study.grid.lengths:
            generator = torch.Generator().manual_seed(int(study.rng(self.name, token_law, length).integers(2**31)))
            asked = study.batch(LAW, length).tokens
            strings = passages(study.task, token_law, *asked.shape, generator)
            options = (self.window, self.definition, weights, strings)
            layers = scores_on_repeats(study, length, generator, *options)
            rows += rows_of_scores(study, self.name, length, layers, token_law, self.definition, self.resamples)
        return rows
