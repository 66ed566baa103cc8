"""Runs on disk: one folder each, readable as data without torch."""

from __future__ import annotations

from workbench.runs.errors import RunError
from workbench.runs.run import Run, find_runs
from workbench.runs.shipped_gallery import gallery

__all__ = ["Run", "RunError", "find_runs", "gallery"]
