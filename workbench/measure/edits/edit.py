"""Edits of a forward pass as plain data: what is changed, where, and its text in a link. No torch.

A link writes one edit as words joined by dots. ``zero.0.1`` and ``mean.0.1`` ablate head L0H1. ``hardmax.0.1`` replaces
its attention by hardmax, and ``hardmax.all`` that of every head. ``patch.1.20`` copies the residual row of prefix 20
after block 1 into the last query; ``patch.1.20.64`` copies it into the query of prefix 64. An intervention of a
diagnosis is written by its name: ``P.int``, ``D.logn``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from workbench.core.errors import LensError
from workbench.measure.edits.interventions.all_interventions import INTERVENTIONS, by_name
from workbench.measure.edits.interventions.intervention import Intervention

Kind = Literal["zero", "mean", "hardmax", "patch", "repair"]

KINDS: tuple[Kind, ...] = ("zero", "mean", "hardmax", "patch")
"""Kinds of edits whose link text contains a layer, head or prefix."""
SINGLE_PASS = tuple(intervention.name for intervention in INTERVENTIONS if intervention.single_pass)
"""Interventions that edit every query alike and need no statistics of other sequences."""
MOST = 8
"""Maximum number of edits in one pass."""
_FORMS = (
    "zero.LAYER.HEAD, mean.LAYER.HEAD, hardmax.LAYER.HEAD, hardmax.all, patch.LAYER.FROM, "
    f"or a repair: {', '.join(SINGLE_PASS)}"
)


class EditError(LensError, ValueError):
    """An edit that cannot be made; the message names the edit and what to do instead."""


@dataclass(frozen=True)
class Edit:
    """One change to the activations of a forward pass.

    Attributes:
        kind: ``zero`` or ``mean`` ablation of a head, ``hardmax`` attention, ``patch`` of a residual row, or a
            ``repair``: an intervention of a diagnosis on the whole pass.
        layer: index of the block; None = every one (hardmax only).
        head: index of the head; None = every one (hardmax) or not used (patch).
        donor: patch: prefix length whose residual row is copied.
        query: patch: prefix length whose row is overwritten; None = that of the whole sequence.
        repair: name of the intervention, one of :data:`SINGLE_PASS`.
        strength: of an intervention: 0 = the model as it is, 1 = the full intervention.
    """

    kind: Kind
    layer: int | None = None
    head: int | None = None
    donor: int | None = None
    query: int | None = None
    repair: str = ""
    strength: float = 1.0

    @property
    def intervention(self) -> Intervention | None:
        """The intervention that the field ``repair`` names; None for other kinds."""
        return by_name(self.repair) if self.repair else None

    @property
    def text(self) -> str:
        """The text of the edit in a link; :func:`parse_edit` reads it."""
        if self.repair:
            return self.repair
        if self.kind == "hardmax" and self.layer is None:
            return "hardmax.all"
        parts = (self.layer, self.head, self.donor, self.query)
        return ".".join([self.kind, *(str(part) for part in parts if part is not None)])

    @property
    def name(self) -> str:
        """The text of the edit on a chip of the dashboard."""
        if self.intervention:
            return f"{self.intervention.words} ({self.repair})"
        head = f"L{self.layer}H{self.head}"
        if self.kind == "patch":
            into = "" if self.query is None else f" into prefix {self.query:,}"
            return f"patch after block {self.layer} from prefix {self.donor:,}{into}"
        if self.kind == "hardmax":
            return "hardmax, all heads" if self.layer is None else f"hardmax {head}"
        return f"ablate {head} ({self.kind})"


def parse_edit(text: str) -> Edit:
    """Return the edit that a link's text describes.

    Raises:
        EditError: for text that does not describe an edit.
    """
    kind, _, fields = text.partition(".")
    if text == "hardmax.all":
        return Edit("hardmax")
    if text in SINGLE_PASS:
        return Edit("repair", repair=text)
    words = fields.split(".")
    numbers = [int(word) for word in words if word.isascii() and word.isdigit() and len(word) <= 6]
    wanted = (2, 3) if kind == "patch" else (2,)
    if kind not in KINDS or len(numbers) != len(words) or len(numbers) not in wanted:
        raise EditError(f"\u201c{text[:40]}\u201d is not an edit; write one of {_FORMS}")
    if kind == "patch":
        return Edit("patch", numbers[0], None, numbers[1], numbers[2] if len(numbers) == 3 else None)
    return Edit(kind, numbers[0], numbers[1])  # type: ignore[arg-type]  # one of KINDS, as checked


def parse_edits(text: str, strength: float = 1.0) -> tuple[Edit, ...]:
    """Return the edits in a text, joined by commas; each once, in their order.

    Args:
        text: the edits.
        strength: strength of the interventions among them, from 0 to 1.

    Raises:
        EditError: for text that does not describe an edit, more than :data:`MOST` edits, two edits of position ids, or
            a strength outside 0 to 1.
    """
    if not 0 <= strength <= 1:
        raise EditError(f"an intervention has a strength from 0 to 1, not {strength:g}")
    edits = tuple(dict.fromkeys(parse_edit(part) for part in text.split(",") if part))
    if len(edits) > MOST:
        raise EditError(f"{len(edits)} edits at once are too many; keep at most {MOST}")
    of_ids = [edit.name for edit in edits if edit.intervention and edit.intervention.family == "P"]
    if len(of_ids) > 1:
        raise EditError(f"{of_ids[0]} and {of_ids[1]} both change the position ids; keep one of them")
    return tuple(replace(edit, strength=strength) if edit.repair else edit for edit in edits)


def intervention_words(text: str) -> str:
    """Return the interventions among the edits in a text, in a few words; "" if there are none."""
    return " and ".join(edit.intervention.words for edit in parse_edits(text) if edit.intervention)


def check_edits(edits: Sequence[Edit], layers: int, heads: int, length: int) -> None:
    """Refuse edits of layers, heads or prefixes that the model, or a sequence of ``length`` task tokens, does not have.

    Raises:
        EditError: naming the edit and the valid range.
    """
    for edit in edits:
        if edit.layer is not None and edit.layer >= layers:
            raise EditError(f"{edit.name}: this model has layers 0 to {layers - 1}")
        if edit.kind == "repair":  # check_intervention tests it with the model
            continue
        if edit.kind != "patch" and not heads:
            raise EditError(f"{edit.name}: this model has no attention heads; patch a state instead")
        if edit.head is not None and edit.head >= heads:
            raise EditError(f"{edit.name}: each layer has heads 0 to {heads - 1}")
        if edit.kind != "patch":
            continue
        into = length if edit.query is None else edit.query
        if into > length:
            raise EditError(f"{edit.name}: the sequence has {length:,} tokens")
        if edit.donor is not None and not 1 <= edit.donor < into:
            raise EditError(f"{edit.name}: the row must come from a prefix of 1 to {into - 1:,} tokens")
