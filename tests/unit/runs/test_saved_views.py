"""Views beside the runs: plain files, read as data or named, never written over, never outside of their folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.runs import saved_views
from workbench.runs.saved_views import MOST_VIEWS, SavedView, ViewError, delete_view, read_views, save_view

LINK = "/compare?run=a/b-s0&configs=c%7Cd&axis=length"


def test_a_view_is_a_plain_file_that_is_found_and_deleted_again(tmp_path: Path) -> None:
    made = save_view(tmp_path, "  Rotary  against NoPE ", LINK)
    assert made == SavedView("Rotary against NoPE", LINK, "rotary-against-nope")
    assert json.loads((tmp_path / "views" / "rotary-against-nope.json").read_text()) == {
        "name": made.name,
        "link": LINK,
    }
    other, odd = save_view(tmp_path, "rotary, against nope", "/"), save_view(tmp_path, "\u9577\u3055", "/sweep")
    assert (other.file, odd.file) == ("rotary-against-nope-2", "view")
    assert read_views(tmp_path) == ([made, other, odd], [])
    with pytest.raises(ViewError, match="delete"):
        save_view(tmp_path, "Rotary against NoPE", "/")
    assert delete_view(tmp_path, made.file) == made
    assert read_views(tmp_path)[0] == [other, odd]
    with pytest.raises(ViewError, match="view"):
        delete_view(tmp_path, made.file)


@pytest.mark.parametrize(
    "link",
    ["", "//evil.example/", "/\\evil", "https://evil.example/", "javascript:alert(1)", "/run/../x", "/a?x=\n", "/a?\u202e", "/?" + "a" * 20_000],
)  # fmt: skip
def test_a_link_leads_nowhere_but_to_a_page(tmp_path: Path, link: str) -> None:
    with pytest.raises(ViewError, match="dashboard"):
        save_view(tmp_path, "a", link)
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "a.json").write_text(json.dumps({"name": "a", "link": link}))
    views, (said,) = read_views(tmp_path)
    assert views == []
    assert "a.json is no saved view" in said


@pytest.mark.parametrize("name", ["", "  ", "x" * 61, "a\x00b", "a\u202eb"])
def test_a_name_is_a_line_of_text(tmp_path: Path, name: str) -> None:
    with pytest.raises(ViewError, match=r"\b60\b"):
        save_view(tmp_path, name, "/")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b"", b"[]", b"{", b"[" * 100_000, b'{"name": "a"}', b'{"name": 1, "link": "/"}', b'{"name": "a", "link": "/", "run": "x"}', b" " * 70_000],
)  # fmt: skip
def test_a_file_that_is_no_view_is_named_and_stays(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "views").mkdir()
    file = tmp_path / "views" / "mine.json"
    file.write_bytes(content)
    views, (said,) = read_views(tmp_path)
    assert views == []
    assert said.startswith(f"{file} is no saved view (")
    with pytest.raises(ViewError):
        delete_view(tmp_path, "mine")
    assert save_view(tmp_path, "mine", "/").file == "mine-2"
    assert file.read_bytes() == content


def test_nothing_is_read_written_or_deleted_through_a_link_or_another_name(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.json").write_text('{"name": "a", "link": "/"}')
    (root / "views").mkdir(parents=True)
    (root / "views" / "a.json").symlink_to(elsewhere / "a.json")
    assert "the file is a link" in read_views(root)[1][0]
    for file in ("../../elsewhere/a", "..", "", "a"):
        with pytest.raises(ViewError):
            delete_view(root, file)
    whole = tmp_path / "linked"
    whole.mkdir()
    (whole / "views").symlink_to(elsewhere)
    assert read_views(whole)[0] == []
    with pytest.raises(ViewError, match="leads elsewhere"):
        save_view(whole, "b", "/")
    assert [path.name for path in elsewhere.iterdir()] == ["a.json"]


def test_there_are_only_so_many(tmp_path: Path) -> None:
    (tmp_path / "views").mkdir()
    for k in range(MOST_VIEWS + 1):
        (tmp_path / "views" / f"v{k:03}.json").write_text(json.dumps({"name": f"v{k}", "link": "/"}))
    views, (said,) = read_views(tmp_path)
    assert len(views) == MOST_VIEWS
    assert "the first 200 are read" in said
    with pytest.raises(ViewError, match=r"\b200\b"):
        save_view(tmp_path, "one more", "/")


@pytest.mark.parametrize(("name", "link", "fits"), [
    ("x" * 60, "/", True), ("x" * 61, "/", False), ("", "/", False), ("  ", "/", False), ("a\tb", "/runs", True), ("a", "/runs?x=1", True), ("a", "/" + "?" + "x" * 16_382, True), ("a", "/" + "?" + "x" * 16_383, False), ("a", "runs", False), ("a", "//x", False), ("a", "/Runs", False), ("a", "/runs?a b", False),
    ("a\x07", "/", False), ("a", "/runs/x", False), ("a", "/?\u00fc", False),
])  # fmt: skip
def test_names_and_links_of_views(name: str, link: str, fits: bool, tmp_path: Path) -> None:
    if not fits:
        with pytest.raises(ViewError):
            save_view(tmp_path, name, link)
        return
    made = save_view(tmp_path, name, link)
    assert (made.name, made.link) == (" ".join(name.split()), link)
    assert read_views(tmp_path) == ([made], [])
    with pytest.raises(ViewError, match="already"):
        save_view(tmp_path, name, link)


def test_files_of_views_have_names_of_their_own_and_are_so_many_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [save_view(tmp_path, name, "/") for name in ("My  View!", "my view", "MY-VIEW", "\u00fc", "?")]
    assert [view.file for view in made] == ["my-view", "my-view-2", "my-view-3", "view", "view-2"]
    assert [view.name for view in read_views(tmp_path)[0]] == ["?", "my view", "My View!", "MY-VIEW", "\u00fc"]
    monkeypatch.setattr(saved_views, "MOST_VIEWS", 6)
    save_view(tmp_path, "sixth", "/")
    with pytest.raises(ViewError, match="files"):
        save_view(tmp_path, "seventh", "/")
    assert read_views(tmp_path)[1] == []
    monkeypatch.setattr(saved_views, "MOST_VIEWS", 5)
    views, problems = read_views(tmp_path)
    assert (len(views), len(problems)) == (5, 1)
    monkeypatch.undo()
    assert delete_view(tmp_path, "view").name == "\u00fc"
    with pytest.raises(ViewError, match="view"):
        delete_view(tmp_path, "view")
    for name, content, says in (
        ("Big", b"{}", "small letters"),
        ("one", b'{"name": "a"}', "a name and a link"),
        ("two", b'{"name": "a", "link": 3}', "both text"),
        ("three", b'{"name": "a", "link": "x"}', "not a page"),
        ("four", b"{" + b" " * (64 << 10) + b"}", "the most that is read"),
    ):
        (tmp_path / "views" / f"{name}.json").write_bytes(content)
        assert says in read_views(tmp_path)[1][0]
        (tmp_path / "views" / f"{name}.json").unlink()
