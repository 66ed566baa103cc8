"""Sentences about a run, made from table rows alone.

A sentence is a list of pieces ``(text, role)``; joined, the texts read as prose. Roles: ``plain``,
``summary`` and ``position`` (words in the colour of their concept), ``muted`` (intervals).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import pandas as pd

from workbench.core.thresholds import FITTED, ROBUST
from workbench.figures.behaviour import LAWS, MEASUREMENT
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import Piece, beyond, head_name, interval, proportion, whole
from workbench.figures.mechanism import MEASUREMENT as HARDMAX
from workbench.figures.representation import CLIP, MODE, last_layer, probe_layers, probe_rows
from workbench.figures.rows import joined, nearest, pick, valued
from workbench.figures.scan import scan_text, without_attention
from workbench.figures.verdicts import since_step, verdict_ribbon, verdict_style

__all__ = [
    "Piece",
    "rail_text",
    "since_step",
    "verdict_ribbon",
    "verdict_sentence",
    "why_sentence",
]

RailRow = Literal["behaviour", "representation", "mechanism"]

#: Lower limit of skill that fitting needs at every trained length of the grid.
#: A head within this total variation of the nearest hardmax counts as one.
HARDMAX_WITHIN = 0.1
#: Position decodability (R^2) below the first is "little", from the second on "readable".
LITTLE, READABLE = 0.25, 0.5
#: A refitted probe this much better than the frozen one says that the code has moved.
MOVED = 0.1
CROSSES = " The interval crosses the band; more sequences would decide."


def verdict_sentence(frame: pd.DataFrame, *, step: int, trained: float) -> list[Piece]:
    """Verdict, step, behaviour and interval of one checkpoint, as one sentence.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N, the longest prefix length seen in training.

    Raises:
        NotMeasured: without a verdict at that step.
    """
    row = _verdict(frame, step)
    style = verdict_style(str(row["label"]))
    pieces: list[Piece] = [(style.word, style.role), (f" at step {whole(step)}: ", "plain")]
    if row["label"] == "not fitted":
        return pieces + _unfitted(frame, step, trained)
    if row["label"] == "undecided":
        note = f"; {row['note'].rstrip('.')}" if row["note"] else ""
        crossing = CROSSES if _crosses(frame, step, trained) else ""
        return [*pieces, *_course(frame, step, trained, row["length"]), (f"{note}.{crossing}", "plain")]
    pieces += _course(frame, step, trained, row["length"])
    if row["label"] == "unseen position":
        unseen = pick(frame, measurement=MEASUREMENT, step=step, status="unseen_position")["length"].dropna()
        first = f" from length {whole(unseen.min())} on" if len(unseen) else ""
        pieces.append((f", reading positions never seen in training{first}", "plain"))
    return [*pieces, (".", "plain")]


def why_sentence(
    frame: pd.DataFrame, *, step: int, trained: float, layer: int | None = None, head: int | None = None
) -> list[Piece]:
    """Since when, what the residual stream carries, and what the named head does; the unmeasured is left out.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N.
        layer: layer of the head to speak of (None = no head).
        head: the head to speak of.
    """
    parts: list[list[Piece]] = []
    held = dict(_ribbon(frame)).get(step)
    if held is not None and held != "not fitted":
        parts.append([(f"Since step {whole(since_step(frame, step))}.", "plain")])
    carried = _carried(frame, step, trained)
    shape = [] if layer is None or head is None else _shape(frame, step, trained, layer, head)[1]
    if carried and shape:
        parts.append([*carried, ("; head ", "plain"), *shape, (".", "plain")])
    elif carried:
        parts.append([*carried, (".", "plain")])
    elif shape:
        parts.append([("Head ", "plain"), *shape, (".", "plain")])
    pieces: list[Piece] = []
    for i, part in enumerate(parts):
        pieces += [(" ", "plain"), *part] if i else part
    return pieces


def rail_text(
    frame: pd.DataFrame,
    row: RailRow,
    step: int,
    length: int,
    layer: int,
    head: int,
    *,
    trained: float | None = None,
) -> list[Piece]:
    """The answer in the rail of one row of the Run page, yes or no first.

    Args:
        frame: rows of one run.
        row: behaviour, representation or mechanism.
        step: the cursor's training step.
        length: the cursor's prefix length.
        layer: the cursor's layer.
        head: the cursor's head.
        trained: N; without it the mechanism is compared with the shortest measured length.

    Returns:
        the pieces, or one sentence saying that the row is not measured here.
    """
    if row == "behaviour":
        return _rail_behaviour(frame, step)
    if row == "representation":
        return _rail_representation(frame, step, length)
    if row == "mechanism":
        kept, shape = _shape(frame, step, trained, layer, head)
        if without_attention(frame):
            return scan_text(frame, step, trained)
        if not shape:
            return [(f"Attention is not measured at step {whole(step)}.", "plain")]
        return [("Yes. " if kept else "No. ", "plain"), *shape, (".", "plain")]
    raise ValueError(f"unknown row {row!r}; the rows are behaviour, representation and mechanism")


# ---- behaviour --------------------------------------------------------------------------------------
def _ribbon(frame: pd.DataFrame) -> list[tuple[int, str]]:
    """The verdict ribbon, empty where nothing was measured."""
    try:
        return verdict_ribbon(frame)
    except NotMeasured:
        return []


def _verdict(frame: pd.DataFrame, step: int) -> pd.Series:
    rows = pick(frame, measurement=MEASUREMENT, quantity="verdict", step=step)
    if rows.empty:
        raise NotMeasured(MEASUREMENT, f"No verdict at step {whole(step)}: behaviour is not measured there.")
    return rows.iloc[0]


def _curve(frame: pd.DataFrame, step: int, quantity: str, law: str) -> pd.DataFrame:
    """Rows with a value over length, ascending."""
    rows = pick(frame, measurement=MEASUREMENT, quantity=quantity, mode="teacher_forced", law=law, step=step)
    return valued(rows).sort_values("length")


def _with_interval(row: pd.Series) -> list[Piece]:
    pieces: list[Piece] = [(proportion(float(row["value"])), "plain")]
    limits = interval(row["low"], row["high"])
    return [*pieces, (f" {limits}", "muted")] if limits else pieces


def _failed(frame: pd.DataFrame, step: int) -> pd.Series | None:
    """The earliest observed failure length of either law."""
    rows = pick(frame, measurement=MEASUREMENT, quantity="failure_length", step=step)
    rows = valued(rows)
    return None if rows.empty else rows.loc[rows["value"].idxmin()]


def _course(frame: pd.DataFrame, step: int, trained: float, horizon: float | None) -> list[Piece]:
    """Accuracy from the training length on: falls to where it fails, or stays up to the horizon."""
    failed = _failed(frame, step)
    law = "matched" if failed is None else str(failed["law"])
    curve = _curve(frame, step, "accuracy", law)
    if curve.empty:
        return [("its accuracies are not in the table", "plain")]
    start = curve[curve["length"] == nearest([int(n) for n in curve["length"]], trained)].iloc[0]
    if failed is not None and (curve["length"] == failed["value"]).any():
        end = curve[curve["length"] == failed["value"]].iloc[0]
        under = "" if law == "matched" else f" under the {law} law"
        return [
            ("accuracy falls from ", "plain"),
            *_with_interval(start),
            (f" at length {whole(start['length'])} to ", "plain"),
            *_with_interval(end),
            (f" at length {whole(end['length'])}{under}", "plain"),
        ]
    last = float(curve["length"].max()) if horizon is None or pd.isna(horizon) else float(horizon)
    both = joined([_curve(frame, step, "accuracy", one) for one in LAWS])
    both = both[(both["length"] >= start["length"]) & (both["length"] <= last)]
    lowest = both.loc[both["value"].idxmin()]
    level = proportion(float(lowest["value"])) == proportion(float(both["value"].max()))
    return [
        ("accuracy stays at ", "plain"),
        *_with_interval(lowest),
        ("" if level else " or above", "plain"),
        (f" from length {whole(start['length'])} to {whole(last)}", "plain"),
    ]


def _inside(lengths: Sequence[int], trained: float) -> list[int]:
    """The grid lengths at or next above N/4, N/2 and N, none past N."""
    wanted = []
    for share in (4, 2, 1):
        above = [n for n in lengths if trained / share <= n <= trained]
        wanted.append(min(above) if above else nearest(list(lengths), trained))
    return sorted(set(wanted))


def _unfitted(frame: pd.DataFrame, step: int, trained: float) -> list[Piece]:
    skill = _curve(frame, step, "skill", "matched")
    if skill.empty:
        return [(f"a verdict needs a lower limit of skill of {FITTED} at trained lengths.", "plain")]
    rows = skill[skill["length"].isin(_inside([int(n) for n in skill["length"]], trained))]
    worst = rows.loc[rows["low"].fillna(rows["value"]).idxmin()]
    crossing = CROSSES if worst["low"] < FITTED <= worst["high"] else ""
    return [
        ("skill at trained lengths is ", "plain"),
        *_with_interval(worst),
        (f"; a verdict needs a lower limit of {FITTED}.{crossing}", "plain"),
    ]


def _crosses(frame: pd.DataFrame, step: int, trained: float) -> bool:
    """Whether past training some interval of skill holds the threshold that a robust run keeps."""
    rows = joined([_curve(frame, step, "skill", law) for law in LAWS])
    rows = rows[rows["length"] > trained]
    return bool(((rows["low"] < ROBUST) & (rows["high"] >= ROBUST)).any())


def _rail_behaviour(frame: pd.DataFrame, step: int) -> list[Piece]:
    try:
        verdict = _verdict(frame, step)
    except NotMeasured:
        return [(f"Behaviour is not measured at step {whole(step)}.", "plain")]
    if verdict["label"] == "not fitted":
        return [("No. It does not yet do the task at trained lengths.", "plain")]
    failed = _failed(frame, step)
    if failed is not None:
        kept = f"; {whole(failed['low'])} was still kept" if not pd.isna(failed["low"]) else ""
        under = "" if failed["law"] == "matched" else f" under the {failed['law']} law"
        return [(f"No. Failure length {whole(failed['value'])}{under}{kept}.", "plain")]
    tested = _curve(frame, step, "accuracy", "matched")["length"]
    if verdict["label"] == "scale-robust":
        top = whole(verdict["length"] if not pd.isna(verdict["length"]) else tested.max())
        return [(f"Yes. No length up to {top} loses more than a tenth of the skill.", "plain")]
    fails = f" Failure length {beyond(tested.max())}." if len(tested) else ""
    return [(f"{verdict_style(str(verdict['label'])).word}.{fails}", "plain")]


# ---- representation ---------------------------------------------------------------------------------
def _probe(frame: pd.DataFrame, concept: str, step: int, mode: str | None = None) -> pd.DataFrame:
    """Rows of the last layer over length, ascending; in the mode that answers the concept's question."""
    if not len(probe_layers(frame)):
        return pick(frame, measurement="")
    rows = probe_rows(frame, concept, step=step, mode=mode or MODE[concept], control="", layer=last_layer(frame))
    return valued(rows).sort_values("length")


