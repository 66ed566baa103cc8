"""The path of the gallery: the small trained runs that come with LengthLens."""

from __future__ import annotations

from pathlib import Path

import workbench

_PACKAGE = Path(workbench.__file__).parent
PLACES = (_PACKAGE / "gallery", _PACKAGE.parent / "checkpoints" / "gallery")
"""In an installed wheel, and in a checkout."""


def gallery() -> Path:
    """The folder of the gallery, which is read-only; ``lengthlens gallery --to DIR`` copies it to a folder of your own.

    Example:

        >>> from workbench.runs import Run, gallery
        >>> Run.open(gallery() / "majority_nope_s0").trained_length
        31
    """
    return next((place for place in PLACES if place.is_dir()), PLACES[-1])
