"""Errors of tasks. This module imports no torch, so that code that only shows a message needs none."""

from __future__ import annotations

from workbench.core.errors import LensError


class TaskError(LensError, ValueError):
    """A task, distribution, parameter or length that does not exist; the message names it and what to do."""


class UntrustedCode(TaskError):
    """A task file that nobody has trusted here, or that has changed since. None of its code was run."""
