"""Why a model fails past its training length, in sentences made of the rows of ``diagnosis``.

Cause, component, evidence, control: in this order.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.names import NOT_EXPLAINED, POSITION_OR_CONTENT, POSITION_OR_KEYS, TOO_COSTLY
from workbench.core.thresholds import NAMED_DROP, NAMING_SHARE, SMALLEST_DROP
from workbench.figures.labels import Piece
from workbench.figures.rows.claims import (
    Claim,
    at_length,
    capital,
    constant,
    count,
    estimate,
    head,
    layer,
    note,
    number,
    plain,
    trained_length_clause,
)
from workbench.figures.rows.conversion import of_rows
from workbench.figures.rows.diagnosis_rows import (
    MEASUREMENT,
    Row,
    deciding_entry,
    named_entry,
    recovered_by,
    share_of,
)
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import rows_with_values
from workbench.measure.edits.interventions.all_interventions import by_name

CAUSES = {
    "position": "positions beyond ",
    "keys": "more attended tokens than at length ",
    "steps": "more recurrent steps than at length ",
    "steps or content": "the number of recurrent steps or the content of inputs beyond length ",
    "keys or content": "the number of attended tokens or the content of inputs beyond length ",
    "content": "the content of inputs beyond length ",
    "joint": "positions together with more attended tokens beyond length ",
}
MANY = ("position", "keys", "steps", "joint")
"""Causes that take a plural verb."""
ASIDE = {"P": "D", "D": "P", "K": "P", "T": "C", "C": "P"}
"""The family whose best member is named next to the diagnosed one."""
NOTHING = "nothing to explain"
"""What the note of a row contains whose accuracy drop is too small for a diagnosis."""
NEAR, FAR = 0.05, 0.25
"""How far below the accuracy at N a probe may be for the answer to count as readable, and how far one of untrained
weights must be."""


@of_rows
def diagnosis_sentence(frame: Frame, *, step: int, longest: float, length: int | None = None) -> list[Piece]:
    """Return the diagnosis in words: cause, component, and how much an intervention recovers, at the first length with
    an accuracy drop to explain.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        longest: N, the longest trained length.
        length: speak of this length; None = the first with a name, otherwise the first that was diagnosed.

    Raises:
        NotMeasured: where the checkpoint has no diagnosis.
    """
    before, recovered, after = _parts(frame, step, longest, length)
    return [*before, *recovered, *after]


def cause_sentence(frame: Frame, *, step: int, longest: float) -> list[Piece]:
    """Return the diagnosis without the shares that name the cause, for a page that draws them
    (:func:`workbench.figures.text.cause.cause_shares`)."""
    before, _, after = _parts(frame, step, longest, None)
    return [*before, *after]


def _parts(frame: Frame, step: int, longest: float, length: int | None) -> tuple[list[Piece], list[Piece], list[Piece]]:
    """The cause and its component; what interventions recover; and what could not be tested."""
    named = named_entry(frame, step=step, length=length)
    own = frame.where(measurement=MEASUREMENT, step=step, law=named["law"])
    if not named["label"]:
        return [*_nothing(own if length is None else own.where(length=length), named), plain(".")], [], []
    here = own.where(length=named["length"])
    if named["label"] == NOT_EXPLAINED:
        return _unexplained(here, named, longest), [], []
    if named["label"] == POSITION_OR_CONTENT:
        return _untested(here, named, longest), [], []
    grades = here.where(quantity="entry_grade").rows()
    part = grades and grades[0]["label"] == "partly"
    pieces: list[Piece] = [_at(named, longest), plain(f"the model fails {'partly ' if part else ''}because ")]
    deciding = deciding_entry(own, named)
    causes = ["position", "keys"] if named["label"] == POSITION_OR_KEYS else [*recovered_by(named)]
    if len(causes) > 1 and deciding is None:
        for place, cause in enumerate(causes):
            pieces += [plain(" or " * (place > 0) + CAUSES[cause]), trained_length_clause(longest)]
        pieces += [plain(" "), *_effect(here, ""), plain(".")]
        if named["label"] == POSITION_OR_KEYS:
            untested = plain(" Whether positions are the cause could not be tested")
            after = [untested, *_untestable_because(here, longest)]
            return pieces, _recovered(own, here, named, deciding), after
        pieces.append(plain(" These causes are not distinguished."))
    else:
        s = "" if str(named["label"]) in MANY else "s"
        pieces += [
            plain(CAUSES[named["label"]]),
            trained_length_clause(longest),
            plain(" "),
            *_effect(here, s),
            plain("."),
        ]
    return pieces, _recovered(own, here, named, deciding), []


def _at(named: Row, longest: float) -> Claim:
    """The diagnosed length as a multiple of N, and the test set if it is not the matched one."""
    where = at_length(named, longest, "At length ", law=named["law"] != "matched")
    return Claim(f"{where[0]}, ", where[1], where.cites)


def _nothing(own: Frame, named: Row) -> list[Piece]:
    """Why no cause is named. A drop below the threshold is given at each of its lengths, with its interval."""
    if NOTHING not in str(named["note"]):
        return [capital(note(named))]
    diagnosed = own.where(quantity="entry").sort("length").rows()
    small = [row for row in diagnosed if NOTHING in str(row["note"])]
    drops = {row["length"]: row for row in rows_with_values(own.where(quantity="balanced_loss", control="")).rows()}
    pieces: list[Piece] = []
    for row in small:
        joint = plain(" and ") if pieces else plain("Class-balanced accuracy drops ")
        drop = drops.get(row["length"])
        size = (
            [constant("smallest_drop", SMALLEST_DROP, "by less than ")]
            if drop is None
            else [plain("by "), *estimate(drop)]
        )
        pieces += [joint, *size, count(row, "length", " at length ")]
    needed = f" on the {named['law']} test set. A cause is named from a drop of "
    pieces.append(constant("named_drop", NAMED_DROP, needed, " on"))
    for row in diagnosed:
        if row not in small:
            pieces += [plain(". "), capital(note(row))]
    return pieces


def _effect(here: Frame, s: str) -> list[Piece]:
    """What the cause does, in which component; ``s`` ends the verb where the cause is one thing."""
    sites = here.where(quantity="failure_site").rows()
    if not sites or not sites[0]["label"]:
        return [plain(f"destroy{s} the answer")]
    site = sites[0]
    label = str(site["label"])
    if label == "selection":
        return [plain(f"make{s} "), head(site), plain(" attend to wrong keys")]
    if label == "dispersion":
        return [plain(f"make{s} "), head(site), plain(" spread its attention away from the right keys")]
    if label == "read-out":
        return [plain(f"make{s} the read-out miss an answer that the residual stream still contains")]
    if label == "code":
        return [plain(f"move{s} the representation of the answer"), layer(site, " ")]
    return [plain(f"destroy{s} the answer")] + ([] if missing(site["layer"]) else [layer(site, " ")])


def _recovered(own: Frame, here: Frame, named: Row, deciding: Row | None) -> list[Piece]:
    """What the intervention recovers that names the cause, its control, and what others recover."""
    target = str(named["target"])
    share = share_of(own, named, target) if target else None
    if share is None:
        return _right_key(here)
    pieces: list[Piece] = [plain(f" {_phrase(target, True)} recover "), *estimate(share), plain(OF_THE_DROP)]
    if control := share_of(own, named, target, "wrong_constant"):
        pieces += [plain(" With a wrong constant, the same edit recovers "), *estimate(control), plain(".")]
    rivals = [other for other in recovered_by(named).values() if other != target]
    for rival in rivals:
        if also := share_of(own, named, rival):
            pieces += [plain(f" {_phrase(rival, True)} recover "), *estimate(also), plain(" as well")]
            pieces += [plain("."), *([] if deciding is None else _decided(own, deciding, target, rival))]
    if rivals or " and " in target:
        return pieces
    aside = ASIDE[target[0]]
    shares = rows_with_values(here.where(quantity="restored_share", control="", mode="alone")).rows()
    for other in [row for row in shares if str(row["target"]).startswith(aside) and row["note"]][:1]:
        pieces += [plain(f" {_phrase(str(other['target']), True)} recover "), *estimate(other), plain(".")]
    return pieces


OF_THE_DROP = " of the accuracy drop."


def _decided(own: Frame, deciding: Row, target: str, rival: str) -> list[Piece]:
    """What two interventions recover at the length that distinguishes their causes."""
    first, second = share_of(own, deciding, target), share_of(own, deciding, rival)
    if first is None or second is None:
        return []
    at = count(deciding, "length", " But at length ", ", the first edit recovers ")
    return [at, *estimate(first), plain(" and the second "), *estimate(second), plain(".")]


def _right_key(here: Frame) -> list[Piece]:
    """What the right key recovers in place of what a head attends to, its control, and what positions recover."""
    oracle = rows_with_values(here.where(quantity="oracle_key_share", control="")).rows()
    best = max(oracle, key=_value, default=None)
    if best is None:
        return [plain(" No label-free intervention recovers half of the accuracy drop.")]
    pieces: list[Piece] = [plain(" Attention to only the right key recovers "), *estimate(best), plain(OF_THE_DROP)]
    at = {"layer": best["layer"], "head": best["head"]}
    untrained = rows_with_values(here.where(quantity="oracle_key_share", control="untrained", **at)).rows()
    if untrained:
        pieces += [plain(" In untrained models this edit moves accuracy by at most "), number(untrained[0])]
        pieces.append(plain(" from chance."))
    positions = [row for row in _positions(here) if not missing(row["value"])]
    if positions:
        pieces += [plain(" Position interventions recover at most "), number(max(positions, key=_value)), plain(".")]
    return [*pieces, plain(" No other label-free intervention recovers half.")]


def _untested(here: Frame, named: Row, longest: float) -> list[Piece]:
    """Which head attends to wrong tokens, what the right key recovers, and why positions could not be tested."""
    sites = here.where(quantity="failure_site", label="selection").rows()
    which = [head(sites[0])] if sites else [plain("a head")]
    pieces: list[Piece] = [_at(named, longest), *which, plain(" attends to the wrong tokens.")]
    oracle = rows_with_values(here.where(quantity="oracle_key_share", control="")).rows()
    if oracle:
        best = max(oracle, key=_value)
        pieces += [plain(" Attention to only the right key recovers "), *estimate(best), plain(OF_THE_DROP)]
    pieces.append(plain(" Whether by position or by content could not be tested"))
    chosen = chosen_position(here)
    if chosen is not None:
        pieces += [plain(f": {_phrase(str(chosen['target']))} recover "), *estimate(chosen)]
        wrong = rows_with_values(
            here.where(quantity="restored_share", target=chosen["target"], control="wrong_constant")
        ).rows()
        pieces += [plain(", with a wrong constant "), *estimate(wrong[0])] if wrong else []
        return [*pieces, plain(".")]
    return [*pieces, *_untestable_because(here, longest)]


def chosen_position(here: Frame) -> Row | None:
    """Return the best applicable position intervention, one that was chosen on other sequences if there is any."""
    tested = [row for row in _positions(here) if not missing(row["value"])]
    return max((row for row in tested if row["note"]), key=_value, default=max(tested, key=_value, default=None))


def _untestable_because(here: Frame, longest: float) -> list[Piece]:
    """The end of a sentence: why no position intervention is applicable."""
    if _untestable(here):
        return [
            plain(": every position intervention costs too much accuracy at "),
            trained_length_clause(longest),
            plain("."),
        ]
    return [plain(": no position intervention is applicable.")]


def _unexplained(here: Frame, named: Row, longest: float) -> list[Piece]:
    shares = rows_with_values(here.where(quantity="restored_share", control="", mode="alone")).rows()
    pieces: list[Piece] = [_at(named, longest)]
    pieces += _too_little(here, shares) if shares else [plain("no intervention is applicable")]
    pieces.append(plain(". The failure is not explained."))
    still = _still_readable(here)
    pieces += [] if still is None else [plain(" The answer is still readable"), layer(still, " "), plain(".")]
    if _untestable(here):
        told_why = " Positions could not be tested: every position intervention costs too much accuracy at "
        pieces += [plain(told_why), trained_length_clause(longest), plain(".")]
    return pieces


def _too_little(here: Frame, shares: Sequence[Row]) -> list[Piece]:
    """What the best intervention recovers, and why that names nothing."""
    judged = best_tried(shares)
    drop = plain(" of the accuracy drop")
    if judged is max(shares, key=_value) and _value(judged) < NAMING_SHARE:
        return [plain("no intervention recovers more than "), number(judged), drop]
    target = str(judged["target"])
    wrong = rows_with_values(here.where(quantity="restored_share", target=target, control="wrong_constant")).rows()
    if _value(judged) < NAMING_SHARE or not wrong:
        chosen = "no intervention that was chosen on the other half of the sequences recovers more than "
        return [plain(chosen), number(judged), drop]
    share = [plain(f"{_phrase(target)} recover "), *estimate(judged), drop]
    return [*share, plain(", but with a wrong constant "), *estimate(wrong[0])]


def best_tried(shares: Sequence[Row]) -> Row:
    """Return the intervention that decides that nothing is explained.

    That is the best of all, if it recovers too little. Otherwise it is the best of those that were chosen in their
    family on other sequences and compared with a control.
    """
    best = max(shares, key=_value)
    if _value(best) < NAMING_SHARE:
        return best
    return max((row for row in shares if row["note"]), key=_value, default=best)


def _value(row: Row) -> float:
    return float(row["value"])


def _still_readable(here: Frame) -> Row | None:
    """The last block behind which a probe reads nearly what N has, and untrained weights would not show it."""
    readable = here.where(quantity="answer_readable")
    accuracy = here.where(quantity="balanced_accuracy").rows()
    loss = rows_with_values(here.where(quantity="balanced_loss")).rows()
    if not accuracy or not loss:
        return None
    at_trained = float(accuracy[0]["value"]) + float(loss[0]["value"])
    control = {row["layer"]: float(row["value"]) for row in readable.where(control="untrained").rows() if row["value"]}
    good = [
        row
        for row in rows_with_values(readable.where(control="")).sort("layer").rows()
        if at_trained - float(row["value"]) <= NEAR and at_trained - control.get(row["layer"], 1.0) >= FAR
    ]
    return good[-1] if good else None


def _positions(here: Frame) -> list[Row]:
    """The rows of position interventions, applicable or not."""
    rows = here.where(quantity="restored_share", control="", mode="alone").rows()
    return [row for row in rows if str(row["target"]).startswith("P.")]


def _untestable(here: Frame) -> bool:
    """Whether no position intervention is applicable, one at least because of what it costs at N."""
    rows = _positions(here)
    harms = any(str(row["note"]).startswith(TOO_COSTLY) for row in rows)
    return harms and all(row["value"] is None or missing(row["value"]) for row in rows)


def _phrase(target: str, first: bool = False) -> str:
    """What an intervention, or a pair of them, does; ``first``: as it begins a sentence."""
    phrase = " together with ".join(by_name(name).description for name in target.split(" and "))
    return phrase[:1].upper() + phrase[1:] if first else phrase


def plain_text(pieces: Sequence[Piece]) -> str:
    """Return sentences as plain text."""
    return "".join(text for text, _ in pieces)
