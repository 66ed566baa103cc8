"""The kinds of planted causes: models that are right at every length, and the numbers that make each fail.

The right diagnosis of a kind was written down before any of its members was diagnosed. Two locations may be equal under
every intervention on rows: an offset in the code, and an offset in what the read-out takes for the code. Then both are
right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from workbench.diagnosis.bench.memory_models import MemoryNumbers
from workbench.diagnosis.bench.needle_models import TRAINED, NeedleNumbers, WrittenBit
from workbench.diagnosis.bench.position_readers import ROWS as TABLE
from workbench.diagnosis.bench.position_readers import MarkedBit, PreviousBit, ReaderNumbers
from workbench.diagnosis.bench.trained_models import TrainedNumbers
from workbench.tasks.base import Task
from workbench.tasks.counting.majority import Majority

Numbers = NeedleNumbers | MemoryNumbers | TrainedNumbers | ReaderNumbers
Role = Literal["single", "healthy", "joint"]
Draw = Callable[[np.random.Generator], tuple[Numbers, tuple["Part", ...]]]
RUNS = 4
"""Number of seeds of trained runs."""
OFFSET = ("code", "read-out")
"""Locations that are equal up to a basis of the residual stream, and under every intervention on rows."""


@dataclass(frozen=True)
class Part:
    """One number of a model that a planted flaw changes.

    Attributes:
        field: name of the number in the model.
        weak, strong: ends of the range that is searched, evenly in the logarithm; equal if there is no search.
    """

    field: str
    weak: float
    strong: float

    def value(self, strength: float) -> float:
        """Return the number at a strength from 0 to 1."""
        if self.weak == self.strong:
            return self.strong
        value: float = self.weak * (self.strong / self.weak) ** strength
        return value


@dataclass(frozen=True)
class Kind:
    """The definition of one kind of planted flaw.

    Attributes:
        name: name of the kind.
        about: the plant in a clause.
        draw: returns the model without a flaw and the parts to plant, from a random generator.
        entries: labels of ``entry`` that are right.
        sites: labels of ``failure_site`` that are right; empty = the kind has no right location.
        length: n, the length at which it is diagnosed.
        task: the task.
        trained: N.
        role: which target it counts for.
        held_out: whether all of its members are in the second half.
        also: whether the diagnosis must also report an intervention of another family.
        remark: an explanation of its outcome, where one is needed.
        later: whether it joined the bench after the first results were published.
    """

    name: str
    about: str
    draw: Draw
    entries: tuple[str, ...]
    sites: tuple[str, ...] = ()
    length: int = 4 * TRAINED
    task: Task = field(default_factory=WrittenBit)
    trained: int = TRAINED
    role: Role = "single"
    held_out: bool = False
    also: bool = False
    remark: str = ""
    later: bool = False


def needle(*parts: Part, **numbers: float | tuple[float, float]) -> Draw:
    """Return a function that draws a needle with these parts planted.

    Each member draws its own value for a number that is given as a pair.
    """

    def draw(rng: np.random.Generator) -> tuple[Numbers, tuple[Part, ...]]:
        drawn = {name: float(rng.uniform(*v)) if isinstance(v, tuple) else v for name, v in sorted(numbers.items())}
        fields: dict[str, Any] = {"match": float(rng.uniform(7, 9)), **drawn}
        return NeedleNumbers(seed=int(rng.integers(1 << 31)), **fields), parts

    return draw


def either_sign(draw: Draw) -> Draw:
    """Return a function that draws as ``draw`` does, with the sign of all parts reversed in half of the members."""

    def signed_draw(rng: np.random.Generator) -> tuple[Numbers, tuple[Part, ...]]:
        numbers, parts = draw(rng)
        sign = 1 if rng.random() < 0.5 else -1
        return numbers, tuple(Part(p.field, sign * p.weak, sign * p.strong) for p in parts)

    return signed_draw


def draw_rounding_fault(rng: np.random.Generator) -> tuple[Numbers, tuple[Part, ...]]:
    """Draw a needle whose output at n is too small, for one of the two answers, for what the ballast leaves of float32.

    Above the ballast, outputs are rounded to multiples of ``step``, below it to half of that. So an output between a
    quarter and a half of ``step`` is rounded away only above.
    """
    exponent = int(rng.integers(18, 21))
    step = 2.0 ** (exponent - 23)
    wanted = step * float(rng.uniform(0.3, 0.45))
    others = 4 * TRAINED
    match = float(np.log(wanted * others / (1 - wanted)))
    ballast = 2.0**exponent
    return NeedleNumbers(match=match, carried=0.0), (Part("ballast", ballast, ballast),)


def memory(rng: np.random.Generator) -> tuple[Numbers, tuple[Part, ...]]:
    """Draw a recurrent memory that forgets."""
    return MemoryNumbers(threshold=float(rng.uniform(0.05, 0.2))), (Part("decay", 0.005, 0.2),)


def draw_trained_run(positions: str, *parts: Part) -> Draw:
    """Return a function that draws one of a few trained runs. Members of several kinds share their training."""

    def draw(rng: np.random.Generator) -> tuple[Numbers, tuple[Part, ...]]:
        return TrainedNumbers(positions=positions, seed=int(rng.integers(RUNS))), parts

    return draw


def reader(part: Part, match: tuple[float, float], **numbers: Any) -> Draw:
    """Return a function that draws a previous-token head that reads position rows, with a score in this range."""

    def draw(rng: np.random.Generator) -> tuple[Numbers, tuple[Part, ...]]:
        score, seed = float(rng.uniform(*match)), int(rng.integers(1 << 31))
        return ReaderNumbers(match=score, seed=seed, **numbers), (part,)

    return draw


COUNTER: dict[str, Any] = {"task": Majority(), "trained": TRAINED - 1, "length": 4 * TRAINED - 1}
FAR: dict[str, Any] = {"length": 8 * TRAINED}
"""Length 8 N. A low score that is harmless at N, or a rare decoy, lowers accuracy by 0.2 only there."""
OFFSETS = Part("offset", 0.05, 5.0)
SURPLUS = Part("unembedded", 0.3, 50.0)
ROWS = Part("row_scores", 1.0, 40.0)
ALL_ROWS = Part("first_changed", TRAINED + 1, TRAINED + 1)
LATE_ROWS = Part("first_changed", 4 * TRAINED - 4, TRAINED + 1)
REPEATED: dict[str, Any] = {"repeated": 1.0, "first_changed": TABLE}
RANDOM: dict[str, Any] = {"untrained": 1.0, "first_changed": TABLE}
SHARP, SOFT = (6.0, 9.0), (4.5, 6.0)
"""Scores of a previous token; a soft head gives about half of its weight to other tokens at N, and is right there."""
MARKED = (
    "the head must find the previous token of every token. Position interventions repeat ids, which breaks the head at "
    "N as well, so none is applicable. The diagnosis does not decide whether positions or content are the cause."
)
MIXED = (
    "partly changed position vectors lower the score of the right token. Sharper attention then recovers the answer, "
    "and no position intervention is applicable. The diagnosis does not decide whether positions, keys or content are "
    "the cause."
)

KINDS: tuple[Kind, ...] = (
    Kind("blurred margin, noise", "the attention score of the write is lowered; other tokens carry bits to ignore",
         needle(Part("match", 4.0, 1.5)), ("keys",), ("dispersion",), **FAR),
    Kind("blurred margin, bias", "the score of the write is 2.4 to 2.8; every ignored token adds the same value",
         needle(Part("bias_of_ignored", 0.02, 0.5), match=(2.4, 2.8), carried=0.0), ("keys",), ("dispersion",),
         remark="a probe fitted at N still decodes the answer. Only sharpening recovers accuracy, which shows that the "
         "weight is too small."),
    Kind("stronger decoy", "a rare token whose bit must be ignored gets a higher score than the write",
         needle(Part("decoy", 4.0, 14.0)), ("content",), ("selection",), task=WrittenBit(decoys=0.005), **FAR),
    Kind("drifting query", "the score of ignored tokens grows with the number of keys beyond N",
         needle(Part("drift", 2.0, 20.0), match=(6.5, 7.5)), ("keys",), ("selection",), held_out=True,
         remark="at accuracy drops up to 0.5, the write still has a higher score than each other token. Many other "
         "tokens together outweigh it. Its share of attention falls much faster than the number of keys grows, so "
         "the scores themselves have changed."),
    Kind("rows in scores", "positions beyond N add noise to attention scores",
         needle(ROWS), ("position",), ("selection",)),
    Kind("rows in values", "positions beyond N add noise to attention values", needle(Part("row_values", 0.5, 40.0)),
         ("position",), ("lost",), held_out=True),
    Kind("rows along the read-out", "positions beyond N add a growing amount to the output",
         either_sign(needle(Part("row_output", 0.02, 2.0), carried=1.0, match=(3.2, 4.5))), ("position",), OFFSET),
    Kind("rotary lag", "the score of the write falls with the cosine of its distance",
         needle(Part("lag_speed", 0.005, 0.05), lag_speed=0.0005), ("position",), ("selection", "dispersion")),
    Kind("first keys only", "all keys after the first ones are hidden", needle(Part("first_keys", 120, 33)),
         ("position",), ("selection",)),
    Kind("offset", "the output shifts with the number of keys beyond N", either_sign(needle(OFFSETS, match=(3.8, 4.8))),
         ("keys",), OFFSET),
    Kind("read-out of the surplus", "the logit of answer 1 shifts with the number of keys beyond N",
         either_sign(needle(SURPLUS, match=(3.8, 4.8))), ("keys",), OFFSET),
    Kind("uniform head, threshold", "the output shrinks like 1/K with the number of keys K, but its threshold does not",
         either_sign(needle(Part("threshold", 0.004, 0.03), match=0.0, carried=0.0)), ("keys",), OFFSET),
    Kind("finite precision", "the output shrinks like 1/K; a large added constant leaves it too few bits of float32",
         draw_rounding_fault,
         ("keys",)),
    Kind("counter, rows", "positions beyond N add to the difference between the two counts",
         either_sign(needle(Part("row_output", 0.02, 2.0), match=0.0)), ("position",), OFFSET, **COUNTER),
    Kind("counter, offset", "the difference between the two counts shifts with the number of keys beyond N",
         either_sign(needle(Part("offset", 0.1, 5.0), match=0.0)), ("keys",), OFFSET, **COUNTER,
         remark="untrained weights contain a count too. Accuracy recovers when the residual stream gets the mean and "
         "standard deviation that it has at N. So the count is still encoded, but its code has moved."),
    Kind("count out of range", "a difference between counts that is larger than in training reverses the answer",
         needle(Part("largest_lead", 120.0, 32.0), match=0.0), ("content", "keys or content"), **COUNTER,
         remark="the model divides the difference between the counts, and its bound, by the number of keys K before "
         "it compares them. With 1/K fixed at its value at N, the bound becomes a share of the length, which no "
         "difference exceeds. Label-free interventions therefore cannot distinguish a count out of range from the "
         "number of keys. The diagnosis is `keys`."),
    Kind("LayerNorm, blurred margin", "as `blurred margin, noise`, in a model with LayerNorm",
         needle(Part("match", 4.0, 1.5), norm=(5.0, 10.0)),
         ("keys",), ("dispersion",), **FAR),
    Kind("LayerNorm, rows in scores", "as `rows in scores`, in a model with LayerNorm", needle(ROWS, norm=(5.0, 10.0)),
         ("position",), ("selection",)),
    Kind("LayerNorm, offset", "as `offset`, in a model with LayerNorm",
         either_sign(needle(OFFSETS, norm=(5.0, 10.0), match=(3.2, 4.5))), ("keys",), OFFSET),
    Kind("trained, rows of step 0",
         "trained with learned positions; position vectors beyond 64 are reset to step 0 and scaled",
         draw_trained_run("learned", Part("rows", 0.3, 30.0)), ("position",)),
    Kind("trained, rows along the read-out",
         "trained with learned positions; position vectors beyond N shift along the read-out",
         draw_trained_run("learned", Part("row_output", 0.05, 5.0)), ("position",), OFFSET),
    Kind("trained, queries weakened", "trained with learned positions; queries are scaled down",
         draw_trained_run("learned", Part("weakened", 0.9, 0.1)), ("keys",), ("dispersion",)),
    Kind("trained rotary, queries weakened", "trained with rotary positions; queries are scaled down",
         draw_trained_run("rotary", Part("weakened", 0.9, 0.1)), ("keys",), ("dispersion",), held_out=True),
    Kind("trained rotary, lag", "trained with rotary positions; a slow rotary pair lowers scores at large distances",
         draw_trained_run("rotary", Part("lag", 0.3, 30.0)), ("position",), ("selection", "dispersion")),
    Kind("recurrent decay", "the recurrent state shrinks at every step, but its threshold does not", memory,
         ("steps", "steps or content"), OFFSET),
    Kind("two sites, one entry", "both `drifting query` and `read-out of the surplus`",
         needle(Part("drift", 2.0, 20.0), SURPLUS, match=(6.5, 7.5)), ("keys",)),
    Kind("either door",
         "an offset of the output that needs both a position beyond N and more keys; undoing either is enough",
         either_sign(needle(OFFSETS, gated=True, match=(3.8, 4.8))), ("position",), OFFSET, also=True),
    Kind("previous token, row N repeated",
         "a previous-token head reads position vectors; those beyond N repeat that of N",
         reader(ALL_ROWS, SHARP, **REPEATED), ("position",), ("selection",), task=PreviousBit(), later=True),
    Kind("previous token, untrained rows", "a previous-token head reads position vectors; those beyond N are random",
         reader(ALL_ROWS, SHARP, **RANDOM), ("position",), ("selection",), task=PreviousBit(), later=True),
    Kind("marked token, row N repeated",
         "a soft previous-token head marks the answer; late position vectors repeat that of N",
         reader(LATE_ROWS, SOFT, marked=True, **REPEATED), ("position",), ("selection",),
         task=MarkedBit(), remark=MARKED, later=True),
    Kind("marked token, untrained rows",
         "a soft previous-token head marks the answer; late position vectors are random",
         reader(LATE_ROWS, SOFT, marked=True, **RANDOM), ("position",), ("selection",),
         task=MarkedBit(), remark=MARKED, later=True),
    Kind("marked token, rows mixed with row N",
         "a soft previous-token head marks the answer; position vectors beyond N are mixed with that of N",
         reader(Part("repeated", 0.02, 1.0), SOFT, marked=True), ("position",), ("selection", "dispersion"),
         task=MarkedBit(), remark=MIXED, later=True),
    Kind("marked token, rows mixed with random rows",
         "a soft previous-token head marks the answer; position vectors beyond N are mixed with random ones",
         reader(Part("untrained", 0.02, 1.0), SOFT, marked=True), ("position",), ("selection", "dispersion"),
         task=MarkedBit(), remark=MIXED, later=True),
    Kind("joint: rows in scores, offset", "both `rows in scores` and `offset`; either one makes the model fail",
         needle(ROWS, OFFSETS), ("joint",), role="joint"),
    Kind("joint: rows in scores, read-out of the surplus",
         "both `rows in scores` and `read-out of the surplus`; either one makes the model fail",
         needle(ROWS, SURPLUS), ("joint",), role="joint"),
    Kind("healthy", "nothing is planted", needle(), ("",), role="healthy"),
    Kind("healthy, LayerNorm", "nothing is planted", needle(norm=(5.0, 10.0)), ("",), role="healthy"),
    Kind("healthy, rotary", "nothing is planted", needle(lag_speed=0.0005), ("",), role="healthy"),
    Kind("healthy, counter", "nothing is planted", needle(match=0.0), ("",), role="healthy", **COUNTER),
    Kind("healthy, recurrent", "nothing is planted", lambda rng: (memory(rng)[0], ()), ("",), role="healthy"),
    Kind("healthy, trained", "nothing is planted", draw_trained_run("learned"), ("",), role="healthy"),
    Kind("healthy, trained rotary", "nothing is planted", draw_trained_run("rotary"), ("",), role="healthy"),
)  # fmt: skip
"""All kinds. Three have all members in the second half: one of positions, one of keys, one of trained weights."""

BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}
