"""Claims of Izzo, Nichani and Lee 2025 (arXiv 2510.27015), trained: plateaus and scalings."""

from __future__ import annotations

from typing import Any

from workbench.claims.claim import Claim, Suite
from workbench.claims.claim_on_cells import RELATIONS, above, below, claim_on
from workbench.claims.papers import IZZO, Source
from workbench.claims.trained_cells import FIT, Request, TrainedCell, cell

ONE_LAYER = IZZO.states("figures 1 and 2")
TWO_LAYERS = IZZO.states("figure 4")
LOSSES = Request("losses")
REQUESTS = (FIT, LOSSES)
LOSS = "the claim is about the loss: runs enter whether or not their answers lie within the tolerance of the task"
ONE: dict[str, Any] = {"layers": 1, "width": 32, "heads": 2, "rate": 3e-3, "batch": 64, "requests": REQUESTS}
LENGTHS = (8, 16, 32)
KNOBS = (1.0, 2.0, 4.0)
PERIODS = (2, 3, 5)
SIMPLE = tuple(cell("simple", "nope", n, 2000, label=f"N {n}", omega=w, **ONE) for w in KNOBS for n in LENGTHS)
MOD_P = tuple(cell("mod_p_mean", f"lim {p} 0", n, 2000, label=f"N {n}", p=p, **ONE) for p in PERIODS for n in LENGTHS)
PERIOD_5 = tuple(one.also(Request("class attention")) for one in MOD_P[6:])
KINDS_OF_HEADS = Request("circuits.hardmax", {"only": ["hardmax_kind"], "lengths": [4]})
FLAT, EXTREME = (cell("simple", "nope", 16, 2000, label="N 16", omega=2.0, prior=a, **ONE) for a in (4.0, 0.5))
PRIORS = (FLAT, SIMPLE[4], EXTREME)
"""Dirichlet parameters 4, 1 and 1/2 at omega 2."""
OTHER_HALF = Request("lengths", {"factors": [1, 4], "task": {"half": "second"}, "told": "other half"})
HALF_ALPHABET = cell("letter_majority", "nope", 16, 2000, requests=(FIT, OTHER_HALF), letters=8, half="first")
GRAMS = ((1, 2), (1, 3), (1, 4), (2, 2), (2, 3))
GRAM_LENGTHS = (16, 32, 64)
KGRAM = tuple(
    cell("in_context_kgram", f"lim 1 {k}", n, 3000, label=f"N {n}", requests=REQUESTS, seeds=(0, 1), k=k, symbols=s)
    for k, s in GRAMS
    for n in GRAM_LENGTHS
)
BARE: dict[str, Any] = {"normalization_type": None, "log_scaling": "all"}
COVERED = tuple(
    cell("simple", "nope", n, 2000, label=f"N {n}, as the theorem wants it", model=BARE, omega=w, **ONE)
    for w in KNOBS
    for n in LENGTHS
)


def _levels(number: str, source: Source, task: str, cells: tuple[TrainedCell, ...]) -> Claim:
    return claim_on(
        number, source, f"{task}: the loss levels off beyond the trained lengths.",
        "loss at 32N over loss at 16N, mean over the last eighth of the prefixes", below("loss at 32N over 16N", 1.25),
        *cells, reduce="plateau_ratio", exempt=True, note=LOSS,
    )  # fmt: skip


def _falls(number: str, source: Source, task: str, cells: tuple[TrainedCell, ...], lengths: tuple[int, ...]) -> Claim:
    return claim_on(
        number, source, f"{task}: the plateau falls with the trained length.",
        "log of the plateau (loss at 32N) at one trained length less that at the next", above("fall of the log", 0.0),
        *cells, reduce="plateau_steps", shared=True, exempt=True, note=LOSS, quantity="fall of the log",
        groups=[list(range(i, i + len(lengths))) for i in range(0, len(cells), len(lengths))], sign=-1,
    )  # fmt: skip


def _rises(number: str, source: Source, says: str, cells: tuple[TrainedCell, ...], groups: list[list[int]]) -> Claim:
    return claim_on(
        number, source, says, "log of the plateau (loss at 32N) less that of the next easier cell at the same N",
        above("rise of the log", 0.0), *cells, reduce="plateau_steps", shared=True, exempt=True, note=LOSS,
        quantity="rise of the log", groups=groups, sign=1,
    )  # fmt: skip


BY_KNOB = [[i, i + 3, i + 6] for i in range(3)]

