"""How many hostile inputs each surface was given, and how they ended: one table at the end of the tier."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.hostile.effort import AddTally, Tally, tally_table

PROPERTY = "hostile inputs"


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> AddTally:
    """Adds to the table: the surface, how many inputs it was given, and a sentence for each that ended wrong."""

    def add(surface: str, inputs: int, problems: Sequence[str]) -> None:
        counts = Tally.of(surface, inputs, problems)
        # Plain data, since a worker process of pytest-xdist sends it to the process that prints the table.
        request.node.user_properties.append((PROPERTY, [surface, inputs, dict(counts.wrong)]))

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    properties = [entry for report in reports for entry in report.user_properties if entry[0] == PROPERTY]
    if properties:
        terminalreporter.section("hostile inputs")
        for line in tally_table(Tally(*values) for _, values in properties):
            terminalreporter.write_line(line)
