"""What a claim is: a sentence of a paper, what is measured for it, and when it holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from workbench.claims.errors import ClaimError
from workbench.claims.papers import Source
from workbench.claims.trained_cells import TrainedCell

Kind = Literal["E", "C", "T", "TM"]
KINDS = {
    "E": "exact: closed form or enumeration, no model",
    "C": "a hand-made or compiled model",
    "T": "training",
    "TM": "training and mechanism",
}
Side = Literal["holds", "fails", "open"]


T = TypeVar("T", Source, "Condition")


def as_tuple(value: T | Sequence[T]) -> tuple[T, ...]:
    """Return a tuple of sources or conditions, also if a single one is given."""
    return tuple(value) if isinstance(value, Sequence) else (value,)


@dataclass(frozen=True)
class Row:
    """One number on which the decision about a claim is based.

    Attributes:
        quantity: what it is a value of; conditions name it.
        item: which of the claim's settings, e.g. ``p 4, gamma 0.5``; "" where there is one.
        value: the number.
        low: lower end of its 95 % interval over strings or draws; None where it is exact.
        high: upper end of it.
        expected: the value that the claim states; None if the condition is a bound.
        n: strings, draws or cases that it is made of.
        run: id of the run; "" for what no run is needed for.
        step: the step of the checkpoint; -1 without one.
        seed: the seed of the run.
        fitted: whether the run solves its trained lengths; None without a run.
        entered: runs, pairs of runs or cells that the number rests on, where it is one number about several.
        planned: how many there would be if all were fitted.
        floor: the share of right answers at which the number is 0: 0 for a share, more for a skill; None for any other
            number.
        freedom: of a number about several runs, the degrees of freedom of its spread over seeds; None where it has no
            such spread.
        fewest: of a number about several runs, how many seeds entered of the cell with the fewest.
        each: of a difference paired by seed, that of each pair.
    """

    quantity: str
    item: str
    value: float
    low: float | None = None
    high: float | None = None
    expected: float | None = None
    n: int | None = None
    run: str = ""
    step: int = -1
    seed: int | None = None
    fitted: bool | None = None
    entered: int | None = None
    planned: int | None = None
    floor: float | None = None
    freedom: float | None = None
    fewest: int | None = None
    each: tuple[float, ...] = ()

    @property
    def ends(self) -> tuple[float, float]:
        """The 95 % interval as (low, high); for an exact number, the number twice."""
        return (self.value if self.low is None else self.low, self.value if self.high is None else self.high)

    @property
    def has_value(self) -> bool:
        """Whether some run could be used; otherwise ``value`` is 0 and the interval infinite."""
        return not (self.value == self.entered == self.fewest == 0 and self.ends == (-math.inf, math.inf))


@dataclass(frozen=True)
class Condition:
    """Bounds on a quantity within which a claim holds. They apply to each of the claim's settings.

    Attributes:
        quantity: which rows it is about.
        at_least: smallest value on the claim's side; None = no bound.
        at_most: largest value on the claim's side; None = no bound.
        near: largest distance from what a row expects; None = no such demand.
        fails_below: value below which the claim fails; None = ``at_least``.
        fails_above: value above which it fails; None = ``at_most``.
    """

    quantity: str
    at_least: float | None = None
    at_most: float | None = None
    near: float | None = None
    fails_below: float | None = None
    fails_above: float | None = None

    def __post_init__(self) -> None:
        if self.at_least is None and self.at_most is None and self.near is None:
            raise ClaimError(f"the condition on {self.quantity} has no bound; give at_least, at_most or near")
        if (self.fails_below is not None and (self.at_least is None or self.fails_below > self.at_least)) or (
            self.fails_above is not None and (self.at_most is None or self.fails_above < self.at_most)
        ):
            raise ClaimError(
                f"the thresholds on {self.quantity} contradict each other: fails_below must be at most at_least, and "
                "fails_above at least at_most"
            )

    def side(self, low: float, high: float, expected: float | None = None) -> Side:
        """Return whether an interval is entirely on the claim's side of the bounds, entirely on the other, or neither.
        For a number, pass it as both ends.
        """
        sides: list[Side] = []
        if self.near is not None:
            if expected is None:
                raise ClaimError(f"a row of {self.quantity} has no expected value")
            sides.append(_side(low, high, expected - self.near, expected + self.near))
        if self.at_least is not None:
            below = self.at_least if self.fails_below is None else self.fails_below
            sides.append("holds" if low >= self.at_least else "fails" if high < below else "open")
        if self.at_most is not None:
            above = self.at_most if self.fails_above is None else self.fails_above
            sides.append("holds" if high <= self.at_most else "fails" if low > above else "open")
        return "fails" if "fails" in sides else "open" if "open" in sides else "holds"

    def __str__(self) -> str:
        parts = []
        if self.near is not None:
            parts.append("equal to what is expected" + (f" within {self.near:g}" if self.near else ""))
        if self.at_least is not None and self.at_least == self.at_most:
            parts.append(f"= {self.at_least:g}")
        else:
            parts += [f">= {self.at_least:g}"] if self.at_least is not None else []
            parts += [f"<= {self.at_most:g}"] if self.at_most is not None else []
        parts += [f"fails below {self.fails_below:g}"] if self.fails_below is not None else []
        parts += [f"fails above {self.fails_above:g}"] if self.fails_above is not None else []
        return f"{self.quantity} {', '.join(parts)}"


@dataclass(frozen=True)
class Claim:
    """A published claim, or a question of our own, with the function that computes its rows and the conditions under
    which it holds.

    Attributes:
        id: e.g. ``QB01``.
        kind: see :data:`KINDS`.
        sources: the papers, where in each, and whether the paper states the claim or we read it so.
        prediction: what is claimed, in one sentence.
        statistic: what is computed.
        conditions: all must hold, for every item. Empty for a description, which neither holds nor fails.
        scale: the settings, in words.
        rows: address ``package.module:function`` of what computes its rows, a list of :class:`Row`. The function of an
            exact claim takes nothing; that of a trained one the claim and the rows of its runs. "" if nothing is built
            yet; the note then states what is needed.
        minutes: CPU minutes that it takes, roughly.
        version: raised when the rows would come out otherwise; stored rows of another version are computed again.
        seeds: seeds that a trained claim plans; 0 for an exact one.
        settings_tried: settings among which the one of this row was chosen on trained lengths.
        exempt: whether runs enter although they do not solve the trained lengths (claims about "not even fitted").
        note: what the reader must know in addition to the verdict.
        settled: which statistic, settings or thresholds were chosen with the numbers known; the verdict is then no test
            of a prediction made in advance. "" if all was fixed before.
        outside: for an exact claim, why what was computed is outside the range of its theorem; a failure then does not
            refute the theorem. "" if it is inside.
        former: its verdict under the rule used until November 2026, if the rule of seeds changed it; else "". The
            former rule took the envelope of all intervals of the runs that solve the trained lengths, and let two seeds
            decide if two were planned.
        cells: the runs that a trained claim rests on; none for an exact one.
        arguments: further arguments of ``rows``.
    """

    id: str
    kind: Kind
    sources: tuple[Source, ...]
    prediction: str
    statistic: str
    conditions: tuple[Condition, ...]
    scale: str
    rows: str
    minutes: float
    version: int = 1
    seeds: int = 0
    settings_tried: int = 1
    exempt: bool = False
    note: str = ""
    settled: str = ""
    outside: str = ""
    former: str = ""
    cells: tuple[TrainedCell, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def formerly(self, verdict: str) -> Claim:
        """Return the claim with its verdict under the former rule, as :attr:`former`."""
        return replace(self, former=verdict)

    @property
    def source(self) -> str:
        """The claim's sources in plain text."""
        return "; ".join(map(str, self.sources))

    @property
    def holds_if(self) -> str:
        """The conditions under which the claim holds, in words."""
        return "; ".join(map(str, self.conditions)) or "a description: nothing to hold"

    @property
    def trained(self) -> bool:
        """Whether deciding the claim needs trained models."""
        return self.kind in ("T", "TM")


@dataclass(frozen=True)
class Suite:
    """A group of claims that one command reproduces together.

    Attributes:
        name: e.g. ``crasp-exact``.
        title: what they are about.
        claims: in order.
    """

    name: str
    title: str
    claims: tuple[Claim, ...]

    @property
    def minutes(self) -> float:
        """The CPU minutes that all claims take together. A run that several claims use counts once."""
        runs: dict[str, float] = {}
        for cell in (cell for claim in self.claims for cell in claim.cells):
            for recipe in map(cell.recipe, cell.seeds):
                runs[recipe] = max(cell.seconds, runs.get(recipe, 0.0))
        return sum(claim.minutes for claim in self.claims if not claim.cells) + sum(runs.values()) / 60


def _side(low: float, high: float, least: float, most: float) -> Side:
    if least <= low and high <= most:
        return "holds"
    return "fails" if high < least or low > most else "open"
