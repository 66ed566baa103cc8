"""The invented runs, shared by all tests of figures."""

from __future__ import annotations

from types import ModuleType

import pandas as pd
import pytest

from tests.support.figures import synthetic as invented_runs


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """The generator of invented runs."""
    return invented_runs


@pytest.fixture(scope="session")
def story_frame(synthetic: ModuleType) -> pd.DataFrame:
    """Two runs, ``robust`` and ``coupled``; treat as read-only."""
    frame: pd.DataFrame = synthetic.story_frame()
    return frame


@pytest.fixture(scope="session")
def robust(story_frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of the scale-robust run."""
    return story_frame[story_frame["run"] == "robust"]


@pytest.fixture(scope="session")
def coupled(story_frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of the length-coupled run."""
    return story_frame[story_frame["run"] == "coupled"]