def _control(frame: pd.DataFrame, concept: str, step: int, length: float) -> float:
    """The highest control of a concept at one length; minus infinity where there is none."""
    rows = probe_rows(frame, concept, step=step, length=length, layer=last_layer(frame))
    rows = valued(rows[rows["control"] != ""])
    return float(rows["value"].max()) if len(rows) else -math.inf


def _carried(frame: pd.DataFrame, step: int, trained: float) -> list[Piece]:
    """What the last layer holds at the longest measured length, without the full stop."""
    summary, position = _probe(frame, "summary", step), _probe(frame, "position", step)
    pieces: list[Piece] = []
    if len(summary):
        last = summary.iloc[-1]
        at, shown = whole(last["length"]), proportion(float(last["value"]))
        refit = _probe(frame, "summary", step, "refit")
        refit = refit[refit["length"] == last["length"]]
        again = float(refit["value"].iloc[0]) if len(refit) else float(last["value"])
        floor = _control(frame, "summary", step, last["length"])
        past = summary[summary["length"] > trained]
        held = all(row["low"] > _control(frame, "summary", step, row["length"]) for _, row in past.iterrows())
        same = again - float(last["value"]) < MOVED
        # A count can be read from untrained models almost as well: then that is said, and nothing is claimed.
        anyway = not held and same and float(last["low"]) >= ROBUST
        if (held and same) or anyway:
            pieces += [
                ("It carries the ", "plain"),
                ("summary", "summary"),
                (" in one code at every length", "plain"),
            ]
            controls = f", controls {proportion(floor)}" if anyway else ""
            pieces += [(f" ({shown} at {at}{controls})", "plain")]
        elif len(refit) and float(refit["low"].iloc[0]) > floor:
            pieces += [
                ("It carries the ", "plain"),
                ("summary", "summary"),
                (" in a code that moves", "plain"),
            ]
            pieces += [(f" ({shown} at {at}, refitted {proportion(again)})", "plain")]
        else:
            pieces += [
                ("The ", "plain"),
                ("summary", "summary"),
                (f" is not above its controls at {at}", "plain"),
            ]
            pieces += [(f" ({shown})", "plain")]
    if len(position):
        pieces += _position_clause(position.iloc[-1], pieces)
    return pieces


