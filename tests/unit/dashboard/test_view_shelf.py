"""The drawer of saved views, asked without a browser."""

from __future__ import annotations

from pathlib import Path

from tests.support.dashboard.answers import texts
from workbench.dashboard.saved_views import handle_request, view_list
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.run_view import display_path
from workbench.dashboard.state.store import Store
from workbench.runs.saved_views import FOLDER, save_view


def test_views_are_listed_saved_and_deleted_and_what_is_none_is_named(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    context = Context(Store([first, second]), Worker())
    assert "None yet" in texts(view_list(context))
    save_view(second, "of the second", "/sweep?x=task.name")
    save_view(second, "astray", "/nowhere")
    assert handle_request(context, {"do": "save", "name": "mine", "link": "/?task=majority"}).startswith(
        "Saved mine as "
    )
    said = texts(view_list(context))
    assert [name in said for name in ("mine", "of the second", "Runs", "Sweep")] == [True] * 4
    assert "astray.json names a page that does not exist" in said
    for link in ("/nowhere", "//evil", ""):
        assert handle_request(context, {"do": "save", "name": "b", "link": link}).startswith("Nothing was saved: ")
    assert handle_request(context, {"do": "save", "name": "mine", "link": "/"}) == (
        "Nothing was saved: the view mine exists already: delete it first, or choose another name."
    )
    for file in ("2:of-the-second", "0:of-the-second", "1:../first/views/mine", "x"):
        assert handle_request(context, {"do": "delete", "file": file}).startswith(
            "Nothing was deleted: this view does not exist"
        )
    assert handle_request(context, {"do": "delete", "file": "1:of-the-second"}) == "Deleted of the second."
    assert [path.name for path in (second / FOLDER).iterdir()] == ["astray.json"]
    context.close()


def test_a_link_in_a_circle_in_place_of_the_views_is_said(tmp_path: Path) -> None:
    """The drawer names the folder of the views, and a folder behind such a link has no other name."""
    (tmp_path / "views").symlink_to("views")
    assert display_path(tmp_path / "views") == str(tmp_path / "views")
