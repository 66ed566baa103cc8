"""Whose losses are taken with whose tokens, as settings of rows. Nothing here needs torch."""

from __future__ import annotations

OWN = "own tokens"
OTHERS = "the other model's tokens"
OF_OTHER = "other model, this one's tokens"
