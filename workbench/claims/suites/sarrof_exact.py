"""Claims of Sarrof et al. and Grazzi et al. 2024 (arXiv 2405.17394, 2411.12537), exactly: state-space models."""

from __future__ import annotations

import math

import numpy as np

from workbench.claims.claim import Condition, Row, Suite
from workbench.claims.claim_on_function import claim, claims_of
from workbench.claims.papers import GRAZZI, HUANG, SARROF

NONE = {"at_least": 0.0, "at_most": 0.0}
BITS = (4, 6)
NEAR_MISSES = 9_996
"""Length of the near misses, a multiple of 12."""
LONGEST = 12
KINDS, HEIGHTS = (2, 4, 8), (2, 3, 4, 5, 6)


@claim(
    "SX01",
    kind="C",
    source=SARROF.reading("abstract"),
    prediction="Star-free state tracking is exact with nonnegative gates: flip-flop.",
    statistic="prefixes that the hand-made model answers wrongly",
    conditions=Condition("prefixes wrong", **NONE),
    scale="one layer, float32, 8 strings of 10,000 tokens of each law",
    minutes=0.2,
)
def errors_of_handmade_flip_flop() -> list[Row]:
    """Prefixes that the hand-made model of flip_flop answers wrongly, on both test sets."""
    from workbench.claims.exact.recurrent_states import wrong_prefixes
    from workbench.models.handmade.state_space import flip_flop

    return [wrong_prefixes("flip_flop", flip_flop(), law) for law in ("matched", "challenge")]


@claim(
    "SX02",
    kind="C",
    source=(GRAZZI.states("abstract"), SARROF.reading()),
    prediction="With signed gates parity is exact.",
    statistic="prefixes that the hand-made model answers wrongly",
    conditions=Condition("prefixes wrong", **NONE),
    scale="one layer, float32, 8 strings of 10,000 tokens of each law",
    minutes=0.2,
)
def errors_of_handmade_parity() -> list[Row]:
    """Prefixes that the hand-made model of parity with signed gates answers wrongly, on both test sets."""
    from workbench.claims.exact.recurrent_states import wrong_prefixes
    from workbench.models.handmade.state_space import parity

    return [wrong_prefixes("parity", parity(), law) for law in ("matched", "challenge")]


@claim(
    "SX03",
    source=SARROF.reading("abstract"),
    prediction="With nonnegative gates and finite precision no state tells odd from even on 1^n at all lengths.",
    statistic="most changes of sign of a state h <- a h + b, and orbits that never settle",
    conditions=(
        Condition("most changes of sign", at_most=1),
        Condition("orbits that never settle", **NONE),
        Condition("orbits that never settle, signed gates", at_least=1),
    ),
    scale="all gates, inputs and states that are multiples of 2^-p in [-1, 1], p = 4, 6, rounded down",
    minutes=0.1,
    note="on 1^n products of such channels settle as each of them does",
    settled="what is counted: the last change came at 1.06 x 2^p steps; changes are counted, not steps",
)
def orbits_with_nonnegative_gates() -> list[Row]:
    """On 1^n a state h <- a h + b with a >= 0 at p bits: how often its sign changes at most, over all a, b, h.

    To distinguish odd from even it would have to change at every step.
    """
    from workbench.claims.exact.recurrent_states import number_of_cases, orbits

    rows = []
    for bits in BITS:
        gates = np.arange(0, 2**bits + 1) / 2**bits
        changes, moving = orbits(gates, bits)
        rows.append(Row("most changes of sign", f"p {bits}", float(changes), n=number_of_cases(gates, bits)))
        rows.append(Row("orbits that never settle", f"p {bits}", float(moving), n=number_of_cases(gates, bits)))
        rows.append(Row("orbits that never settle, signed gates", f"p {bits}", float(orbits(-gates[1:], bits)[1])))
    return rows


@claim(
    "SX04",
    kind="C",
    source=SARROF.reading(),
    prediction="Unbounded counters are expressible: Dyck-1, shuffle-2, a^n b^n c^n, Boolean-3.",
    statistic="prefixes that the hand-made model answers wrongly",
    conditions=Condition("prefixes wrong", **NONE),
    scale="nonnegative gates, float32; all strings to the zoo's length (6 to 12) and near misses of 9,996",
    minutes=0.5,
    note="counts are whole numbers below 2^24, which float32 holds exactly; with finite precision no counter "
    "is unbounded. Layers without a state stand for MLPs, which these models lack",
)
def errors_of_counters() -> list[Row]:
    """Count the prefixes that the counters answer wrongly, over all strings up to the zoo's length and near misses of
    length 9,996.
    """
    from workbench.claims.exact.recurrent_machines import COUNTERS, wrong_cascade_prefixes
    from workbench.theory.crasp.evaluator import evaluate, every_string
    from workbench.theory.crasp.zoo import ZOO

    rows = []
    for name, build in COUNTERS.items():
        case = ZOO[name]
        letters = case.program.alphabet
        cascade = build(letters, ("<bos>", *letters))
        for what, strings in (
            (f"every string to {case.length}", every_string(len(letters), case.length)),
            (f"near misses of {NEAR_MISSES:,}", case.near_misses(NEAR_MISSES)),
        ):
            right = evaluate(case.program, strings)["accept"]
            rows.append(wrong_cascade_prefixes(f"{name}, {what}", cascade, strings, right))
    return rows


