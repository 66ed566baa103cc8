"""The base of all errors that a user can mend."""

from __future__ import annotations


class LensError(Exception):
    """Something that the user can mend: its message is one sentence that names the thing and the way out.

    Every error class of the project that is meant for readers derives from this one, beside the built-in class that
    callers may expect (``class RunError(LensError, ValueError)``). Whatever else is raised is a defect of ours.
    A class that pydantic must not wrap while it validates derives from this one alone.
    """
