"""A subject of the kit for tasks that answers what a test says."""

from __future__ import annotations

from typing import Any

from workbench.tasks.testing.subject import TaskSubject


class StubSubject(TaskSubject):
    """What is given takes the place of its attributes and methods."""

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)
