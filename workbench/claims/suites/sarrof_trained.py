"""Claims of Sarrof et al. and Grazzi et al. 2024 (arXiv 2405.17394, 2411.12537), trained: state-space models."""

from __future__ import annotations

from typing import Any

from workbench.claims.claim import Condition, Suite
from workbench.claims.claim_on_cells import RELATIONS, above, below, claim_on
from workbench.claims.papers import GRAZZI, RESULT_FILES, SARROF
from workbench.claims.suites import huang_formal_a as formal
from workbench.claims.suites import huang_formal_b as counting
from workbench.claims.trained_cells import BINS, CHALLENGE, FIT, Request, TrainedCell, cell

RESULTS = SARROF.states(RESULT_FILES)
EVERY = "b1 every prefix"
ALL = "share of strings, lengths uniform over (N, 2N] (b1) and (2N, 3N] (b2), of which every prefix is answered right"
WIDE = {"d_state": 16, "dt_max": 1.0, "dt_rank": 4}
TWO_SEEDS = (0, 1)


def _ssm(task: str, steps: int = 2000, longest: int = 16, **more: Any) -> TrainedCell:
    made = {"layers": 2, "width": 32, "rate": 5e-3, "seeds": TWO_SEEDS, "requests": (FIT, BINS), "model": WIDE, **more}
    return cell(task, "ssm", longest, steps, **made)


T1, T2, T4, T7 = (
    _ssm("tomita", n=1),
    *(_ssm("tomita", n=n, ask="next") for n in (2, 4, 7)),
)
BLOCKS, ABD_BC = _ssm("blocks_abcde", ask="next"), _ssm("abd_bc", ask="next")
ZERO_TWO = _ssm("zero_two", ask="next", requests=(FIT, BINS, CHALLENGE))
DYCKS = tuple(_ssm("bounded_dyck", n=n, ask="next") for n in (2, 3, 4))
D12 = _ssm("bounded_dyck", 3000, 64, n=12, ask="next")
PARITY = tuple(
    _ssm("parity", 2000, layers=layers, label=f"{layers} layers", requests=(FIT, BINS)) for layers in (1, 2, 3)
)
PERIODIC = (_ssm("aa_star"), _ssm("aaaa_star"), _ssm("abab_star", ask="next"))
HARD = tuple(_ssm("tomita", n=n) for n in (3, 5, 6))
DYCK1 = _ssm("dyck_1", 4000, ask="next")
SHUFFLES = tuple(_ssm("shuffle_dyck", 4000, k=k, ask="next") for k in (2, 4, 6))
BOOLEANS = tuple(_ssm("boolean", 4000, n=n, ask="next") for n in (3, 5))
EQUALS = tuple(_ssm("a_n_b_n", 3000, letters=letters, ask="next") for letters in (2, 3, 4))
WRITES = tuple(Request("bins", {"task": {"write_probability": p}, "told": f"writes {p:g}"}) for p in (0.1, 0.01))
FLIP_FLOP = _ssm("flip_flop", requests=(FIT, BINS, CHALLENGE, *WRITES))
DEPTHS = tuple(
    _ssm("dyck_k", 4000, 64, layers=layers, reach=2, label=f"{layers} layers",
         requests=(FIT, Request("lengths", {"factors": [1, 2]})), k=8, depth=10)
    for layers in (1, 2)
)  # fmt: skip
ON_ONES = Request("gates", {"token": "1"})
STARTS = {"usual start": {"dt_max": 0.1, "dt_rank": 1}, "wide start": {"dt_max": 1.0, "dt_rank": 4}}
SIGNS = {
    (gates, start): cell(
        "parity", gates, 16, 1000, layers=1, width=16, rate=5e-3, label=start, model={"d_state": 4, **more},
        requests=(FIT, Request("lengths", {"factors": [1, 4]}), ON_ONES), seeds=range(8),
    )
    for gates in ("ssm", "signed")
    for start, more in STARTS.items()
}  # fmt: skip
FAR = Request("behaviour", {"lengths": [2, 4, 8, 16, 32, 64], "sequences": 128, "only": ["verdict", "failure_length"]})
KEEPERS = tuple(
    cell("flip_flop", "ssm", longest, 1000, layers=1, width=16, rate=5e-3, label=f"N {longest}, {start}", reach=64,
         model={"d_state": 4, **more}, requests=(FIT, FAR, Request("gates", {"token": "i0 i1"})))
    for longest in (16, 32)
    for start, more in STARTS.items()
)  # fmt: skip
FLIP_NOPE = cell("flip_flop", "nope", 16, 2000)

