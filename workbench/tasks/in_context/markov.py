"""In-context Markov chains: the predictive distribution of the next state, given the sequence so far."""

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
from workbench.tasks.sequences.sequence_task import numbered_names

__all__ = ["MarkovChain"]


class MarkovChain(ChanceByDraws):
    """Predict the next state of a Markov chain whose transitions have to be learnt from the sequence itself.

    The in-context chains of Edelman et al. 2024 ("The Evolution of Statistical Induction Heads: In-Context Learning
    Markov Chains"). Outputs are logits over the states. They are trained on the state that comes next. The successor of
    the last token is not in the batch, so the last position is trained on its predictive distribution.

    The target at every prefix is that distribution, (c_ab + 1) / (c_a + S). Here c_ab is how often state b followed the
    last state a, c_a is their sum, and S is the number of states. It is the posterior mean under the flat prior of the
    transitions, ignoring the evidence of the first state. An answer is right if its softmax is within ``tolerance`` of
    the target in total variation (half the sum of the absolute differences).

    Distributions: *training* and *matched* draw the rows of the transition matrix for each sequence, uniform on the
    simplex (Dirichlet with parameters 1). The first state comes from the stationary distribution. *challenge* draws a
    state that ends the sequence and occurs nowhere else among the first and the last N tokens (N = the longest training
    length). Up to length 2N, it equals *matched*. So all evidence on its successors is in between.

    :meth:`baselines` returns the two predictions that are known to be learnt first: uniform and unigram.

    Task states: ``output_summary`` is the predictive distribution. ``update_summary``, stated for up to five states, is
    the number of times each state followed each, and the last state.

    Example: after ``0 1 0 1 0`` state 0 was followed by 1 twice, so with two states 1 comes next with probability 3/4.

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
        return (BOS, *numbered_names("", self.states))

    @property
    def d_vocab_out(self) -> int:
        """Number of outputs: one logit for each state."""
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
            return 1 + draw_chain(rows, _one_state(first, generator), length, generator), {}
        last = integers(self.states, (batch, 1), generator)
        start = _one_state(first.scatter(1, last, 0.0), generator)
        strings = draw_chain(rows, start, length, generator, avoid=last[:, 0], ends=margin)
        return 1 + torch.cat([strings[:, :-1], last], 1), {}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        state = strings - 1
        predictive = _posterior_mean(follower_counts(state, 1, self.states)).float()
        supervised = torch.ones_like(strings, dtype=torch.bool)
        return predictive, supervised, predictive, transition_counts(state, 1, self.states)

    # ---- right answers ---------------------------------------------------------------------------
    def losses(self, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Float[Tensor, "batch pos"]:
        """Return the cross-entropy with the next state in nats; at the last token, with the predictive distribution."""
        log_likely = outputs.log_softmax(-1)
        following = (batch.tokens[:, 1:] - 1)[..., None]
        sampled = -log_likely[:, :-1].gather(2, following)[..., 0]
        expected = -(batch.targets[:, -1:] * log_likely[:, -1:]).sum(-1)
        return torch.cat([sampled, expected], 1)

    @property
    def right_within(self) -> str:
        """The tolerance, in words."""
        return f"within {self.tolerance:g} in total variation"

    def shown_outputs(self, outputs: Float[Tensor, "*any out"]) -> Float[Tensor, "*any out"]:
        """Return the distribution over the next state."""
        return outputs.softmax(-1)

    def correct(self, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Bool[Tensor, "batch pos"]:
        """Whether the softmax of each answer is within ``tolerance`` of the predictive distribution."""
        return self._within(self.shown_outputs(outputs), batch.targets)

    def _within(self, guess: Float[Tensor, "*#any dim"], target: Float[Tensor, "*#any dim"]) -> Bool[Tensor, "*any"]:
        """Whether distributions are within ``tolerance`` in total variation."""
        return (guess - target).abs().sum(-1) / 2 <= self.tolerance + ROUNDING

    def baselines(self, batch: Batch) -> dict[str, Float[Tensor, "batch pos state"]]:
        """Return predictions of the next state at every index: ``uniform``, ``unigram`` and ``bigram``.

        ``unigram`` is (c_b + 1) / (n + S), where c_b is the number of times state b has occurred among n tokens. It is
        the posterior mean if tokens were independent. ``bigram`` is the target of this task. At BOS all are uniform.
        """
        states = torch.arange(self.states, device=batch.tokens.device)
        counts = (batch.tokens[..., None] - 1 == states).cumsum(1)
        simple = {"uniform": _posterior_mean(torch.zeros_like(counts)), "unigram": _posterior_mean(counts)}
        bigram = batch.targets.double().clone()
        bigram[:, 0] = 1 / self.states
        return {**simple, "bigram": bigram}

    # ---- baselines -------------------------------------------------------------------------------
    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the predictive distribution computed from these tokens only."""
        return self._seen(tokens, tokens[:, -1:])

    def _seen(self, evidence: Int[Tensor, "batch window"], last: Int[Tensor, "batch 1"]) -> Float[Tensor, "batch out"]:
        return _posterior_mean(followers_of(evidence - 1, last - 1, 1, self.states))

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the shortcuts of every task and ``unigram``. The first window also knows the last state."""
        hits = super().shortcuts(batch, window)
        strings, target = batch.tokens[:, 1:], batch.targets[:, -1]
        hits["unigram"] = self._expected_correct(self.baselines(batch)["unigram"][:, -1], target)
        if "first_window" in hits:
            guess = self._seen(strings[:, :window], strings[:, -1:])
            hits["first_window"] = self._expected_correct(guess, target)
        return hits

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
    """Return the posterior mean of shares given counts, under a uniform prior (Laplace's rule)."""
    raised = counts.double() + 1
    return raised / raised.sum(-1, keepdim=True)


def _one_state(weights: Float[Tensor, "batch state"], generator: torch.Generator) -> Int[Tensor, "batch 1"]:
    """Draw one state per row, with probabilities in proportion to the weights."""
    bounds = weights.cumsum(1)
    return (uniforms((len(weights), 1), generator) * bounds[:, -1:] >= bounds[:, :-1]).sum(1, keepdim=True)
