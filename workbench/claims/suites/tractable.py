"""When training forgets position, where that can be computed: gradient flow of readers that are linear."""

from __future__ import annotations

from typing import Any

from workbench.claims.claim import Claim, Condition, Suite
from workbench.claims.claim_on_cells import RELATIONS, above, claim_on
from workbench.claims.trained_cells import FIT, Asked, TrainedCell, cell

SOURCE = "this project; the question is when training converges to rules that do not hang on the prefix length"
BUILT = "workbench.claims.exact.gradient_flow.linear_readers"
EXACT = 1e-8
FACTORS = (1, 1.25, 1.5, 2, 3, 4, 6, 8)
LAWS: tuple[dict[str, Any], ...] = (
    {"law": "fixed"}, {"law": "few_long", "short": 4}, {"law": "uniform"}, {"law": "growing", "start": 4, "over": 500},
)  # fmt: skip


def _by_curriculum(task: str, low: int = 1, high: int = 16, steps: int = 1000, **more: Any) -> tuple[TrainedCell, ...]:
    """A cell of each law of lengths, learned positions with a random offset."""
    return tuple(
        cell(task, "ape", high, steps, low=low, width=32, heads=2, rate=3e-3, label=law["law"].replace("_", " "),
             asked=(FIT, Asked("lengths", {"factors": list(FACTORS)})),
             training={"curriculum": {"low": low, "high": high, **law}}, **more)
        for law in LAWS
    )  # fmt: skip


CURRICULA = {
    "simple": _by_curriculum("simple", queries="last"),
    "majority": _by_curriculum("majority", high=15, queries="last"),
    "ur": _by_curriculum("ur", low=4, steps=3000),
}


def _claim(number: str, prediction: str, statistic: str, rows: str, *conditions: Condition, settled: str = "") -> Claim:
    return Claim(
        id=number, kind="E", source=SOURCE, prediction=prediction, statistic=statistic, conditions=conditions,
        scale="N = 16, four laws of lengths, closed form by the modes of the flow", rows=f"{BUILT}:{rows}", minutes=0.1,
        settled=settled,
    )  # fmt: skip


SUITE = Suite(
    "tractable",
    "When training forgets position: linear readers",
    (
        _claim(
            "TR01", "Position is read just where the answer's mean moves with the length in training.",
            "root mean square of the weights of the position code; squared error beyond N, against the closed form; "
            "the same by least squares on draws", "position_weights", Condition("position weight", near=EXACT),
            Condition("error beyond N", near=EXACT), Condition("position weight, trained on draws", near=0.02),
        ),
        _claim(
            "TR02", "Of two sufficient features that of larger variance is read, and a tenth of the way tells.",
            "share of the answer that is read off position, early and at the end", "which_is_learnt",
            Condition("share read off position", near=EXACT), Condition("position wins", near=0.0),
        ),
        _claim(
            "TR03", "Fixed lengths end most coupled, few long ones next, uniform and growing ones least and alike.",
            "squared error beyond N, against (k^2/K / (s^2 + k^2/K))^2 with K lengths in training", "by_curriculum",
            Condition("error beyond N", near=EXACT), above("fixed less few long", 1e-6),
            above("few long less uniform", 1e-6), Condition("growing less uniform", near=EXACT),
        ),
        _claim(
            "TR04", "A count that is not divided by the length fits a range, and its error grows like (n/N)^2.",
            "slope of log error on log n from 16N to 128N", "counting_without_dividing",
            Condition("slope of log error on log n", at_least=1.8, at_most=2.2),
            Condition("slope, trained on draws", at_least=1.8, at_most=2.2),
            settled="the lengths of the slope: nearer to N the error grows faster, from (wn - 1)^2",
        ),
        _claim(
            "TR05",
            "Weight decay leaves an exact fit by position for one by the summary, the more so the smaller it is.",
            "squared error beyond N after starting from a fit by position alone, against the ridge solution",
            "decay_picks", Condition("error beyond N", near=EXACT), above("less than without decay", 0.0),
            above("rise with the decay", 0.0),
        ),
        claim_on(
            "TR06", SOURCE, "Trained softmax models follow the linear readers' order of curricula.",
            "Spearman's correlation, over the runs of a task, of the first length to 8N at which skill is below 0.9 "
            "and the place of the curriculum by TR03: fixed, few long, uniform and growing; curricula drawn whole",
            above("correlation", 0.0, 0.0), *(one for cells in CURRICULA.values() for one in cells), exempt=True,
            reduce=f"{RELATIONS}:follows_order", factors=list(FACTORS),
            places={"fixed": 0, "few_long": 1, "uniform": 2, "growing": 2},
            note="asked at the end of strings alone, else fixed lengths train all shorter ones; runs enter whether or "
            "not they are fitted, for those of fixed lengths are fitted at N alone",
        ),
    ),
)  # fmt: skip