def _position_clause(row: pd.Series, before: list[Piece]) -> list[Piece]:
    """How much of position is readable, continuing the clause about the summary."""
    value = max(CLIP[0], float(row["value"]))  # below 0 a probe does worse than a constant: nothing is readable
    shown = f" ({proportion(value)})" if before else f" ({proportion(value)} at {whole(row['length'])})"
    word: Piece = ("position" if before else "Position", "position")
    if value < LITTLE:
        if before and before[0][0].startswith("It carries"):
            return [(" and little ", "plain"), word, (shown, "plain")]
        lead = "; little " if before else "Little "
        return [(lead, "plain"), ("position", "position"), (f" is readable{shown}", "plain")]
    how = " stays readable" if value >= READABLE else " is partly readable"
    return [*([("; ", "plain")] if before else []), word, (f"{how}{shown}", "plain")]


def _rail_representation(frame: pd.DataFrame, step: int, length: int) -> list[Piece]:
    pieces: list[Piece] = []
    for concept in ("summary", "position"):
        rows = _probe(frame, concept, step)
        here = rows[rows["length"] == length] if len(rows) else rows
        if here.empty:
            continue
        name = concept if pieces else concept.capitalize()
        pieces += [("; ", "plain")] if pieces else []
        # R^2 below 0 says no more than 0: a constant would have read better.
        shown = {name: float(here[name].clip(CLIP[0]).iloc[0]) for name in ("value", "low", "high")}
        pieces += [(name, concept), (" ", "plain"), *_with_interval(shown)]
        if concept == "summary":
            refit = _probe(frame, concept, step, "refit")
            refit = refit[refit["length"] == length]
            moved = len(refit) > 0 and float(refit["value"].iloc[0]) - float(here["value"].iloc[0]) >= MOVED
            code = f", refitted {proportion(float(refit['value'].iloc[0]))}" if moved else ""
            same = ", in the code of trained lengths" if len(refit) and not moved else ""
            pieces += [(f" at length {whole(length)}{code}{same}", "plain")]
    if not pieces:
        return [(f"No probe read step {whole(step)} at length {whole(length)}.", "plain")]
    return [*pieces, (".", "plain")]


