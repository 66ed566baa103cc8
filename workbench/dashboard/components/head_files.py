"""The styles and scripts in the head of every page, in the order in which the browser must load them.

Dash would load every file of the folder in alphabetical order. The order matters: of two equally specific CSS rules the
later one applies, and a script extends objects that an earlier script made.
"""

from __future__ import annotations

from pathlib import Path

import dash_ag_grid
from dash import Dash
from dash.fingerprint import build_fingerprint

from workbench.dashboard.components.plotly_bundle import FILE as CHARTS
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
    "claims",
    "sequence",
    "head_maps",
    "popups",
    "palette",
    "tour",
)
"""Files of ``assets/css``; a later file may override rules of an earlier one."""
SCRIPTS = (
    "turns",
    "plot_lines",
    "libraries",
    "cursor",
    "keys",
    "offline",
    "requests",
    "export",
    "grid",
    "claims",
    "pins",
    "popups",
    "sequence",
    "head_maps",
    "errors",
    "sweep",
    "zoom",
    "palette",
    "tour",
    "views",
)
"""Files of ``assets/js``; ``plot_lines`` makes ``window.lens``, which all but three of the others extend."""
_TABLE = "dash_ag_grid.min.js"
PASSED_OVER = "."
"""A pattern for Dash that matches every name, so that Dash loads no file of the folder on its own."""


def add(app: Dash) -> None:
    """Put the listed files into the head of the app's pages, after those of Dash and its components."""
    for name in STYLES:
        app.css.append_css(_listed(f"css/{name}.css"))
    for name in SCRIPTS:
        app.scripts.append_script(_listed(f"js/{name}.js"))
    _load_on_demand(app)


def _load_on_demand(app: Dash) -> None:
    """Leave the table library out of the head and pass the addresses of the table and chart libraries to
    ``libraries.js``.

    The chart library is the smaller bundle that reports include. It has all chart types that the pages draw, at a third
    of the size.
    """
    main = next(file for file in dash_ag_grid._js_dist if file["relative_package_path"] == _TABLE)
    main["dynamic"] = True
    changed = int((Path(dash_ag_grid.__file__).parent / _TABLE).stat().st_mtime)
    table = build_fingerprint(_TABLE, dash_ag_grid.__version__, changed)
    addresses = {
        "chart-library": app.get_asset_url(f"report/{CHARTS.name}"),
        "table-library": app.get_relative_path(f"/_dash-component-suites/dash_ag_grid/{table}"),
    }
    app.config.meta_tags = [
        *(app.config.meta_tags or []),
        *({"name": name, "content": address} for name, address in addresses.items()),
    ]


def _listed(path: str) -> dict[str, str]:
    return {"asset_path": path, "filepath": str(ASSETS / path)}
