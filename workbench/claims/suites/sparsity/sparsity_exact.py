"""Sparse functional attention, exactly: Golowich et al. 2025, arXiv 2502.16792."""

from __future__ import annotations

from workbench.claims.claim import Claim, Condition, Suite

PAPER = "Golowich et al., arXiv 2502.16792"
BUILT = "workbench.claims.exact.sparse_attention.sparse_classes"
NONE = {"at_least": 0.0, "at_most": 0.0}
REBUILT = (
    "the lemma's wording was not at hand: this is the inequality that the theorem's constants are made of, derived here"
)


def _needed(letter: str, number: str, assumption: str, rows: str) -> Claim:
    return Claim(
        id=number,
        kind="E",
        source=f"{PAPER}, proposition C.3{letter}",
        prediction=f"Without {assumption} an exact minimiser can be perfect up to L and fail at every length beyond.",
        statistic="exact loss of the bad minimiser",
        conditions=(
            Condition("loss inside", **NONE),
            Condition("loss beyond", near=1e-12),
            Condition("loss from 2L on", at_least=0.5),
        ),
        scale="L = 6, all lengths to 40, fractions",
        rows=f"{BUILT}:{rows}",
        minutes=0.1,
        settled="the threshold from 2 L on",
    )


SUITE = Suite(
    "sparsity-exact",
    "Sparse functional attention, exactly",
    (
        Claim(
            id="SE01",
            kind="E",
            source=f"{PAPER}, proposition 3.1",
            prediction="Without assumptions on the laws, length generalization can always be spoilt.",
            statistic="error of a learnt function that is not the true one, on the point mass that exposes it",
            conditions=(Condition("error of a learnt function", at_least=0.05),),
            scale="200 learnt functions of random classes of five 1-sparse ones over 3 letters",
            rows=f"{BUILT}:spoilt_learners",
            minutes=0.2,
            settled="the threshold",
        ),
        Claim(
            id="SE02",
            kind="E",
            source=f"{PAPER}, propositions 3.2 and B.1",
            prediction="A single attention head is the 1-sparse class.",
            statistic="largest difference between a model's head and h_{g0, g1}",
            conditions=(Condition("largest difference", at_most=1e-10),),
            scale="1,000 random heads, float64",
            rows=f"{BUILT}:heads_are_one_sparse",
            minutes=0.2,
        ),
        _needed("a", "SE03", "locality", "without_locality"),
        _needed("b", "SE04", "relative positions", "without_relative_positions"),
        Claim(
            id="SE05",
            kind="E",
            source=f"{PAPER}, proposition C.3c",
            prediction="Without realizability not even an agnostic guarantee is left.",
            statistic="exact losses of the minimiser and of the other hypothesis",
            conditions=(
                Condition("loss inside", **NONE),
                Condition("loss beyond", near=1e-12),
                Condition("loss of the other", near=1e-12),
                Condition("gap", at_least=0.7),
            ),
            scale="L = 6, all lengths to 40, fractions",
            rows=f"{BUILT}:without_realizability",
            minutes=0.2,
        ),
        _needed("d", "SE06", "coverage", "without_coverage"),
        Claim(
            id="SE07",
            kind="E",
            source=f"{PAPER}, theorem 4.3 with delta = 0",
            prediction="Exact risk minimization over a local and relative class is right at every length.",
            statistic="largest loss of any exact minimiser beyond L, ties all tried",
            conditions=(Condition("largest loss of a minimiser", **NONE),),
            scale="200 random finite classes of 19, k = 2, 2 or 3 letters, L_local 2 or 3, L = 4 L_local, tested at 2L "
            "and 4L, fractions",
            rows=f"{BUILT}:minimisers",
            minutes=0.5,
            note="the background is one token, so that a class can realise the law exactly",
        ),
        Claim(
            id="SE08",
            kind="E",
            source=f"{PAPER}, theorem 4.3 with delta > 0",
            prediction="The error is at most eta_L eta_L' L L'^2 delta, up to a constant.",
            statistic="ratio of exact error to the bound, the largest over minimisers, ties all tried",
            conditions=(Condition("ratio of exact error to the bound", at_most=1),),
            scale="200 random finite classes of 22 to 24 as for SE07, a share delta of 0.02, 0.1 or 0.3 of the strings "
            "by another rule, tested at 2L and 4L, fractions",
            rows=f"{BUILT}:noisy_minimisers",
            minutes=0.8,
            note="the bound is loose by orders: no minimiser errs on more than the share delta itself",
        ),
        Claim(
            id="SE09",
            kind="E",
            source=f"{PAPER}, theorem 4.3",
            prediction="The theorem asks for L of at least 4 L_local.",
            statistic="share of exact minimisers that fail at 48, by L",
            conditions=(),
            scale="50 random classes, L_local 3, L from L_local to 4 L_local",
            rows=f"{BUILT}:shorter_training",
            minutes=0.5,
            note="a description: L = L_local leaves the largest distance untrained; from 2 L_local on none failed here",
        ),
        Claim(
            id="SE10",
            kind="E",
            source=f"{PAPER}, Lemma C.1, as it enters theorem 4.3",
            prediction="Of strings with i further blocks a local functional is wrong by at most 3 i epsilon, if by at "
            "most epsilon on short ones.",
            statistic="error over 3 i epsilon, the largest",
            conditions=(Condition("difference over 3 i epsilon", at_most=1),),
            scale="300 random chains of independent blocks, the worst 5 made worse in 100 steps each; epsilon on one "
            "to four blocks, i = 1 to 20; by the exact law of the sums, float64",
            rows="workbench.claims.exact.sparse_attention.overlapping_windows:chain_extensions",
            minutes=0.3,
            note=REBUILT,
        ),
        Claim(
            id="SE11",
            kind="E",
            source=f"{PAPER}, Lemma C.2, as it enters theorem 4.3",
            prediction="The mean over three blocks is no farther from a point than those over the first two, the last "
            "two and the middle one together.",
            statistic="distance over the sum of the three, the largest",
            conditions=(Condition("value over the bound", at_most=1 + 1e-9),),
            scale="100,000 random weights and vectors each of dimension 1, 2, 5",
            rows="workbench.claims.exact.sparse_attention.overlapping_windows:whole_and_windows",
            minutes=0.1,
            note=REBUILT,
        ),
        Claim(
            id="SE12",
            kind="E",
            source=f"{PAPER}, after assumption 4.2",
            prediction="A uniformly shifted local law has eta_l of at most l.",
            statistic="largest ratio of chances of one pattern at two lengths, over l",
            conditions=(Condition("largest ratio over l", at_most=1),),
            scale="pairs up to distance 4, l to 40, fractions",
            rows=f"{BUILT}:shift_ratios",
            minutes=0.1,
        ),
        Claim(
            id="SE13",
            kind="E",
            source=f"{PAPER}, definition 4.1 and proposition 4.4",
            prediction="Position coupling makes a far problem local.",
            statistic="exact losses of a local hypothesis with the two places coupled, and without",
            conditions=(
                Condition("loss with coupling", **NONE),
                Condition("the coupling is local", at_least=1),
                Condition("loss without", at_least=0.1),
            ),
            scale="pairs half the string apart, l = 4 to 9, fractions",
            rows=f"{BUILT}:coupling_losses",
            minutes=0.1,
            settled="the threshold",
        ),
        Claim(
            id="SE14",
            kind="E",
            source=f"{PAPER}, PoSE",
            prediction="PoSE's training ids cover every difference up to the test length.",
            statistic="differences that never occur, that lie beyond, and the law of the gap between the chunks",
            conditions=(
                Condition("differences that never occur", **NONE),
                Condition("differences beyond the test lengths", **NONE),
                Condition("gaps of another law at p < 1e-6", **NONE),
            ),
            scale="16 tokens, 63 ids, 100,000 draws",
            rows=f"{BUILT}:pose_differences",
            minutes=0.2,
        ),
        Claim(
            id="SE15",
            kind="E",
            source=f"{PAPER}, sections 4.1 and 5.2",
            prediction="The worked id vectors of the three coupled formats are as printed.",
            statistic="ids that the tasks give otherwise",
            conditions=(Condition("ids that differ", **NONE),),
            scale="reversal of 1 to 12 tokens, parity with jumps 1 to 4, two chains of two assignments",
            rows="workbench.claims.exact.sparse_attention.coupled_formats:worked_ids",
            minutes=0.1,
            note="for the last two the paper states the rule; the vectors are worked out from it by hand",
        ),
    ),
)
