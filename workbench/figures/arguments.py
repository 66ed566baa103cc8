"""The arguments that figures share, described once for ``help()`` of every figure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping

SHARED: Mapping[str, str] = {
    "frame": "rows of one run.",
    "frame_a": "rows of A.",
    "frame_b": "rows of B.",
    "trained": "N, the longest prefix length seen in training. It may be left out for rows of a Table.",
    "trained_b": "N of B; None = the same.",
    "step": "training step of the checkpoint. If left out, the last step in the rows.",
    "step_b": "training step of B; None = the same.",
    "length": "prefix length. If left out, the measured length closest to 2N.",
    "length_b": "prefix length of B; None = the same.",
    "layer": "layer of the chosen head.",
    "head": "the chosen head, within its layer.",
    "quantity": "name of the quantity.",
    "axis": 'what lengths of two runs are paired by: "length", or "times" for multiples of N.',
    "pairing": 'what checkpoints of two runs are paired by: "step", or "share" of training.',
    "law": "test set: matched or challenge.",
    "shown": "``accuracy``, ``challenge`` (accuracy on that test set), ``summary`` or ``position`` (decodability).",
    "checkpoints": "steps of all checkpoints, for those without rows.",
    "checkpoints_b": "steps of all checkpoints of B, for those without rows.",
    "look": "theme and base text size. ``theme`` and ``size`` may be passed in its place.",
    "cursor": "selected ``step`` or ``length``, which a line marks.",
}
"""Argument -> its description, unless the docstring of a figure has its own."""
_ENTRY = re.compile(r"\n    (?=\S)")
"""Where an argument begins."""


def with_arguments(doc: str | None, names: Iterable[str]) -> str:
    """A docstring that describes each of these arguments, as far as it or :data:`SHARED` does.

    Args:
        doc: a docstring, with or without a section ``Args:``.
        names: of the arguments, in the order of the signature.
    """
    sections = inspect.cleandoc(doc or "").split("\n\n")
    own_section = next((section for section in sections if section.startswith("Args:\n")), "")
    entries = _ENTRY.split(own_section)[1:]
    texts = {name: f"{name}: {text}" for name, text in SHARED.items()}
    texts |= {name: entry for entry in entries for name in entry.partition(":")[0].split(", ")}
    args = "\n    ".join(["Args:", *dict.fromkeys(texts[name] for name in names if name in texts)])
    rest = [section for section in sections if section != own_section]
    at = next((i for i, section in enumerate(rest) if section.startswith(("Returns:", "Raises:"))), len(rest))
    return "\n\n".join([*rest[:at], args, *rest[at:]])
