"""A small made-up data root and an app's answers over it, shared by all tests of the dashboard."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dashboard import fakes
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state import store
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store

SMALL = (0, 100, 1000, 1500, 3000)


@pytest.fixture(scope="session", autouse=True)
def whole_folders() -> Iterator[None]:
    """A dashboard shows the runs of a folder once it has read all of them, also on a machine that takes seconds for it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store, "SHOWN_AFTER", math.inf)
        yield


@pytest.fixture(scope="session")
def small_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two measured runs and one that is not, five checkpoints each; tests must not write into it."""
    chosen = tuple(f for f in fakes.FAKES if f.name in ("majority-nope-s0", "flip_flop-rotary-s0"))
    return fakes.build(tmp_path_factory.mktemp("runs"), chosen, steps=SMALL)


@pytest.fixture(scope="session")
def answers(small_root: Path) -> Iterator[Context]:
    made = Context(Store([small_root]), Worker())
    yield made
    made.worker.close()


@pytest.fixture
def robust(answers: Context) -> RunView:
    """The measured run that keeps working."""
    run = answers.store.run("majority-nope-s0")
    assert run is not None
    return run


@pytest.fixture
def cursor(robust: RunView) -> Cursor:
    """Past its trained length, in the middle of training."""
    return Cursor(robust.name, 1000, 200, 0, 1)
