"""Claims of Huang et al. 2024 (arXiv 2410.02140), trained: regular languages outside, and counter languages."""

from __future__ import annotations

from workbench.claims.claim import Claim, Suite
from workbench.claims.claim_on_cells import above, below, claim_on
from workbench.claims.papers import HUANG, RESULT_FILES
from workbench.claims.suites import huang_formal_a as inside
from workbench.claims.suites.huang_formal_a import (
    ALL,
    EVERY,
    NEXT,
    RESULTS,
    ZERO_TWO,
    cells_with_and_without_positions,
    words,
)
from workbench.claims.trained_cells import TrainedCell

TOMITA3 = cells_with_and_without_positions("tomita", 4000, n=3)
TOMITA5 = cells_with_and_without_positions("tomita", 4000, n=5)
TOMITA6 = cells_with_and_without_positions("tomita", 4000, n=6)
DYCK = cells_with_and_without_positions("dyck_1", 4000, longest=24, ask="next")
SHUFFLE = cells_with_and_without_positions("shuffle_dyck", 4000, k=2, ask="next")
BOOLEAN3 = cells_with_and_without_positions("boolean", 4000, n=3, ask="next")
BOOLEAN5 = cells_with_and_without_positions("boolean", 4000, n=5, ask="next")
AB = cells_with_and_without_positions("a_n_b_n", 3000, letters=2, ask="next")
ABC = cells_with_and_without_positions("a_n_b_n", 3000, letters=3, ask="next")
ABCD = cells_with_and_without_positions("a_n_b_n", 3000, letters=4, ask="next")
OUTSIDE = (
    *TOMITA3,
    *TOMITA5,
    *TOMITA6,
    *ZERO_TWO,
    inside.AA_NOPE,
    inside.AAAA_NOPE,
    inside.ABAB_NOPE,
    inside.TOMITA4[1],
)
INSIDE = (
    *inside.TOMITA1, *inside.TOMITA2, inside.TOMITA4[0], *inside.TOMITA7, *inside.D2, *inside.D3, *inside.D4,
    *inside.D12, *inside.BLOCKS, *inside.ABD_BC, inside.AA, inside.AAAA, inside.ABAB, *DYCK, *SHUFFLE, *BOOLEAN3,
    *BOOLEAN5, *AB, *ABC, *ABCD,
)  # fmt: skip


def _outside(number: str, language: str, published: str, cells: tuple[TrainedCell, ...]) -> Claim:
    return claim_on(
        number, RESULTS, f"{language} is lost beyond the trained lengths, and not even fitted (published {published}).",
        ALL, below(EVERY, 0.3), *cells, exempt=True,
        note="asked whether each prefix is in the language; runs enter although they are not fitted",
    )  # fmt: skip


SUITE = Suite(
    "crasp-formal-b",
    "Regular languages outside the class, and counter languages, trained",
    (
        _outside("HF22", "Tomita 3", "60/8/0 with positions, 21/0/0 without", TOMITA3),
        _outside("HF23", "Tomita 5", "54/0/0 with positions, 7/0/0 without", TOMITA5).formerly("holds"),
        _outside("HF24", "Tomita 6", "60/0/0 with positions, 2/0/0 without", TOMITA6).formerly("undecided"),
        claim_on(
            "HF25", RESULTS, "With positions {0,1,2}*02* is lost beyond the trained lengths (published 99.7/24.4/1.2).",
            "skill under the challenge law at 4N", below("skill at 4 N, challenge", 0.5), ZERO_TWO[0], shared=True,
            note=NEXT,
        ).formerly("holds"),
        claim_on(
            "HF26", RESULTS, "Without positions {0,1,2}*02* is lost beyond the trained lengths (published 18/11/0).",
            "skill under the challenge law at 4N", below("skill at 4 N, challenge", 0.5), ZERO_TWO[1], shared=True,
            note=NEXT,
        ),
        words("HF27", "Dyck-1", "100/100/100", 0.9, 0.75, *DYCK).formerly("holds"),
        words("HF28", "Shuffle-2", "86/82/50 with positions, 81/80/43 without", 0.6, 0.6, *SHUFFLE),
        words("HF29", "Boolean-3", "100/100/100", 0.9, 0.9, *BOOLEAN3).formerly("holds"),
        words("HF30", "Boolean-5", "100/75/72", 0.6, 0.6, *BOOLEAN5),
        words("HF31", "a^n b^n", "99.4/92.3 with positions, 100/100 without", 0.9, 0.9, *AB),
        words("HF32", "a^n b^n c^n", "91/87 with positions, 100/100 without", 0.8, 0.8, *ABC).formerly("holds"),
        words("HF33", "a^n b^n c^n d^n", "86/75 with positions, 100/100 without", 0.7, 0.7, *ABCD,
        ).formerly("undecided"),
        claim_on(
            "HF34", HUANG.reading(RESULT_FILES),
            "For blocks of equal length no positions are at least as good as positions.",
            "b1 of every prefix without positions less that with, by seed, mean over the three languages",
            above("difference of b1 every prefix", 0.0), *AB, *ABC, *ABCD, reduce="mean_difference", shared=True,
            quantity=EVERY, pairs=[[1, 0], [3, 2], [5, 4]],
        ).formerly("holds"),
        claim_on(
            "HF35", HUANG.reading(RESULT_FILES),
            "Every language inside the class generalizes better than every one outside.",
            "least b1 of every prefix inside the class less the greatest outside", above("separation", 0.0),
            *INSIDE, *OUTSIDE, reduce="separation", shared=True, quantity=EVERY, inside=len(INSIDE), exempt=True,
            seeds=3,
            note="cells without three fitted runs are left out inside the class; outside all runs enter",
        ),
        claim_on(
            "HF36", HUANG.reading(), "What the verdict to 8N says of runs that pass the papers' 3N.",
            "share of the runs with b1 and b2 of 0.9 or more that are length-coupled by 8N", (), *INSIDE,
            reduce="hidden_failures", shared=True, seeds=3,
        ),
    ),
)  # fmt: skip
