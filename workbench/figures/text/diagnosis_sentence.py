"""Why a model fails past its training length, and what mends it, in one sentence made of the rows of ``diagnosis``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.figures.labels import Piece
from workbench.figures.rows.claims import Claim, capital, count, estimate, head, layer, note, number, plain, trained
from workbench.figures.rows.diagnosis_rows import MEASUREMENT, Row, named_entry
from workbench.figures.rows.door import of_rows
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.picking import valued

REPAIRS: Mapping[str, str] = {
    "P.lag": "lags inside the trained range",
    "P.row": "trained rows in place of others",
    "P": "ids inside the trained range",
    "D.logn": "scores scaled by log n",
    "D": "sharpening",
    "K.sink": "the first key's weight held as at N",
    "K.scale": "head outputs held at their scale at N",
    "T": "steps slowed to those of N",
    "C": "rows moved to where they lay at N",
}
"""What a repair does, by its name or by its family."""
CAUSES = {
    "position": "positions beyond ",
    "keys": "more keys than at ",
    "steps": "more steps than at ",
    "steps or content": "what grows with strings beyond ",
    "keys or content": "what grows with strings beyond ",
    "content": "what strings hold beyond ",
    "joint": "positions and more keys, together, beyond ",
}
MANY = ("position", "keys", "steps", "joint")
"""Entries that are told in the plural."""
ASIDE = {"P": "D", "D": "P", "K": "P", "T": "C", "C": "P"}
"""The family whose best member is told beside the one that is named."""
ENOUGH = 0.5
"""Share of the loss from which a repair names a cause, where its control restores clearly less."""
NOTHING = "loss below "
"""How the note of a row begins that has nothing to explain."""
NEAR, FAR = 0.05, 0.25
"""How far below the accuracy at N a probe may be for the answer to count as readable, and how far one of untrained
weights must be."""


@of_rows
def diagnosis_sentence(frame: Frame, *, step: int, longest: float, length: int | None = None) -> list[Piece]:
    """The entry, the site and what restores how much, at the first length at which there is something to explain.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        longest: N, the longest trained length.
        length: speak of this length; None = the first with a name, else the first that was asked.

    Raises:
        NotMeasured: where the checkpoint has no diagnosis.
    """
    named = named_entry(frame, step=step, length=length)
    own = frame.where(measurement=MEASUREMENT, step=step, law=named["law"])
    if not named["label"]:
        return [*_nothing(own if length is None else own.where(length=length), named), plain(".")]
    here = own.where(length=named["length"])
    if named["label"] == "not explained":
        return _unexplained(here, named)
    grades = here.where(quantity="entry_grade").rows()
    part = grades and grades[0]["label"] == "partly"
    pieces: list[Piece] = [
        _at(named),
        plain(f"fails {'partly ' if part else ''}because {CAUSES[named['label']]}"),
        trained(longest),
        plain(" "),
        *_effect(here, "" if str(named["label"]) in MANY else "s"),
    ]
    return [*pieces, *_restored(here, named), plain(".")]


def _at(named: Row) -> Claim:
    """The length that is spoken of, and the law where it is not that of training."""
    law = "" if named["law"] == "matched" else f" under the {named['law']} law"
    return count(named, "length", "At ", f"{law}, ")


def _nothing(own: Frame, named: Row) -> list[Piece]:
    """Why no cause is named; where too little is lost, up to which length and under which law: the other may fail."""
    why = capital(note(named))
    if not str(named["note"]).startswith(NOTHING):
        return [why]
    asked = own.where(quantity="entry").sort("length").rows()
    same = [row for row in asked if str(row["note"]).startswith(NOTHING)]
    pieces: list[Piece] = [why]
    if same[-1]["length"] != named["length"]:
        pieces.append(count(same[-1], "length", ", nor at "))
    pieces.append(plain(f" under the {named['law']} law"))
    for row in asked:
        if row not in same:
            pieces += [count(row, "length", "; at ", ": "), note(row)]
    return pieces


def _effect(here: Frame, s: str) -> list[Piece]:
    """What the entry does, at its site; ``s`` ends the verb where the entry is one thing."""
    sites = here.where(quantity="failure_site").rows()
    if not sites or not sites[0]["label"]:
        return [plain(f"break{s} the answer")]
    site = sites[0]
    label = str(site["label"])
    if label == "selection":
        return [plain(f"make{s} "), head(site), plain(" attend to wrong keys")]
    if label == "dispersion":
        return [plain(f"thin{s} out what "), head(site), plain(" gives to the right keys")]
    if label == "read-out":
        return [plain(f"make{s} the read-out miss an answer that the last row still holds as at N")]
    if label == "code":
        return [plain(f"move{s} the code of the answer"), layer(site, " ")]
    return [plain(f"lose{s} the answer")] + ([] if missing(site["layer"]) else [layer(site, " ")])


def _restored(here: Frame, named: Row) -> list[Piece]:
    """What the naming repair restores, and the best of another family beside it."""
    shares = valued(here.where(quantity="restored_share", control="")).rows()
    own = [row for row in shares if row["target"] == named["target"]]
    if not own:
        oracle = valued(here.where(quantity="oracle_key_share", control="")).rows()
        best = max(oracle, key=lambda row: float(row["value"]), default=None)
        told = [plain("; no blind repair restores half")]
        return told if best is None else [plain(": the right key alone restores "), *estimate(best), *told]
    pieces: list[Piece] = [plain(f": {_phrase(str(named['target']))} restore{_s(str(named['target']))} ")]
    pieces += estimate(own[0])
    aside = ASIDE[str(named["target"])[0]]
    other = [row for row in shares if str(row["target"]).startswith(aside) and row["mode"] == "alone" and row["note"]]
    if other and " and " not in str(named["target"]):
        target = str(other[0]["target"])
        pieces += [plain(f"; {_phrase(target)} restore{_s(target)} "), *estimate(other[0])]
    return pieces


def _unexplained(here: Frame, named: Row) -> list[Piece]:
    shares = valued(here.where(quantity="restored_share", control="", mode="alone")).rows()
    pieces: list[Piece] = [_at(named)]
    if shares:
        pieces += [*_too_little(here, shares), plain(": not explained")]
    else:
        pieces.append(plain("no repair is applicable: not explained"))
    still = _still_readable(here)
    pieces += [] if still is None else [plain("; the answer is still readable"), layer(still, " ")]
    if _untestable(here):
        pieces.append(plain("; whether positions are to blame cannot be tested by ids, for such repairs harm at N"))
    return [*pieces, plain(".")]


def _too_little(here: Frame, shares: Sequence[Row]) -> list[Piece]:
    """What the best repair restores, and why that names nothing."""
    best = max(shares, key=_value)
    if _value(best) < ENOUGH:
        return [plain("no repair restores more than "), number(best), plain(" of the loss")]
    # Of each family one member is judged, chosen on other strings, and held against its control.
    judged = max((row for row in shares if row["note"]), key=_value, default=best)
    target = str(judged["target"])
    wrong = valued(here.where(quantity="restored_share", target=target, control="wrong_constant")).rows()
    if _value(judged) < ENOUGH or not wrong:
        told = "of the repairs chosen on the other half of the strings none restores more than "
        return [plain(told), number(judged), plain(" of the loss")]
    told_share = [plain(f"{_phrase(target)} restore{_s(target)} "), *estimate(judged)]
    return [*told_share, plain(" of the loss, and with the wrong constant "), *estimate(wrong[0])]


def _value(row: Row) -> float:
    return float(row["value"])


def _still_readable(here: Frame) -> Row | None:
    """The last block behind which a probe reads nearly what N has, and untrained weights would not show it."""
    readable = here.where(quantity="answer_readable")
    accuracy = here.where(quantity="balanced_accuracy").rows()
    loss = valued(here.where(quantity="balanced_loss")).rows()
    if not accuracy or not loss:
        return None
    at_trained = float(accuracy[0]["value"]) + float(loss[0]["value"])
    control = {row["layer"]: float(row["value"]) for row in readable.where(control="untrained").rows() if row["value"]}
    good = [
        row
        for row in valued(readable.where(control="")).sort("layer").rows()
        if at_trained - float(row["value"]) <= NEAR and at_trained - control.get(row["layer"], 1.0) >= FAR
    ]
    return good[-1] if good else None


def _untestable(here: Frame) -> bool:
    rows = here.where(quantity="restored_share", control="", mode="alone").rows()
    told = [str(row["note"]) for row in rows if str(row["target"]).startswith("P.")]
    harms = [text for text in told if text.startswith("it harms inside training")]
    return bool(harms) and not any(
        str(row["target"]).startswith("P.") and row["value"] is not None and not missing(row["value"]) for row in rows
    )


def _phrase(target: str) -> str:
    """What a repair, or a pair of them, does."""
    return " with ".join(REPAIRS.get(name) or REPAIRS[name[0]] for name in target.split(" and "))


def _s(target: str) -> str:
    """The ending of the verb: some phrases are plural."""
    phrase = _phrase(target)
    return "s" if phrase.startswith(("sharpening", "the first key")) else ""


def told(pieces: Sequence[Piece]) -> str:
    """The sentence as text."""
    return "".join(text for text, _ in pieces)
