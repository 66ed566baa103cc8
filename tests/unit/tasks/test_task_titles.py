"""What tasks are called in words on screen."""

from __future__ import annotations

from collections import Counter

import pytest

from workbench.tasks.known_tasks import BUILT_IN, TITLES, task_label

SCREEN = 55
"""Characters that a label may have, so that it stands in a line of the Runs page."""


def test_every_built_in_task_has_a_title_and_no_other() -> None:
    assert list(TITLES) == list(BUILT_IN)


def test_no_two_tasks_have_one_title() -> None:
    assert [title for title, times in Counter(TITLES.values()).items() if times > 1] == []


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_label_contains_the_name_that_commands_take(name: str) -> None:
    label = task_label(name)
    assert label == name or label.endswith(f" ({name})")
    assert len(label) <= SCREEN


def test_a_task_of_another_package_is_shown_by_its_name() -> None:
    assert task_label("my_task") == "my_task"
