"""Which head a page opens on, and what removing a head costs: the rows of ``circuits.head_effect``.

A head is named only where set B shows its effect in both modes (:mod:`circuits.interventions.head_effect`). Where no
head passes, or none was tested, pages open on all heads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.names import ABOVE_CHANCE, BEHAVIOUR, LEAST_HEAD, MATCHED, NAMED, TO_CHANCE
from workbench.core.thresholds import CLAIM
from workbench.figures.labels import Piece
from workbench.figures.rows.baselines import baseline_rows
from workbench.figures.rows.claims import count, estimate, number, plain
from workbench.figures.rows.claims import head as named_head
from workbench.figures.rows.frame import Frame, missing, present
from workbench.figures.rows.select_rows import nearest, rows_with_values
from workbench.models.base.graph import head_name

HEAD_EFFECT = "circuits.head_effect"
NECESSARY, HEAD_DROP, WITHOUT = "necessary_head", "head_drop", "accuracy_without_head"
"""Names of the three, as the measurement writes them."""
ABLATION = "circuits.ablation"
DROP, DROP_P = "accuracy_drop", "accuracy_drop_p"
FEWEST = 6
"""Without a stored p, a sign test needs at least so many sequences that change one way and none the other way."""

IN_PLACE = {
    "zero": " with zeros in its place",
    "mean": " with its mean output in its place",
    "resample": " with its output on another sequence in its place",
}
"""Mode of an ablation -> what stands in the place of the head's output."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Leading:
    """The head that pages open on, or none, which is all heads.

    Attributes:
        tested: the row of ``necessary_head``; None = not measured there.
        drops: its drops on set B, one row a mode.
        controls: the drops of its control, by mode.
        guess: accuracy of the whole model at the tested length, and chance, where it is not shown to be above chance.
        elsewhere: accuracy at the longest tested length where it is shown to be above chance; None = there is none.
        whole: accuracy on set B with the head; None = not measured.
        above: the modes in which accuracy without the head is shown to be above that of the best constant answer on
            the same sequences.
    """

    tested: Row | None
    drops: tuple[Row, ...] = ()
    controls: Mapping[str, Row] | None = None
    guess: tuple[Row, Row] | None = None
    elsewhere: Row | None = None
    whole: Row | None = None
    above: frozenset[str] = frozenset()

    @property
    def place(self) -> tuple[int, int] | None:
        """Layer and head; None = no single head is shown to matter."""
        if self.tested is None or self.tested["label"] != NAMED:
            return None
        return int(self.tested["layer"]), int(self.tested["head"])

    @property
    def name(self) -> str:
        """The name of the head, ``L0H3``, or ``all heads``."""
        return "all heads" if self.place is None else head_name(*self.place)

    @property
    def cost(self) -> list[Piece]:
        """Return the accuracy drop without the head for each kind of ablation, in words."""
        return cost_clause(self.drops, True, self.whole, self.above)

    @property
    def smallest_drop(self) -> Row | None:
        """Return the smaller of the accuracy drops without the head; None if accuracy falls to chance for every kind of
        ablation.
        """
        kept = [row for row in self.drops if row["label"] != TO_CHANCE]
        return min(kept, key=lambda row: float(row["value"]), default=None)


def leading_head(frame: Frame, *, step: int, length: int) -> Leading:
    """Return the head whose ablation lowers accuracy significantly and more than its control, if there is one.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        length: the test at the longest length up to this one counts, or else at the shortest there is.
    """
    where = {"measurement": HEAD_EFFECT, "law": MATCHED, "step": step}
    tests = frame.where(quantity=NECESSARY, **where).rows()
    tests = [row for row in tests if row["label"]]
    if not tests:
        return Leading(None)
    lengths = sorted({int(row["length"]) for row in tests})
    at = nearest(lengths, length)
    tested = next(row for row in tests if int(row["length"]) == at)
    drops = rows_with_values(frame.where(quantity=HEAD_DROP, length=at, **where)).rows()
    uncontrolled = sorted((row for row in drops if not row["control"]), key=lambda row: str(row["mode"]))
    controls = {str(row["mode"]): row for row in drops if row["control"]}
    pairs = {n: _accuracy_and_chance(frame, step, n) for n in lengths}
    accuracies = rows_with_values(frame.where(quantity=WITHOUT, control="", **where)).rows()
    not_above = {int(row["length"]) for row in accuracies if not row["mode"] and row["label"] != ABOVE_CHANCE}
    higher = [pair[0] for n, pair in pairs.items() if pair and _above(*pair) and n not in not_above]
    guess = at_chance(frame, step=step, length=at)
    left = [row for row in accuracies if int(row["length"]) == at]
    whole = next((row for row in left if not row["mode"]), None)
    above = frozenset(str(row["mode"]) for row in left if row["mode"] and row["label"] == ABOVE_CHANCE)
    elsewhere = higher[-1] if guess and higher else None
    return Leading(tested, tuple(uncontrolled), controls, guess, elsewhere, whole, above)


