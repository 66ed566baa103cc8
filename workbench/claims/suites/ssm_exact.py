"""State-space models by construction: "The Expressive Capacity of State Space Models", arXiv 2405.17394."""

from __future__ import annotations

from workbench.claims.claim import Claim, Condition, Suite

PAPER = "Sarrof et al., arXiv 2405.17394"
BUILT = "workbench.claims.exact.recurrent_states"
NONE = {"at_least": 0.0, "at_most": 0.0}


def _unbuilt(number: str, prediction: str, quantity: str, what: str, minutes: float) -> Claim:
    return Claim(
        id=number,
        kind="C",
        source=PAPER,
        prediction=prediction,
        statistic=quantity,
        conditions=(Condition(quantity, **NONE),),
        scale="",
        rows="",
        minutes=minutes,
        note=f"not built: {what}",
    )


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
        _unbuilt("SX04", "Unbounded counters are expressible: Dyck-1, shuffle-2, a^n b^n c^n, Boolean-3.",
                 "prefixes wrong", "needs hand-built counters and read-outs", 1),
        _unbuilt("SX05", "Every star-free language is a cascade of set-reset automata, hence expressible.",
                 "prefixes wrong", "needs a compiler from star-free automata", 3),
        _unbuilt("SX06", "Bounded Dyck(K, h) is two layers with O(h log K) bits of state.",
                 "prefixes wrong", "needs the construction", 2),
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
)  # fmt: skip
