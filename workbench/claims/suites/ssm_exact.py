"""State-space models by construction: "The Expressive Capacity of State Space Models", arXiv 2405.17394."""

from __future__ import annotations

from workbench.claims.claim import Claim, Condition, Suite

PAPER = "Sarrof et al., arXiv 2405.17394"
BUILT = "workbench.claims.exact.recurrent_states"
MACHINES = "workbench.claims.exact.recurrent_machines"
NONE = {"at_least": 0.0, "at_most": 0.0}


SUITE = Suite(
    "ssm-exact",
    "State-space models, by construction",
    (
        Claim(
            id="SX01",
            kind="C",
            source=PAPER,
            prediction="Star-free state tracking is exact with nonnegative gates: flip-flop.",
            statistic="prefixes that the hand-made model answers wrongly",
            conditions=(Condition("prefixes wrong", **NONE),),
            scale="one layer, float32, 8 strings of 10,000 tokens of each law",
            rows=f"{BUILT}:exact_flip_flop",
            minutes=0.2,
        ),
        Claim(
            id="SX02",
            kind="C",
            source=PAPER,
            prediction="With signed gates parity is exact.",
            statistic="prefixes that the hand-made model answers wrongly",
            conditions=(Condition("prefixes wrong", **NONE),),
            scale="one layer, float32, 8 strings of 10,000 tokens of each law",
            rows=f"{BUILT}:exact_parity",
            minutes=0.2,
        ),
        Claim(
            id="SX03",
            kind="E",
            source=PAPER,
            prediction="With nonnegative gates and finite precision no state tells odd from even on 1^n at all "
            "lengths.",
            statistic="most changes of sign of a state h <- a h + b, and orbits that never settle",
            conditions=(
                Condition("most changes of sign", at_most=1),
                Condition("orbits that never settle", **NONE),
                Condition("orbits that never settle, signed gates", at_least=1),
            ),
            scale="all gates, inputs and states that are multiples of 2^-p in [-1, 1], p = 4, 6, rounded down",
            rows=f"{BUILT}:nonnegative_orbits",
            minutes=0.1,
            note="on 1^n products of such channels settle as each of them does",
            settled="what is counted: the last change came at 1.06 x 2^p steps; changes are counted, not steps",
        ),
        Claim(
            id="SX04",
            kind="C",
            source=PAPER,
            prediction="Unbounded counters are expressible: Dyck-1, shuffle-2, a^n b^n c^n, Boolean-3.",
            statistic="prefixes that the hand-made model answers wrongly",
            conditions=(Condition("prefixes wrong", **NONE),),
            scale="nonnegative gates, float32; all strings to the zoo's length (6 to 12) and near misses of 9,996",
            rows=f"{MACHINES}:counter_machines",
            minutes=0.5,
            note="counts are whole numbers below 2^24, which float32 holds exactly; with finite precision no counter "
            "is unbounded. Layers without a state stand for MLPs, which these models lack",
        ),
        Claim(
            id="SX05",
            kind="C",
            source=PAPER,
            prediction="Every star-free language is a cascade of set-reset automata, hence expressible.",
            statistic="prefixes that the compiled cascade answers wrongly",
            conditions=(Condition("prefixes wrong", **NONE),),
            scale="Tomita 4, D_2, {0,1,2}*02*, contains bb; nonnegative gates, float32; all strings to 12 and near "
            "misses of 9,996",
            rows=f"{MACHINES}:star_free_machines",
            minutes=0.5,
            note="the four cascades are given by hand and compiled; that every star-free language has one is the "
            "theorem of Krohn and Rhodes, which is not tried here",
        ),
        Claim(
            id="SX06",
            kind="C",
            source=PAPER,
            prediction="Bounded Dyck(K, h) is two layers with O(h log K) bits of state.",
            statistic="bits that latches and depth hold; R^2 of them on h log2 K; prefixes at which the top of the "
            "stack is told wrongly",
            conditions=(
                Condition("prefixes wrong", **NONE),
                Condition("layers with a state", at_least=2, at_most=2),
                Condition("R^2 of bits on h log2 K", at_least=0.98),
            ),
            scale="K = 2, 4, 8 and h = 2 to 6; 8 random prefixes of words of 400 tokens each, float32",
            rows=f"{MACHINES}:stack_bits",
            minutes=0.1,
            note="what may close next is told, on prefixes of words; layers that compare and hold nothing stand for "
            "MLPs, which these models lack",
        ),
        Claim(
            id="SX07",
            kind="E",
            source=f"{PAPER}; Huang et al., arXiv 2410.02140",
            prediction="Flip-flop is exact for a state-space model and in no C-RASP[periodic, local].",
            statistic="exclusion of its automaton; prefixes that the hand-made model answers wrongly",
            conditions=(
                Condition("certified", **NONE),
                Condition("proven outside", at_least=1),
                Condition("prefixes wrong", **NONE),
            ),
            scale="as HE10 and SX01",
            rows=f"{BUILT}:where_machines_differ",
            minutes=0.8,
        ),
        Claim(
            id="SX08",
            kind="E",
            source=PAPER,
            prediction="Counting modulo 3 needs more than real diagonal gates.",
            statistic="periods that a state h <- a h + b ends in",
            conditions=(
                Condition("periods that 3 divides", **NONE),
                Condition("period of a complex gate", at_least=3, at_most=3),
            ),
            scale="all gates in [-1, 1], inputs and states that are multiples of 2^-p, p = 4, 6, rounded down",
            rows=f"{BUILT}:real_gates_mod_three",
            minutes=0.1,
        ),
    ),
)
