"""Claims of Izzo, Nichani and Lee 2025 (arXiv 2510.27015), exactly: quantitative bounds."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np

from workbench.claims.claim import Condition, Row, Suite
from workbench.claims.claim_on_function import claim, claims_of
from workbench.claims.papers import IZZO

BITS = (4, 8, 12)
GAMMAS = (0.5, 1.0, 2.0)
SCORE_ROWS = 1_000
LOCAL_TERMS = (0.5, 1.0, 1.5, 2.0)
KEYS = (10, 100, 1_000, 10_000, 100_000)
HEADS = 200
LETTERS = 2
LONGEST = 8
EPSILONS = (0.2, 0.1, 0.05, 0.025)
SIMULATED_PAIRS = 100
SIMULATED_LENGTH = 10_000
CHAIN_EPSILONS = (1 / 8, 1 / 16, 1 / 32, 1 / 64)
FINE_EPSILONS = (1 / 64, 1 / 128, 1 / 256, 1 / 512)
RARE = (1, 10**6, 10**12, 10**18)
"""Counts of token types that are each far rarer than the next."""
RARE_LENGTH = 1_000_000
PAIRS = 200
ALPHAS = (0.5, 1.0, 2.0)
SOURCES = 8
NORMS = (1.0, 2.0, 4.0, 6.0, 8.0)
OMEGAS = (1.0, 2.0, 4.0, 8.0)
PERIODS = (2, 3, 5, 8)
NEARBY = 1_000
"""Tokens of the strings between whose averages slopes are taken."""


@claim(
    "QB01",
    source=IZZO.states("section 4"),
    prediction="From 2^(p/gamma) keys on p bits round every sub-maximal weight to 0.",
    statistic="the smallest number of keys at which rounded attention is a hardmax",
    conditions=Condition("threshold", near=0),
    scale="p = 4, 8, 12; gamma = 0.5, 1, 2",
    minutes=0.1,
)
def rounding_thresholds() -> list[Row]:
    """The number of keys from which p bits round every sub-maximal weight away, found by trying, next to
    2^(p/gamma)."""
    from workbench.claims.exact.rounding_attention import first_hard_length

    rows = []
    for bits in BITS:
        for gamma in GAMMAS:
            power = bits / gamma
            expected = 2 ** math.ceil(power) if power == int(power) else math.ceil(2**power)
            length = first_hard_length(bits, gamma, expected)
            rows.append(Row("threshold", f"p {bits}, gamma {gamma:g}", float(length), expected=float(expected)))
    return rows


@claim(
    "QB02",
    source=IZZO.states("section 4"),
    prediction="From that number on rounded attention is exactly uniform over the argmax set.",
    statistic="total variation of rounded attention to hardmax, the largest",
    conditions=Condition("total variation", at_most=1e-12),
    scale="1,000 random rows of scores with ties, 1 to 4 times the threshold",
    minutes=0.1,
    note="each weight is rounded, not their sum: for gamma of at most 1 the best key may truly hold next to nothing",
)
def rounding_distances() -> list[Row]:
    """Total variation between rounded attention and hardmax at and above the threshold, on random rows of scores."""
    from workbench.theory.limit_transformers.precision import (
        argmax_mass,
        hardmax_weights,
        log10_p_bit_length,
        p_bit_weights,
    )

    rng = np.random.default_rng(0)
    worst, masses = 0.0, []
    for _ in range(SCORE_ROWS):
        gaps = np.concatenate([[0.0], np.sort(rng.choice(np.arange(1, 40), rng.integers(2, 8))) / 8.0])
        scores = rng.normal() + rng.permutation(-np.repeat(gaps, rng.integers(1, 4, len(gaps))))
        bits, gamma = int(rng.choice(BITS)), float(np.min(gaps[gaps > 0]))
        keys = math.ceil(10 ** log10_p_bit_length(bits, gamma) * (1 + 1e-9)) * int(rng.integers(1, 5))
        best = hardmax_weights(scores, 1e-9)
        worst = max(worst, 0.5 * float(np.abs(p_bit_weights(scores, keys, bits) - best).sum()))
        masses.append(argmax_mass(keys, gamma, 1.0))
    return [
        Row("total variation", "largest", worst, n=SCORE_ROWS),
        Row("true weight of one best key", "least", min(masses), n=SCORE_ROWS),
        Row("true weight of one best key", "gamma 1, p 8, 256 keys", argmax_mass(256, 1.0)),
        Row("true weight of one best key", "gamma 0.5, p 8, 65,536 keys", argmax_mass(65_536, 0.5)),
    ]


@claim(
    "QB03",
    source=IZZO.reading(),
    prediction="The margin is the least non-zero gap to the best logit over all that a query can see.",
    statistic="largest difference between enumerated margins and those of all strings",
    conditions=Condition("largest difference of margins", at_most=1e-9),
    scale="200 random heads, period 1 to 3, locality 0 to 2, all strings of 2 letters to length 8",
    minutes=0.1,
    note="gamma_top is the paper's margin; gamma_pair, between any two scores, counts where the best is missing",
)
def brute_margins() -> list[Row]:
    """Return the margins of random heads by enumerating what a query can see, and by enumerating all strings of up to 8
    letters.
    """
    from workbench.claims.exact.short_strings import margins_seen
    from workbench.theory.limit_transformers.limit_heads import LimitHead, margins

    rng = np.random.default_rng(0)
    largest = {"gamma_top": 0.0, "gamma_pair": 0.0}
    finite = dict.fromkeys(largest, 0)
    strings = [np.array(word) for n in range(1, LONGEST + 1) for word in product(range(LETTERS), repeat=n)]
    for _ in range(HEADS):
        period, locality = int(rng.integers(1, 4)), int(rng.integers(0, 3))
        content = rng.integers(-3, 4, (LETTERS, period, LETTERS, period)) / 2 + 0.1 * rng.integers(0, 2)
        head = LimitHead(content, rng.integers(-2, 3, locality + 1) / 4)
        enumerated = margins(head)
        top, pair = margins_seen(head, strings)
        for name, margin, by_strings in (("gamma_top", enumerated.top, top), ("gamma_pair", enumerated.pair, pair)):
            largest[name] = max(largest[name], 0.0 if margin == by_strings else abs(margin - by_strings))
            finite[name] += bool(np.isfinite(margin))
    return [Row("largest difference of margins", name, largest[name], n=finite[name]) for name in largest]


@claim(
    "QB04",
    source=IZZO.reading("theorem 4.1"),
    prediction="A string of about epsilon^-2 tokens stands in for a long one, for two functions at once.",
    statistic="slope of log length of the shortest string on log 1/epsilon; largest error over epsilon",
    conditions=(
        Condition("slope of log length on log 1/epsilon", at_most=2),
        Condition("error over epsilon", at_most=1 + 1e-6),
    ),
    scale="100 random pairs of heads, strings of 10,000 tokens, epsilon 0.2 to 0.025, integer programs",
    minutes=0.3,
)
def simulated_lengths() -> list[Row]:
    """The shortest string that serves two random heads at once, against epsilon; and its error."""
    from workbench.claims.exact.short_strings import slope_over_cases
    from workbench.theory.limit_transformers.limit_heads import LimitHead
    from workbench.theory.limit_transformers.one_layer_simulation import simulate

    rng = np.random.default_rng(1)
    lengths = np.zeros((SIMULATED_PAIRS, len(EPSILONS)))
    worst = 0.0
    for pair in range(SIMULATED_PAIRS):
        heads = [LimitHead(rng.integers(-2, 3, (4, 1, 4, 1)).astype(float), np.zeros(1), bos=0) for _ in range(2)]
        x = np.concatenate([[0], rng.choice([1, 2, 3], p=rng.dirichlet(np.ones(3)), size=SIMULATED_LENGTH)])
        for at, epsilon in enumerate(EPSILONS):
            short = simulate(heads, x, epsilon)
            worst = max(worst, short.error / epsilon)
            lengths[pair, at] = len(short.tokens)
    slope, low, high = slope_over_cases(np.log(1 / np.array(EPSILONS)), np.log(lengths), rng)
    middle = np.median(lengths, 0)
    return [
        Row("slope of log length on log 1/epsilon", "", slope, low, high, n=SIMULATED_PAIRS),
        Row("error over epsilon", "largest", worst, n=lengths.size),
        *(
            Row("median length", f"epsilon {e:g}", float(m), n=SIMULATED_PAIRS)
            for e, m in zip(EPSILONS, middle, strict=True)
        ),
    ]


@claim(
    "QB05",
    source=IZZO.reading("theorem 4.1"),
    prediction="A chain of m tie sets needs strings of epsilon^-(m-1) tokens, more than epsilon^-2 for m over 3.",
    statistic="slope of log length of the shortest string on log 1/epsilon",
    conditions=(
        Condition("slope of log length on log 1/epsilon", near=0.1),
        Condition("length of z", near=0),
    ),
    scale="m = 2, 3, 4; integer programs at epsilon 1/8 to 1/64, the slope at 1/64 to 1/512 by their closed form",
    minutes=0.1,
    note="a limit of the theorem's epsilon^-2, which is for one head",
    settled="the epsilons of the slope: at 1/8 to 1/64 four tie sets still read 3.10",
)
def chain_slopes() -> list[Row]:
    """Return the length of the shortest string for chains of m tie sets, each sharing one token type with the next,
    against epsilon.
    """
    from workbench.claims.exact.short_strings import chain_length
    from workbench.theory.limit_transformers.one_layer_simulation import shorten_counts

    rows = []
    for links in (2, 3, 4):
        weights = np.zeros((links, links))
        weights[0, 0] = 1.0
        for at in range(1, links):
            weights[at, at - 1 : at + 1] = 1.0
        fine = [chain_length(links, epsilon) for epsilon in FINE_EPSILONS]
        slope = float(np.polyfit(np.log(1 / np.array(FINE_EPSILONS)), np.log(fine), 1)[0])
        rows.append(Row("slope of log length on log 1/epsilon", f"{links} tie sets", slope, expected=float(links - 1)))
        for epsilon in CHAIN_EPSILONS[: 4 if links < 4 else 2]:
            counts, optimal = shorten_counts(RARE[:links], weights, epsilon)
            assert optimal, f"{links} tie sets at {epsilon}"
            item, closed = f"{links} tie sets, epsilon {epsilon:g}", float(chain_length(links, epsilon))
            rows.append(Row("length of z", item, float(counts.sum()), expected=closed))
    return rows


@claim(
    "QB06",
    source=IZZO.reading("theorem 4.1"),
    prediction="A short string must keep the statistics of every tie set; overall frequencies are not enough.",
    statistic="largest difference of the weight of a token at the last query",
    conditions=(
        Condition("error, overall frequencies kept", at_least=0.5),
        Condition("error, tie sets kept", at_most=1e-6),
    ),
    scale="a unique top token among 10^6",
    minutes=0.1,
    settled="the thresholds",
)
def shortening_errors() -> list[Row]:
    """Return the output error of two ways to shorten a string whose only top-scoring token has a share of one in a
    million.
    """
    from workbench.theory.limit_transformers.limit_heads import LimitHead
    from workbench.theory.limit_transformers.one_layer_simulation import proportional_counts, simulate, weight_error

    rng = np.random.default_rng(1)
    x = np.concatenate([[0], rng.integers(2, 4, RARE_LENGTH)])
    x[RARE_LENGTH // 2] = 1
    scores = np.array([0.0, 2.0, 1.0, 1.0])
    head = LimitHead(scores.reshape(1, 1, 4, 1).repeat(4, 0), np.zeros(1), bos=0)
    plain = np.repeat(np.arange(4), proportional_counts(np.bincount(x[1:], minlength=4), 1_000))
    return [
        Row(
            "error, overall frequencies kept",
            "1,000 tokens",
            weight_error([head], x, np.concatenate([[0], plain, x[-1:]])),
        ),
        Row("error, tie sets kept", "", simulate([head], x, 0.05).error),
    ]


@claim(
    "QB07",
    source=IZZO.states("theorem 4.1"),
    prediction="Two functions that agree up to N agree at all lengths, up to a factor.",
    statistic="largest gap on lengths n+1..2n over the largest gap to n; slope of its log on log n",
    conditions=(
        Condition("ratio of gaps", at_most=3),
        Condition("slope of log ratio on log n", at_most=0.1),
    ),
    scale="200 random pairs of one layer and one head, 2 letters, period to 2, locality to 2, log scaling, "
    "8 bits; all strings, n = 4..8",
    minutes=1.5,
    note="the ratio does not grow on average, but a few pairs nearly agree to n by chance",
    outside="the theorem speaks of lengths from its N on, which grows like 2^(p/gamma); n = 4 to 8 lies far below it",
    former="does not hold at this scale",
)
def gaps_on_longer_strings() -> list[Row]:
    """The largest gap on lengths n+1..2n over that on lengths to n: the largest over pairs, and its growth with n."""
    from workbench.claims.exact.short_strings import slope_over_cases
    from workbench.claims.exact.two_functions import SHORT, gap_ratios, nearly_equal_pair

    rng = np.random.default_rng(0)
    ratios = np.array([gap_ratios(*nearly_equal_pair(rng)) for _ in range(PAIRS)])
    slope, low, high = slope_over_cases(np.log(SHORT), np.log(ratios), rng)
    rows = [Row("ratio of gaps", f"n {n}", float(ratios[:, at].max()), n=PAIRS) for at, n in enumerate(SHORT)]
    rows += [Row("median ratio", f"n {n}", float(np.median(ratios[:, at])), n=PAIRS) for at, n in enumerate(SHORT)]
    return [*rows, Row("slope of log ratio on log n", "", slope, low, high, n=PAIRS)]


@claim(
    "QB08",
    source=IZZO.states("theorem 4.2 and its remark"),
    prediction="Agreement on strings over fewer letters bounds nothing once another letter comes.",
    statistic="largest gap of two averages that differ in the value of one letter",
    conditions=(
        Condition("gap on the short support", at_most=0),
        Condition("gap on the complement", at_least=0.5),
    ),
    scale="all strings of 3 letters of length 1, 2, 4, 8",
    minutes=0.1,
    settled="the thresholds",
)
def gaps_on_a_larger_alphabet() -> list[Row]:
    """Return the difference at every length of two functions that are equal on two letters, but differ if a third
    letter occurs.
    """
    rows = []
    same, other = np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0])
    for n in (1, 2, 4, 8):
        gaps = {"short support": 0.0, "its complement": 0.0}
        for word in product(range(3), repeat=n):
            gap = abs(float(np.mean(same[list(word)]) - np.mean(other[list(word)])))
            name = "its complement" if 2 in word else "short support"
            gaps[name] = max(gaps[name], gap)
        rows.append(Row("gap on the short support", f"length {n}", gaps["short support"]))
        rows.append(Row("gap on the complement", f"length {n}", gaps["its complement"]))
    return rows


@claim(
    "QB09",
    source=IZZO.states("theorem 4.2"),
    prediction="The length needed grows with 1/alpha of the Dirichlet prior, no faster than epsilon^(-2-2/alpha).",
    statistic="slope of log N0 on log 1/epsilon over 2 + 2/alpha; N0 over that of the next alpha",
    conditions=(
        Condition("slope of log N0 over 2 + 2/alpha", at_most=1),
        Condition("N0 over that of the next alpha", at_least=1),
    ),
    scale="3 letters, alpha 0.5, 1, 2, epsilon 0.2 to 0.025, 8 batches of 4,000 draws of shares and strings",
    minutes=0.3,
    note="the string is drawn, not chosen; one head looks for a letter that may be missing, one averages",
)
def lengths_by_prior() -> list[Row]:
    """Return the length of a training string that represents all strings with shares from Dirichlet(alpha), against
    epsilon.

    Two heads: one attends to the first letter wherever there is one, one to all keys. The error of a string of n drawn
    letters is the largest difference of a weight: 1 where the first letter is missing.
    """
    from workbench.claims.exact.random_strings import BATCHES, DRAWS, length_needed, mean_errors, mean_interval

    rng = np.random.default_rng(0)
    rows, ends = [], {}
    x = np.log(1 / np.array(EPSILONS))
    for alpha in ALPHAS:
        grid = 2.0 ** np.arange(0, 14.5, 0.5)
        lengths = np.array(
            [[length_needed(curve, grid, e) for e in EPSILONS] for curve in mean_errors(alpha, grid, rng)]
        )
        slope, low, high = mean_interval(np.polyfit(x, np.log(lengths.T), 1)[0])
        ends[alpha] = mean_interval(lengths[:, -1])
        rows.append(Row("slope of log N0 over 2 + 2/alpha", f"alpha {alpha:g}", slope / (2 + 2 / alpha),
                        low / (2 + 2 / alpha), high / (2 + 2 / alpha), n=BATCHES * DRAWS))  # fmt: skip
        rows.append(Row("N0", f"alpha {alpha:g}, epsilon {EPSILONS[-1]:g}", *ends[alpha], n=BATCHES * DRAWS))
    for smaller, larger in pairwise(ALPHAS):
        least = ends[smaller][1] / ends[larger][2]
        rows.append(Row("N0 over that of the next alpha", f"alpha {smaller:g}", ends[smaller][0] / ends[larger][0],
                        least, ends[smaller][2] / ends[larger][1]))  # fmt: skip
    return rows


@claim(
    "QB10",
    source=IZZO.states("section 5"),
    prediction="A log-scaled local term has three regimes: its key's weight goes to 0, 1/2 or 1.",
    statistic="weight of the local key in a model with log_scaling local",
    conditions=(Condition("weight of the local key", near=1e-9), Condition("nears its limit", at_least=1)),
    scale="m = 0.5, 1, 1.5, 2; K = 10 to 100,000, float64",
    minutes=0.1,
)
def log_scaled_local_weights() -> list[Row]:
    """Return the attention weight of a key with log-scaled local term m: in the model, and by the formula K^m / (K^m +
    K - 1).
    """
    from workbench.claims.exact.rounding_attention import local_key_weight
    from workbench.theory.limit_transformers.precision import local_share

    rows = []
    for m in LOCAL_TERMS:
        for keys in KEYS:
            value = local_key_weight(m, keys, "local")
            rows.append(Row("weight of the local key", f"m {m:g}, K {keys:,}", value, expected=local_share(m, keys)))
        limit = 0.0 if m < 1 else 0.5 if m == 1 else 1.0
        distance = [abs(local_key_weight(m, k, "local") - limit) for k in KEYS]
        falls = all(later < earlier for earlier, later in pairwise(distance))
        rows.append(Row("nears its limit", f"m {m:g}, limit {limit:g}", float(falls)))
    return rows


@claim(
    "QB11",
    source=IZZO.reading("section 5"),
    prediction="Without the log factor local information dies out as the prefix grows.",
    statistic="slope of the local key's log weight on log K",
    conditions=(
        Condition("slope of log weight on log K", at_least=-1.02, at_most=-0.98),
        Condition("weight of the local key", near=1e-9),
    ),
    scale="m = 0.5, 1, 1.5, 2; K = 10 to 100,000, the slope from 1,000 on",
    minutes=0.1,
)
def unscaled_local_weights() -> list[Row]:
    """Return the slope of log attention weight on log K for a key with a local term without the log factor."""
    from workbench.claims.exact.rounding_attention import local_key_weight

    rows = []
    for m in LOCAL_TERMS:
        weights = [local_key_weight(m, keys, "none") for keys in KEYS]
        rows += [
            Row(
                "weight of the local key",
                f"m {m:g}, K {keys:,}",
                value,
                expected=math.exp(m) / (math.exp(m) + keys - 1),
            )
            for keys, value in zip(KEYS, weights, strict=True)
        ]
        far = [math.log(weight) for weight in weights[2:]]
        slope = float(np.polyfit(np.log(KEYS[2:]), far, 1)[0])
        rows.append(Row("slope of log weight on log K", f"m {m:g}, K from 1,000", slope))
    return rows


@claim(
    "QB12",
    source=IZZO.states("lemma 5.3"),
    prediction="A Markov-drawn subsequence of n positions keeps a second layer's average within about n^(-1/3).",
    statistic="slope of log median error on log n",
    conditions=Condition("slope of log error on log n", at_most=-0.28),
    scale="8 drifting sources of 400,000 bits, n = 100 to 25,600, 30 draws each, runs of n^(1/3)",
    minutes=0.5,
)
def markov_subsequence_errors() -> list[Row]:
    """Error of Markov subsequences of n positions: the slope over independent sources, and the errors."""
    from workbench.claims.exact.random_strings import SUBSET_SIZES, mean_interval, subsequence_errors
    from workbench.theory.limit_transformers.two_layer_subsequence import error_slope

    runs = [subsequence_errors(seed, None) for seed in range(SOURCES)]
    slope, low, high = mean_interval(np.array([error_slope(errors) for errors in runs]))
    rows = [Row("slope of log error on log n", "", slope, low, high, n=SOURCES)]
    for at, size in enumerate(SUBSET_SIZES):
        rows.append(
            Row("median error", f"n {size:,}", *mean_interval(np.array([e[at].median for e in runs])), n=SOURCES)
        )
        rows.append(Row("best error of 30", f"n {size:,}", float(np.mean([e[at].best for e in runs])), n=SOURCES))
    return rows


@claim(
    "QB13",
    source=IZZO.reading("lemma 5.3"),
    prediction="Contiguous runs are needed: independent picks break up neighbours, and a prefix misses the drift.",
    statistic="error at n = 25,600 over that of Markov subsequences",
    conditions=Condition("error over that of Markov subsequences", at_least=3),
    scale="as QB12",
    minutes=0.3,
)
def errors_of_other_subsequences() -> list[Row]:
    """Return the errors of independent picks and of plain prefixes at the largest n, divided by those of Markov
    subsequences.
    """
    from workbench.claims.exact.random_strings import (
        SOURCE_LENGTH,
        SUBSET_SIZES,
        drifting_source,
        mean_interval,
        second_layer,
        subsequence_errors,
    )

    ratios: dict[str, list[float]] = {"independent picks": [], "a prefix": []}
    for seed in range(SOURCES):
        x = drifting_source(SOURCE_LENGTH, seed)
        markov = subsequence_errors(seed, None, SUBSET_SIZES[-1:])[0].median
        broken = subsequence_errors(seed, 1.07, SUBSET_SIZES[-1:])[0].median
        prefix = abs(float(second_layer(x[: SUBSET_SIZES[-1]])[0] - second_layer(x)[0]))
        ratios["independent picks"].append(math.log(broken / markov))
        ratios["a prefix"].append(math.log(prefix / markov))
    rows = []
    for name, logs in ratios.items():
        value, low, high = (math.exp(v) for v in mean_interval(np.array(logs)))
        rows.append(Row("error over that of Markov subsequences", name, value, low, high, n=SOURCES))
    return rows


@claim(
    "QB14",
    source=IZZO.reading("definition 5.1"),
    prediction="The bound's dependence on the first layer is exponential in the norm of K^T Q and has to be.",
    statistic="R^2 of the log of the largest slope of a softmax average on the norm",
    conditions=Condition("R^2 of log slope on norm", at_least=0.98),
    scale="two-point measures, norms 1 to 8",
    minutes=0.1,
)
def steepest_averages() -> list[Row]:
    """Largest slope of a softmax average as a map on two-point measures, against the norm of K^T Q.

    With the share p of keys that score s, the average is p e^s / (p e^s + 1 - p).
    """
    share = np.unique(np.concatenate([np.linspace(0, 1e-6, 1_001), np.geomspace(1e-6, 1, 4_001)]))
    slopes = []
    for norm in NORMS:
        value = share * math.exp(norm) / (share * math.exp(norm) + 1 - share)
        slopes.append(float((np.diff(value) / np.diff(share)).max()))
    logs = np.log(slopes)
    return [
        *(Row("log of the largest slope", f"norm {n:g}", float(v)) for n, v in zip(NORMS, logs, strict=True)),
        Row("R^2 of log slope on norm", "", float(np.corrcoef(NORMS, logs)[0, 1] ** 2)),
    ]


@claim(
    "QB15",
    kind="C",
    source=IZZO.states("section on experiments, SimpleTask"),
    prediction="SimpleTask is one layer without positions with L = Theta(omega).",
    statistic="error of a hand-built model to length 10,000; slope of its composite norm in omega",
    conditions=(
        Condition("error", at_most=0.01),
        Condition("slope of log norm on log omega", at_least=0.85, at_most=1.15),
    ),
    scale="omega = 1, 2, 4, 8; the sine in pieces with an error of 0.005, float64",
    minutes=0.2,
    note="of one hidden layer of ReLUs the product is at least the total change of slope of the sine, which "
    "grows like omega^2; see QB15b",
    outside="the theorem's L is a Lipschitz constant; what was computed is a product of operator norms, which "
    "bounds it from above",
    former="does not hold at this scale",
)
def sine_errors() -> list[Row]:
    """Return the errors of the hand-made sines at every prefix up to 10,000, and the slope of their composite norm in
    omega.
    """
    from workbench.claims.exact.handmade_averages import largest_error, log_slope, sine_answers
    from workbench.models.handmade.averages import sine_of_average
    from workbench.theory.limit_transformers.checkpoint_bounds import composite, norms

    rows, totals = [], []
    for omega in OMEGAS:
        model = sine_of_average(omega)
        rows.append(Row("error", f"omega {omega:g}", largest_error(model, "simple", sine_answers(omega), omega=omega)))
        totals.append(composite(norms(model)))
        rows.append(Row("composite norm", f"omega {omega:g}", totals[-1]))
    return [*rows, Row("slope of log norm on log omega", "", log_slope(OMEGAS, totals))]


@claim(
    "QB15b",
    kind="C",
    source=IZZO.reading("section on experiments, SimpleTask"),
    prediction="The same with L as the Lipschitz constant itself, not a product of norms.",
    statistic="largest change of the output over that of the average between strings that differ in a token; "
    "its slope in omega",
    conditions=Condition("slope of log constant on log omega", at_least=0.85, at_most=1.15),
    scale="the models of QB15, strings of 1,000 tokens",
    minutes=0.3,
    settled="the reading of L: added when QB15 had failed",
)
def sine_slopes() -> list[Row]:
    """Return the steepest slope of each hand-made sine between strings of 1,000 tokens that differ in one token, and
    its slope in omega.
    """
    import torch

    from workbench.claims.exact.handmade_averages import log_slope, outputs_at
    from workbench.models.handmade.averages import sine_of_average

    ones = torch.arange(NEARBY + 1)
    strings = 1 + (torch.arange(1, NEARBY + 1) <= ones[:, None]).long()
    rows, constants = [], []
    for omega in OMEGAS:
        model = sine_of_average(omega)
        outputs = torch.cat([outputs_at(model, part)[:, -1, 0] for part in strings.split(100)])
        constants.append(float(outputs.diff().abs().max()) / (2 / NEARBY))
        rows.append(Row("Lipschitz constant", f"omega {omega:g}", constants[-1]))
    return [*rows, Row("slope of log constant on log omega", "", log_slope(OMEGAS, constants))]


@claim(
    "QB16",
    kind="C",
    source=IZZO.states("section on experiments, ModPTask"),
    prediction="ModPTask is one layer with period p and L = Theta(1).",
    statistic="error of a hand-built model to length 10,000; how much its composite norm varies",
    conditions=(Condition("error", at_most=0.01), Condition("spread of the norm", at_most=0.2)),
    scale="p = 2, 3, 5, 8; class 1, float64",
    minutes=0.4,
)
def class_errors() -> list[Row]:
    """Return the errors of the hand-made class averages at every prefix up to 10,000, and how much their composite norm
    varies.
    """
    from workbench.claims.exact.handmade_averages import class_mean_answers, largest_error
    from workbench.models.handmade.averages import class_average
    from workbench.theory.limit_transformers.checkpoint_bounds import composite, norms

    rows, totals = [], []
    for p in PERIODS:
        model = class_average(p, 1)
        rows.append(Row("error", f"p {p}", largest_error(model, "mod_p_mean", class_mean_answers(p), p=p, k=1)))
        totals.append(composite(norms(model)))
        rows.append(Row("composite norm", f"p {p}", totals[-1]))
    return [*rows, Row("spread of the norm", "", max(totals) / min(totals) - 1)]


@claim(
    "QB17",
    kind="C",
    source=IZZO.states("definition 5.4"),
    prediction="A k-gram model is two layers with position margin 1 and C(f) = epsilon^(-Theta(k^2)).",
    statistic="largest error over epsilon at every prefix to 4,096; exponent of C(f) in 1/epsilon of k = 2 "
    "over that of k = 1",
    conditions=(
        Condition("error over epsilon", at_most=1),
        Condition("position margin", at_least=1),
        Condition("ratio of exponents", at_least=2, at_most=8),
    ),
    scale="k = 1, 2; 3 symbols; prefixes whose last k tokens make up at least epsilon^k of what came before; "
    "epsilon 0.2 to 0.025, float64",
    minutes=0.4,
    note="C(f) as exp(2 |K^T Q| r^2) of the scores by which the second layer matches what the first has "
    "written. With the first layer's scores in the exponent, as the measurement bound has it, C(f) grows like "
    "a power of log 1/epsilon alone",
    settled="which scores stand in the exponent, and how rare a key may be",
)
def kgrams_of_frequent_keys() -> list[Row]:
    """Error over epsilon at every prefix whose last k tokens make up at least epsilon^k of what came before them."""
    from workbench.claims.exact.handmade_averages import kgram_rows

    return kgram_rows(lambda k, epsilon: (k + 1) * math.log(1 / epsilon), on_average=False)


@claim(
    "QB17b",
    kind="C",
    source=IZZO.reading("definition 5.4"),
    prediction="The same where the error is averaged over strings, and smaller scores do.",
    statistic="mean error over epsilon by bands of lengths; ratio of exponents as in QB17",
    conditions=(
        Condition("error over epsilon", at_most=1),
        Condition("position margin", at_least=1),
        Condition("ratio of exponents", at_least=2, at_most=8),
    ),
    scale="as QB17, all keys that have occurred before",
    minutes=0.4,
    note="on average C(f) = epsilon^(-2(k+1)) suffices, which is not quadratic in k",
    settled="the score: known to give a ratio of 1.5 when it was added",
    outside="the definition bounds the error of every string; what was computed is a mean over strings",
    former="does not hold at this scale",
)
def kgrams_on_average() -> list[Row]:
    """Mean error over epsilon by bands of lengths, all keys that have occurred, for a score that suffices for that."""
    from workbench.claims.exact.handmade_averages import SYMBOLS, kgram_rows

    return kgram_rows(lambda k, epsilon: math.log(2 * SYMBOLS**k / epsilon), on_average=True)


SUITE = Suite("bounds-exact", "Exact checks of the quantitative bounds (no training)", claims_of(__name__))