def at_chance(frame: Frame, *, step: int, length: int) -> tuple[Row, Row] | None:
    """The rows of the whole model's accuracy and of chance, where accuracy is not shown to be above chance.

    None where it is shown, and where one of the two is not measured. An ablation cannot be shown to cost accuracy that
    the model does not have.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        length: prefix length, exactly.
    """
    pair = _accuracy_and_chance(frame, step, length)
    return None if pair is None or _above(*pair) else pair


def _accuracy_and_chance(frame: Frame, step: int, length: int) -> tuple[Row, Row] | None:
    """The rows of accuracy and of chance on the matched test set; None where one of the two is not measured."""
    at = {"measurement": BEHAVIOUR, "quantity": "accuracy", "mode": "teacher_forced", "law": MATCHED}
    accuracy = rows_with_values(frame.where(**at, step=step, length=length)).rows()
    chance = baseline_rows(frame, MATCHED, "length", step=step, length=length).rows()
    return (accuracy[0], chance[0]) if accuracy and chance else None


def _above(accuracy: Row, chance: Row) -> bool:
    """Whether accuracy is shown to be above chance: by its lower limit, or by itself where all sequences were run."""
    low = accuracy["value"] if missing(accuracy["low"]) else accuracy["low"]
    return float(low) > float(chance["value"])


def chance_clause(accuracy: Row, chance: Row) -> list[Piece]:
    """That the whole model is not shown to be above chance: the accuracy with its interval, and chance."""
    level = [plain(", is not shown to be above chance ("), number(chance), plain(")")]
    return [plain("accuracy without any ablation, "), *estimate(accuracy), *level]


def drops_of_tested_heads(frame: Frame, *, step: int, length: int) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the rows of ``head_drop`` of each head that was tested at exactly this step and length, with one row per
    kind of ablation.

    The heads are the one that set A chose and its control, the head of the same layer that costs least.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        length: prefix length.

    Returns:
        layer and head -> rows.
    """
    where = {"measurement": HEAD_EFFECT, "quantity": HEAD_DROP, "law": MATCHED, "control": ["", LEAST_HEAD]}
    return _by_head(rows_with_values(frame.where(**where, step=step, length=length)))


def drops_by_head(frame: Frame, *, step: int, length: int) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the accuracy drop without each head at exactly this step and length. All numbers of a head have the same
    source.

    A tested head has the rows of :func:`drops_of_tested_heads`. Every other head has those of the screening of all
    heads, which takes fewer sequences: the drops, and the p that goes with each.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        length: prefix length.

    Returns:
        layer and head -> rows.
    """
    where = {"measurement": ABLATION, "quantity": [DROP, DROP_P], "target": "head", "law": MATCHED}
    screening = _by_head(rows_with_values(frame.where(**where, step=step, length=length)))
    return screening | drops_of_tested_heads(frame, step=step, length=length)


def _by_head(rows: Frame) -> dict[tuple[int, int], list[dict[str, Any]]]:
    heads: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in rows.where(present(rows["head"])).rows():
        heads.setdefault((int(row["layer"]), int(row["head"])), []).append(row)
    return heads


def ablation_cost(rows: Sequence[Row]) -> tuple[list[Row], bool]:
    """Return the accuracy drops without one head, one row per kind of ablation, and whether the drop is significant for
    every kind.

    Args:
        rows: the rows of one head, step and length, as in :func:`drops_by_head`.
    """
    chances = {str(row["mode"]): float(row["value"]) for row in rows if row["quantity"] == DROP_P}
    drops = sorted((row for row in rows if row["quantity"] in (DROP, HEAD_DROP)), key=lambda row: str(row["mode"]))
    return drops, bool(drops) and all(has_effect(row, chances.get(str(row["mode"]))) for row in drops)


