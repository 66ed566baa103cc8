"""Claims of Jobanputra et al. 2025 (arXiv 2505.21785), trained: ten retrieval and copying tasks from scratch."""

from __future__ import annotations

from workbench.claims.claim import Claim, Condition, Suite
from workbench.claims.claim_on_cells import above, below, claim_on
from workbench.claims.papers import JOBANPUTRA, Source
from workbench.claims.suites.huang_algorithmic import GROWING, UF
from workbench.claims.trained_cells import BINS, CHALLENGE, FIT, VERDICT, Request, TrainedCell, cell

APPENDIX = "appendix on training from scratch"
FROM_SCRATCH = JOBANPUTRA.states(APPENDIX)
BIN = "accuracy with lengths uniform over (N, 2N] (b1) and (2N, 3N] (b2)"
REQUESTS = (FIT, BINS, CHALLENGE, VERDICT)
COPIED = (FIT, BINS)
UR, UL = (cell(task, "ape", 16, 3000, low=4, requests=REQUESTS) for task in ("ur", "ul"))
NR_FIRST, NL_FIRST = (cell(task, "ape", 16, 4000, low=5, requests=REQUESTS) for task in ("nr_first", "nl_first"))
NR_LAST, NL_LAST = (cell(task, "ape", 16, 6000, low=5, requests=REQUESTS) for task in ("nr_last", "nl_last"))
ROPE = {task: cell(task, "rope", 16, 3000, low=4, requests=REQUESTS) for task in ("ur", "ul")}
SCALED = {task: cell(task, "rope500", 16, 3000, low=4, requests=REQUESTS) for task in ("ur", "ul")}
ROPE |= {task: cell(task, "rope", 16, 4000, low=5, requests=REQUESTS) for task in ("nr_first", "nl_first")}
ROPE |= {task: cell(task, "rope", 16, 6000, low=5, requests=REQUESTS) for task in ("nr_last", "nl_last")}
UB = cell("ub", "ape", 17, 8000, low=3, reach=3, batch=64, training=GROWING, requests=COPIED, symbols=76)
NF, NB = (cell(task, "ape", 17, 4000, low=3, reach=3, requests=COPIED) for task in ("nf", "nb"))
NF_ROPE, NB_ROPE = (cell(task, "rope", 17, 4000, low=3, reach=3, requests=COPIED) for task in ("nf", "nb"))
COPIES = Request("copies", {"bins": 2})
COPIERS = {
    task: cell(task, "rope", 12, 8000, low=4, batch=64, rate=3e-3, requests=(FIT, BINS, COPIES), symbols=24,
               training={"curriculum": {"law": "growing", "low": 4, "high": 12, "start": 5, "over": 4000}})
    for task in ("ur", "ul")
}  # fmt: skip
INSIDE = (UR, UL, NR_FIRST, NL_FIRST, UF[0], UB)
OUTSIDE = (NR_LAST, NL_LAST, NF, NB)


def _claim(
    number: str,
    says: str,
    published: str,
    conditions: Condition | tuple[Condition, ...],
    *cells: TrainedCell,
    source: Source = FROM_SCRATCH,
) -> Claim:
    return claim_on(number, source, f"{says} (published {published}).", BIN, conditions, *cells)


RIGHT = "is answered right beyond the trained lengths"
LOST = "is lost beyond the trained lengths"

