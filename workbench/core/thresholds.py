"""The thresholds of all verdicts, in one place: rules read them here, prose is formatted from them.

Rows carry the thresholds they were made with in their settings; a figure uses those of its rows.
"""

from __future__ import annotations

FITTED = 0.95
"""Skill that every trained length must be shown to reach."""

ROBUST = 0.9
"""Skill that every longer length must be shown to reach, and the share of trained skill whose loss is failure."""

HIGHEST_FLOOR = 0.95
"""Above this floor skill is undefined: what a guess answers nearly always cannot show skill."""

HORIZON = 8
"""*Scale-robust* needs lengths up to this multiple of N, the longest training length."""

CHALLENGE_FROM = 8 / 3
"""The challenge law is judged from this multiple of N on: the first at which the whole margin N is kept clear at
both ends of a string."""

LOOKS = (512, 2048, 4096)
"""Strings of a law at a length behind a decision: in all, after each look."""

ERROR = 0.025
"""One-sided error of a claim, over all looks together."""

CLAIM = 0.05
"""Largest two-sided p of the exact sign test at which a paired difference of 0/1 values is called a change."""

WIDEST = 1.0
"""Widest interval with which an R^2, or another share of squared error that has no lower bound, says anything."""

HARD = 0.9
"""Share of sequences whose attention must be shown to be a hardmax for the verdict ``hardmax``, and at most one minus
this for ``soft``."""

SINK = 0.9
"""A head whose top key is the first one in more than this share of queries is a sink."""

SETTLED = 0.9
"""Cosine from which on the codes of two checkpoints count as the same."""
