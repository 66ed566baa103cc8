"""Claims of Golowich et al. 2025 (arXiv 2502.16792), trained: sparse parity and planted correlations."""

from __future__ import annotations

from typing import Any

from workbench.claims.claim import Suite
from workbench.claims.claim_on_cells import RELATIONS, above, below, claim_on
from workbench.claims.papers import GOLOWICH
from workbench.claims.trained_cells import BINS, FIT, VERDICT, Request, TrainedCell, cell

FAR = (1, 2, 4, 10)
"""Lengths, in multiples of N."""
DEEP: dict[str, Any] = {"layers": 3, "rate": 1e-3, "low": 5, "reach": 10, "seeds": (0, 1)}


NEEDED = {groups: Request("needed tokens", {"groups": groups}) for groups in ("token", "type")}


def _by_number(most: int) -> tuple[Request, ...]:
    """Requests for the accuracy at each number of small numbers, one at a time."""
    return tuple(
        Request("lengths", {"factors": list(FAR), "task": {"k": k, "least": k}, "told": f"k {k}"})
        for k in range(1, most + 1)
    )


def _parity(most: int, positions: str = "pose") -> TrainedCell:
    return cell("sparse_parity", positions, 25, 10_000, requests=(FIT, *_by_number(most + 2)), k=most, **DEEP)


POSE = {k: _parity(k) for k in (2, 3, 4)}
ROPE = _parity(2, "rope")
SPANS = tuple(
    Request("lengths", {"factors": [1], "task": {"span": span}, "told": f"span {span}"}) for span in (4, 8, 16)
)
PLANTED = cell("planted", "lim 1 4", 24, 3000, low=6, requests=(FIT, BINS, VERDICT, *SPANS), k=2, span=4)
NEIGHBOURS = cell(
    "planted", "lim 1 4", 24, 3000, low=6, seeds=(0, 1), k=2, span=4, gap=1,
    requests=(
        FIT,
        *(Request("lengths", {"factors": [1], "task": {"gap": gap}, "told": f"gap {gap}"}) for gap in (1, 2)),
    ),
)  # fmt: skip
FOUR = Request("lengths", {"factors": [4]})
GROWING_NUMBER = cell("sparse_parity", "pose", 25, 10_000, requests=(FIT, FOUR), k=3, k_at=24, **DEEP)
KEYS = Request(
    "circuits.sparsity",
    {"only": ["keys_needed"], "lengths": [1, 2, 4], "inside": False, "settings": {"longest": 1}},
)
"""The search for influential tokens is left out: no length is short enough for it."""
PLANTINGS = (PLANTED, *(cell("planted", p, 24, 3000, low=6, requests=(FIT,), k=2, span=4) for p in ("rope", "ape")))
GRAM = {
    (p, n, k): cell("kgram_retrieval", p, n, 2500, low=2 * k + 2, label=f"N {n}", k=k, symbols=6)
    for p in ("rope", "lim 1 4")
    for n in (16, 32)
    for k in (1, 2, 3)
}  # fmt: skip
ACCURACY = "accuracy on strings with exactly k small numbers"

TOLD_APART = (
    "planted numbers differ from all filler here, so that a model may find them wherever they stand: the assumption is "
    "sufficient and this function does not need it, as those of SE03 and SE06 do"
)

