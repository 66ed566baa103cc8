"""What tasks refuse. Needs no torch, so that whoever only shows the sentence needs none either."""

from __future__ import annotations

from workbench.core.errors import LensError


class TaskError(LensError, ValueError):
    """A task, law, parameter or length that cannot be had; the message says which and the way out."""


class UntrustedCode(TaskError):
    """A task whose code is a file that nobody here has trusted, or that has changed; nothing of it was run."""
