"""In-context Markov chains: what comes next, as well as the string so far can tell."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from workbench.tasks.base import BOS, ROUNDING, Batch, Law
from workbench.tasks.in_context.chains import draw_chain, follower_counts, followers_of, stationary, transition_counts
from workbench.tasks.in_context.chance_by_draws import ChanceByDraws
from workbench.tasks.sampling import flat_shares, integers, outer_margin, uniforms
from workbench.tasks.sequences.sequence_task import numbered

__all__ = ["MarkovChain"]


class MarkovChain(ChanceByDraws):
    """What comes next in a Markov chain whose transitions have to be learnt from the string itself?

    The in-context chains of Edelman et al. 2024 ("The Evolution of Statistical Induction Heads: In-Context
    Learning Markov Chains"). Outputs are logits over the states. They are trained on the state that comes
    next; after the last token, whose successor is not in the batch, on its predictive distribution. The
    target at every prefix is that distribution, (c_ab + 1) / (c_a + S): c_ab is how often state b followed
    the last state a, c_a their sum, S the number of states. This is the posterior mean under the flat prior
    of the transitions, except that what the first state alone says about them is left aside. An answer is
    right when its softmax is within ``tolerance`` of the target in total variation (half the sum of the
    differences).

    Laws: *training* and *matched* draw the rows of the transition matrix for each string, all rows equally
    likely (Dirichlet with parameters 1), and the first state from the stationary distribution. *challenge*
    draws a state that ends the string and occurs nowhere else among the first and the last N tokens (N =
    the longest training length; up to length 2N, the matched law): all that is known of its successors
    lies in between.

    :meth:`baselines` gives what is known to be learnt first: the uniform and the unigram prediction.

    The output summary is the predictive distribution; the update summary, stated for up to five states, is
    the number of times each state followed each, and the last state.

    Example: after ``0 1 0 1 0`` state 0 was followed by 1 twice, so with two states 1 comes next with 3/4.

        >>> MarkovChain(states=2).reference([1, 2, 1, 2, 1])[-1]
        [0.25, 0.75]
    """

    name: ClassVar[str] = "markov_chain"
    question: ClassVar[str] = "What comes next in a chain whose transitions are learnt from the string?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "average"
    summary: ClassVar[str] = "how likely each state is to come next"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    states: int = Field(3, ge=2, le=16)
    """Number S of states."""
    tolerance: float = Field(0.1, gt=0, lt=0.5)
    """Largest total variation distance from the predictive distribution that still counts as right."""

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS and the states."""
        return (BOS, *numbered("", self.states))

    @property
    def d_vocab_out(self) -> int:
        """One logit for each state."""
        return self.states

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        rows = flat_shares((batch, self.states, self.states), generator)
        first = stationary(rows)
        margin = outer_margin(length, window) if law == "challenge" else 0
        if not margin:
            return 1 + draw_chain(rows, _drawn(first, generator), length, generator), {}
        last = integers(self.states, (batch, 1), generator)
        start = _drawn(first.scatter(1, last, 0.0), generator)
        strings = draw_chain(rows, start, length, generator, avoid=last[:, 0], ends=margin)
        return 1 + torch.cat([strings[:, :-1], last], 1), {}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        state = strings - 1
        predictive = _posterior_mean(follower_counts(state, 1, self.states)).float()
        asked = torch.ones_like(strings, dtype=torch.bool)
        return predictive, asked, predictive, transition_counts(state, 1, self.states)

    # ---- what is right ---------------------------------------------------------------------------
    def losses(self, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Float[Tensor, "batch pos"]:
        """Cross-entropy with the next state in nats; at the last token, its mean over what may come next."""
        log_likely = outputs.log_softmax(-1)
        following = (batch.tokens[:, 1:] - 1)[..., None]
        sampled = -log_likely[:, :-1].gather(2, following)[..., 0]
        expected = -(batch.targets[:, -1:] * log_likely[:, -1:]).sum(-1)
        return torch.cat([sampled, expected], 1)

    @property
    def right_within(self) -> str:
        """How near a distribution must come."""
        return f"within {self.tolerance:g} in total variation"

    def shown_outputs(self, outputs: Float[Tensor, "*any out"]) -> Float[Tensor, "*any out"]:
        """The distribution over the next state."""
        return outputs.softmax(-1)

    def correct(self, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Bool[Tensor, "batch pos"]:
        """Whether the softmax of each answer is within ``tolerance`` of the predictive distribution."""
        return self._within(self.shown_outputs(outputs), batch.targets)

    def _within(self, guess: Float[Tensor, "*#any dim"], target: Float[Tensor, "*#any dim"]) -> Bool[Tensor, "*any"]:
        """Whether distributions are within ``tolerance`` in total variation."""
        return (guess - target).abs().sum(-1) / 2 <= self.tolerance + ROUNDING

    def baselines(self, batch: Batch) -> dict[str, Float[Tensor, "batch pos state"]]:
        """Predictions of the next state at every index: ``uniform``, ``unigram`` and ``bigram``.

        ``unigram`` is (c_b + 1) / (n + S), c_b the number of times state b has occurred among n tokens: the
        posterior mean if tokens were independent. ``bigram`` is the target of this task. At BOS all are
        uniform.
        """
        states = torch.arange(self.states, device=batch.tokens.device)
        counts = (batch.tokens[..., None] - 1 == states).cumsum(1)
        found = {"uniform": _posterior_mean(torch.zeros_like(counts)), "unigram": _posterior_mean(counts)}
        bigram = batch.targets.double().clone()
        bigram[:, 0] = 1 / self.states
        return {**found, "bigram": bigram}

    # ---- floors ----------------------------------------------------------------------------------
    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """The predictive distribution from these tokens alone."""
        return self._seen(tokens, tokens[:, -1:])

    def _seen(self, evidence: Int[Tensor, "batch window"], last: Int[Tensor, "batch 1"]) -> Float[Tensor, "batch out"]:
        return _posterior_mean(followers_of(evidence - 1, last - 1, 1, self.states))

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """As for every task, but the first window is told the last state; and ``unigram``, see :meth:`baselines`."""
        found = super().shortcuts(batch, window)
        strings, target = batch.tokens[:, 1:], batch.targets[:, -1]
        found["unigram"] = self._expected_correct(self.baselines(batch)["unigram"][:, -1], target)
        if "first_window" in found:
            guess = self._seen(strings[:, :window], strings[:, -1:])
            found["first_window"] = self._expected_correct(guess, target)
        return found

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        pairs: dict[tuple[str, str], int] = {}
        names, answers, before = self.tokens_names[1:], [], ""
        for token in tokens:
            state = self.tokens_names[token]
            pairs[before, state] = pairs.get((before, state), 0) + 1
            row = [Fraction(1 + pairs.get((state, following), 0)) for following in names]
            answers.append([float(share / sum(row)) for share in row])
            before = state
        return answers


def _posterior_mean(counts: Tensor) -> Float[Tensor, "*batch state"]:
    """Mean of the shares given counts, when all shares are equally likely beforehand (Laplace's rule)."""
    raised = counts.double() + 1
    return raised / raised.sum(-1, keepdim=True)


def _drawn(weights: Float[Tensor, "batch state"], generator: torch.Generator) -> Int[Tensor, "batch 1"]:
    """One state per row, with probabilities in proportion to the weights."""
    bounds = weights.cumsum(1)
    return (uniforms((len(weights), 1), generator) * bounds[:, -1:] >= bounds[:, :-1]).sum(1, keepdim=True)
