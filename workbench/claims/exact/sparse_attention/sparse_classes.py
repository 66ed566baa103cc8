"""Sparse functional attention in exact fractions: what each assumption of theorem 4.3 is for, and that it suffices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import torch

from workbench.claims.claim import Row
from workbench.models import HookedTransformer, ModelConfig
from workbench.theory.limit_transformers.bounds import sparse_attention_error
from workbench.theory.sparse.functional_attention import (
    Content,
    Places,
    Planted,
    SparseAttention,
    counterexamples,
    uniform,
)
from workbench.theory.sparse.position_coupling import CoupledAttention, CoupledLaw, Coupling, is_local_coupling

TRAINED = 6
"""L of proposition C.3."""
LONGEST = 40
CLASSES = 200
NOISE = (Fraction(1, 50), Fraction(1, 10), Fraction(3, 10))
"""delta: shares of strings that the true hypothesis may be wrong on."""
HEADS = 1_000
BACKGROUND = 0
"""The token that stands wherever nothing is planted."""

Gap = tuple[int, Content]
"""A distance of two places and the tokens at them."""


# ---- what cannot be dropped ----------------------------------------------------------------------
def without_locality() -> list[Row]:
    """Losses of the hypothesis that attends to whatever is L apart."""

    def closed(n: int) -> Fraction:
        m = Fraction((n - TRAINED) * (n - TRAINED + 1), 2)
        near, far = n - 1, n - TRAINED
        return (near * m / (m + 1) + far * (1 - 1 / m)) / (near + far)

    return _counterexample("locality", closed)


def without_relative_positions() -> list[Row]:
    """Losses of the hypothesis that changes its mind behind place L."""
    return _counterexample("relative positions", lambda n: Fraction(n - TRAINED, n - TRAINED + 1))


def without_coverage() -> list[Row]:
    """Losses of the hypothesis that knows neighbours alone, where the pair then lies two apart."""
    return _counterexample("coverage", lambda n: 1 - Fraction(2, n * (n - 1)))


def without_realizability() -> list[Row]:
    """Losses of the minimiser and of the other hypothesis; the difference is what even an agnostic learner lacks."""
    rows = _counterexample("realizability", lambda n: Fraction(9, 10) * (1 - Fraction(2, n * (n - 1))))
    case = _case("realizability")
    for n in range(2 * TRAINED, LONGEST + 1):
        other = case.law.loss(case.hypotheses["g01"], n)
        rows.append(
            Row("loss of the other", f"l {n}", float(other), expected=float((1 - Fraction(2, n * (n - 1))) / 10))
        )
        rows.append(Row("gap", f"l {n}", float(case.law.loss(case.hypotheses["g00"], n) - other)))
    return rows


def _case(dropped: str):  # type: ignore[no-untyped-def]
    return next(case for case in counterexamples(TRAINED) if case.dropped == dropped)


def _counterexample(dropped: str, closed: Callable[[int], Fraction]) -> list[Row]:
    case = _case(dropped)
    bad = case.hypotheses[case.fails]
    rows = [Row("loss inside", f"l {n}", float(case.law.loss(bad, n))) for n in range(2, TRAINED + 1)]
    for n in range(TRAINED + 1, LONGEST + 1):
        loss = float(case.law.loss(bad, n))
        rows.append(Row("loss beyond", f"l {n}", loss, expected=float(closed(n))))
        rows += [Row("loss from 2L on", f"l {n}", loss)] if n >= 2 * TRAINED else []
    return rows


def spoilt_learners() -> list[Row]:
    """For every learnt function of a class that is not the true one, the error on the point mass that exposes it.

    The laws up to L are whatever they are; beyond, all mass is put on one string on which the two differ.
    """
    rng = np.random.default_rng(0)
    errors: list[Fraction] = []
    while len(errors) < CLASSES:
        chosen = [_token_head(rng) for _ in range(5)]
        strings = [string for n in (5, 6) for string in product((1, 2, 3), repeat=n)]
        values = [[h(string) for string in strings] for h in chosen]
        true = values[0]
        errors += [
            max(abs(a - b) for a, b in zip(learnt, true, strict=True)) for learnt in values[1:] if learnt != true
        ]
    return [Row("error of a learnt function", "least", float(min(errors)), n=len(errors))]


def _token_head(rng: np.random.Generator) -> SparseAttention[int]:
    admitted = {token for token in (1, 2, 3) if rng.random() < 0.5}
    values = {token: Fraction(int(rng.integers(0, 3)), 2) for token in (1, 2, 3)}
    return SparseAttention(1, lambda s, z: z[0] in admitted, lambda z: values[z[0]])


def heads_are_one_sparse() -> list[Row]:
    """Largest difference between a head of a model and h_{g0, g1} with its scores as g0, over random heads."""
    rng = np.random.default_rng(0)
    tokens_there, n, width = 4, 7, 8
    worst = 0.0
    cfg = ModelConfig(
        d_vocab=tokens_there, n_layers=1, d_model=width, n_heads=1, d_head=3, n_ctx=n, d_vocab_out=2, attn_only=True,
        normalization_type=None, positions="learned",
    )  # fmt: skip
    model = HookedTransformer(cfg).double()
    attn = model.blocks[0].attn
    half = width // 2
    for _ in range(HEADS):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.as_tensor(rng.normal(size=tuple(parameter.shape))))
            # Tokens and places in dimensions of their own, and values of tokens alone: g1 knows no place.
            model.embed.W_E[:, half:] = 0.0  # type: ignore[index,operator]
            model.pos_embed.W_pos[:, :half] = 0.0  # type: ignore[index,operator,union-attr]
            attn.W_V[0, half:] = 0.0  # type: ignore[index,operator,union-attr]
            string = torch.as_tensor(rng.integers(0, tokens_there, (1, n)))
            _, cache = model.run_with_cache(string, names_filter=["blocks.0.hook_attn_out"])
        parts = {name: p.detach().numpy() for name, p in model.named_parameters()}
        at = "blocks.0.attn."
        seen = parts["embed.W_E"][string[0]] + parts["pos_embed.W_pos"][:n]
        q = seen[-1] @ parts[f"{at}W_Q"][0] + parts[f"{at}b_Q"][0]
        scores = (seen @ parts[f"{at}W_K"][0] + parts[f"{at}b_K"][0]) @ q / cfg.attn_scale
        value = seen @ parts[f"{at}W_V"][0] + parts[f"{at}b_V"][0]
        weights = np.exp(scores - scores.max())
        said = (weights / weights.sum()) @ value @ parts[f"{at}W_O"][0] + parts[f"{at}b_O"]
        worst = max(worst, float(np.abs(said - cache["blocks.0.hook_attn_out"][0, -1].numpy()).max()))
    return [Row("largest difference", "", worst, n=HEADS)]


# ---- what suffices -------------------------------------------------------------------------------
@dataclass(frozen=True)
class LocalClass:
    """A hypothesis that is local and relative, and a realizable law for it, on strings of one background token.

    Attributes:
        admitted: (distance, content) pairs with g0 = 0, without background; all others have -inf.
        values: g1 by content.
    """

    admitted: frozenset[Gap]
    values: Mapping[Content, Fraction]

    def __call__(self, gap: int, content: Content, length: int, place: int) -> Fraction:
        """The exact value on the string with ``content`` at ``place`` and ``place + gap`` and background elsewhere.

        Admitted contents hold no background, so that the planted pair alone can be; else all pairs are averaged.
        """
        if (gap, content) in self.admitted:
            return self.values[content]
        before, between, behind = place - 1, gap - 1, length - place - gap
        first, second = content
        rest = length - 2
        counts = (
            (content, 1),
            ((BACKGROUND, first), before),
            ((first, BACKGROUND), between + behind),
            ((BACKGROUND, second), before + between),
            ((second, BACKGROUND), behind),
            ((BACKGROUND, BACKGROUND), rest * (rest - 1) // 2),
        )
        return sum((count * self.values[pair] for pair, count in counts), Fraction(0)) / (length * (length - 1) // 2)


def minimisers() -> list[Row]:
    """Losses beyond L of all exact minimisers of random finite classes that are local and relative, L = 4 L_local."""
    rng = np.random.default_rng(0)
    worst, tied = Fraction(0), 0
    for _ in range(CLASSES):
        vocabulary, local = int(rng.integers(2, 4)), int(rng.integers(2, 4))
        losses = _losses_of_minimisers(rng, vocabulary, local, 4 * local, (8 * local, 16 * local))
        tied += len(losses)
        worst = max(worst, *losses)
    return [Row("largest loss of a minimiser", "at 2L and 4L", float(worst), n=tied)]


def shorter_training() -> list[Row]:
    """The same with L from L_local to 4 L_local: how many of the minimisers then fail."""
    rows = []
    for factor in (1, 2, 3, 4):
        rng = np.random.default_rng(1)
        losses = [loss for _ in range(50) for loss in _losses_of_minimisers(rng, 2, 3, factor * 3, (48,))]
        failed = sum(loss > 0 for loss in losses)
        rows.append(Row("share of minimisers that fail", f"L {factor} x L_local", failed / len(losses), n=len(losses)))
    return rows


def noisy_minimisers() -> list[Row]:
    """Losses at 2L and 4L of exact minimisers where a share of the strings follows another rule, over theorem 4.3's
    bound, per share."""
    rows = []
    for share in NOISE:
        rng = np.random.default_rng(0)
        over_bound, over_noise, tied = 0.0, Fraction(0), 0
        for _ in range(CLASSES):
            drawn = RandomClass.draw(rng, int(rng.integers(2, 4)), int(rng.integers(2, 4)), noise=share)
            trained = 4 * drawn.local
            for hypothesis in drawn.minimisers(trained):
                tied += 1
                for tested in (2 * trained, 4 * trained):
                    error = drawn.loss(hypothesis, tested)
                    bound = sparse_attention_error(
                        length=trained, longest=tested, local=drawn.local, coverage=float(drawn.coverage(trained)),
                        coverage_longest=float(drawn.coverage(tested)), realizability=float(share),
                    ).value  # fmt: skip
                    over_bound = max(over_bound, float(error) / bound)
                    over_noise = max(over_noise, error / share)
        rows.append(Row("ratio of exact error to the bound", f"delta {float(share):g}", over_bound, n=tied))
        rows.append(Row("error over delta", f"delta {float(share):g}", float(over_noise), n=tied))
    return rows


@dataclass(frozen=True)
class RandomClass:
    """A random finite class of local and relative hypotheses, and a law that the first of them realises.

    The true hypothesis admits some (distance, content) pairs, and the law plants those. The others admit random pairs,
    some of them all that the true one does: these may tie. With noise a share of the strings has another pair planted,
    with answers of its own.

    Attributes:
        local: the largest distance.
        planted: the true pairs.
        values: g1 of the true hypothesis, the answers.
        hypotheses: all of the class, the true one first.
        noise: the share of other pairs.
        noisy: these pairs and their answers.
    """

    local: int
    planted: frozenset[Gap]
    values: Mapping[Content, Fraction]
    hypotheses: tuple[LocalClass, ...]
    noise: Fraction
    noisy: Mapping[Gap, Fraction]

    @staticmethod
    def draw(rng: np.random.Generator, vocabulary: int, local: int, noise: Fraction = Fraction(0)) -> RandomClass:
        """A class over so many tokens beside the background."""
        contents = [pair for pair in product(range(vocabulary + 1), repeat=2) if BACKGROUND not in pair]
        pairs = [(gap, content) for gap in range(1, local + 1) for content in contents]
        true = frozenset(pairs[i] for i in rng.choice(len(pairs), int(rng.integers(1, 4)), replace=False))
        every = list(product(range(vocabulary + 1), repeat=2))
        values = {content: Fraction(int(rng.integers(0, 2))) for content in every}
        hypotheses = [LocalClass(true, values)]
        for _ in range(6):
            more = frozenset(pairs[i] for i in rng.choice(len(pairs), int(rng.integers(1, 4)), replace=False))
            other = {content: Fraction(int(rng.integers(0, 2))) for content in every}
            hypotheses += [LocalClass(true | more, values), LocalClass(more, other), LocalClass(true | more, other)]
        noisy: dict[Gap, Fraction] = {}
        if noise:
            others = [pair for pair in pairs if pair not in true]
            chosen = rng.choice(len(others), int(rng.integers(1, 4)), replace=False)
            noisy = {others[i]: Fraction(int(rng.integers(0, 2))) for i in chosen}
            # These fit the other rule and forget the true one, or one pair of it, which may pay at short lengths.
            fitting = values | {content: answer for (_, content), answer in noisy.items()}
            forgetful = [true - {pair} for pair in sorted(true)]
            hypotheses += [
                LocalClass(kept | frozenset(noisy), fitting) for kept in (true, frozenset[Gap](), *forgetful)
            ]
        return RandomClass(local, true, values, tuple(hypotheses), noise, noisy)

    def loss(self, hypothesis: LocalClass, length: int) -> Fraction:
        """Expected distance of a hypothesis from the answer at one length, exactly."""
        clean = _mean_distance(hypothesis, {pair: self.values[pair[1]] for pair in self.planted}, length)
        if not self.noise:
            return clean
        return (1 - self.noise) * clean + self.noise * _mean_distance(hypothesis, self.noisy, length)

    def minimisers(self, trained: int) -> list[LocalClass]:
        """All hypotheses with the least loss on lengths L/2 to L."""
        lengths = range(max(trained // 2, 2), trained + 1)
        risks = [sum((self.loss(h, n) for n in lengths), Fraction(0)) for h in self.hypotheses]
        return [h for h, risk in zip(self.hypotheses, risks, strict=True) if risk == min(risks)]

    def coverage(self, length: int) -> Fraction:
        """eta_l: how much likelier a place of a pair is at one length than at another, from L_local on."""

        def places(law: Iterable[Gap], n: int) -> int:
            return sum(max(n - gap, 0) for gap, _ in law)

        laws = [law for law in (self.planted, frozenset(self.noisy)) if law]
        shorter = range(self.local, length + 1)
        return max(Fraction(places(law, length), few) for law in laws for n in shorter if (few := places(law, n)))


def _mean_distance(hypothesis: LocalClass, answers: Mapping[Gap, Fraction], length: int) -> Fraction:
    """Mean distance from the answers over all pairs and the places that they fit at; 0 where none fits."""
    total, planted = Fraction(0), 0
    for (gap, content), answer in sorted(answers.items()):
        for place in range(1, length - gap + 1):
            total += abs(hypothesis(gap, content, length, place) - answer)
            planted += 1
    return total / planted if planted else Fraction(0)


def _losses_of_minimisers(
    rng: np.random.Generator, vocabulary: int, local: int, trained: int, tested: tuple[int, ...]
) -> list[Fraction]:
    """The largest loss at the tested lengths of every minimiser of a random class on lengths L/2 to L."""
    drawn = RandomClass.draw(rng, vocabulary, local)
    return [max(drawn.loss(h, n) for n in tested) for h in drawn.minimisers(trained)]


# ---- coverage and coupling -----------------------------------------------------------------------
def shift_ratios() -> list[Row]:
    """Largest ratio of chances of one pattern at two lengths, for uniformly shifted pairs up to distance 4."""
    rows = []
    for length in range(4, LONGEST + 1):
        chances = {n: {gap: Fraction(1, n - gap) for gap in range(1, min(5, n))} for n in range(4, length + 1)}
        ratios = [
            max(chances[length][gap] / chances[n][gap], chances[n][gap] / chances[length][gap])
            for n in range(4, length + 1)
            for gap in chances[n]
        ]
        rows.append(Row("largest ratio over l", f"l {length}", float(max(ratios) / length)))
    return rows


def coupling_losses() -> list[Row]:
    """Losses of a local hypothesis on far pairs, with the two places coupled and without."""

    def far(length: int) -> dict[Places, Fraction]:
        half = length // 2
        return uniform((i, i + half) for i in range(1, length - half + 1))

    def joined(places: Places, length: int) -> Coupling:
        return lambda j: places[0] if j in places else j

    law = Planted(far, {(2, 2): Fraction(1)}, {(1,): Fraction(1)}, lambda content: Fraction(1))
    found: SparseAttention[int] = SparseAttention(2, lambda s, z: z == (2, 2), lambda z: Fraction(z == (2, 2)))
    rows = []
    for length in range(4, 10):
        coupled = CoupledLaw(law, 2, joined).loss(CoupledAttention(found, size=1, local=0), length)
        plain = law.loss(SparseAttention(2, lambda s, z: s[-1] - s[0] <= 1 and z == (2, 2), found.value), length)
        local = all(is_local_coupling(joined(places, length), places, length, 0) for places in far(length))
        rows.append(Row("loss with coupling", f"l {length}", float(coupled)))
        rows.append(Row("loss without", f"l {length}", float(plain)))
        rows.append(Row("the coupling is local", f"l {length}", float(local)))
    return rows


def pose_differences() -> list[Row]:
    """Differences of ids that PoSE trains: which occur in 100,000 draws, and the law of the gap between the chunks."""
    from scipy.stats import chisquare

    from workbench.models.positions.id_samplers import Pose

    tokens, n_ctx, draws = 16, 64, 100_000
    ids = Pose().training(draws, tokens, n_ctx, torch.Generator().manual_seed(0)).numpy()
    seen: set[int] = set()
    for first in range(tokens):
        seen |= set(np.unique(ids[:, first + 1 :] - ids[:, first : first + 1]).tolist())
    wanted = set(range(1, n_ctx - 1))
    places = n_ctx - tokens
    gaps = np.bincount((ids[:, -1] - ids[:, 0]) - (tokens - 1), minlength=places)
    law = np.array([1 / places, *(2 * (places - d) / places**2 for d in range(1, places))])
    return [
        Row("differences that never occur", "", float(len(wanted - seen)), n=draws),
        Row("differences beyond the test lengths", "", float(len(seen - wanted)), n=draws),
        Row("gaps of another law at p < 1e-6", "", float(chisquare(gaps, law * draws).pvalue < 1e-6), n=draws),
    ]
