"""What tests of several tiers share. Short strings for long ones, one layer: known minimal lengths, tie sets, residues, and real models."""

from __future__ import annotations

import numpy as np

from workbench.theory.limit_transformers.limit_heads import LimitHead


def rare_top_head() -> LimitHead:
    """Token 1 has the best score, tokens 2 and 3 tie below it."""
    return LimitHead(np.array([0.0, 2.0, 1.0, 1.0]).reshape(1, 1, 4, 1).repeat(4, 0), np.zeros(1), bos=0)
