"""Claims of Huang et al. 2024 (arXiv 2410.02140), trained: regular languages inside C-RASP[periodic, local]."""

from __future__ import annotations

from typing import Any

from workbench.claims.claim import Claim, Suite
from workbench.claims.claim_on_cells import above, below, claim_on
from workbench.claims.papers import HUANG, RESULT_FILES
from workbench.claims.trained_cells import BINS, FIT, SIX_SEEDS, VERDICT, Request, TrainedCell, cell

RESULTS = HUANG.states(RESULT_FILES)
EVERY = "b1 every prefix"
ALL = "share of strings, lengths uniform over (N, 2N], of which every prefix is answered right"
LENGTHS = "share of the lengths in (N, 2N] of whose string every prefix is answered right, all counted"
REQUESTS = (FIT, BINS, VERDICT)
POSITIONAL = Request(
    "circuits.positional",
    {"only": ["period", "period_strength", "translation_variance", "locality"], "lengths": [1], "inside": False},
)
NEXT = "asked which symbols may follow; strings that no word can be reached from are not asked about further"


def cells_with_and_without_positions(task: str, steps: int, longest: int = 16, **more: Any) -> tuple[TrainedCell, ...]:
    """The cells with positions and without."""
    made: dict[str, Any] = {"requests": REQUESTS, **more}
    return tuple(cell(task, positions, longest, steps, **made) for positions in ("ape", "nope"))


SMALL: dict[str, Any] = {"width": 32, "heads": 2, "rate": 3e-3}
TOMITA1 = cells_with_and_without_positions("tomita", 1000, n=1, **SMALL)
TOMITA2 = cells_with_and_without_positions("tomita", 1000, n=2, ask="next", **SMALL)
TOMITA4 = cells_with_and_without_positions("tomita", 4000, n=4, ask="next", seeds=SIX_SEEDS)
TOMITA7 = cells_with_and_without_positions("tomita", 2000, n=7, ask="next")
D2 = cells_with_and_without_positions("bounded_dyck", 3000, n=2, ask="next", seeds=SIX_SEEDS)
D3 = cells_with_and_without_positions("bounded_dyck", 3000, n=3, ask="next", seeds=SIX_SEEDS)
D4 = cells_with_and_without_positions("bounded_dyck", 3000, n=4, ask="next", seeds=SIX_SEEDS)
D12 = cells_with_and_without_positions("bounded_dyck", 3000, longest=32, n=12, ask="next", seeds=SIX_SEEDS)
BLOCKS = cells_with_and_without_positions("blocks_abcde", 1000, ask="next", **SMALL)
ABD_BC = cells_with_and_without_positions("abd_bc", 2000, ask="next")
ZERO_TWO = cells_with_and_without_positions("zero_two", 2000, ask="next")
AA = cell("aa_star", "ape", 16, 2000, requests=(*REQUESTS, POSITIONAL), seeds=SIX_SEEDS)
AA_LONGER = cell("aa_star", "ape", 16, 6000, requests=(*REQUESTS, POSITIONAL), seeds=SIX_SEEDS, label="6,000 steps")
AA_NOPE = cell("aa_star", "nope", 16, 2000, requests=REQUESTS)
AAAA = cell("aaaa_star", "ape", 16, 3000, requests=(*REQUESTS, POSITIONAL), seeds=SIX_SEEDS)
AAAA_NOPE = cell("aaaa_star", "nope", 16, 2000, requests=REQUESTS)
ABAB = cell("abab_star", "ape", 16, 3000, requests=REQUESTS, ask="next")
ABAB_NOPE = cell("abab_star", "nope", 16, 2000, requests=REQUESTS, ask="next")


def words(number: str, language: str, published: str, least: float, fails: float, *cells: TrainedCell) -> Claim:
    """A language is answered right beyond the trained lengths."""
    return claim_on(
        number, RESULTS, f"{language} is answered right beyond the trained lengths (published {published}).", ALL,
        above(EVERY, least, fails), *cells, note=NEXT,
    )  # fmt: skip


