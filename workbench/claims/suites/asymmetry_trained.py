"""Induction against anti-induction in models trained on retrieval and copying: arXiv 2505.21785, heads and removals.

The claims about pretrained models that are tuned further (zero-shot asymmetry, what fine-tuning mends) are not here:
they need a law of text to start from.
"""

from __future__ import annotations

from workbench.claims.claim import Claim, Condition, Suite
from workbench.claims.claim_on_cells import above, below, claim_on
from workbench.claims.suites.crasp_algorithmic import UF
from workbench.claims.suites.retrieval_trained import UB, UL, UR
from workbench.claims.trained_cells import Asked

PAPER = '"Born a Transformer - Always a Transformer?", arXiv 2505.21785'
EDGES = Asked(
    "circuits.ablation",
    {"only": ["accuracy_drop"], "lengths": [1], "inside": False, "settings": {"modes": ["mean"], "factors": [1]}},
)
SCORES = Asked("circuits.heads", {"only": ["induction", "anti_induction"], "lengths": [1], "inside": False})
DROP = "accuracy_drop at 1 N"
INDUCTION, ANTI = f"{DROP}, induction edges", f"{DROP}, anti-induction edges"
RIGHT, LEFT = UR.also(EDGES, SCORES), UL.also(EDGES, SCORES)
FORWARDS, BACKWARDS = UF[0].also(EDGES), UB.also(EDGES)
REMOVED = (
    "accuracy at N less that with the edges of one circuit removed (keys behind, or equal to, an earlier occurrence)"
)

SUITE = Suite(
    "asymmetry",
    "Induction against anti-induction, in models trained on retrieval and copying",
    (
        claim_on(
            "BA01", PAPER, "Removing induction destroys retrieval to the right only.", REMOVED,
            (above("drop, right-going", 0.4), below("drop, left-going", 0.1)), RIGHT, LEFT,
            reduce="of_cells", kind="TM", of={"drop, right-going": [0, INDUCTION], "drop, left-going": [1, INDUCTION]},
        ),
        claim_on(
            "BA02", PAPER, "Removing anti-induction destroys retrieval to the left only.", REMOVED,
            (above("drop, left-going", 0.4), below("drop, right-going", 0.1)), RIGHT, LEFT,
            reduce="of_cells", kind="TM", shared=True,
            of={"drop, left-going": [1, ANTI], "drop, right-going": [0, ANTI]},
        ),
        claim_on(
            "BA03", PAPER, "The same of copying distinct symbols forwards and backwards.",
            f"{REMOVED}; over all symbols of the answer",
            (above("induction, forwards", 0.4), below("induction, backwards", 0.1),
             above("anti-induction, backwards", 0.4), below("anti-induction, forwards", 0.1)),
            FORWARDS, BACKWARDS, reduce="of_cells", kind="TM",
            of={"induction, forwards": [0, INDUCTION], "induction, backwards": [1, INDUCTION],
                "anti-induction, backwards": [1, ANTI], "anti-induction, forwards": [0, ANTI]},
        ),
        claim_on(
            "BA04", PAPER, "Models of right neighbours have induction heads, of left ones heads that read the twin.",
            "the greatest chance-corrected score of a head at N, of the strings of the task",
            (above("fitting score", 0.5), below("other score", 0.2)), RIGHT, LEFT,
            reduce="best_heads", kind="TM", shared=True,
            of={"fitting score": [[0, "induction"], [1, "anti_induction"]],
                "other score": [[0, "anti_induction"], [1, "induction"]]},
            note="of the heads of a run the one with the greatest score, whose own interval it has",
        ),
        Claim(
            id="BA10",
            kind="E",
            source=PAPER,
            prediction="Hand-built induction and anti-induction heads score as they must.",
            statistic="chance-corrected scores of both heads by both sets of keys, and by the sets one place further",
            conditions=(
                Condition("own score", near=1e-9),
                Condition("score by the other's keys", near=1e-9),
                Condition("score one place further", near=1e-9),
            ),
            scale="strings of 8, 16 and 32 different symbols said twice; scores of 60 leave other keys no mass",
            rows="workbench.claims.exact.handmade_heads:head_scores",
            minutes=0.1,
        ),
    ),
)  # fmt: skip
