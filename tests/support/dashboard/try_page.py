"""What tests of several tiers share. The Try it page: its controls and words without a browser, and its exports through the worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task

TEXT = "1101000"
EDITS = "zero.0.0"


@pytest.fixture
def root(make_run: Callable[..., Any]) -> Path:
    """A data root with one run of the exact counter."""
    folder: Path = make_run(majority(256), make_task("majority"), 9, name="counter").path.parent
    return folder
