"""Runs on disk: one folder each, readable as data without torch."""

from __future__ import annotations

from workbench.runs.folder import Run, RunError, find_runs

__all__ = ["Run", "RunError", "find_runs"]
