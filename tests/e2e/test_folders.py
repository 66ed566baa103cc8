"""Odd folders, seen by the command line and by the dashboard: no traceback, no hang, and the sound run beside is whole.

``make hostile`` sees them all; a few are seen with the end-to-end tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hostile.damaged import cases
from tests.support.hostile.folders import (
    SEED,
    template,  # noqa: F401 - fixtures
    tried,
)

SAMPLE = (
    "run.json 1", "run.json 2", "meta.json 1", "a pipe for odd/run.json", "a link to none for shard",
    "a link to /dev/zero for odd/table.parquet", "rows value 0", "rows label 0", "manifest, nested",
    "two links to the folder above",
)  # fmt: skip
"""What the end-to-end tests see of it."""


@pytest.mark.parametrize("label", SAMPLE)
def test_a_few_odd_folders(template: Path, tmp_path: Path, label: str) -> None:
    (case,) = (case for case in cases(SEED) if case.label == label)
    assert tried(template, tmp_path, case) == []