# ---- mechanism --------------------------------------------------------------------------------------
def _shape(frame: pd.DataFrame, step: int, trained: float | None, layer: int, head: int) -> tuple[bool, list[Piece]]:
    """Whether one head keeps its distance to hardmax as the prefix grows, and the clause that says so.

    The clause is without full stop, and empty where the head was not measured.
    """
    rows = pick(
        frame,
        measurement=HARDMAX,
        quantity="hardmax_distance",
        law="matched",
        control="",
        step=step,
        layer=layer,
        head=head,
    )
    rows = valued(rows).sort_values("length")
    if rows.empty:
        return False, []
    lengths = [int(n) for n in rows["length"]]
    first = min(lengths) if trained is None else nearest(lengths, trained)
    distance = rows.loc[rows["length"] >= first, "value"].astype(float)
    start, end, name = float(distance.iloc[0]), float(distance.iloc[-1]), head_name(layer, head)
    if distance.max() <= HARDMAX_WITHIN:
        text = f"{name} stays within {proportion(HARDMAX_WITHIN)} of hardmax up to length {whole(lengths[-1])}"
        return True, [(text, "plain")]
    ends = f"{proportion(start)} at length {whole(first)}, {proportion(end)} at {whole(lengths[-1])}"
    if distance.max() - distance.min() <= HARDMAX_WITHIN:
        return True, [(f"{name} keeps its distance from hardmax ({ends})", "plain")]
    if start <= HARDMAX_WITHIN:
        return False, [(f"{name} leaves hardmax ({ends})", "plain")]
    towards = "towards" if end < start else "away from"
    return False, [(f"{name} moves {towards} hardmax ({ends})", "plain")]
