"""Claims of Huang et al. 2024 (arXiv 2410.02140), trained: eight algorithmic tasks, with and without positions."""

from __future__ import annotations

from typing import Any

from workbench.claims.claim import Claim, Condition, Suite
from workbench.claims.claim_on_cells import above, below, claim_on
from workbench.claims.papers import HUANG, RESULT_FILES
from workbench.claims.trained_cells import BINS, CHALLENGE, FIT, VERDICT, TrainedCell, cell

RESULTS = HUANG.states(RESULT_FILES)
BIN = "accuracy with lengths uniform over (N, 2N] (b1) and (2N, 3N] (b2)"
ALL = (FIT, BINS, CHALLENGE, VERDICT)
BINS_ONLY = (FIT, BINS)
TWO = ("ape", "nope")
GROWING = {"curriculum": {"law": "growing", "low": 3, "high": 17, "start": 7, "over": 3000}}

SMALL: dict[str, Any] = {"width": 32, "heads": 2, "rate": 3e-3, "requests": ALL}
MAJORITY = tuple(cell("majority", p, 16, 1000, **SMALL) for p in TWO)
EVEN = tuple(cell("letter_majority", p, 16, 2000, requests=ALL, shares="even") for p in TWO)
ANY = tuple(cell("letter_majority", p, 16, 2000, requests=ALL, shares="any") for p in TWO)
INTERLEAVED = (
    cell("interleaved_majority", "ape", 25, 6000, reach=3, requests=BINS_ONLY),
    cell("interleaved_majority", "nope", 25, 4000, reach=3, requests=BINS_ONLY),
)
SORT = tuple(cell("sort", p, 17, 4000, low=3, reach=3, requests=BINS_ONLY, symbols=76) for p in TWO)
UF = tuple(
    cell("uf", p, 17, 8000, low=3, reach=3, batch=64, training=GROWING, requests=BINS_ONLY, symbols=76) for p in TWO
)
NF = tuple(cell("nf", p, 17, 4000, low=3, reach=3, requests=BINS_ONLY, symbols=2) for p in TWO)
PARITY = (
    cell("parity", "ape", 16, 3000, requests=ALL),
    cell("parity", "nope", 12, 3000, layers=3, requests=ALL),
)
ADDITION = tuple(cell("addition", p, 27, 8000, low=9, reach=3, requests=BINS_ONLY) for p in TWO)
CHEAP = {
    "majority": MAJORITY,
    "letter_majority": ANY,
    "parity": PARITY,
}
OTHER = tuple(
    cell(task, p, 16, steps, seeds=(0,), requests=ALL, **more)
    for p in ("rope", "alibi", "sinusoidal")
    for task, steps, more in (
        ("majority", 1000, {"width": 32, "heads": 2, "rate": 3e-3}),
        ("letter_majority", 2000, {"shares": "any"}),
        ("parity", 3000, {}),
    )
)
INSIDE = (*MAJORITY, *ANY, INTERLEAVED[0], *SORT, UF[0])
OUTSIDE = (INTERLEAVED[1], UF[1], *NF, *PARITY, *ADDITION)


def _claim(
    number: str, says: str, published: str, conditions: Condition | tuple[Condition, ...], *cells: TrainedCell,
    note: str = "",
) -> Claim:  # fmt: skip
    requests = (
        "asked after every prefix, where the paper asks once at the end" if cells[0].task in EVERY_PREFIX_TASKS else ""
    )
    return claim_on(
        number, RESULTS, f"{says} (published {published}).", BIN, conditions, *cells,
        note="; ".join(filter(None, (note, requests))),
    )  # fmt: skip


EVERY_PREFIX_TASKS = ("majority", "letter_majority", "interleaved_majority", "parity")
LOST = "is lost beyond the trained lengths"
RIGHT = "is answered right beyond the trained lengths"

