"""Clauses on hard strata: the small margins of a majority, the components of a mixture, whatever the task names.

One row covers all strata together and has their name. Each stratum has its own row, with the accuracy in the cell that
decided its verdict. Tables of earlier versions have only the first row, without a name; their note is quoted verbatim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.shortcut_names import shortcut_name
from workbench.core.thresholds import FOLLOWED
from workbench.core.verdicts import STRATA, StratumKind
from workbench.figures.labels import Piece, whole
from workbench.figures.panels.accuracy import MEASUREMENT
from workbench.figures.rows.claims import RUN, Cite, Claim, cite, count, estimate, note, plain
from workbench.figures.rows.composition import component_name, composition, differs, trained_composition
from workbench.figures.rows.frame import Frame, missing, present
from workbench.figures.rows.select_rows import rows_with_values

Pieces = list[Piece]
Row = Mapping[str, Any]

COMPONENTS = "components"
"""Name of the strata of a mixture: together they contain all of its sequences."""
HARD = "hard inputs"
"""What strata are called in tables that do not name them."""
REPEATED = "repeated"
"""Role of the words that give the number of distinct sequences of a value."""
REPEATED_SAID = (
    "Sequences of this kind are drawn with replacement, and the interval covers these draws: it holds for the accuracy "
    "of the kind at this length. Evaluating each distinct sequence once would give that accuracy without an interval."
)
"""What the interval of a stratum covers, and why it is wider than needed."""
UNKNOWN = StratumKind("is not known", "are not known", "not known")
"""The words for a label that is none of them."""
MOST_NAMED = 3
"""Components that a headline names with their numbers; of more it gives how many there are."""


def joint_row(frame: Frame, step: int) -> Row | None:
    """The row that speaks of all strata of a step together; None where nothing is known."""
    rows = frame.where(measurement=MEASUREMENT, quantity="near_ties", step=step).rows()
    return None if not rows or rows[0]["status"] in ("not_applicable", "undefined") else rows[0]


def kind_of(row: Row) -> str:
    """Return the task's name for all its hard inputs together, such as small margins."""
    return str(row["target"]) or HARD


def verb(row: Row, many: bool = False) -> str:
    """Return whether accuracy on hard inputs holds, as a verb: ``fails``, ``hold``."""
    kind = STRATA.get(str(row["label"]), UNKNOWN)
    return kind.many if many else kind.one


def each_stratum(frame: Frame, step: int) -> list[Row]:
    """Return one row per kind of hard inputs (*stratum*), those on which the model fails first."""
    found = rows_with_values(frame.where(measurement=MEASUREMENT, quantity="stratum_verdict", step=step))
    rows, order = found.where(present(found["length"])).rows(), list(STRATA)
    return sorted((row for row in rows if row["label"] in STRATA), key=lambda row: order.index(str(row["label"])))


def name_of(row: Row) -> Claim:
    """Return the name of one kind of hard inputs (*stratum*); for a component task, without the token that marks it."""
    text = component_name(str(row["target"]))
    return Claim(text, "plain", [cite(row, "target", text)])


def repeats(row: Row, before: str = "") -> Pieces:
    """Over how many distinct sequences a stratum was evaluated, where draws repeat; else nothing.

    The sequences of a stratum are drawn with replacement, however few they are: see :data:`REPEATED_SAID`.
    """
    different, drawn = (row.get(column, float("nan")) for column in ("distinct", "n"))
    if missing(different) or missing(drawn) or different >= drawn:
        return []
    words = count(row, "distinct", f"{before}over ", f" distinct sequence{'s' * (different != 1)}")
    return [Claim(words[0], REPEATED, words.cites)]


def note_of(row: Row, strata: list[Row]) -> str:
    """Return the note of the row of all hard inputs together, with the number of distinct sequences if draws repeat."""
    worst, text = worst_of(row, strata), str(row["note"])
    if worst is None or not text.startswith(f"{worst['target']}: "):
        return text
    return text.replace(" law)", f" law{''.join(said for said, _ in repeats(worst, ', '))})", 1)


def components(frame: Frame, step: int) -> Pieces:
    """Return each component task of a mixture, if they were tested separately and one fails, without a full stop."""
    row, strata = joint_row(frame, step), each_stratum(frame, step)
    if row is None or kind_of(row) != COMPONENTS or row["label"] != "fail" or not strata:
        return []
    made: Pieces = []
    for one in strata[:MOST_NAMED]:
        made += [plain("; ")] if made else []
        made += [name_of(one), plain(f" {verb(one)} with "), *_cell(one), _among(one, "worst of its ")]
    return made


