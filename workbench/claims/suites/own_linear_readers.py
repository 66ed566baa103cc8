"""Claims of our own about linear readers: when gradient flow forgets position, in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.claims.claim import Condition, Row, Suite
from workbench.claims.claim_on_cells import RELATIONS, above, claim_on
from workbench.claims.claim_on_function import Computation, claim, claims_of
from workbench.claims.exact.linear_readers import (
    FAR,
    NOISE,
    N,
    either_reader,
    flow,
    law_of_lengths,
    noisy_reader,
    slope_of_error,
    weight_of_count,
    weights_of_count_on_draws,
    weights_on_draws,
)
from workbench.claims.papers import own_question
from workbench.claims.trained_cells import FIT, Request, TrainedCell, cell

SOURCE = own_question("When does training converge to rules that do not depend on the length of the prefix?")
EXACT = 1e-8
SCALES = ((0.5, 4.0), (1.0, 1.0), (1.0, 3.0), (1.0, 8.0), (2.0, 4.0))
"""Scales of the task state and the position code."""
LENGTH_LAWS = ("uniform", "growing", "few long", "fixed")
FACTORS = (1, 1.25, 1.5, 2, 3, 4, 6, 8)
LAWS: tuple[dict[str, Any], ...] = (
    {"law": "fixed"}, {"law": "few_long", "short": 4}, {"law": "uniform"}, {"law": "growing", "start": 4, "over": 500},
)  # fmt: skip


def _by_curriculum(task: str, low: int = 1, high: int = 16, steps: int = 1000, **more: Any) -> tuple[TrainedCell, ...]:
    """A cell for each length distribution, with learned positions and a random offset."""
    return tuple(
        cell(task, "ape", high, steps, low=low, width=32, heads=2, rate=3e-3, label=law["law"].replace("_", " "),
             requests=(FIT, Request("lengths", {"factors": list(FACTORS)})),
             training={"curriculum": {"low": low, "high": high, **law}}, **more)
        for law in LAWS
    )  # fmt: skip


CURRICULA = {
    "simple": _by_curriculum("simple", queries="last"),
    "majority": _by_curriculum("majority", high=15, queries="last"),
    "ur": _by_curriculum("ur", low=4, steps=3000),
}


def _reader_claim(
    number: str, prediction: str, statistic: str, conditions: tuple[Condition, ...], settled: str = ""
) -> Callable[[Computation], Computation]:
    """An exact claim about linear readers."""
    return claim(
        number,
        source=SOURCE,
        prediction=prediction,
        statistic=statistic,
        conditions=conditions,
        scale="N = 16, four laws of lengths, closed form by the modes of the flow",
        minutes=0.1,
        settled=settled,
    )


@_reader_claim(
    "TR01",
    prediction="Position is read just where the answer's mean moves with the length in training.",
    statistic="root mean square of the weights of the position code; squared error beyond N, against the closed form; "
    "the same by least squares on draws",
    conditions=(
        Condition("position weight", near=EXACT),
        Condition("error beyond N", near=EXACT),
        Condition("position weight, trained on draws", near=0.02),
    ),
)
def weights_of_position() -> list[Row]:
    """Return the weight of position in a linear reader whose task does not need position, but whose mean answer changes
    with length.
    """
    share = 1 / (1 + NOISE)  # of the answer's variance that z tells
    rows = []
    for name, means in (("constant mean", np.zeros(N)), ("mean that moves", np.linspace(-1, 1, N))):
        for curriculum in LENGTH_LAWS:
            odds = law_of_lengths(curriculum)
            reader = flow(*noisy_reader(odds, means), np.zeros(N + 1), FAR)
            expected = (1 - share) * float(np.sqrt(odds @ means**2))
            weight = float(np.sqrt(odds @ reader[1:] ** 2))
            item = f"{curriculum}, {name}"
            rows.append(Row("position weight", item, weight, expected=expected))
            beyond = float((1 - reader[0]) ** 2 * (means[-1] ** 2 + 1) + reader[0] ** 2 * NOISE)
            predicted = (1 - share) ** 2 * (float(means[-1]) ** 2 + 1) + share**2 * NOISE
            rows.append(Row("error beyond N", item, beyond, expected=predicted))
            rows += [
                Row(
                    "position weight, trained on draws",
                    f"{item}, seed {seed}",
                    weight_on_draws,
                    expected=expected,
                    seed=seed,
                )
                for seed, weight_on_draws in enumerate(weights_on_draws(odds, means))
            ]
    return rows


@_reader_claim(
    "TR02",
    prediction="Of two sufficient features that of larger variance is read, and a tenth of the way tells.",
    statistic="share of the answer that is read off position, early and at the end",
    conditions=(Condition("share read off position", near=EXACT), Condition("position wins", near=0.0)),
)
def shares_read_off_position() -> list[Row]:
    """The share of the answer that is read off position: early, late, and as predicted from the variances of the
    features."""
    odds = law_of_lengths("uniform")
    rows = []
    for summary, code in SCALES:
        expected = code**2 / N / (summary**2 + code**2 / N)
        rate = summary**2 + code**2 / N
        for name, time in (("a tenth of the time to half", 0.1 * np.log(2) / rate), ("the end", FAR)):
            reader = flow(*either_reader(odds, summary, code), np.zeros(N + 1), time)
            read = code * float(np.abs(reader[1:]).mean())
            share = read / (read + summary * float(reader[0]))
            item = f"summary {summary:g}, code {code:g}, {name}"
            rows.append(Row("share read off position", item, share, expected=expected))
            rows.append(Row("position wins", item, float(share > 0.5), expected=float(code**2 / N > summary**2)))
    return rows


@_reader_claim(
    "TR03",
    prediction="Fixed lengths end most coupled, few long ones next, uniform and growing ones least and alike.",
    statistic="squared error beyond N, against (k^2/K / (s^2 + k^2/K))^2 with K lengths in training",
    conditions=(
        Condition("error beyond N", near=EXACT),
        above("fixed less few long", 1e-6),
        above("few long less uniform", 1e-6),
        Condition("growing less uniform", near=EXACT),
    ),
)
def errors_by_curriculum() -> list[Row]:
    """The error beyond N that each curriculum ends with: by how many lengths it has, and by nothing else."""
    rows = []
    for summary, code in SCALES:
        errors = {}
        for curriculum in LENGTH_LAWS:
            reader = np.zeros(N + 1)
            pieces = 64 if curriculum == "growing" else 1
            for piece in range(pieces):
                odds = law_of_lengths(curriculum, (piece + 1) / pieces)
                time = FAR if piece == pieces - 1 else 0.05
                reader = flow(*either_reader(odds, summary, code), reader, time)
            support = int((law_of_lengths(curriculum) > 0).sum())
            errors[curriculum] = (1 - summary * float(reader[0])) ** 2
            expected = (code**2 / support / (summary**2 + code**2 / support)) ** 2
            item = f"summary {summary:g}, code {code:g}, {curriculum}"
            rows.append(Row("error beyond N", item, errors[curriculum], expected=expected))
        item = f"summary {summary:g}, code {code:g}"
        rows.append(Row("fixed less few long", item, errors["fixed"] - errors["few long"]))
        rows.append(Row("few long less uniform", item, errors["few long"] - errors["uniform"]))
        rows.append(Row("growing less uniform", item, errors["growing"] - errors["uniform"], expected=0.0))
    return rows


@_reader_claim(
    "TR04",
    prediction="A count that is not divided by the length fits a range, and its error grows like (n/N)^2.",
    statistic="slope of log error on log n from 16N to 128N",
    conditions=(
        Condition("slope of log error on log n", at_least=1.8, at_most=2.2),
        Condition("slope, trained on draws", at_least=1.8, at_most=2.2),
    ),
    settled="the lengths of the slope: nearer to N the error grows faster, from (wn - 1)^2",
)
def slopes_without_dividing() -> list[Row]:
    """A reader of the count in place of the share: fitted to a range, its error grows like the square of the length."""
    rows = []
    for longest in (16, 32, 64):
        lengths = np.arange(1, longest + 1)
        rows += [
            Row("slope of log error on log n", f"N {longest}", slope_of_error(weight_of_count(lengths), longest)),
            *(
                Row("slope, trained on draws", f"N {longest}, seed {seed}", slope_of_error(weight, longest), seed=seed)
                for seed, weight in enumerate(weights_of_count_on_draws(longest))
            ),
        ]
    return rows


@_reader_claim(
    "TR05",
    prediction="Weight decay leaves an exact fit by position for one by the summary, the more so the smaller it is.",
    statistic="squared error beyond N after starting from a fit by position alone, against the ridge solution",
    conditions=(
        Condition("error beyond N", near=EXACT),
        above("less than without decay", 0.0),
        above("rise with the decay", 0.0),
    ),
)
def errors_with_decay() -> list[Row]:
    """Return the error of training from an exact fit by position only. Without weight decay it stays; with decay it
    moves to the ridge solution.
    """
    odds = law_of_lengths("uniform")
    rows = []
    for summary, code in SCALES:
        second, moments = either_reader(odds, summary, code)
        start = np.concatenate([[0.0], np.where(np.arange(N) % 2, 1.0, -1.0) / code])
        before = -1.0
        for decay in (0.0, 1e-3, 1e-2, 1e-1):
            reader = flow(second, moments, start, FAR, decay)
            error = (1 - summary * float(reader[0])) ** 2
            total = decay + summary**2 + code**2 / N
            expected = 1.0 if decay == 0 else (1 - summary**2 / total) ** 2
            item = f"summary {summary:g}, code {code:g}, decay {decay:g}"
            rows.append(Row("error beyond N", item, error, expected=expected))
            if decay > 0:
                rows.append(Row("less than without decay", item, 1.0 - error))
                if before >= 0:
                    rows.append(Row("rise with the decay", item, error - before))
                before = error
    return rows


SUITE = Suite(
    "tractable",
    "When training forgets position: linear readers",
    (
        *claims_of(__name__),
        claim_on(
            "TR06", SOURCE, "Trained softmax models follow the linear readers' order of curricula.",
            "Spearman's correlation, over the runs of a task, of the first length to 8N at which skill is below 0.9 "
            "and the place of the curriculum by TR03: fixed, few long, uniform and growing; curricula drawn whole",
            above("correlation", 0.0, 0.0), *(each for cells in CURRICULA.values() for each in cells), exempt=True,
            reduce=f"{RELATIONS}:follows_order", factors=list(FACTORS),
            places={"fixed": 0, "few_long": 1, "uniform": 2, "growing": 2},
            note="asked at the end of strings alone, else fixed lengths train all shorter ones; runs enter whether or "
            "not they are fitted, for those of fixed lengths are fitted at N alone",
        ).formerly("undecided"),
    ),
)  # fmt: skip