@claim(
    "SX05",
    kind="C",
    source=SARROF.reading(),
    prediction="Every star-free language is a cascade of set-reset automata, hence expressible.",
    statistic="prefixes that the compiled cascade answers wrongly",
    conditions=Condition("prefixes wrong", **NONE),
    scale="Tomita 4, D_2, {0,1,2}*02*, contains bb; nonnegative gates, float32; all strings to 12 and near "
    "misses of 9,996",
    minutes=0.5,
    note="the four cascades are given by hand and compiled; that every star-free language has one is the "
    "theorem of Krohn and Rhodes, which is not tried here",
)
def errors_of_star_free_cascades() -> list[Row]:
    """Count the prefixes that the cascades answer wrongly, over all strings up to 12 and near misses of 10,000, and
    their layers.
    """
    from workbench.claims.exact.recurrent_machines import STAR_FREE, near_words, wrong_cascade_prefixes
    from workbench.tasks.automata.dfa import Automaton
    from workbench.theory.crasp.evaluator import every_string

    rows = []
    for name, (expression, build) in STAR_FREE.items():
        language = Automaton.from_regex(expression)
        cascade = build(("<bos>", *language.alphabet))
        every = every_string(len(language.alphabet), LONGEST)
        near = near_words(language, NEAR_MISSES, np.random.default_rng(0))
        for what, strings in ((f"every string to {LONGEST}", every), (f"near misses of {NEAR_MISSES:,}", near)):
            right = language.accepting_mask[language.run(strings - 1)]
            rows.append(wrong_cascade_prefixes(f"{name}, {what}", cascade, strings, right))
        rows.append(Row("layers with a state", name, float(cascade.stateful)))
    return rows


@claim(
    "SX06",
    kind="C",
    source=SARROF.reading("abstract"),
    prediction="Bounded Dyck(K, h) is two layers with O(h log K) bits of state.",
    statistic="bits that latches and depth hold; R^2 of them on h log2 K; prefixes at which the top of the "
    "stack is told wrongly",
    conditions=(
        Condition("prefixes wrong", **NONE),
        Condition("layers with a state", at_least=2, at_most=2),
        Condition("R^2 of bits on h log2 K", at_least=0.98),
    ),
    scale="K = 2, 4, 8 and h = 2 to 6; 8 random prefixes of words of 400 tokens each, float32",
    minutes=0.1,
    note="what may close next is told, on prefixes of words; layers that compare and hold nothing stand for "
    "MLPs, which these models lack",
)
def state_bits_of_bounded_stacks() -> list[Row]:
    """Bits of state of a bounded stack, its wrong answers, and how well h log2 K predicts the bits."""
    from workbench.claims.exact.recurrent_machines import cascade_answers, stacked_words
    from workbench.models.handmade.cascades import bounded_stack

    rows, sizes, bits = [], [], []
    for kinds in KINDS:
        for height in HEIGHTS:
            cascade = bounded_stack(kinds, height)
            state_bits = cascade.latches + math.log2(height + 1)
            sizes.append(height * math.log2(kinds))
            bits.append(state_bits)
            item = f"K {kinds}, h {height}"
            strings, right = stacked_words(kinds, height, np.random.default_rng(height))
            wrong = (cascade_answers(cascade, strings) != right).any(2)
            rows.append(Row("prefixes wrong", item, float(wrong.sum()), n=wrong.size))
            rows.append(Row("layers with a state", item, float(cascade.stateful)))
            rows.append(Row("bits of state", item, state_bits))
    return [*rows, Row("R^2 of bits on h log2 K", "", float(np.corrcoef(sizes, bits)[0, 1] ** 2))]


@claim(
    "SX07",
    source=(SARROF.reading("abstract"), HUANG.reading("lemmas 35 and 36")),
    prediction="Flip-flop is exact for a state-space model and in no C-RASP[periodic, local].",
    statistic="exclusion of its automaton; prefixes that the hand-made model answers wrongly",
    conditions=(
        Condition("certified", **NONE),
        Condition("proven outside", at_least=1),
        Condition("prefixes wrong", **NONE),
    ),
    scale="as HE10 and SX01",
    minutes=0.8,
)
def exclusion_and_errors_of_flip_flop() -> list[Row]:
    """Flip-flop: no C-RASP program, and a state-space model without an error."""
    from workbench.claims.suites.huang_exact import exclusions_of_last_occurrences

    outside = [row for row in exclusions_of_last_occurrences() if row.item.startswith("flip_flop")]
    return [*outside, *errors_of_handmade_flip_flop()]


@claim(
    "SX08",
    source=GRAZZI.states("abstract"),
    prediction="Counting modulo 3 needs more than real diagonal gates.",
    statistic="periods that a state h <- a h + b ends in",
    conditions=(
        Condition("periods that 3 divides", **NONE),
        Condition("period of a complex gate", at_least=3, at_most=3),
    ),
    scale="all gates in [-1, 1], inputs and states that are multiples of 2^-p, p = 4, 6, rounded down",
    minutes=0.1,
)
def periods_with_real_gates() -> list[Row]:
    """Periods that orbits of a state h <- a h + b with a in [-1, 1] end in, and those that 3 divides."""
    from workbench.claims.exact.recurrent_states import number_of_cases, periods_of_orbits

    rows = []
    for bits in BITS:
        gates = np.arange(-(2**bits), 2**bits + 1) / 2**bits
        periods = periods_of_orbits(gates, bits)
        rows.append(Row("largest period", f"p {bits}", float(max(periods)), n=number_of_cases(gates, bits)))
        rows.append(Row("periods that 3 divides", f"p {bits}", float(sum(period % 3 == 0 for period in periods))))
    turn = np.exp(2j * np.pi / 3)
    period = next(k for k in range(1, 9) if abs(turn**k - 1) < 1e-9)
    return [*rows, Row("period of a complex gate", "a third of a turn", float(period))]


SUITE = Suite("ssm-exact", "State-space models, by construction", claims_of(__name__))
