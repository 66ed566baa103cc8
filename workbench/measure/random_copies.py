"""``behaviour.copies``: does a language model copy random tokens, and how far back?

Random tokens are unpredictable except by copying. So the gain from the first to the second copy measures copying
(Olsson et al. 2022, "In-context Learning and Induction Heads").
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import torch

from workbench.core.names import MATCHED
from workbench.measure.measurement import MeasurementWithoutBatches, Quantity, Study
from workbench.measure.rows import mean_row, missing_row
from workbench.measure.settings import Count
from workbench.table.schema import Row
from workbench.tasks.batch import TaskError
from workbench.tasks.random_tokens import TokenLaw, TokenLaws, passages, repeat_twice, token_weights
from workbench.tasks.text.next_symbol import NextSymbol

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


LAW = MATCHED
FIRST, SECOND = "first", "second"
"""Modes: of which copy the tokens are."""

QUANTITIES = (
    Quantity(
        "copy_loss",
        "Mean loss on the tokens of one copy, in sequences in which random tokens or a passage occur twice. The mode "
        "names the first or the second copy; the target names how tokens are drawn. A second copy with a lower loss "
        "than the first shows copying.",
        "nats",
        0,
        formula="−⟨log p(x_{i})⟩",
        where="i: the tokens of one copy except its first, p: the model's prediction from the tokens before",
    ),
    Quantity(
        "copy_accuracy",
        "Share of the tokens of one copy that the model ranks first, in sequences in which random tokens or a "
        "passage occur twice. The mode names the first or the second copy; the target names how tokens are drawn.",
        "share",
        0,
        1,
        formula="⟨1[arg max p = x_{i}]⟩",
        where="i: the tokens of one copy except its first",
    ),
)


class Copies(MeasurementWithoutBatches):
    """Measure loss and accuracy on random tokens and on their repetition, at every length of the grid.

    A sequence of length n consists of n / 2 random tokens, or a held-out passage of n / 2 tokens, twice. The first
    token of each copy is left out, because nothing predicts it.

    Args:
        token_laws: distributions of the tokens, each measured separately. Tokens that never occur in a model's training
            text are harder for it.
        resamples: number of bootstrap resamples, over sequences.
    """

    name = "behaviour.copies"
    title = "Copying of random tokens"
    quantities = QUANTITIES
    laws = (LAW,)
    sequences = 64
    on_request = True

    token_laws: TokenLaws = ("uniform", "unigram", "passages")
    resamples: Count = 400

    def finish(self, study: Study) -> list[Row]:
        rows: list[Row] = []
        for token_law, length in product(self.token_laws, study.grid.lengths):
            place: dict[str, Any] = {"law": LAW, "length": length, "target": token_law}
            if why := self._unfit(study, token_law, length):
                rows += [missing_row("not_applicable", why, quantity=q.name, **place) for q in QUANTITIES]
                continue
            for mode, (loss, right) in self._copies(study, token_law, length).items():
                rng = study.rng(self.name, token_law, length, mode)
                for name, values, bounds in (("copy_loss", loss, None), ("copy_accuracy", right, (0, 1))):
                    said = {"quantity": name, "mode": mode, **place}
                    found = values.double().numpy(force=True)
                    rows.append(mean_row(found, rng, self.resamples, "no string", bounds, **said))
        return rows

    def _unfit(self, study: Study, token_law: TokenLaw, length: int) -> str:
        if not isinstance(study.task, NextSymbol):
            return "the task does not ask for the next token"
        if length < 4:
            return "a copy of one token has none that another foretells"
        try:
            token_weights(study.task, token_law)
        except TaskError as error:
            return str(error)
        return ""

    def _copies(
        self, study: Study, token_law: TokenLaw, length: int
    ) -> dict[str, tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]]:
        """Return mean loss and share of right tokens, each ``[batch]``, of the first and of the second copy."""
        source = study.batch(LAW, length)
        generator = torch.Generator().manual_seed(int(study.rng(self.name, token_law, length).integers(2**31)))
        weights = token_weights(study.task, token_law)
        batch, positions = source.tokens.shape
        strings = passages(study.task, token_law, batch, positions, generator)
        tokens = repeat_twice(batch, positions, study.task.d_vocab, generator, source.bos, weights, strings)
        return of_copies(study.answers(replace(source, tokens=tokens), [])["logits"], tokens, source.bos)


def of_copies(
    logits: Float[Tensor, "batch pos out"], tokens: Tensor, bos: bool
) -> dict[str, tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]]:
    """Return loss and accuracy of each sequence, each ``[batch]``, for both copies.

    Args:
        logits: prediction of the next token at each position; with BOS, class c is token c + 1.
        tokens: BOS, if there is one, then a copy and its repetition.
        bos: whether the sequences begin with BOS.
    """
    first = int(bos)
    half = (tokens.shape[1] - first + 1) // 2
    log_p = logits[:, :-1].double().log_softmax(-1)
    following = tokens[:, 1:] - first
    loss = -log_p.gather(-1, following[..., None])[..., 0]
    right = (log_p.argmax(-1) == following).double()
    # The token at position i is predicted at i - 1.
    spans = {FIRST: slice(first, first + half - 1), SECOND: slice(first + half, None)}
    return {mode: (loss[:, span].mean(1), right[:, span].mean(1)) for mode, span in spans.items()}
