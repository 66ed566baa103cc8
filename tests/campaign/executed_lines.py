"""Which lines of the project each unit test executes, and how long it takes: what a planted bug is looked for in.

    python -m tests.campaign.executed_lines FILE

runs the unit tests (twice as long as usual) and writes a coverage database. What a test executes in processes that it starts is
not seen, nor is what an earlier test left in a cache: a bug is looked for beyond these tests too.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import pytest

from tests.campaign.mutation_sites import ROOMS, Site

ROOT = Path(__file__).resolve().parents[2]
FILE = "EXECUTED_LINES"
"""The variable that names the database to the processes that run tests."""


@dataclass(frozen=True)
class ExecutedLines:
    """A database of executed lines.

    Attributes:
        file: of the database.
        root: of the tree that was recorded.
    """

    file: Path
    root: Path = ROOT

    @cached_property
    def _data(self) -> coverage.CoverageData:  # type: ignore[name-defined]
        import coverage

        data = coverage.CoverageData(str(self.file))
        data.read()
        return data

    def tests(self, site: Site) -> list[str]:
        """The tests that execute the statement of a bug; of a statement of a module or class, those that execute
        any of the module."""
        first, last, in_function = _statement((self.root / site.file).read_text(), site.line)
        by_line = _by_line(self, site.file)
        lines = range(first, last + 1) if in_function else by_line
        return sorted({test for line in lines for test in by_line.get(line, ()) if test})


@lru_cache(maxsize=4)
def _by_line(record: ExecutedLines, file: str) -> dict[int, list[str]]:
    return dict(record._data.contexts_by_lineno(str(record.root / file)))


def _statement(source: str, line: int) -> tuple[int, int, bool]:
    """First and last line of the innermost statement around a line, without the body of one that has a body."""
    found, in_function = (line, line), False
    node: ast.AST = ast.parse(source)
    while True:
        inner = [one for one in ast.walk(node) if one is not node and isinstance(one, ast.stmt | ast.excepthandler)]
        around = [one for one in inner if one.lineno <= line <= (one.end_lineno or line)]
        if not around:
            return *found, in_function
        node = max(around, key=lambda one: (one.lineno, -(one.end_lineno or 0)))
        in_function = in_function or any(isinstance(one, ast.FunctionDef) and one is not node for one in around)
        body = [one.lineno for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)]
        end = min(body) - 1 if body else node.end_lineno or line
        found = (node.lineno, max(end, node.lineno))


class _Recorder:
    """The pytest plugin that records one process's tests."""

    def __init__(self, file: str) -> None:
        import coverage

        self.cover = coverage.Coverage(
            data_file=file, data_suffix=True, include=[str(ROOT / room / "*") for room in ROOMS.values()],
            config_file=False, messages=False,
        )  # fmt: skip

    def pytest_sessionstart(self) -> None:
        self.cover.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.cover.switch_context(item.nodeid)
        yield

    def pytest_sessionfinish(self) -> None:
        self.cover.stop()
        self.cover.save()


def pytest_configure(config: pytest.Config) -> None:
    """Of the processes that run tests, not of the one that hands them out."""
    if FILE in os.environ and "PYTEST_XDIST_WORKER" in os.environ:
        config.pluginmanager.register(_Recorder(os.environ[FILE]))


def main() -> None:
    file = Path(sys.argv[1]).resolve()
    environment = {**os.environ, FILE: str(file)}
    options = ["-q", "-n", "2", "-p", "tests.campaign.executed_lines"]
    subprocess.run([sys.executable, "-m", "pytest", *options, "tests/unit"], cwd=ROOT, env=environment, check=False)
    combine = [sys.executable, "-m", "coverage", "combine", f"--data-file={file}"]
    subprocess.run([*combine, *map(str, file.parent.glob(f"{file.name}.*"))], check=True)


if __name__ == "__main__":
    main()
