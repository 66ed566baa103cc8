"""The invented runs, shared by all tests of figures."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

_PATH = Path(__file__).with_name("synthetic.py")


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures_synthetic", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """The generator of invented runs."""
    return _load()


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