def strata_clause(frame: Frame, step: int) -> Pieces:
    """Return the result on hard inputs as a clause: ``small margins fail: lead 1 has 0.42 [0.34, 0.51] at length 187,
    ...``.

    Empty without rows. A blurred threshold errs only on small margins, so a verdict that does not name them hides a
    part of what was measured.
    """
    row = joint_row(frame, step)
    if row is None:
        return []
    return _sentence(row, each_stratum(frame, step))


def strata_followed(frame: Frame, step: int, trained: float | None) -> Pieces:
    """Return which shortcut the model follows on the hard inputs that fail, as a sentence; empty where none is shown.

    The accuracy on these inputs is in the sentence of the verdict.
    """
    row, strata = joint_row(frame, step), each_stratum(frame, step)
    worst = None if row is None else worst_of(row, strata)
    if row is None or worst is None or trained is None or row["label"] != "fail":
        return []
    followed = follows(frame, worst, str(worst["target"]), trained)
    inputs = [plain(f" On {kind_of(row)} ("), name_of(worst), count(worst, "length", ") of length ", _test_set(worst))]
    return [*inputs, plain(", it is "), *followed, plain(".")] if followed else []


def worst_of(row: Row, strata: list[Row]) -> Row | None:
    """The stratum that the row of all strata together is about; None where each has no row of its own."""
    alike = [one for one in strata if one["label"] == row["label"]]
    named = [one for one in alike if str(row["note"]).startswith(f"{one['target']}: ")]
    return next(iter([*named, *alike]), None)


def follows(frame: Frame, place: Row, mode: str, trained: float) -> Pieces:
    """Return the shortcut that a model significantly follows at one step and length, as ``right exactly where ...``;
    otherwise empty.

    Args:
        frame: rows of one run.
        place: the row with step, length and test set.
        mode: the stratum, or ``teacher_forced`` for all sequences of the test set.
        trained: N.
    """
    where = {name: place[name] for name in ("step", "law", "length")}
    rows = rows_with_values(
        frame.where(measurement=MEASUREMENT, quantity="shortcut_agreement", mode=mode, **where)
    ).rows()
    shown = [one for one in rows if float(one["low"]) >= FOLLOWED]
    if not shown:
        return []
    best = max(shown, key=lambda one: float(one["value"]))
    before, has_n, after = shortcut_name(str(best["target"])).partition(" N ")
    n = whole(trained)
    window: Pieces = [Claim(f" {n} ", "plain", [Cite(n, "trained_length", {"trained_length": trained}, RUN)])]
    answers: Pieces = [plain(before), *(window if has_n else []), plain(after)]
    share = [plain(" would be (agreement "), *estimate(best), count(best, "n", ", n "), plain(")")]
    return [plain("right exactly where "), *answers, *share]


def component_shares_clause(frame: Frame, place: Row, trained: float) -> Pieces:
    """Return how the shares of component tasks in a mixture at a length differ from those at N, as a clause; empty if
    they do not.
    """
    step = int(place["step"])
    here, there = composition(frame, step, float(place["length"])), trained_composition(frame, step, trained)
    if not here or not there or not differs(here, there):
        return []
    most = max(here.values(), key=lambda one: float(one["value"]))
    if float(most["value"]) == 1:
        return [plain(", where every sequence is of "), name_of(most)]
    return [plain(", where the components are mixed in other shares than at length "), count(_first(there), "length")]


def _first(rows: Mapping[str, Row]) -> Row:
    return next(iter(rows.values()))


def _sentence(row: Row, strata: list[Row]) -> Pieces:
    """Whether strata fail, hold or are inconclusive, and the cell that shows it, without a full stop."""
    says = f"{kind_of(row)} {verb(row, many=True)}"
    worst = worst_of(row, strata)
    if worst is None:
        return [plain(says), *([note(row, ", ")] if row["note"] else [])]
    return [plain(f"{says}: "), name_of(worst), plain(" has "), *_cell(worst), _among(row, "worst of ")]


def _cell(row: Row) -> Pieces:
    """``0.42 [0.34, 0.51] over 4 distinct sequences at length 187 on the challenge test set``."""
    return [*estimate(row), *repeats(row, " "), count(row, "length", " at length ", _test_set(row))]


def _test_set(row: Row) -> str:
    """The test set of a cell, if it is not the matched one."""
    return "" if row["law"] == "matched" else f" on the {row['law']} test set"


def _among(row: Row, before: str) -> Claim:
    """Of how many cells a cell is the worst: of its stratum, or of all strata together, by what the row is about."""
    cells = str(row["note"]).rpartition("; ")[2].removeprefix("worst of ")
    if not cells[:1].isdigit():
        return Claim(f", {cells}", "plain", [cite(row, "note", cells)])
    parts = "length and test set" if "its" in before else "kind, length and test set"
    return Claim(f", {before}{cells} ({parts})", "plain", [cite(row, "note", cells)])
