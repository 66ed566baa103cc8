"""Notes, tags and settings on the Runs page and on a run's own: shown, filtered, saved, and refused in words."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dashboard.answers import texts
from workbench.dashboard import router
from workbench.dashboard.pages.runs import lines
from workbench.dashboard.panels import notes_panel
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.filters import Filters, read_filters, write_filters
from workbench.dashboard.state.store import Store
from workbench.runs.run_notes import NOTE, TAGS
from workbench.storage import atomic

A, B = "majority-nope-s0", "flip_flop-rotary-s0"


@pytest.fixture
def noted(small_root: Path, tmp_path: Path) -> Iterator[Context]:
    root = Path(shutil.copytree(small_root, tmp_path / "runs"))
    (root / A / NOTE).write_text("It holds to 8 N.\n")
    (root / A / TAGS).write_text("for the paper\n")
    (root / B / NOTE).write_bytes(b"\xff\x00")
    context = Context(Store([root], patience=0), Worker())
    yield context
    context.close()


def names(context: Context, filters: Filters) -> set[str]:
    return {row["name"] for row in lines(context, filters)["rows"]}


def test_tags_and_words_of_notes_filter_and_a_note_that_is_no_text_is_named(noted: Context) -> None:
    assert names(noted, Filters(tag="for the paper")) == names(noted, Filters(text="holds to 8")) == {A}
    assert any(f"{B}/{NOTE} is no text file" in said for said in noted.store.problems)
    content, _, _ = router.page(noted, "/", "?tag=lost")
    assert "This link names the tag \u201clost\u201d, which no run here has." in texts(content)
    said = texts(router.page(noted, "/run", f"?run={A}")[0])
    assert "for the paper" in said
    assert "It holds to 8 N." in said


def test_any_setting_filters_and_stands_in_the_link(noted: Context) -> None:
    asked = Filters(where=(("task.name", "majority"), ("model.positions.name", "none"), ("seeds.init", "9")))
    assert read_filters(write_filters(asked).partition("?")[2]) == (asked, [])
    assert names(noted, Filters(where=asked.where[:2])) == {A}
    both = (("model.positions.name", "none"), ("model.positions.name", "rotary"))
    assert names(noted, Filters(where=both)) == {A, B}, "values of one axis are alternatives"
    content, _, _ = router.page(noted, "/", "?where=model.wings=2")
    assert "This link names the setting model.wings=2, which no run here has." in texts(content)


def test_a_note_is_saved_once_seen_and_never_into_a_folder_that_refuses(noted: Context, monkeypatch) -> None:
    seen = noted.store.runs()[A].notes.state
    before = noted.store.runs()[A]
    line, notes = notes_panel.save_notes(noted, A, "It holds.", "for the paper, again", seen)
    assert line.startswith("Saved.")
    assert notes is not None
    assert noted.store.runs()[A].notes == notes
    assert notes.tags == ("for the paper", "again")
    assert noted.store.runs()[A].rows_version == before.rows_version, "no figure is drawn anew for a note"
    line, none = notes_panel.save_notes(noted, A, "Once more.", "", seen)
    assert none is None
    assert "were changed meanwhile" in line

    def refuse(_: Path) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(atomic, "_temporary", refuse)
    line, none = notes_panel.save_notes(noted, A, "Once more.", "", notes.state)
    assert none is None
    assert line.startswith("Nothing was saved: ")
    assert "cannot be written (Read-only file system)" in line
    assert (before.path / NOTE).read_text() == "It holds.\n"
