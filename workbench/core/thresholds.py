"""The thresholds of all verdicts: rules import them from here, and texts are formatted with them.

Rows store the thresholds with which they were computed in their settings; a figure uses those of its rows.
"""

from __future__ import annotations

FITTED_AT = (1 / 4, 1 / 2, 1)
"""Shares of N, the longest training length, at which a run must be shown to solve the task, unless lengths are named.
"""
FITTED_AT_TEXT = "N/4, N/2 and N"
"""The shares of :data:`FITTED_AT` in words."""

FITTED = 0.95
"""Skill that a run must be shown to reach at each of :data:`FITTED_AT` to count as solving its trained lengths."""

ROBUST = 0.9
"""Skill that every longer length must be shown to reach. A length whose skill is below this share of the trained skill
fails.
"""

PARTIAL = 0.5
"""Skill that a model evaluated in its prompt must be shown to reach at some length before a drop below half of it
counts as *partial, decays*."""

HIGHEST_FLOOR = 0.95
"""Skill is undefined if the baseline is above this accuracy: almost every answer is then right by guessing."""

HORIZON = 8
"""*Scale-robust* needs lengths up to this multiple of N, the longest training length."""

CHALLENGE_FROM = 8 / 3
"""The challenge test set is tested from this multiple of N on. It is the first multiple at which the whole margin N
stays clear at both ends of a sequence.
"""

OUTSIDE_BASELINE = "outside the baseline"
"""Note of a shortcut's row that the task leaves out of the baseline of the challenge test set."""

UNTRAINED = "shorter than all trained sequences"
"""Start of the note of a row whose length is at most N and was not trained."""

FOLLOWED = 0.95
"""Share of sequences on which a model that follows a shortcut must be shown to be right exactly where it is."""

LOOKS = (512, 2048, 4096)
"""Sequences of a test set at one length behind a decision: the total number after each interim test."""

LEVEL = 0.95
"""Probability with which an interval covers the true value."""
LEVEL_TEXT = f"{100 * LEVEL:g} %"
""":data:`LEVEL` in words."""

ERROR = 0.025
"""One-sided error probability of a claim, over all interim tests together."""

CLAIM = 0.05
"""Largest two-sided p of the exact sign test at which a paired difference of 0/1 values is called a change."""

WIDEST = 1.0
"""The widest interval with which an R^2 (or another share of squared error without a lower bound) is informative."""

SMALLEST_DROP = 0.1
"""Drop of class-balanced accuracy from N below which there is nothing to diagnose."""

NAMED_DROP = 0.2
"""Drop of class-balanced accuracy from which a cause is named. The shares of smaller drops are too uncertain."""

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
"""Cosine from which on the codes of two checkpoints count as equal."""
