"""The selection (step, length, layer, head) is part of the address: this module parses, resolves and writes it.

``/`` has the filters of the Runs page, and ``/run?run=..&step=..&len=..&layer=..&head=..`` has the selection of the Run
page. Defaults are left out when writing, so that a link stays short. If a link names what the data does not have, a
:class:`Notice` appears on screen; there is never a silent default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import parse_qsl, quote

from workbench.dashboard.state.run_kinds import RunKind
from workbench.figures.labels import whole
from workbench.figures.rows.multiples import LengthAxis
from workbench.figures.sequence.attention_pattern import View
from workbench.models.base.graph import head_name

AXES: dict[LengthAxis, str] = {"times": "multiples of the trained length", "length": "tokens"}
"""Units of lengths; the first is the default."""
VIEWS: tuple[View, ...] = ("attention", "times_length", "score")
MOST_DIGITS = 18
ALL_HEADS = "all"
"""What stands in place of a head where all heads are shown."""


class RunLike(Protocol):
    """The attributes of a run that are needed to interpret a link."""

    @property
    def name(self) -> str: ...

    @property
    def trained(self) -> int: ...

    @property
    def kind(self) -> RunKind: ...

    @property
    def n_layers(self) -> int: ...

    @property
    def n_heads(self) -> int: ...

    @property
    def steps(self) -> Sequence[int]: ...

    @property
    def lengths(self) -> Sequence[int]: ...

    @property
    def measured_steps(self) -> Sequence[int]: ...

    def leading(self, step: int, length: int) -> tuple[int, int] | None: ...


@dataclass(frozen=True)
class Cursor:
    """A selection in one run: training step, prefix length and head (None = all heads), and how its attention is
    shown.
    """

    run: str
    step: int
    length: int
    layer: int | None = 0
    head: int | None = 0
    view: View = "attention"
    sample: int = 0

    @property
    def head_key(self) -> str:
        """Return the selected head as the page stores it: ``0.3`` (layer 0, head 3), or ``all``."""
        return ALL_HEADS if self.layer is None or self.head is None else f"{self.layer}.{self.head}"


@dataclass(frozen=True)
class Notice:
    """A part of a link that the run does not have: what the link names, and what is shown instead."""

    asked: str
    shown: str
    keep: str


def default_step(run: RunLike) -> int:
    """Return the last measured checkpoint; without one, the last checkpoint; without any, 0."""
    measured = [step for step in run.measured_steps if step in run.steps]
    return measured[-1] if measured else (run.steps[-1] if run.steps else 0)


def default_length(run: RunLike) -> int:
    """Return the first measured length that is at least four times N, the longest trained length; without one, the
    longest length.
    """
    far = [n for n in run.lengths if n >= 4 * run.trained]
    return far[0] if far else (run.lengths[-1] if run.lengths else run.trained)


def default_cursor(run: RunLike) -> Cursor:
    """Return the selection with which a page opens: the last measured checkpoint, a length well beyond training, and
    the most important head.
    """
    step, length = default_step(run), default_length(run)
    return Cursor(run.name, step, length, *(run.leading(step, length) or (None, None)))


def axis_of(asked: Mapping[str, str | None], run: RunLike) -> LengthAxis:
    """Return the unit of lengths that a link names, if it exists for this kind of run; otherwise the usual unit."""
    return next((axis for axis in run.kind.axes if axis == asked.get("axis")), run.kind.axes[0])


def slug(verdict: str) -> str:
    return verdict.replace(" ", "-")


def nearest_earlier(have: tuple[int, ...], wanted: int) -> int:
    """Return the last of the ascending values ``have`` that is at most ``wanted``; without one, the first value."""
    earlier = [value for value in have if value <= wanted]
    return earlier[-1] if earlier else (have[0] if have else wanted)


def parse(search: str | None) -> dict[str, str]:
    """Return the query part of an address as a dict. If a key is repeated, its last value counts."""
    return dict(parse_qsl((search or "").lstrip("?"), keep_blank_values=True))


def resolve(search: str | None, run: RunLike) -> tuple[Cursor, list[Notice]]:
    """Return the selection that a link makes in this run, with a notice for each part of the link that the run does not
    have.
    """
    parts, notices = parse(search), []
    base = default_cursor(run)
    step, notice = _nearest(parts.get("step"), run.steps, base.step, "step", run.name, "earlier checkpoint")
    notices += notice
    length, notice = _nearest(parts.get("len"), run.lengths, base.length, "length", run.name, "shorter measured length")
    notices += notice
    layer, head, notice = _head(parts.get("layer"), parts.get("head"), run, base)
    notices += notice
    view_name = parts.get("view", base.view)
    view = next((one for one in VIEWS if one == view_name), base.view)
    if view != view_name:
        notices.append(
            Notice(
                f"This link names the view \u201c{view_name}\u201d, which does not exist.",
                "The page shows attention.",
                "Keep attention",
            )
        )
    if parts.get("axis", "times") not in AXES:
        message = f"This link gives lengths in \u201c{parts['axis'][:40]}\u201d, which is not a known unit."
        notices.append(Notice(message, "The page shows multiples of the trained length.", "Keep"))
    sample = integer(parts.get("sample", "0"))
    if sample is None or sample < 0:
        message = (
            f"This link names the sample \u201c{parts['sample'][:40]}\u201d, which is not a whole number of 0 or more."
        )
        notices.append(Notice(message, "The page shows the first.", "Keep"))
        sample = 0
    return Cursor(run.name, step, length, layer, head, view, sample), notices


def write(cursor: Cursor, run: RunLike, path: str = "/run", extras: Mapping[str, str] | None = None) -> str:
    """Return the address of a page with a selection: path and query, without values that are the defaults.

    Args:
        cursor: the selection.
        run: the run whose defaults are left out.
        path: the page.
        extras: what else belongs to the page's address.
    """
    base = default_cursor(run)
    parts = {"run": cursor.run}
    if cursor.step != base.step:
        parts["step"] = str(cursor.step)
    if cursor.length != base.length:
        parts["len"] = str(cursor.length)
    if (cursor.layer, cursor.head) != (base.layer, base.head):
        parts |= {"head": ALL_HEADS} if cursor.head is None else {"layer": str(cursor.layer), "head": str(cursor.head)}
    if cursor.view != base.view:
        parts["view"] = cursor.view
    if cursor.sample != base.sample:
        parts["sample"] = str(cursor.sample)
    return path + query(parts | dict(extras or {}))


def link(run: str, path: str = "/run") -> str:
    """Return the address that opens a run with the default selection, on the Run page or on another page."""
    return path + query({"run": run})


def query(parts: Mapping[str, str]) -> str:
    """Return key and value pairs as the query part of an address, with its question mark; "" if there are no pairs."""
    # Slashes in run names are legal in a query and stay readable.
    return "?" + "&".join(f"{k}={quote(v, safe='/')}" for k, v in parts.items()) if parts else ""


def integer(text: str | None) -> int | None:
    """Return a whole number from a link, if it has at most 18 digits; otherwise None."""
    try:
        return int(text) if text is not None and len(text) <= MOST_DIGITS else None
    except ValueError:
        return None


def _nearest(
    text: str | None, have: Sequence[int], default: int, noun: str, run: str, kind: str
) -> tuple[int, list[Notice]]:
    if text is None:
        return default, []
    value = integer(text)
    if value is None:
        wrong = "which is too large" if text.isdigit() else "which is not a whole number"
        message = f"This link names {noun} \u201c{text[:40]}\u201d, {wrong}."
        return default, [Notice(message, f"The page shows {whole(default)}.", f"Keep {whole(default)}")]
    if value in have or not have:
        return (value if value in have else default), []
    earlier = [x for x in have if x < value]
    shown = earlier[-1] if earlier else have[0]
    reason = f"the nearest {kind}" if earlier else "the first one"
    message = f"This link names {noun} {whole(value)}, which {run} does not have."
    return shown, [Notice(message, f"The page shows {whole(shown)}, {reason}.", f"Keep {whole(shown)}")]


def _head(
    layer: str | None, head: str | None, run: RunLike, base: Cursor
) -> tuple[int | None, int | None, list[Notice]]:
    if layer is None and head is None:
        return base.layer, base.head, []
    if head == ALL_HEADS and run.n_heads and run.kind.all_heads:
        return None, None, []
    at, which = integer(layer or "0"), integer(head or "0")
    if at is not None and which is not None and 0 <= at < run.n_layers and 0 <= which < run.n_heads:
        return at, which, []
    name = head_name(at, which) if at is not None and which is not None else f"\u201c{layer}, {head}\u201d"
    asked = f"This link names head {name}, which {run.name} does not have."
    shown = head_name(base.layer, base.head)
    return base.layer, base.head, [Notice(asked, f"The page shows {shown}.", f"Keep {shown}")]