SUITE = Suite(
    "bounds-trained",
    "Do trained models show the plateaus and scalings?",
    (
        _levels("QT01", ONE_LAYER, "SimpleTask", SIMPLE),
        _falls("QT02", ONE_LAYER, "SimpleTask", SIMPLE, LENGTHS),
        _rises("QT03", ONE_LAYER, "SimpleTask: the plateau rises with omega.", SIMPLE, BY_KNOB).formerly("holds"),
        claim_on(
            "QT04", IZZO.reading("abstract"), "The trained length that is needed grows with complexity.",
            "log2 of N* at one omega less that at the next lower, where N* is the N at which the plateau, interpolated "
            "in log-log, reaches a common level", above("rise of log2 N*", 0.0), *SIMPLE, reduce="needed_lengths",
            shared=True, exempt=True, note=LOSS, knobs=list(KNOBS), lengths=list(LENGTHS),
        ),
        _levels("QT05", ONE_LAYER, "ModPTask", MOD_P),
        _falls("QT06", ONE_LAYER, "ModPTask", MOD_P, LENGTHS).formerly("holds"),
        _rises("QT07", ONE_LAYER, "ModPTask: the plateau rises with the period.", MOD_P, BY_KNOB).formerly("holds"),
        claim_on(
            "QT08", IZZO.states("figure 3"), "After training with period 5 attention is near 0 off the class.",
            "mass on positions of another residue at N, 4N and 16N, of the head with most mass on the class at N",
            tuple(below(f"mass off the class at {f} N", 0.05, 0.2) for f in (1, 4, 16)), *PERIOD_5, kind="TM",
            shared=True, exempt=True, note=LOSS,
        ),
        claim_on(
            "QT09", IZZO.states("figure 3"), "After training attention is nearly uniform on the class.",
            "total variation from the uniform law on the class at N, 4N and 16N, of the same head",
            tuple(below(f"total variation on the class at {f} N", 0.1) for f in (1, 4, 16)), *PERIOD_5, kind="TM",
            shared=True, exempt=True, note=LOSS,
        ),
        claim_on(
            "QT10", IZZO.reading("figure 3"), "With enough trained length the model enters the hardmax regime.",
            "share of heads that are a hardmax of kind class at 4N, trained to 32 less trained to 8, periods together",
            above("rise of the share", 0.05), *(one.also(KINDS_OF_HEADS) for one in MOD_P), kind="TM", shared=True,
            reduce=f"{RELATIONS}:share_of_kind", exempt=True, note=LOSS, quantity="hardmax_kind at 4 N", label="class",
            told="rise of the share", groups=[[i, i + 2] for i in (0, 3, 6)],
        ),
        _levels("QT11", TWO_LAYERS, "In-context k-gram", KGRAM),
        _falls("QT12", TWO_LAYERS, "In-context k-gram", KGRAM, GRAM_LENGTHS).formerly("does not hold at this scale"),
        _rises("QT13", TWO_LAYERS, "In-context k-gram: the plateau rises with the number of symbols at k = 2.", KGRAM,
               [[9 + i, 12 + i] for i in range(3)]),
        _rises("QT14", TWO_LAYERS, "In-context k-gram: the plateau rises with k at the same number of symbols.", KGRAM,
               [[i, 9 + i] for i in range(3)] + [[3 + i, 12 + i] for i in range(3)]),
        claim_on(
            "QT15", IZZO.reading(), "The margin is a bottleneck: the plateau is higher where 1/gamma is.",
            "Kendall's tau of the plateau and log 1/gamma over runs, cells drawn whole", above("tau", 0.0, 0.0),
            *(one.also(Request("bound")) for one in COVERED), reduce="bound_tau", exempt=True, note=LOSS,
            quantity="bound_part", target="gamma",
        ),
        claim_on(
            "QT16", IZZO.reading("theorems 4.1 and 5.2"), "The bound orders cells as experiment does.",
            "Kendall's tau of the plateau and the bound on the trained length over runs, cells drawn whole",
            above("tau", 0.5), *(one.also(Request("bound")) for one in COVERED), reduce="bound_tau", shared=True,
            exempt=True, note=LOSS, quantity="training_length_bound_log10", target="theorem 4.1",
        ),
        claim_on(
            "QT17", IZZO.reading("theorem 4.2"),
            "The average error depends on the prior of token shares: extreme ones are harder.",
            "log of the plateau (loss at 32N) with one Dirichlet parameter less that with the next larger, trained and "
            "tested alike", above("rise of the log", 0.0), *PRIORS, reduce="plateau_steps", exempt=True, note=LOSS,
            quantity="rise of the log", groups=[[0, 1, 2]], sign=1,
        ),
        claim_on(
            "QT18", IZZO.states("theorem 4.2 and its remark"),
            "There is no generalization to symbols that short strings never had.",
            "accuracy on strings of the half of the alphabet that training never had, at N and 4N; chance is 1/4",
            (below("accuracy at 1 N, other half", 0.3), below("accuracy at 4 N, other half", 0.3)), HALF_ALPHABET,
            note="of the task that asks which of 8 letters leads: SimpleTask has two symbols, and no half of them",
        ),
    ),
)  # fmt: skip
