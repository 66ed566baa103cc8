"""Saved views of the dashboard: a name and a link, each a plain JSON file in ``views/`` of a folder of runs.

The files can be edited in any editor and in the dashboard, and a copied folder contains its views. They are not part of
any run. Other files in the folder are reported; they are never followed and never overwritten.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from workbench.core.errors import LensError, quoted_value
from workbench.storage.atomic import remove_leftovers, write_atomic
from workbench.storage.below import remove_file
from workbench.storage.bounded import names_in, read_bytes
from workbench.storage.seal import json_object

FOLDER = "views"
MOST_VIEWS = 200
LONGEST_NAME, LONGEST_LINK = 60, 16_384
MOST = 64 << 10
"""The most bytes of one file."""
FILE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""Names of the files, without ``.json``."""
LINK = re.compile(r"/[a-z]*(\?[!-~]*)?")
"""A page of the dashboard with its query: no other host, no other path, only plain characters."""


class ViewError(LensError, ValueError):
    """A view that is not saved or not removed; the message gives the reason and the way out."""


@dataclass(frozen=True)
class SavedView:
    """A saved view: a name and a link to a page.

    Attributes:
        name: the displayed name.
        link: the page with its query.
        file: the name of its file, without ``.json``.
    """

    name: str
    link: str
    file: str


def read_views(root: Path) -> tuple[list[SavedView], list[str]]:
    """The views in a folder of runs, by name, and a sentence for each file that is not a view."""
    folder = Path(root) / FOLDER
    if folder.is_symlink():
        return [], [f"{folder} leads elsewhere, and its views are not read: put a folder in its place"]
    views, problems = [], []
    names = [name for name in names_in(folder) if name.endswith(".json")]
    if len(names) > MOST_VIEWS:
        problems.append(f"{folder} holds {len(names):,} views, and the first {MOST_VIEWS} are read: remove some")
    for name in names[:MOST_VIEWS]:
        try:
            views.append(_read(folder / name))
        except (LensError, OSError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            problems.append(f"{folder / name} is no saved view ({said})")
    return sorted(views, key=lambda view: (view.name.casefold(), view.file)), problems


def save_view(root: Path, name: str, link: str) -> SavedView:
    """Save a view, atomically.

    Args:
        root: the folder of runs.
        name: at most 60 characters without control characters; no other view may have it.
        link: a page of the dashboard, beginning with a slash.

    Raises:
        ViewError: for another name or link, or when there are too many.
        StorageError: if the folder cannot be written.
    """
    title = " ".join(name.split())
    check_view(title, link)
    views, problems = read_views(root)
    folder = Path(root) / FOLDER
    if folder.is_symlink():
        raise ViewError(problems[0])
    if any(view.name == title for view in views):
        raise ViewError(f"the view {title} exists already: delete it first, or choose another name")
    held = set(names_in(folder))
    if len(held) >= MOST_VIEWS:
        raise ViewError(f"{folder} contains {len(held)} files, at most {MOST_VIEWS} are allowed: delete a view first")
    stem = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-") or "view"
    file = next(one for one in (stem, *(f"{stem}-{k}" for k in range(2, MOST_VIEWS + 2))) if f"{one}.json" not in held)
    text = json.dumps({"name": title, "link": link}, indent=1, ensure_ascii=False) + "\n"
    remove_leftovers(folder)
    write_atomic(Path(root), f"{FOLDER}/{file}.json", text.encode())
    return SavedView(title, link, file)


def delete_view(root: Path, file: str) -> SavedView:
    """Remove a view's file and return the view.

    Raises:
        ViewError: if there is no such view, or the file is not a view: files of others are not removed.
        StorageError: if the folder cannot be written.
    """
    found = next((view for view in read_views(root)[0] if view.file == file), None)
    if found is None:
        raise ViewError("this view does not exist any more")
    remove_file(Path(root), f"{FOLDER}/{found.file}.json")
    return found


def _read(path: Path) -> SavedView:
    if not FILE.fullmatch(path.stem):
        raise ViewError("the name of a view takes small letters, digits and hyphens")
    if path.is_symlink():
        raise ViewError("the file is a link, and links are not followed")
    content = json_object(read_bytes(path, MOST))
    if set(content) != {"name", "link"} or not all(isinstance(value, str) for value in content.values()):
        raise ViewError("a view has only a name and a link, both text")
    check_view(content["name"], content["link"])
    return SavedView(content["name"], content["link"], path.stem)


def check_view(name: str, link: object) -> None:
    """Refuse a name or a link that no saved view can have.

    Raises:
        ViewError: for a name that is empty, too long or not printable, or a link to anything but a page.
    """
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ViewError(f"a view has a name of 1 to {LONGEST_NAME} printable characters")
    if not isinstance(link, str) or len(link) > LONGEST_LINK or not LINK.fullmatch(link):
        raise ViewError(
            f"the link {quoted_value(link)[:42]} is not a page of the dashboard, such as /sweep?x=seeds.init"
        )