SUITE = Suite(
    "ssm-trained",
    "State-space models, trained",
    (
        claim_on("SS01", RESULTS, "Star-free languages are learnt and hold beyond: Tomita 1, 2, 4, 7.", ALL,
                 (above(EVERY, 0.95), above("b2 every prefix", 0.95)), T1, T2, T4, T7),
        claim_on("SS02", RESULTS, "aa*bb*cc*dd*ee* and {a,b}*d{b,c}* are learnt and hold beyond.", ALL,
                 (above(EVERY, 0.95), above("b2 every prefix", 0.95)), BLOCKS, ABD_BC).formerly("holds"),
        claim_on("SS03", RESULTS, "{0,1,2}*02* is learnt and holds beyond (transformers 68.7, Mamba 100).", ALL,
                 (above(EVERY, 0.95), above("b2 every prefix", 0.95)), ZERO_TWO,
                 note="on the law of training; the challenge law is in the table of runs").formerly("holds"),
        claim_on("SS04", RESULTS, "D_2, D_3 and D_4 are learnt and hold beyond.", ALL,
                 (above(EVERY, 0.95), above("b2 every prefix", 0.95)), *DYCKS).formerly("does not hold at this scale"),
        claim_on("SS05", RESULTS, "D_12 is learnt by two layers and holds beyond (published 100/96).", ALL,
                 above(EVERY, 0.9), D12).formerly("does not hold at this scale"),
        claim_on("SS06", RESULTS, "Parity is not learnt (published 27/0, 80/4, 91/17 by layers).", ALL,
                 below(EVERY, 0.3), *PARITY, exempt=True, note="runs enter although they are not fitted",
        ).formerly("does not hold at this scale"),
        claim_on("SS07", RESULTS, "(aa)*, (aaaa)* and (abab)* are not even fitted.",
                 "share of the lengths in [N/2, N] of whose string every prefix is answered right, all counted",
                 below("b0 every prefix", 0.2), *PERIODIC, exempt=True,
                 note="runs enter although they are not fitted").formerly("does not hold at this scale"),
        claim_on("SS08", RESULTS, "Tomita 3, 5 and 6 are lost beyond the trained lengths (published 12-29, 0, 0).", ALL,
                 below(EVERY, 0.3), *HARD, exempt=True, note="runs enter although they are not fitted",
        ).formerly("does not hold at this scale"),
        claim_on("SS09", RESULTS, "Dyck-1 and shuffles of 2, 4 and 6 fit and are lost (published 100, 40-65, 2-14).",
                 "share of strings of which every prefix is answered right, over [N/2, N] (b0) and (2N, 3N] (b2)",
                 (above("b0 every prefix", 0.95), below("b2 every prefix", 0.3)), DYCK1, *SHUFFLES,
        ).formerly("does not hold at this scale"),
        claim_on("SS10", RESULTS, "Boolean-3 and Boolean-5 fit and are lost.",
                 "share of strings of which every prefix is answered right, over [N/2, N] (b0) and (2N, 3N] (b2)",
                 (above("b0 every prefix", 0.95), below("b2 every prefix", 0.3)), *BOOLEANS).formerly("holds"),
        claim_on("SS11", RESULTS, "Blocks of equal length fit and are lost (published 100, 4-21, 0).",
                 "share of strings of which every prefix is answered right, over [N/2, N] (b0) and (N, 2N] (b1)",
                 (above("b0 every prefix", 0.95), below(EVERY, 0.3)), *EQUALS).formerly("does not hold at this scale"),
        claim_on("SS12", RESULTS, "Flip-flop is right beyond on dense and on sparse writes (published 100/100).",
                 "accuracy over (N, 2N] and (2N, 3N] with write probability .1 and .01",
                 (above("b1, writes 0.1", 0.99), above("b2, writes 0.1", 0.99), above("b1, writes 0.01", 0.99),
                  above("b2, writes 0.01", 0.99)), FLIP_FLOP).formerly("does not hold at this scale"),
        claim_on("SS13", RESULTS,
                 "Bounded Dyck of 8 kinds and height 10 takes two layers (published .98-.99; .71-.78).",
                 "accuracy on the closing bracket at 2N with two layers; less that with one layer, by seed",
                 (above("accuracy at 2 N", 0.9), above("difference of accuracy at 2 N", 0.1)), DEPTHS[1], DEPTHS[0],
                 reduce="value_and_difference", quantity="accuracy at 2 N",
                 exempt=True, note="runs of one layer enter although they are not fitted",
        ).formerly("does not hold at this scale"),
        claim_on("SS14", GRAZZI.states("abstract"), "Signed gates repair parity.",
                 "skill at 4N with signed gates less that with nonnegative ones, by seed, from both starts",
                 (above("difference of skill at 4 N, usual start", 0.5),
                  above("difference of skill at 4 N, wide start", 0.5)),
                 *SIGNS.values(), reduce="named_differences", quantity="skill at 4 N", exempt=True,
                 pairs={"usual start": [2, 0], "wide start": [3, 1]},
                 note="runs enter although they are not fitted: with nonnegative gates none can be"),
        claim_on("SS15", SARROF.reading(),
                 "In runs that are right at 4N, a trained gate on a 1 is negative and near -1.",
                 "least gate on a 1, over what the convolution reads before it, of the channel that carries the answer "
                 "in runs with skill of 0.9 or more at 4N", below("least gate on 1", -0.9),
                 *(one for (gates, _), one in SIGNS.items() if gates == "signed"), reduce="values_where", kind="TM",
                 shared=True, where="skill at 4 N", least=0.9,
                 settled="the number of seeds, for of the first three of a start one run was right at 4N; and the "
                 "gate: as a mean over all places of a 1, and over all channels, it hid gates of -1"),
        claim_on(
            "SS16", SARROF.reading(),
            "Flip-flop's gates on what is ignored are near 1, not 1, and set the failure length.",
            "slope of log failure length on log 1/(1 - a), a the gate where all that the convolution reads is i0 or "
            "i1, in the channel that carries the answer, over fitted runs that fail before 64N, cells drawn whole",
            Condition("slope", at_least=0.7, at_most=1.3), *KEEPERS, kind="TM", reduce=f"{RELATIONS}:slope_by_gate",
            gate="steady gate on i0 i1",
            failure=["failure_length", "failure_length, challenge"],
            settled="the gate: of all channels the greatest is one that begins next to 1 and carries nothing",
        ),
        claim_on("SS17", SARROF.states("abstract"), "State-space models and transformers have distinct strengths.",
                 "b1 of every prefix of the state-space model less that of the transformer without positions, by seed",
                 (above("difference of b1 every prefix, flip-flop", 0.0, 0.0),
                  above("difference of b1 every prefix, {0,1,2}*02*", 0.0, 0.0),
                  below("difference of b1 every prefix, Dyck-1", 0.0, 0.0),
                  below("difference of b1 every prefix, a^n b^n", 0.0, 0.0)),
                 FLIP_FLOP, FLIP_NOPE, ZERO_TWO, formal.ZERO_TWO[1], DYCK1, counting.DYCK[1], EQUALS[0], counting.AB[1],
                 reduce="named_differences", quantity=EVERY, exempt=True, seeds=2,
                 pairs={"flip-flop": [0, 1], "{0,1,2}*02*": [2, 3], "Dyck-1": [4, 5], "a^n b^n": [6, 7]},
                 note="runs enter whether or not they are fitted"),
    ),
)  # fmt: skip
