"""Claims of our own: when in training is it decided how far beyond the trained lengths a run reaches?

The claims rest on the families of :mod:`workbench.claims.determinacy`. A family is a run and its forks. Criteria and
features were committed before the runs that test them. The cells were chosen by the share of runs that solve the
trained lengths, and the claims were suggested by a pilot with other seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from workbench.claims.claim import Condition, Row, Suite
from workbench.claims.claim_on_cells import above, below
from workbench.claims.claim_on_function import Computation, claim, claims_of
from workbench.claims.determinacy.cells import CELLS, FORK_STEPS, PARENTS, StudyCell, cell_named, planned_cells
from workbench.claims.papers import own_question

if TYPE_CHECKING:
    from workbench.claims.determinacy.families import Rows

QUESTION = own_question("When in training is the length behaviour of a run decided?")
AT_FITTING, LATE = FORK_STEPS[0], FORK_STEPS[2]
STATISTIC = (
    "determinacy: mean correlation of reach over pairs of runs of one family, across families; 95 % interval by "
    "resampling families"
)
SCALE = (
    "2 layers, width 32, 2 heads, N = 16, 500 steps of 32 sequences; 24 families (48 in two cells) of a run and 3 "
    "forks at a step; reach from 256 sequences at each length"
)
ROTARY = tuple(cell for cell in CELLS if cell.positions == "rotary")
BOUNDED_DYCK = cell_named("bounded_dyck_2-none")
WITH_POSITIONS = tuple(cell for cell in CELLS if cell.positions != "none")
WITHOUT_POSITIONS = tuple(cell for cell in CELLS if cell.positions == "none")
DETERMINACY = "determinacy"
ERROR = 0.05


def _study_claim(
    number: str,
    prediction: str,
    conditions: Condition | Sequence[Condition],
    statistic: str = STATISTIC,
    note: str = "",
) -> Callable[[Computation], Computation]:
    return claim(
        number, source=QUESTION, prediction=prediction, statistic=statistic, conditions=conditions, scale=SCALE,
        minutes=0.1, kind="T", seeds=PARENTS, note=note,
    )  # fmt: skip


@_study_claim(
    "DF01",
    "The reach of runs with rotary positions is decided when they solve the trained lengths.",
    above(DETERMINACY, 0.5),
)
def rotary_at_fitting() -> list[Row]:
    """Determinacy of both rotary cells at the first fork step."""
    return _rows_of(ROTARY, AT_FITTING)


@_study_claim(
    "DF02",
    "The reach of a bounded counter without positions is open when it solves the trained lengths.",
    below(DETERMINACY, 0.5),
)
def counter_at_fitting() -> list[Row]:
    """Determinacy of bounded Dyck at the first fork step."""
    return _rows_of([BOUNDED_DYCK], AT_FITTING)


@_study_claim(
    "DF03",
    "The reach of a bounded counter without positions is decided at 60 % of training.",
    above(DETERMINACY, 0.5),
)
def counter_late() -> list[Row]:
    """Determinacy of bounded Dyck at 60 % of the steps."""
    return _rows_of([BOUNDED_DYCK], LATE)


@_study_claim(
    "DF04",
    "A falling learning rate decides reach: at 60 % of training, less is decided at a constant rate.",
    above("determinacy with cosine less constant rate, bounded Dyck", 0.0),
    f"difference of {STATISTIC.split(';', maxsplit=1)[0]}; families with the same seed are resampled together",
    "only seeds that are forked at both schedules enter. The other three cells are shown and do not decide",
)
def cosine_and_constant() -> list[Row]:
    """Difference of determinacy between two schedules, in pairs of families."""
    import numpy as np

    from workbench.claims.determinacy.families import families_at
    from workbench.claims.determinacy.statistics import paired_difference

    rows = []
    for other in (cell for cell in planned_cells() if cell.schedule == "constant"):
        first = families_at(_families(), other.with_schedule("cosine"), LATE)
        second = families_at(_families(), other, LATE)
        both = sorted(set(first) & set(second))
        if not first or not second:
            return []
        if len(both) < 3:
            continue
        one, two = (np.stack([of[seed] for seed in both]) for of in (first, second))
        found = paired_difference(one, two)
        deciding = "bounded Dyck" if other.name == BOUNDED_DYCK.name else "other cells"
        quantity = f"determinacy with cosine less constant rate, {deciding}"
        rows.append(_row(quantity, other.name, *found, families=len(both), planned=PARENTS))
    return rows


@_study_claim(
    "DF05",
    "When runs solve the trained lengths, more is decided in cells with position encodings than in cells without.",
    above("mean determinacy with positions less without", 0.0),
    f"difference of means over cells of {STATISTIC.split(';', maxsplit=1)[0]}; families are resampled within cells",
    "three cells with positions and five without. Cells whose reach hardly differs between runs are left out",
)
def with_and_without_positions() -> list[Row]:
    """Mean determinacy of cells with positions less that of cells without."""
    import numpy as np

    from workbench.claims.determinacy.families import determinacy_at, families_at
    from workbench.claims.determinacy.statistics import TOO_UNIFORM, difference_of_means

    sides = []
    for cells in (WITH_POSITIONS, WITHOUT_POSITIONS):
        found = [determinacy_at(_families(), cell, AT_FITTING) for cell in cells]
        if not all(found):
            return []
        named = zip(cells, found, strict=True)
        varied = [cell for cell, result in named if result is not None and result.label != TOO_UNIFORM]
        sides.append([np.stack(list(families_at(_families(), cell, AT_FITTING).values())) for cell in varied])
    families = sum(len(reach) for side in sides for reach in side)
    quantity = "mean determinacy with positions less without"
    item = f"{len(sides[0])} cells with positions, {len(sides[1])} without"
    if not all(sides):
        return [_row(quantity, item, 0.0, -1.0, 1.0, families=families, planned=families)]
    return [_row(quantity, item, *difference_of_means(sides[0], sides[1]), families=families, planned=families)]


@_study_claim(
    "DF06",
    "Eight features inside the trained lengths forecast reach only where it is decided.",
    (
        below("open or undecided cells and steps with a forecast above chance", 0),
        Condition("decided cells and steps with a forecast above chance", at_least=1, fails_below=0),
    ),
    "largest absolute rank correlation of eight features with the mean reach of a family, at each fork step of each "
    "cell; labels permuted among the runs of a cell, Holm over all cells and steps",
    "if no forecast is above chance anywhere, the claim is undecided",
)
def features_against_reach() -> list[Row]:
    """How many cells and steps have a forecast above chance, where reach is decided and elsewhere."""
    from workbench.claims.determinacy.forecast_rows import forecasts_by_cell
    from workbench.claims.determinacy.statistics import DECIDED

    found = forecasts_by_cell(_families())
    if found is None:
        return []
    decided = [one for one in found if one.label == DECIDED]
    other = [one for one in found if one.label != DECIDED]
    rows = [
        Row(f"{name} cells and steps with a forecast above chance", f"of {len(of)}", sum(o.p_holm < ERROR for o in of))
        for name, of in (("open or undecided", other), ("decided", decided))
    ]
    return rows + [
        Row("largest rank correlation of a feature", f"{one.cell}, {one.schedule}, step {one.step}: {one.feature}",
            one.correlation, -one.chance, one.chance, n=one.runs)
        for one in found
    ]  # fmt: skip


def _families() -> Rows:
    """The rows of the published study."""
    from workbench.claims.determinacy.study import FAMILY_FILE, StudyTable

    return StudyTable.read(*FAMILY_FILE).rows


def _rows_of(cells: Sequence[StudyCell], step: int) -> list[Row]:
    """The determinacy of cells at a step; no rows at all if one of them is missing."""
    from workbench.claims.determinacy.families import determinacy_at
    from workbench.claims.determinacy.statistics import TOO_UNIFORM

    rows = []
    for cell in cells:
        result = determinacy_at(_families(), cell, step)
        if result is None:
            return []
        known = result.label != TOO_UNIFORM
        limits = (result.low, result.high) if known else (-1.0, 1.0)
        item = f"{cell.name}, step {step}" + ("" if known else ": reach hardly varies")
        rows.append(_row(DETERMINACY, item, result.value, *limits, families=result.families, planned=cell.parents))
    return rows


def _row(quantity: str, item: str, value: float, low: float, high: float, families: int, planned: int) -> Row:
    """A number about several families."""
    return Row(
        quantity, item, value, low, high, entered=families, planned=planned, freedom=families - 1.0, fewest=families
    )


SUITE = Suite("determinacy", "When in training is it decided?", claims_of(__name__))
