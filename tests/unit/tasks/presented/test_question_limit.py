"""The longest question of a task in a prompt: limited by the window, or by a task whose symbols are all different."""

from __future__ import annotations

import copy
import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.support.places import GALLERY
from workbench.cli.show_run import head, training_summary
from workbench.dashboard.state.run_description import origin
from workbench.dashboard.state.run_kinds import kind_of
from workbench.runs.run import Run
from workbench.tasks import make_task
from workbench.tasks.known_tasks import BUILT_IN
from workbench.tasks.presented.question_limit import DIFFERENT_SYMBOLS, question_limit
from workbench.tasks.registry import find_task
from workbench.tasks.sequences.sequence_task import SequenceTask

LIMITS = {
    "smollm2_copy": "its task limits a question to 256 items, which are all different symbols",
    "smollm2_pairs": "its window of 8,192 tokens limits a question to 4,094 items",
}


@pytest.mark.parametrize(("name", "limit"), LIMITS.items())
def test_a_prompted_run_states_the_smaller_limit_and_which_one_it_is(name: str, limit: str) -> None:
    run = Run.open(GALLERY / "pretrained" / name)
    view: Any = SimpleNamespace(
        config=run.config, kind=kind_of(run.config), run=run, shortest=1, trained=run.trained_length
    )
    assert origin(view).endswith(f"by others; {limit}")
    assert training_summary(run) == f"pretrained, {limit}"
    console = Console(file=io.StringIO(), width=400, record=True)
    head(console, run)
    assert console.export_text().count(" items") == 1, "the other limit is not stated beside it"


def test_a_short_window_limits_a_task_of_different_symbols() -> None:
    config: Any = copy.deepcopy(dict(Run.open(GALLERY / "pretrained" / "smollm2_copy").config))
    config["task"]["presented"]["window"] = 100
    config["training"]["trained_length"] = 50
    assert question_limit(config) == "its window of 100 tokens limits a question to 50 items"


def test_the_tasks_of_different_symbols_have_no_longer_input_than_symbols() -> None:
    limited = set()
    for name in BUILT_IN:
        kind = find_task(name)
        if issubclass(kind, SequenceTask) and "symbols" in kind.model_fields:
            task = make_task(name, symbols=6)
            assert isinstance(task, SequenceTask)
            assert task.drawable(6), name
            limited |= {name} if not task.drawable(7) else set()
    assert limited == set(DIFFERENT_SYMBOLS)