SUITE = Suite(
    "sparse-trained",
    "Sparse parity and planted correlations, trained",
    (
        claim_on(
            "SP01", GOLOWICH.states("figures 1 and 7"),
            "Trained on few small numbers, a model is right at many times the trained length.",
            f"{ACCURACY}, every k up to that of training, at 4N", above("accuracy at 4 N", 0.95), POSE[2], POSE[3],
            reduce="by_setting", settings={POSE[2].name: ["k 1", "k 2"], POSE[3].name: ["k 1", "k 2", "k 3"]},
        ).formerly("undecided"),
        claim_on(
            "SP02", GOLOWICH.states("figure 1"),
            "More small numbers than were trained on fail, inside the trained lengths too.",
            f"{ACCURACY}, one and two more than trained on",
            (below("accuracy at 1 N", 0.65), below("accuracy at 2 N", 0.65), below("accuracy at 4 N", 0.65)),
            POSE[2], POSE[3], reduce="by_setting", shared=True,
            settings={POSE[2].name: ["k 3", "k 4"], POSE[3].name: ["k 4", "k 5"]},
        ).formerly("does not hold at this scale"),
        claim_on(
            "SP03", GOLOWICH.states("figure 1"), "Where all numbers up to 4 fit, larger ones generalize worse.",
            "slope of accuracy at 4N on k = 1..4", below("slope on k", 0.0, 0.0), POSE[4], reduce="slope_on_setting",
            quantity="accuracy at 4 N", settings=["k 1", "k 2", "k 3", "k 4"],
        ).formerly("holds"),
        claim_on(
            "SP04", GOLOWICH.reading("figure 1"), "Generalization improves as sparsity falls.",
            "accuracy at 4N with one small number, trained on up to 2 less trained on up to 4, by seed",
            above("difference of accuracy at 4 N", 0.0), POSE[2], POSE[4], reduce="difference", shared=True,
            quantity="accuracy at 4 N, k 1",
        ),
        claim_on(
            "SP05", GOLOWICH.reading(), "Rotary positions alone are worse than with PoSE.",
            "accuracy at 4N on strings with two small numbers, with PoSE less without, by seed",
            above("difference of accuracy at 4 N", 0.0), POSE[2], ROPE, reduce="difference",
            quantity="accuracy at 4 N, k 2",
        ).formerly("holds"),
        claim_on(
            "SP06", GOLOWICH.reading("definition 3.2"),
            "A planted local correlation is right at 8N with limit positions of that locality.",
            "skill at 8N", above("skill at 8 N", 0.9, 0.9), PLANTED,
        ).formerly("holds"),
        claim_on(
            "SP07", GOLOWICH.reading("assumption 3.3"), "A wider span at test than in training fails.",
            "skill at N with planted tokens within 8 and 16, over that within 4",
            (below("skill at 1 N, span 8 over span 4", 0.6), below("skill at 1 N, span 16 over span 4", 0.6)), PLANTED,
            reduce="over_own", shared=True, quantity="skill at 1 N", base="span 4", settings=["span 8", "span 16"],
            note=TOLD_APART,
        ),
        claim_on(
            "SP08", GOLOWICH.reading("assumption 4.2"), "Places that were never trained fail.",
            "accuracy at N with planted tokens two places apart, after training with neighbours",
            below("accuracy at 1 N, gap 2", 0.5), NEIGHBOURS, note=TOLD_APART,
        ).formerly("does not hold at this scale"),
        claim_on(
            "SP09", GOLOWICH.reading(), "The number of planted tokens must not grow with the length.",
            "accuracy at 4N trained and asked with up to 3 small numbers less that with up to n/8, by seed",
            above("difference of accuracy at 4 N", 0.2, 0.0), POSE[3].also(FOUR), GROWING_NUMBER, reduce="difference",
            quantity="accuracy at 4 N",
        ),
        claim_on(
            "SP10", GOLOWICH.reading("section 5.1 and equation 6"),
            "The tokens that a good model needs are the planted ones.",
            "share of the tokens without which the task's answer is another that are among as many without which the "
            "run's loss rises most, at N", above("needed tokens found", 0.9), PLANTED.also(NEEDED["type"]),
            *(POSE[k].also(NEEDED["token"]) for k in (2, 3)), kind="TM", seeds=2,
            settled="which tokens are asked for: small numbers alone had been, of pairs whose bit is 0 too, which no "
            "right model needs, and equal planted numbers one at a time, of which a mean misses neither",
            note="whether it predicts accuracy at 2N is not asked",
        ),
        claim_on(
            "SP11", GOLOWICH.reading(), "The keys that are needed do not grow with the length in runs that hold.",
            "slope of log keys needed on log n from N to 4N, the mean over heads, of fitted runs with skill below 0.9 "
            "at 4N less that of the others, cells drawn whole", above("difference of slopes", 0.0, 0.0),
            *(one.also(FOUR, KEYS) for one in (*POSE.values(), ROPE, *PLANTINGS)), kind="TM", seeds=2,
            reduce=f"{RELATIONS}:keys_slopes", factors=[1, 2, 4], holds="skill at 4 N", least=0.9,
        ),
        claim_on(
            "SP12", GOLOWICH.reading("definition 3.2"), "k-gram retrieval of larger k needs longer training strings.",
            "b1 with k less that with k + 1, by seed", above("fall of b1 with k", 0.0), *GRAM.values(),
            reduce="steps_down", quantity="b1", told="fall of b1 with k",
            groups=[[i, i + 1] for g in range(4) for i in (3 * g, 3 * g + 1)],
        ),
    ),
)  # fmt: skip