def has_effect(row: Row, p: float | None = None) -> bool:
    """Whether an ablation is shown to cost accuracy: by the exact sign test on the sequences that differ.

    Args:
        row: what it costs.
        p: of that test; None = not measured: then the interval must exclude 0, and enough sequences have changed.
    """
    if p is not None:
        return float(row["value"]) > 0 and p <= CLAIM
    enough = missing(row["n"]) or round(float(row["value"]) * float(row["n"])) >= FEWEST
    return enough and not missing(row["low"]) and float(row["low"]) > 0


def cost_clause(rows: Sequence[Row], shown: bool, whole: Row | None = None, above: Collection[str] = ()) -> list[Piece]:
    """Return the accuracy drop without a head for each kind of ablation: ``accuracy drops by 0.24 [0.18, 0.29]``, and
    what replaces its output.

    Of each mode the drop is named, and whether the accuracy that is left is at chance, where that is known. Where the
    modes do not agree that there is a cost, no cost is claimed.

    Args:
        rows: the drops, one a mode.
        shown: whether every mode shows a cost.
        whole: accuracy with the head; None = it is not named.
        above: the modes in which the accuracy that is left is shown to be above chance.
    """
    if not shown:
        pieces: list[Piece] = [plain("accuracy is not shown to drop in every mode (")]
        for i, row in enumerate(rows):
            pieces += [plain("; " if i else ""), *estimate(row), plain(IN_PLACE.get(str(row["mode"]), ""))]
        return [piece for piece in [*pieces, *_sequences(rows, "; ", ""), plain(")")] if piece[0]]
    pieces = [plain("accuracy drops ")]
    pieces += [] if whole is None else [plain("from "), *estimate(whole), plain(" ")]
    for i, row in enumerate(rows):
        mode = str(row["mode"])
        end = ", to chance," if row["label"] == TO_CHANCE else ", still above chance," if mode in above else ""
        pieces += [plain(" and by " if i else "by "), *estimate(row), plain(end + IN_PLACE.get(mode, ""))]
    return [piece for piece in [*pieces, *_sequences(rows)] if piece[0]]


def _sequences(rows: Sequence[Row], before: str = " (", after: str = ")") -> list[Piece]:
    """That a drop is of the screening of all heads, and its number of sequences; empty for a tested head."""
    if not rows or rows[0]["quantity"] != DROP or missing(rows[0]["n"]):
        return []
    return [count(rows[0], "n", f"{before}screening, ", f" sequences{after}")]


def leading_clause(leading: Leading) -> list[Piece]:
    """Return whether one head is needed, as a sentence without its full stop; empty if this was not measured."""
    if leading.tested is None:
        return []
    at = count(leading.tested, "length", " at length ")
    if leading.place is None and leading.guess is not None:
        why = [plain("No single head can be shown to matter"), at, plain(": "), *chance_clause(*leading.guess)]
        there = leading.elsewhere
        return why if there is None else [*why, count(there, "length", ". Choose length ", ", where it is")]
    if leading.place is None:
        return [plain("No single head is shown to matter"), at, *_candidate_and_control(leading)]
    return [
        named_head(leading.tested),
        plain(" matters"),
        at,
        plain(": without it, "),
        *leading.cost,
    ]


def _candidate_and_control(leading: Leading) -> list[Piece]:
    """The drops of the head that set A chose and of its control: the numbers because of which no head is named."""
    if not leading.drops:
        return []
    without = [plain(": without "), named_head(leading.drops[0]), plain(", ")]
    pieces = [*without, *cost_clause(leading.drops, True, leading.whole, leading.above)]
    controls = [row for _, row in sorted((leading.controls or {}).items())]
    if not controls:
        return pieces
    if controls[0]["control"] == LEAST_HEAD:
        pieces += [plain(". Without "), named_head(controls[0]), plain(", the control, it drops ")]
    else:
        pieces.append(plain(". With a random direction of equal norm added, the control, it drops "))
    for i, row in enumerate(controls):
        pieces += [plain(" and by " if i else "by "), *estimate(row)]
    return pieces
