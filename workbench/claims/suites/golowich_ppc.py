"""Claims of Golowich et al. 2025 (arXiv 2502.16792), trained: scratchpads with coupled ids that the model predicts."""

from __future__ import annotations

from typing import Any

from workbench.claims.claim import Condition, Suite
from workbench.claims.claim_on_cells import RELATIONS, above, below, claim_on
from workbench.claims.papers import GOLOWICH, own_question
from workbench.claims.trained_cells import FIT, Request, TrainedCell, cell

DETERIORATION = own_question("Do written-out steps deteriorate although each of them needs a bounded summary?")
SEEDS = (2, 3)
"""Others than those of the sweep whose settings these are, and whose numbers were seen."""
BEYOND = ("accuracy at 1.5 N", "accuracy at 2 N")
STEPS = Request("steps", {"factors": [1, 2]})
ENDS = Request("steps", {"factors": [2]})
TOKENS = Request("tokens", {"read": [16], "written": [12]})
REACHES = (1, 1.5, 2, 2.5, 3, 4, 5)


def _lengths(*factors: float) -> Request:
    return Request("lengths", {"factors": list(factors)})


def _parity(
    positions: str, jump: int = 1, steps: int = 4500, room: int = 72, label: str = "", **more: Any
) -> TrainedCell:
    """Scratchpads of parities; the curriculum grows over a third of the steps."""
    law = {"law": "growing", "low": 3, "high": 17, "start": 6, "over": steps // 3}
    settings: dict[str, Any] = {"seeds": SEEDS, "requests": (FIT, _lengths(1, 1.5, 2)), **more}
    return cell(
        "parity_scratchpad", positions, 17, steps, label=label, layers=3, rate=1e-3, low=3, model={"n_ctx": room},
        training={"weight_decay": 0.1, "curriculum": law}, jump=jump, **settings,
    )  # fmt: skip


def _chains(positions: str, depth: int = 2, scratchpad: bool = True, *requests: Request) -> TrainedCell:
    """Chains of assignments, from one chain to four; without a scratchpad a string is so much shorter."""
    variables, low, high = {2: (144, 15, 33), 3: (168, 21, 48)}[depth]
    shorter = 0 if scratchpad else 3 * depth - 1
    more: dict[str, Any] = {} if scratchpad else {"scratchpad": False}
    return cell(
        "variable_assignment", positions, high - shorter, 4000, layers=3, heads=2, low=low - shorter, seeds=SEEDS,
        requests=(FIT, _lengths(1, 1.5, 2), *requests), model={"n_ctx": 160}, training={"weight_decay": 0.1},
        depth=depth, variables=variables, **more,
    )  # fmt: skip


JUMPS = tuple(_parity("ppc", jump) for jump in (1, 2, 3, 4))
PPC = JUMPS[0]
OFFSET, POSE, FIXED, GIVEN = (_parity(positions) for positions in ("ape", "pose", "ppc_fixed", "coupled"))
LONG = _parity("ppc", steps=10_000, room=101, label="long", seeds=(2,), requests=(FIT, _lengths(*REACHES)))
DEEP = tuple(_chains("ppc", depth, True, _lengths(3)) for depth in (2, 3))
CHAIN = DEEP[0].also(ENDS)
CHAIN_OFFSET = _chains("ape")
CHAIN_POSE = _chains("pose", 2, True, ENDS)
AT_ONCE, AT_ONCE_POSE = (_chains(positions, 2, False, ENDS) for positions in ("ppc", "pose"))
EXACT = "accuracy: all tokens of the answer right, and all ids where they are predicted, those before shown"


def _beyond(least: float) -> tuple[Condition, ...]:
    """Conditions on the differences at 1.5N and 2N."""
    return tuple(above(f"difference of {quantity}", least) for quantity in BEYOND)


SUITE = Suite(
    "ppc",
    "Scratchpads with predicted position ids, trained",
    (
        claim_on(
            "PP01", GOLOWICH.states("figure 2"),
            "With predicted coupled ids every jump from 1 to 4 is near perfect inside training.",
            f"{EXACT}, at N", above("accuracy at 1 N", 0.95), *JUMPS, exempt=True, settings_tried=3,
            note="runs enter whether fitted or not: that they fit is the claim; N is the longest length up to 17 that "
            "a jump has: 17, 16, 17 and 16",
        ).formerly("does not hold at this scale"),
        claim_on(
            "PP02", GOLOWICH.states("figure 2"), "Smaller jumps extend further.",
            "Spearman's correlation of accuracy with the jump over runs, jumps drawn whole, and accuracy with jump 1 "
            "less that with jump 4, by seed, at 1.5N and 2N",
            (below("correlation with the place", 0.0, 0.0), above("first less last", 0.0)), *JUMPS,
            reduce=f"{RELATIONS}:falls_along_cells", shared=True, settings_tried=3, quantities=list(BEYOND),
        ),
        claim_on(
            "PP03", GOLOWICH.reading("figure 2"), "Sparsity decides and not the length of the output.",
            "share of right tokens of the answer, those before shown, with jump 1 less that with jump 4, by seed: at "
            "16 tokens read and at 12 tokens written",
            tuple(above(f"difference of tokens right, {told}", 0.0) for told in ("16 read", "12 written")),
            PPC.also(TOKENS), JUMPS[3].also(TOKENS), reduce="differences", shared=True, settings_tried=3,
            quantities=["tokens right, 16 read", "tokens right, 12 written"],
            note="12 written tokens are 12 read ones with jump 1, and 48 with jump 4, at 1.5N and 3.8N; strings are "
            "drawn as if each were right or wrong as a whole, so that intervals are wider than 95 %",
        ),
        claim_on(
            "PP04", GOLOWICH.states("figure 8"),
            "Without coupling, with learned ids and a random offset, scratchpads are much worse.",
            f"{EXACT}: with predicted ids less with consecutive ones, by seed", _beyond(0.3), PPC, OFFSET,
            reduce="differences", settings_tried=3, quantities=list(BEYOND),
        ).formerly("holds"),
        claim_on(
            "PP05", GOLOWICH.states("figure 8"), "With rotary positions and PoSE scratchpads are much worse.",
            f"{EXACT}: with predicted ids less with PoSE, by seed", _beyond(0.3), PPC, POSE,
            reduce="differences", settings_tried=3, quantities=list(BEYOND),
        ),
        claim_on(
            "PP06", GOLOWICH.reading("sections 4.1 and 5.2"), "Coupling is good to several times the trained length.",
            "the largest of 1, 1.5, 2, 2.5, 3, 4 and 5 N up to which accuracy is .5 or more (published 2.5 to 5)",
            above("largest multiple of N", 2.5), LONG, reduce=f"{RELATIONS}:largest_factor", factors=list(REACHES),
            least=0.5,
        ).formerly("does not hold at this scale"),
        claim_on(
            "PP07", GOLOWICH.reading(), "The random offset of training is what makes large ids usable.",
            f"{EXACT}, at 1.5N: with the offset less without, by seed", above("difference of accuracy at 1.5 N", 0.5),
            PPC, FIXED, reduce="difference", quantity="accuracy at 1.5 N",
        ).formerly("holds"),
        claim_on(
            "PP08", GOLOWICH.reading(), "Given the true ids a model does at least as well as with those it predicts.",
            f"{EXACT}: with true ids less with predicted ones, by seed", _beyond(0.0), GIVEN, PPC,
            reduce="differences", quantities=list(BEYOND),
            note="the size of the difference says what predicting ids costs",
        ).formerly("does not hold at this scale"),
        claim_on(
            "PP09", GOLOWICH.states("figure 3a"),
            "Variable assignment with predicted ids is good to three times the trained length.",
            f"{EXACT}, at 2N, with chains of 2 and of 3 assignments", above("accuracy at 2 N", 0.5), *DEEP,
            settings_tried=2, note="accuracy at 3N stands in the table of runs",
        ),
        claim_on(
            "PP10", GOLOWICH.states("figure 3b"),
            "Variable assignment without coupling, with learned ids and a random offset, is worse.",
            f"{EXACT}, at 2N: with predicted ids less with consecutive ones, by seed",
            above("difference of accuracy at 2 N", 0.0), DEEP[0], CHAIN_OFFSET, reduce="difference", settings_tried=2,
            quantity="accuracy at 2 N",
        ),
        claim_on(
            "PP11", GOLOWICH.states("figure 3c"), "Variable assignment without a scratchpad is worse.",
            "share of right last tokens of answers that the model feeds on itself, at 2N: with a scratchpad less "
            "without, predicted ids both, by seed", above("difference of answer token at 2 N", 0.2), CHAIN, AT_ONCE,
            reduce="difference", settings_tried=2, quantity="answer token at 2 N",
            note="trained on one to four chains both; 2N are 10 chains with a scratchpad and 9 without",
        ),
        claim_on(
            "PP12", GOLOWICH.states("figure 3d"), "With rotary positions and PoSE a scratchpad beats none.",
            "share of right last tokens of answers that the model feeds on itself, at 2N: with a scratchpad less "
            "without, by seed", above("difference of answer token at 2 N", 0.0), CHAIN_POSE, AT_ONCE_POSE,
            reduce="difference", quantity="answer token at 2 N",
            note="trained on one to four chains both; 2N are 10 chains with a scratchpad and 9 without",
        ),
        claim_on(
            "PP13", DETERIORATION,
            "A scratchpad deteriorates step by step, although each step needs a bounded summary.",
            "slope of a step's error on its number in answers that the model feeds on itself, given that all steps "
            "before are right, at 2N", above("slope of step error at 2 N", 0.0, 0.0), PPC.also(STEPS), shared=True,
            settings_tried=3, note="the slope at N stands in the table of runs",
        ),
    ),
)  # fmt: skip
