"""Which rows of a diagnosis are described and drawn: the cause, the location, and the cause over training."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from workbench.core.names import NOT_EXPLAINED
from workbench.core.thresholds import SMALLEST_DROP
from workbench.figures.errors import NotMeasured, Undefined
from workbench.figures.labels import layer_said
from workbench.figures.rows.frame import Frame, missing
from workbench.measure.edits.interventions.intervention import FAMILIES
from workbench.models.base.graph import head_name

MEASUREMENT = "diagnosis"
ALSO = "also restored by "
"""How the note of an entry begins that names the interventions of other families that recover enough, too."""
CAUSE_OF: dict[str, str] = {family: cause.label for family, cause in FAMILIES.items() if not cause.recurrent}
"""Family of interventions -> the cause that it names."""
UNNAMED = {
    "not learned": "not learned",
    "nothing to explain": f"accuracy drop below {SMALLEST_DROP:g}",
    "no cause is named": "drop too small for a diagnosis",
    "a diagnosis needs": "too few wrong sequences",
}
"""Part of a note that explains why no cause is named -> the reason in short."""
Row = Mapping[str, Any]


def named_entry(frame: Frame, *, step: int, length: int | None = None) -> Row:
    """The row of the cause that sentences describe: the first with a name, otherwise the first that was diagnosed.

    If interventions against several causes recover accuracy at that length, another length may name only one of these
    causes. The row of that length is returned if its cause differs.

    Raises:
        NotMeasured: where the checkpoint has no diagnosis.
    """
    entries = frame.where(measurement=MEASUREMENT, step=step, quantity="entry").sort("length").rows()
    entries = [row for row in entries if length is None or row["length"] == length]
    if not entries:
        raise NotMeasured(MEASUREMENT, f"no diagnosis at step {step:,}")
    first = next((row for row in entries if row["label"]), entries[0])
    decides = deciding_entry(frame, first) if length is None else None
    return first if decides is None or decides["label"] == first["label"] else decides


def recovered_by(named: Row) -> dict[str, str]:
    """Return, for each cause, the intervention against it that recovers enough of the accuracy drop. The intervention
    that names the cause comes first.

    Interventions on rows of the residual stream are left out: they name no single cause. Empty for a pair.
    """
    also = str(named["note"] or "").removeprefix(ALSO).split(", ") if str(named["note"] or "").startswith(ALSO) else []
    causes: dict[str, str] = {}
    for target in [str(named["target"] or ""), *also]:
        if " and " not in target and target[:1] in CAUSE_OF:
            causes.setdefault(CAUSE_OF[target[0]], target)
    return causes


def deciding_entry(frame: Frame, named: Row) -> Row | None:
    """If several causes cannot be distinguished: the first other length at which only one of them recovers accuracy.

    None if only one cause recovers already, or no other length decides. A length decides only if the interventions
    against the other causes were applicable there.
    """
    causes = recovered_by(named)
    if len(causes) < 2:
        return None
    at = {"measurement": MEASUREMENT, "step": named["step"], "law": named["law"]}
    for row in frame.where(quantity="entry", **at).sort("length").rows():
        left = recovered_by(row)
        if row["length"] == named["length"] or len(left) != 1 or not left.keys() <= causes.keys():
            continue
        if all(share_of(frame, row, target) is not None for target in causes.values()):
            return row
    return None


def share_of(frame: Frame, named: Row, target: str, control: str = "") -> Row | None:
    """Return the row with the share of the accuracy drop that one intervention recovers at the diagnosed length; None
    without a value.
    """
    at = {"measurement": MEASUREMENT, "step": named["step"], "law": named["law"], "length": named["length"]}
    rows = frame.where(quantity="restored_share", target=target, control=control, **at).rows()
    return next((row for row in rows if row["value"] is not None and not missing(row["value"])), None)


def something_to_explain(frame: Frame, *, step: int) -> Row:
    """Return the diagnosis row at the first length with an accuracy drop to explain, whether or not a cause was found.

    Raises:
        Undefined: where nothing is to be explained; the message is why.
    """
    named = named_entry(frame, step=step)
    if not named["label"]:
        why = str(named["note"])
        raise Undefined(MEASUREMENT, f"{why[:1].upper()}{why[1:].rstrip('.')}.")
    return named


def failure_head(frame: Frame, *, step: int) -> tuple[int, int, str] | None:
    """Return layer, index and name of the head where the error first appears; None without a diagnosis, or if the
    location is not a head.
    """
    try:
        named = something_to_explain(frame, step=step)
    except NotMeasured:
        return None
    sites = frame.where(measurement=MEASUREMENT, quantity="failure_site", step=step, length=named["length"]).rows()
    at = sites[0] if sites else None
    if at is None or not at["label"] or missing(at["layer"]) or missing(at["head"]):
        return None
    return int(at["layer"]), int(at["head"]), str(at["label"])


def entries_over_training(frame: Frame) -> list[tuple[Row, Row, str]]:
    """Cause and location over the diagnosed checkpoints, in order; empty if only one is diagnosed.

    Returns:
        For each stretch of checkpoints with equal text: the rows of its first and its last, and the text. Each cause,
            and each reason why none is named, has its length.
    """
    steps = sorted({int(step) for step in frame.where(measurement=MEASUREMENT, quantity="entry")["step"]})
    rows = [named_entry(frame, step=step) for step in steps]
    stretches = [(text, list(of)) for text, of in groupby(rows, key=lambda row: _in_short(frame, row))]
    return [(of[0], of[-1], text) for text, of in stretches] if len(rows) > 1 else []


def _in_short(frame: Frame, named: Row) -> str:
    """The name of an entry, its length and its site; or at each length why it has none, without further numbers."""
    if not named["label"]:
        return _unnamed(frame, named)
    site = "" if named["label"] == NOT_EXPLAINED else _site_of(frame, named)
    return f"{named['label']} at {int(named['length']):,}{f' ({site})' if site else ''}"


def _unnamed(frame: Frame, named: Row) -> str:
    """Why no cause is named at a checkpoint, with the lengths of each reason."""
    at = {"measurement": MEASUREMENT, "step": named["step"], "law": named["law"]}
    lengths: dict[str, list[str]] = {}
    for row in frame.where(quantity="entry", **at).sort("length").rows():
        whole = str(row["note"])
        reason = next((short for words, short in UNNAMED.items() if words in whole), whole)
        lengths.setdefault(reason, []).append("" if missing(row["length"]) else f"{int(row['length']):,}")
    if list(lengths) == ["not learned"]:
        return "not learned"
    said = [f"{reason} at {' and '.join(each)}" if all(each) else reason for reason, each in lengths.items()]
    return ", ".join(said)


def _site_of(frame: Frame, named: Row) -> str:
    """Where it first goes wrong at the checkpoint and length of an entry, and which head or block that is."""
    at = {"step": named["step"], "length": named["length"], "law": named["law"]}
    sites = frame.where(measurement=MEASUREMENT, quantity="failure_site", **at).rows()
    if not sites or not sites[0]["label"]:
        return ""
    site = sites[0]
    if not missing(site["layer"]) and not missing(site["head"]):
        return f"{site['label']} at {head_name(int(site['layer']), int(site['head']))}"
    return str(site["label"]) if missing(site["layer"]) else f"{site['label']} {layer_said(int(site['layer']))}"