SUITE = Suite(
    "crasp-algorithmic",
    "Eight algorithmic tasks, with and without positions, trained",
    (
        _claim("HA01", f"With positions majority {RIGHT}", "100/100/100",
               (above("b1", 0.95, 0.75), above("b2", 0.9, 0.75)), MAJORITY[0]),
        _claim("HA02", f"Without positions majority {RIGHT}", "100/100/100",
               (above("b1", 0.95, 0.75), above("b2", 0.9, 0.75)), MAJORITY[1]),
        _claim("HA03", f"With positions the most frequent of 26 letters {RIGHT}", "100/99.6/97.8",
               (above("b1", 0.9), above("b2", 0.8)), EVEN[0], ANY[0]),
        _claim("HA04", f"Without positions the most frequent of 26 letters {RIGHT}", "100/99.9/98.5",
               (above("b1", 0.9), above("b2", 0.8)), EVEN[1], ANY[1]),
        _claim("HA05", f"With positions interleaved majority {RIGHT}", "100/96.8/84.7",
               (above("b1", 0.75, 0.6), above("b2", 0.6)), INTERLEAVED[0]),
        _claim("HA06", f"Without positions interleaved majority {LOST}", "96.2/68.8/39.5",
               below("b2", 0.6), INTERLEAVED[1]),
        _claim("HA07", f"With positions sorting {RIGHT}", "100/100/99.4", above("b1", 0.9), SORT[0]),
        _claim("HA08", f"Without positions sorting {RIGHT}", "100/99.8/80.6", above("b1", 0.8), SORT[1]),
        _claim("HA09", f"With positions copying of distinct symbols {RIGHT}", "100/99.9/98.7",
               above("b1", 0.9, 0.5), UF[0]),
        _claim("HA10", f"Without positions copying of distinct symbols {LOST}", "100/18/0",
               (below("b1", 0.5), below("b2", 0.1)), UF[1]),
        _claim("HA11", f"With positions copying of two letters {LOST}", "100/25.6/0",
               (below("b1", 0.5), below("b2", 0.05)), NF[0]).formerly("holds"),
        _claim("HA12", f"Without positions copying of two letters {LOST}", "100/28/0",
               (below("b1", 0.5), below("b2", 0.05)), NF[1]),
        _claim("HA13", f"With positions parity {LOST}", "100/83/62.1, chance 52",
               below("b2 skill", 0.3, 0.9), PARITY[0]),
        _claim("HA14", f"Without positions parity {LOST}", "97.5/74.5/63.3", below("b2 skill", 0.3, 0.9), PARITY[1]),
        _claim("HA15", f"With positions addition {LOST}", "99.7/26.8/0",
               (below("b1", 0.5), below("b2", 0.1)), ADDITION[0]),
        _claim("HA16", f"Without positions addition {LOST}", "99.5/27.7/0",
               (below("b1", 0.5), below("b2", 0.1)), ADDITION[1]),
        claim_on(
            "HA17", HUANG.reading(RESULT_FILES),
            "Every task inside the class generalizes better than every one outside.",
            "least skill over (2N, 3N] inside the class less the greatest outside", above("separation", 0.0),
            *INSIDE, *OUTSIDE, reduce="separation", shared=True, quantity="b2 skill", inside=len(INSIDE),
            note="fitted runs alone; cells without three of them are left out",
        ),
        claim_on(
            "HA18", HUANG.reading(RESULT_FILES), "Membership in AC0 does not predict.",
            "area under the curve of b2 skill for the label in C-RASP less that for in AC0, over cells",
            above("lead over in AC0", 0.0), *INSIDE, *OUTSIDE, reduce="label_lead", shared=True, quantity="b2 skill",
            inside=len(INSIDE), other=("majority", "letter_majority", "interleaved_majority", "parity"),
            note="of these tasks majorities and parity are outside AC0; sorting, copying and addition in it",
        ).formerly("holds"),
        claim_on(
            "HA19", HUANG.reading(RESULT_FILES),
            "Positions decide interleaved majority and unique copying, and not majority.",
            "b2 with positions less b2 without, by seed",
            (above("difference of b2, interleaved majority", 0.3), above("difference of b2, unique copying", 0.3),
             Condition("difference of b2, majority", at_least=-0.1, at_most=0.1)),
            *INTERLEAVED, *UF, *MAJORITY, reduce="named_differences", shared=True, quantity="b2",
            pairs={"interleaved majority": [0, 1], "unique copying": [2, 3], "majority": [4, 5]},
        ),
        claim_on(
            "HA20", HUANG.reading(), "No general encoding beats the better of learned positions and none.",
            "b2 of rotary, ALiBi and sinusoidal positions less that of the better of the two, by seed",
            below("lead over the better", 0.05), *OTHER, *MAJORITY, *ANY, *PARITY, reduce="lead_over_better",
            quantity="b2", others=len(OTHER), seeds=1,
            note="three tasks in place of five: majority, the most frequent letter, parity",
        ),
    ),
)  # fmt: skip