SUITE = Suite(
    "crasp-formal-a",
    "Regular languages inside the class, trained",
    (
        claim_on(
            "HF01", RESULTS, "Tomita 1 is answered right beyond the trained lengths (published 100/100/100).", ALL,
            above(EVERY, 0.95, 0.75), *TOMITA1,
            note="asked whether each prefix is in the language: which symbols may follow is always the same",
        ),
        words("HF02", "Tomita 2, (10)*,", "100/100/100", 0.95, 0.75, *TOMITA2).formerly("holds"),
        words("HF03", "With positions Tomita 4", "100/85.4/84.4", 0.75, 0.5, TOMITA4[0]).formerly("holds"),
        claim_on(
            "HF04", RESULTS, "Without positions Tomita 4 is lost beyond the trained lengths (published 100/16.5/0).",
            f"{ALL}; the same over (2N, 3N]", (below(EVERY, 0.5), below("b2 every prefix", 0.1)), TOMITA4[1], note=NEXT,
        ).formerly("does not hold at this scale"),
        words("HF05", "With positions Tomita 7", "100/94.2/93.2", 0.8, 0.8, TOMITA7[0]),
        words("HF06", "Without positions Tomita 7", "100/87.5/76.2", 0.7, 0.7, TOMITA7[1]),
        words("HF07", "D_2", "100/100/100", 0.9, 0.9, *D2).formerly("holds"),
        words("HF08", "D_3", "100/100/100", 0.9, 0.9, *D3).formerly("undecided"),
        words("HF09", "D_4", "100/100/100", 0.9, 0.9, *D4),
        words("HF10", "D_12, of dot-depth 12,", "100/100/100", 0.9, 0.9, *D12).formerly("undecided"),
        words("HF11", "aa*bb*cc*dd*ee*", "100/100/100", 0.9, 0.9, *BLOCKS),
        words("HF12", "{a,b}*d{b,c}*", "100/99.8/98.5", 0.9, 0.9, *ABD_BC),
        claim_on(
            "HF13", RESULTS, "With positions (aa)*, which is not star-free, is right beyond N (published 100/100/100).",
            LENGTHS, above(EVERY, 0.9, 0.5), AA,
        ).formerly("holds"),
        claim_on(
            "HF13b", HUANG.reading(RESULT_FILES),
            "The same with three times the training.", LENGTHS, above(EVERY, 0.9, 0.5), AA_LONGER,
        ),
        claim_on("HF14", RESULTS, "Without positions (aa)* is lost (published 100/0/0).", LENGTHS, below(EVERY, 0.1),
                 AA_NOPE, exempt=True, note="runs enter although they are not fitted: without positions none can be",
        ).formerly("holds"),
        claim_on("HF15", RESULTS, "With positions (aaaa)* is right beyond N (published 100/92.3/86.7).", LENGTHS,
                 above(EVERY, 0.75), AAAA).formerly("undecided"),
        claim_on("HF16", RESULTS, "Without positions (aaaa)* is lost (published 100/0/0).", LENGTHS, below(EVERY, 0.1),
                 AAAA_NOPE, exempt=True, note="runs enter although they are not fitted: without positions none can be",
        ).formerly("holds"),
        claim_on("HF17", RESULTS, "With positions (abab)* is right beyond N (published 100/89.4/82.3).", LENGTHS,
                 above(EVERY, 0.75), ABAB).formerly("undecided"),
        claim_on("HF18", RESULTS, "Without positions (abab)* is lost (published 100/0/0).", LENGTHS, below(EVERY, 0.1),
                 ABAB_NOPE),
        claim_on(
            "HF19", HUANG.reading(RESULT_FILES),
            "Star-freeness does not predict: with positions (aa)* generalizes and {0,1,2}*02* does not.",
            "b2 of every prefix of (aa)* less that of {0,1,2}*02*, by seed",
            above("difference of b2 every prefix", 0.5),
            AA, ZERO_TWO[0], reduce="difference", shared=True, quantity="b2 every prefix", seeds=3,
        ).formerly("does not hold at this scale"),
        claim_on(
            "HF20", HUANG.reading(RESULT_FILES),
            "Dot-depth does not predict: D_12 is at least as good as {0,1,2}*02*, with positions.",
            "b2 of every prefix of D_12 less that of {0,1,2}*02*, by seed", above("difference of b2 every prefix", 0.0),
            D12[0], ZERO_TWO[0], reduce="difference", shared=True, quantity="b2 every prefix",
        ),
        claim_on(
            "HF21", HUANG.reading(),
            "Runs that hold have learnt position codes of the period that is needed: 2 for (aa)*, 4 for "
            "(aaaa)*.", "share of the strength of that period, the strongest head of the run, where b1 is 0.9 or more",
            above("strength of the period", 0.5), AA_LONGER, AAAA, reduce="period_strength", kind="TM", shared=True,
            seeds=3,
        ).formerly("does not hold at this scale"),
    ),
)  # fmt: skip
