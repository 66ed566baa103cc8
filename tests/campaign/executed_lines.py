"""A pytest plugin that notes which lines of the project each test executes: ``pytest -p tests.campaign.executed_lines``.

Into the coverage database that the environment variable ``EXECUTED_LINES`` names, one file for each process, with how long each
test took beside it. What a test executes in processes that it starts is not seen.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from tests.campaign.mutation_sites import ROOMS

ROOT = Path(__file__).resolve().parents[2]
FILE = os.environ.get("EXECUTED_LINES", "")
_cover = coverage.Coverage(
    data_file=FILE, data_suffix=True, include=[str(ROOT / room / "*") for room in ROOMS.values()], config_file=False,
    messages=False,
)  # fmt: skip
_seconds: dict[str, float] = {}


def pytest_sessionstart() -> None:
    # A tracer in the process that hands tests to others would see none.
    if "PYTEST_XDIST_WORKER" in os.environ or "-n" not in sys.argv:
        _cover.start()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if _cover._started:
        _cover.switch_context(item.nodeid)
    yield


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    if _cover._started:
        _cover.stop()
        _cover.save()
        Path(f"{FILE}.{os.getpid()}.seconds").write_text(json.dumps(_seconds))