SUITE = Suite(
    "retrieval",
    "Ten retrieval and copying tasks, from scratch",
    (
        _claim("BR01", f"The right neighbour of a unique symbol {RIGHT}", "100/99.2/99", above("b1", 0.9, 0.5), UR),
        _claim("BR02", f"The left neighbour of a unique symbol {RIGHT}", "100/99/99", above("b1", 0.9, 0.5), UL),
        _claim("BR03", f"The right neighbour of the first occurrence {RIGHT}", "100/100/100",
               above("b1", 0.9, 0.5), NR_FIRST),
        _claim("BR04", f"The left neighbour of the first occurrence {RIGHT}", "100/100/99",
               above("b1", 0.9, 0.5), NL_FIRST),
        _claim("BR05", f"The right neighbour of the last occurrence {LOST}", "100/86/47",
               below("b2 skill, challenge", 0.6), NR_LAST).formerly("undecided"),
        _claim("BR06", f"The left neighbour of the last occurrence {LOST}", "100/77/47",
               below("b2 skill, challenge", 0.6), NL_LAST),
        _claim("BR07", f"With rotary positions retrieval of a unique symbol {RIGHT}", "100/100/100",
               above("b1", 0.9), ROPE["ur"], ROPE["ul"]).formerly("undecided"),
        _claim("BR07b", f"With rotary positions of base 500 and scaling 32 retrieval of a unique symbol {RIGHT}",
               "100/100/100", above("b1", 0.9), SCALED["ur"], SCALED["ul"],
               source=JOBANPUTRA.reading(APPENDIX)),
        _claim("BR08", f"With rotary positions retrieval of the first occurrence {RIGHT}", "100/100/99-100",
               above("b1", 0.9), ROPE["nr_first"], ROPE["nl_first"]).formerly("does not hold at this scale"),
        _claim("BR09", f"With rotary positions retrieval of the last occurrence {LOST}", "45/34 and 32/34",
               below("b1", 0.6), ROPE["nr_last"], ROPE["nl_last"]),
        _claim("BR10", f"Copying of distinct symbols {RIGHT}", "100/99.5/97", above("b1", 0.9), UF[0]),
        _claim("BR11", f"Copying of distinct symbols backwards {RIGHT}", "100/99/97", above("b1", 0.9), UB),
        _claim("BR12", f"Copying with repeats {LOST}", "100/47/13", (below("b1", 0.6), below("b2", 0.2)), NF),
        _claim("BR13", f"Copying with repeats backwards {LOST}", "100/27/5", (below("b1", 0.6), below("b2", 0.2)), NB),
        _claim("BR14", f"With rotary positions copying with repeats {LOST}", "13/0 and 5/0",
               (below("b1", 0.6), below("b2", 0.2)), NF_ROPE, NB_ROPE),
        claim_on(
            "BR15", FROM_SCRATCH, "Iterating retrieval copies: distinct symbols with rotary positions (99/99).",
            "share of copies right as a whole that a retrieval model writes step by step, prompts over (N, 2N]",
            above("b1 copied", 0.9), *COPIERS.values(), settings_tried=3,
            note="retrieval over 24 symbols, so that an input of distinct ones reaches to 2N; its first symbol (ul: "
            "the last) is given",
        ),
        claim_on(
            "BR16", JOBANPUTRA.reading(APPENDIX),
            "Theory sees no difference of left and right, and from scratch there is none.",
            "b1 of the right-going task less that of the left-going one, by seed",
            (Condition("difference of b1, unique retrieval", at_least=-0.05, at_most=0.05),
             Condition("difference of b1, unique copying", at_least=-0.05, at_most=0.05)),
            UR, UL, UF[0], UB, reduce="named_differences", shared=True, quantity="b1",
            pairs={"unique retrieval": [0, 1], "unique copying": [2, 3]},
            note="how many steps each takes to fit is not measured",
        ),
        claim_on(
            "BR17", JOBANPUTRA.reading(APPENDIX), "Copying distinct symbols is easier than copying with repeats.",
            "b1 with distinct symbols less that with repeats, by seed",
            (above("difference of b1, forwards", 0.3), above("difference of b1, backwards", 0.3)),
            UF[0], NF, UB, NB, reduce="named_differences", shared=True, quantity="b1",
            pairs={"forwards": [0, 1], "backwards": [2, 3]},
        ),
        claim_on(
            "BR18", JOBANPUTRA.reading("section 4.1"),
            "Short lengths hide the limit: copying with repeats is right up to N.",
            "accuracy over [N/2, N] (b0) and over (2N, 3N] (b2)", (above("b0", 0.99), below("b2", 0.2)), NF,
            shared=True,
        ),
        claim_on(
            "BR19", JOBANPUTRA.reading("section 4.2"), "Copying with repeats fails at ambiguous transitions.",
            "error where the last 2 written symbols occur again in the input over error elsewhere, lengths in (N, 2N], "
            "answers shown; the interval is from drawing strings",
            (above("ratio of errors, m 2", 5.0), above("ratio of errors with its interval, m 2", 1.0)),
            NF.also(Request("transitions")), kind="TM", shared=True,
            note="which number of symbols a model can match is not known: 2 was fixed beforehand, 1 and 3 are in the "
            "table of runs",
        ),
        claim_on(
            "BR20", JOBANPUTRA.reading(APPENDIX),
            "Of the ten tasks, each inside the class generalizes better than each outside.",
            "least b2 inside less the greatest outside", above("separation", 0.0), *INSIDE, *OUTSIDE,
            reduce="separation", shared=True, quantity="b2", inside=len(INSIDE),
            note="fitted runs alone; cells without three of them are left out",
        ),
    ),
)  # fmt: skip
