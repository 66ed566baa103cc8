"""Blind repairs: edits of a forward pass that know neither the answer nor where it stands, as plain data.

Each belongs to a family by what it mends. P gives a query ids, or lags, from inside the trained range. D holds the
weight of the keys that a head prefers against their growing number. K holds what a head makes of the share 1/K of one
key. T lets a recurrent state forget in a whole string what it forgot in N steps. C moves a row of the residual stream
to where it lay at N. Only these name how the length gets in: what knows the answer's place (see
:mod:`workbench.diagnosis.sites`) locates, and what knows the answer bounds.

Every repair has a control: an edit of its kind with the wrong constant. A control that destroys proves nothing, so it
is shown with what it costs at N, and what it restores is taken off what the repair restores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from workbench.models.base.architecture import Architecture

Family = Literal["P", "D", "K", "T", "C"]

FAMILIES: dict[Family, str] = {
    "P": "ids or lags inside the trained range",
    "D": "sharpening",
    "K": "the share of one key held",
    "T": "steps slowed to those of N",
    "C": "rows moved to where they lay at N",
}
"""What the members of each family do, as a sentence says it; in the order in which they are asked."""

Kind = Literal[
    "interpolate", "clip", "keep_last", "clip_lags", "untrained_rows",
    "scale_by_log", "sharpen", "gap_set", "hold_mass",
    "hold_sink", "hold_scale",
    "slow_steps",
    "pool_rows",
]  # fmt: skip


@dataclass(frozen=True)
class Repair:
    """One edit of a forward pass.

    Attributes:
        name: as in the column ``target``, e.g. ``P.int``.
        family: what it mends.
        kind: what it does; see :mod:`workbench.diagnosis.repaired_pass`.
        factor: by what ``sharpen`` multiplies scores.
        layer: after which block ``pool_rows`` acts.
        wrong: whether it is the control, with the wrong constant.
    """

    name: str
    family: Family
    kind: Kind
    factor: float = 1.0
    layer: int = 0
    wrong: bool = False

    @property
    def control(self) -> Repair:
        """The same kind of edit with the wrong constant."""
        return replace(self, wrong=True)


POSITION = (
    Repair("P.int", "P", "interpolate"),
    Repair("P.clip", "P", "clip"),
    Repair("P.low", "P", "keep_last"),
    Repair("P.lag", "P", "clip_lags"),
    Repair("P.row", "P", "untrained_rows"),
)
SHARPENING = (
    Repair("D.logn", "D", "scale_by_log"),
    Repair("D.beta2", "D", "sharpen", factor=2.0),
    Repair("D.beta4", "D", "sharpen", factor=4.0),
    Repair("D.gap", "D", "gap_set"),
    Repair("D.mass", "D", "hold_mass"),
)
KEYS = (Repair("K.sink", "K", "hold_sink"), Repair("K.scale", "K", "hold_scale"))
STEPS = (Repair("T.slow", "T", "slow_steps"),)


def pooled_rows(layer: int) -> Repair:
    """C.pool after a block."""
    return Repair(f"C.pool{layer}", "C", "pool_rows", layer=layer)


def blind_repairs(cfg: Architecture) -> list[Repair]:
    """Every blind repair, in the order of its family; which of them a model has a place for says :func:`no_place`."""
    return [*POSITION, *SHARPENING, *KEYS, *STEPS, *(pooled_rows(layer) for layer in range(cfg.n_layers))]


def by_name(name: str) -> Repair:
    """The repair of this name, of those that are the same for every model."""
    return next(one for one in (*POSITION, *SHARPENING, *KEYS, *STEPS) if one.name == name)


def log_growth(seen: Tensor, keys: int) -> Tensor:
    """By what ``scale_by_log`` multiplies scores: log of the keys that a query sees over log K_N, 1 up to K_N.

    Args:
        seen: ``[query]`` keys that each query sees.
        keys: K_N.
    """
    return (seen / keys).clamp(min=1.0).log() / math.log(keys) + 1.0


def recurrent(cfg: Architecture) -> bool:
    """Whether a model carries a state from step to step instead of reading keys."""
    return cfg.attention == "none"


def no_place(repair: Repair, cfg: Architecture) -> str:
    """Why a model has no place for a repair, in a clause; "" where it has one."""
    encoding = cfg.positions
    if repair.family == "P":
        if not encoding.reads_ids:
            return "the model reads no position ids"
        if cfg.ids.coupled:
            return "its ids are roles that the task gives, not places"
        if repair.kind == "clip_lags" and encoding.before_attention:
            return f"positions {encoding.name} enter before queries meet keys, so that scores have no lags"
        if repair.kind == "untrained_rows" and not (encoding.table and encoding.absolute):
            return f"positions {encoding.name} have no table of rows"
        return ""
    if repair.family == "C":
        return ""
    if repair.family == "T":
        return "" if recurrent(cfg) else "the model keeps no state from step to step"
    if recurrent(cfg):
        return "the model has no attention"
    if repair.kind != "hold_scale" and cfg.attention != "softmax":
        return f"its attention is {cfg.attention}, not by softmax"
    return ""


def repaired_ids(repair: Repair, ids: Tensor, last: int, between: bool, absolute: bool, top: int) -> Tensor:
    """Position ids under a repair of family P.

    Args:
        repair: which; ``clip_lags`` leaves ids as they are.
        ids: ``[batch or 1, pos]``, rising.
        last: the last id at N, so that ids up to it are inside training.
        between: whether ids between whole ones may be given (``Encoding.between``).
        absolute: whether ids are read as themselves (``Encoding.absolute``); decides what the wrong constant is.
        top: the largest id seen in training; ``untrained_rows`` leaves those up to it as they are.
    """
    end = ids.amax(1, keepdim=True)
    if repair.kind == "clip_lags" or bool((end <= last).all()):
        return ids
    if repair.kind == "untrained_rows":
        # Ids beyond the table's trained part, moved into it with their order kept.
        inside = torch.div(ids * top, end, rounding_mode="floor")
        made = torch.where(ids > top, inside, ids)
    elif repair.kind == "clip":
        made = ids.clamp(max=last)
    elif repair.kind == "keep_last":
        made = (ids - (end - last)).clamp(min=0)
    elif between:
        made = ids.double() * last / end
    else:
        made = torch.div(ids * last, end, rounding_mode="floor")
    if not repair.wrong:
        return made
    # The wrong constant. Ids read as themselves: as many, in the same order, but from the end of the string, which is
    # outside the trained range; the first token keeps its own. Ids read by their differences: these stretched back to
    # the string's length.
    if absolute:
        moved = torch.minimum(made + (end - last), end)
        return torch.cat([made[:, :1], moved[:, 1:]], 1)
    stretch = end.double() / last if between else torch.div(end + last - 1, last, rounding_mode="floor")
    return made * stretch


def members(repairs: Sequence[Repair], family: str) -> list[Repair]:
    """Those of one family."""
    return [repair for repair in repairs if repair.family == family]
