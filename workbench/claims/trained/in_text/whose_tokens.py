"""Settings of rows that state which model has the loss and which model chose the tokens; nothing here needs torch."""

from __future__ import annotations

OWN = "own tokens"
OTHERS = "the other model's tokens"
OF_OTHER = "other model, this one's tokens"
