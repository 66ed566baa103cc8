"""The thresholds of all verdicts, in one place: rules read them here, prose is formatted from them.

Rows carry the thresholds they were made with in their settings; a figure uses those of its rows.
"""

from __future__ import annotations

FITTED_AT = (1 / 4, 1 / 2, 1)
"""Shares of N, the longest training length, at which a run must be shown to be fitted unless lengths are named."""
FITTED_AT_TEXT = "N/4, N/2 and N"
"""The same in words."""

FITTED = 0.95
"""Skill that a fitted run must be shown to reach at each of :data:`FITTED_AT`."""

ROBUST = 0.9
"""Skill that every longer length must be shown to reach, and the share of trained skill whose loss is failure."""

PARTIAL = 0.5
"""Skill that a model evaluated in its prompt must be shown to reach at some length before a drop below half of it
counts as *partial, decays*."""

HIGHEST_FLOOR = 0.95
"""Above this floor skill is undefined: what a guess answers nearly always cannot show skill."""

HORIZON = 8
"""*Scale-robust* needs lengths up to this multiple of N, the longest training length."""

CHALLENGE_FROM = 8 / 3
"""The challenge law is judged from this multiple of N on: the first at which the whole margin N is kept clear at
both ends of a string."""

OUTSIDE_BASELINE = "outside the baseline"
"""Note of a shortcut's row that the task leaves out of the baseline of the challenge test set."""

UNTRAINED = "shorter than all trained sequences"
"""Start of the note of a row whose length is at most N and was not trained."""

FOLLOWED = 0.95
"""Share of sequences on which a model that follows a shortcut must be shown to be right exactly where it is."""

LOOKS = (512, 2048, 4096)
"""Strings of a law at a length behind a decision: in all, after each look."""

LEVEL = 0.95
"""Probability with which an interval covers the true value."""
LEVEL_TEXT = f"{100 * LEVEL:g} %"
"""The same in words."""

ERROR = 0.025
"""One-sided error of a claim, over all looks together."""

CLAIM = 0.05
"""Largest two-sided p of the exact sign test at which a paired difference of 0/1 values is called a change."""

WIDEST = 1.0
"""Widest interval with which an R^2, or another share of squared error that has no lower bound, says anything."""

SMALLEST_DROP = 0.1
"""Drop of class-balanced accuracy from N below which there is nothing to diagnose."""

MOST_COST = 0.05
"""Class-balanced accuracy that an intervention may cost at N; an intervention that costs more is not applicable."""

NAMING_SHARE = 0.5
"""Share of the accuracy drop that an intervention must recover to name a cause."""

HARD = 0.9
"""Share of sequences whose attention must be shown to be a hardmax for the verdict ``hardmax``, and at most one minus
this for ``soft``."""

SINK = 0.9
"""A head whose top key is the first one in more than this share of queries is a sink."""

SETTLED = 0.9
"""Cosine from which on the codes of two checkpoints count as the same."""
