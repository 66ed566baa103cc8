"""Hostile command lines: each ends by itself, with a sentence where it is refused, and never with a traceback."""

from __future__ import annotations

import pytest

from tests.support.hostile.command_lines import Places, forked
from tests.support.hostile.forked_commands import (
    SEED,
    every_command_writes,
    places,  # noqa: F401 - fixtures
    tried,
)


def test_some_hostile_command_lines_end_by_themselves(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places.folder)
    statuses, found = tried(places, 25, SEED)
    assert found == []
    assert statuses[0] > 0 < statuses[2]


def test_every_command_writes_in_ascii(places: Places) -> None:
    every_command_writes(places, "ascii")


def test_what_ascii_lacks_is_written_with_what_looks_like_it(places: Places) -> None:
    said = forked(["show", str(places.run)], places.folder, "ascii").said
    assert "   15  1.7 x N " in said
    assert "..." not in said.partition("Behaviour over prefix length")[2], "80 columns hold every cell whole"
    assert "(majority) - 1 layers, 2 heads, d_model 8 - positions none" in " ".join(said.split())
