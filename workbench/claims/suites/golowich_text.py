"""Claims of Golowich et al. 2025 (arXiv 2502.16792), trained: sparsity in text, from table 1 and figures 4 and 6."""

from __future__ import annotations

from typing import Any

from workbench.claims.claim import Suite
from workbench.claims.claim_on_cells import above, below, claim_on
from workbench.claims.papers import GOLOWICH
from workbench.claims.trained.in_text.whose_tokens import OF_OTHER, OTHERS, OWN
from workbench.claims.trained_cells import Request, TrainedCell, cell

SHORT = 64
"""L, the trained length in bytes; losses are evaluated at 2L."""
STEPS, BATCH = 3_000, 16
REGAINED = "workbench.claims.trained.in_text.regained"

CONTEXTS = Request("last byte", {"short": SHORT})
FEW = Request("few tokens", {"short": SHORT})
OF_TWO = Request(
    "few tokens of two",
    {
        "short": SHORT,
        "other": {
            "model": {"ids": {"name": "pose"}},
            "training": {"batch_size": BATCH, "curriculum": {"law": "uniform", "low": SHORT, "high": SHORT}},
        },
    },
)
"""The other one is a run of POSE on its own seeds, so that the two share only the distribution of texts."""


def _text(positions: str, *requests: Request, longest: int = SHORT, **more: Any) -> TrainedCell:
    """Text that is generated, in strings of one length and the same number of bytes a step."""
    return cell(
        "text", positions, longest, STEPS, low=longest, batch=BATCH * SHORT // longest, reach=2 * SHORT // longest,
        width=128, requests=(CONTEXTS, *requests), folder="generated", **more,
    )  # fmt: skip


POSE = _text("pose", FEW)
ROPE = _text("rope")
LATE = _text(
    "pose", label="in the last 30 %", training={"id_schedule": {"values": ["arange"], "over": 7 * STEPS // 10}}
)
LONG = _text("rope", OF_TWO, longest=2 * SHORT, label="trained at 2L")

DIFFERENCE = "loss with twice the context less with it"
PAIRED = "of the byte behind the same 500 held-out texts, in nats"
FEW_TOLD = (
    "over 500 held-out texts, what 5 of the 64 bytes before the last 64 regain of the loss against what all of them do "
    "(the 5 without which the byte's loss rises most, one left out at a time): Pearson's r, least-squares slope; and "
    "the slope with 5 random bytes"
)
FEW_HOLD = (
    above("correlation", 0.5, 0.5), above("slope", 0.5, 0.5), below("slope with random tokens", 0.2, 0.2),
)  # fmt: skip
GENERATED = (
    "the text is generated (invented names, colours that things keep, topics), so that it is the same everywhere; the "
    "paper's is C4, and its models are 3,000 times as large. A run counts as fitted if more of its last bytes are "
    "right at N than the likeliest byte after the last two gets"
)
KNOWING = f"bytes are chosen with the right answer known, as in the paper, which favours them; {GENERATED}"
TRIED = 2
"""1,000 and 3,000 steps of POSE, seed 100, by the loss on lengths up to L."""

SUITE = Suite(
    "text",
    "Sparsity in text, trained",
    (
        claim_on(
            "TX01", GOLOWICH.states("table 1"), "With PoSE a model trained at L has lower loss at 2L than at L.",
            f"loss with 2L bytes visible less that with the last L of them, {PAIRED}",
            below(DIFFERENCE, 0.0, 0.0), POSE, settings_tried=TRIED, note=GENERATED,
        ),
        claim_on(
            "TX02", GOLOWICH.reading("table 1"), "Without PoSE a model trained at L has higher loss at 2L than at L.",
            f"loss with 2L bytes visible less that with the last L of them, {PAIRED}",
            above(DIFFERENCE, 0.0, 0.0), ROPE, settings_tried=TRIED, note=GENERATED,
        ),
        claim_on(
            "TX03", GOLOWICH.reading(), "PoSE from the first step is worse than PoSE in the last 30 % of training.",
            f"loss with 2L bytes visible, with PoSE throughout less with PoSE in the last 30 % of the steps, {PAIRED}, "
            "by seed and text", above("difference of loss with twice the context", 0.0, 0.0), POSE, LATE,
            settings_tried=TRIED, reduce=f"{REGAINED}:text_difference",
            quantity=f"loss with {2 * SHORT} bytes of a text", told="difference of loss with twice the context",
            note=GENERATED,
        ).formerly("does not hold at this scale"),
        claim_on(
            "TX04", GOLOWICH.states("figure 4"), "What a model gains from far context is regained from 5 tokens of it.",
            FEW_TOLD, FEW_HOLD, POSE, settings_tried=TRIED, reduce=f"{REGAINED}:regained_gain_rows",
            choices=[OWN], kind="TM",
            shared=True, note=KNOWING,
        ),
        claim_on(
            "TX05", GOLOWICH.states("figure 6"),
            "So it is for a model trained at 2L, and with tokens that the other model chose.",
            f"{FEW_TOLD}; of the model trained at 2L with its own bytes and with those that the one with PoSE chose, "
            "and of that one with those that the model trained at 2L chose", FEW_HOLD, LONG, settings_tried=TRIED,
            reduce=f"{REGAINED}:regained_gain_rows", choices=[OWN, OTHERS, OF_OTHER], kind="TM", note=KNOWING,
        ).formerly("does not hold at this scale"),
        claim_on(
            "TX06", GOLOWICH.reading("figure 6"), "Sparsity is of the data: both models choose the same tokens.",
            "bytes that the 5 chosen by either model have in common, over the 25/64 of two independent choices",
            above("overlap over chance", 3.0, 3.0), LONG, settings_tried=TRIED, kind="TM", shared=True,
            note=f"two models that only like the same places would agree as much on different texts, which is kept "
            f"beside it as *overlap with another text's over chance*; {GENERATED}",
        ),
    ),
)  # fmt: skip
