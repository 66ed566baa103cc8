"""``lengthlens docs``: where the documentation is."""

from __future__ import annotations

from pathlib import Path

import workbench

URL_LABEL = "Documentation"
"""Label of the address of the pages in the metadata of the installed package."""


def print_places() -> None:
    """Print where the documentation is: pages, help of each command, and glossary.

    The pages are Markdown files of the source tree. If an installed package does not contain the pages, the command
    prints their web address from the metadata of the package.
    """
    from workbench.cli.table_text import align_columns

    lines = [("pages", where_pages_are()), *HERE]
    print("\n".join(align_columns(lines)))


HERE = (
    ("one command", "lengthlens COMMAND --help"),
    ("all commands", "lengthlens --help"),
    ("words, verdicts and quantities", "lengthlens glossary WORD"),
    ("tasks", "lengthlens tasks NAME"),
    ("help inside the dashboard", "lengthlens app checkpoints, page Glossary"),
)
"""What a reader looks for, and the command that prints it."""


def where_pages_are() -> str:
    """The first page of the source tree, else the address in the package's metadata, else how to get the pages."""
    first = Path(workbench.__file__).resolve().parent.parent / "docs" / "index.md"
    if first.is_file():
        return str(first)
    return _address() or "in the folder docs of the source code, which this installation does not contain"


def _address() -> str:
    """The address of the pages in the metadata; "" without one."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        entries = metadata("lengthlens").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    addresses = dict(entry.split(", ", 1) for entry in entries if ", " in entry)
    return str(addresses.get(URL_LABEL, ""))
