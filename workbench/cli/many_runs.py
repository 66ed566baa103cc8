"""The most runs that one command reads in full. It imports nothing large, so that a refusal appears at once."""

from __future__ import annotations

from pathlib import Path

from workbench.cli.errors import UsageError

MOST_RUNS = 200
"""Runs that one figure or one comparison reads at most; reading one takes about 40 ms."""
_READERS = {"plot": "one figure", "compare": "one comparison"}
"""Command -> what it makes."""


def refuse_many_runs(root: Path, number: int, command: str) -> None:
    """Refuse a folder with more than :data:`MOST_RUNS` runs.

    Args:
        root: the folder.
        number: how many runs it has.
        command: name of the command.

    Raises:
        UsageError: if there are more.
    """
    if number > MOST_RUNS:
        raise UsageError(
            f"{root} has {number:,} runs, and {_READERS[command]} reads at most {MOST_RUNS}; name a folder with fewer, "
            f"or see all in the Sweep page of `lengthlens app {root}`"
        )


def refuse_many_below(root: Path, command: str) -> None:
    """Refuse a folder below which there are more than :data:`MOST_RUNS` runs, before any of them is opened."""
    from workbench.table.walk import walk

    if root.is_dir():
        refuse_many_runs(root, len(walk(root).runs), command)
