"""Which rows of a diagnosis are spoken of and drawn: the entry, the site, and the entry over training."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from workbench.figures.errors import NotMeasured, Undefined
from workbench.figures.labels import head_name, layer_said
from workbench.figures.rows.frame import Frame, missing

MEASUREMENT = "diagnosis"
Row = Mapping[str, Any]


def named_entry(frame: Frame, *, step: int, length: int | None = None) -> Row:
    """The row of the entry that is spoken of: the first with a name, else the first asked.

    Raises:
        NotMeasured: where the checkpoint has no diagnosis.
    """
    entries = frame.where(measurement=MEASUREMENT, step=step, quantity="entry").sort("length").rows()
    entries = [row for row in entries if length is None or row["length"] == length]
    if not entries:
        raise NotMeasured(MEASUREMENT, f"no diagnosis at step {step:,}")
    return next((row for row in entries if row["label"]), entries[0])


def something_to_explain(frame: Frame, *, step: int) -> Row:
    """:func:`named_entry` where there is a loss to explain, explained or not.

    Raises:
        Undefined: where nothing is to be explained; the message is why.
    """
    named = named_entry(frame, step=step)
    if not named["label"]:
        why = str(named["note"])
        raise Undefined(MEASUREMENT, f"{why[:1].upper()}{why[1:].rstrip('.')}.")
    return named


def failure_head(frame: Frame, *, step: int) -> tuple[int, int, str] | None:
    """Layer, head and name of the site where it first goes wrong; None without a diagnosis, or where it is no head."""
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
    """What is said of entry and site over the diagnosed checkpoints, in order; empty where it is one.

    Returns:
        For each stretch of checkpoints of which the same is said: the rows of its first and its last, and what.
    """
    steps = sorted({int(step) for step in frame.where(measurement=MEASUREMENT, quantity="entry")["step"]})
    rows = [named_entry(frame, step=step) for step in steps]
    stretches = [(text, list(of)) for text, of in groupby(rows, key=lambda row: _in_short(row, _site_of(frame, row)))]
    return [(of[0], of[-1], text) for text, of in stretches] if len(rows) > 1 else []


def _in_short(row: Row, site: str) -> str:
    """The name of an entry and its site, or why it has none, without its numbers."""
    if row["label"] and row["label"] != "not explained" and site:
        return f"{row['label']} ({site})"
    whole = str(row["label"] or row["note"])
    return next((why for why in ("not learned", "nothing to explain", "no cause is named") if why in whole), whole)


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
