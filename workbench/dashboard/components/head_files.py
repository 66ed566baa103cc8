"""The styles and scripts in the head of every page, in the order in which they count.

Dash would take whatever lies in the folder, in alphabetical order. Both orders matter: of two rules that are equally
specific the later one holds, and a script extends what an earlier one made.
"""

from __future__ import annotations

from dash import Dash

from workbench.dashboard.components.theme import ASSETS as ASSETS

STYLES = (
    "base",
    "icons",
    "frame",
    "cursorbar",
    "run",
    "runs",
    "mantine",
    "compare",
    "compare_many",
    "glossary",
    "sequence",
    "head_maps",
    "popups",
    "palette",
    "tour",
)
"""Files of ``assets/css``; a later one may take back what an earlier one says."""
SCRIPTS = (
    "turns",
    "plot_lines",
    "cursor",
    "keys",
    "offline",
    "requests",
    "export",
    "grid",
    "popups",
    "sequence",
    "head_maps",
    "sweep",
    "zoom",
    "palette",
    "tour",
    "views",
)
"""Files of ``assets/js``; ``plot_lines`` makes ``window.lens``, which the others extend, but for ``turns``."""
PASSED_OVER = "."
"""For Dash: no file is taken because it lies there (a pattern that every name matches)."""


def add(app: Dash) -> None:
    """Put the listed files into the head of the app's pages, after those of Dash and its components."""
    for name in STYLES:
        app.css.append_css(_listed(f"css/{name}.css"))
    for name in SCRIPTS:
        app.scripts.append_script(_listed(f"js/{name}.js"))


def _listed(path: str) -> dict[str, str]:
    return {"asset_path": path, "filepath": str(ASSETS / path)}
