"""The figures and figures in words of docs/probes.md: ``python docs/probe_figures.py ROOT OUT``.

ROOT holds the measured runs of sweeps/probes.yaml; OUT gets ``probes.png``, and the numbers that the page quotes are
printed as the table it shows.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
from playwright.sync_api import sync_playwright

from workbench.dashboard.pictures import ARGUMENTS, find_browser
from workbench.figures import coupling_over_training, erasure_over_length, selectivity_over_training
from workbench.runs import find_runs
from workbench.table.query import Table

WIDTH, HEIGHT = 400, 220
SHOWN = ("majority_nope", "parity_nope", "flip_flop_rotary")
STYLE = """
body { margin: 16px; font: 13px Inter, system-ui, sans-serif; background: white; width: 1240px; }
.row { display: grid; grid-template-columns: repeat(3, 1fr); gap: 8px; margin-bottom: 12px; }
h2 { font-size: 14px; margin: 4px 0; } h3 { font-size: 12px; font-weight: 500; margin: 0; }
"""


def panels(frame: pd.DataFrame, trained: int) -> Iterator[tuple[str, go.Figure]]:
    """The three panels of one run, with their titles."""
    step = int(frame["step"].max())
    layer = int(frame.loc[frame["measurement"] == "probes.erasure", "layer"].max()) - 1
    yield "Length coupling (2N, 4N, 8N)", coupling_over_training(frame, trained=trained)
    yield (
        f"Selectivity of the summary at N = {trained}",
        selectivity_over_training(frame, trained=trained, length=trained),
    )
    yield (
        f"Accuracy under erasure after block {layer}",
        erasure_over_length(frame, trained=trained, step=step, layer=layer),
    )


def page(root: Path) -> tuple[str, pd.DataFrame]:
    """The page that is photographed, and the numbers at the last checkpoints.

    Raises:
        SystemExit: for a run that is not there.
    """
    table, trained = Table.load(root), {run.name: run.trained_length for run in find_runs(root)}
    missing = [name for name in SHOWN if name not in trained]
    if missing:
        raise SystemExit(f"{root} holds no {missing[0]}: lengthlens sweep sweeps/probes.yaml --out {root} makes it")
    parts, numbers = [], []
    for name in SHOWN:
        frame = table.frame(run=name)
        parts.append(f"<h2>{name}</h2><div class='row'>")
        for title, figure in panels(frame, trained[name]):
            figure.update_layout(width=WIDTH, height=HEIGHT, margin={"r": 72})
            drawn = figure.to_html(full_html=False, include_plotlyjs=not numbers and len(parts) == 1)
            parts.append(f"<div><h3>{title}</h3>{drawn}</div>")
        parts.append("</div>")
        numbers.append(told(frame, name, trained[name]))
    return f"<html><head><style>{STYLE}</style></head><body>{''.join(parts)}</body></html>", pd.DataFrame(numbers)


def told(frame: pd.DataFrame, name: str, trained: int) -> dict[str, str]:
    """What the page's table says of one run, at its first and last checkpoint."""
    last, first = frame[frame["step"] == frame["step"].max()], frame[frame["step"] == frame["step"].min()]

    def one(rows: pd.DataFrame, quantity: str, **where: object) -> str:
        rows = rows[(rows["quantity"] == quantity)]
        for column, value in where.items():
            rows = rows[rows[column] == value]
        if rows.empty or rows["value"].isna().all():
            return "undefined"
        r = rows.iloc[-1]  # the last site
        return f"{r['value']:.3f} [{r['low']:.3f}, {r['high']:.3f}]"

    verdict = last[last["quantity"] == "verdict"]["label"]
    at = {"length": trained, "mode": "refit", "control": ""}
    return {
        "run": name,
        "verdict": str(verdict.iloc[0]) if len(verdict) else "not measured",
        "length_coupling": one(last, "length_coupling", mode="used", control=""),
        "length_coupling_in": one(last, "length_coupling_in", mode="used", control=""),
        "summary at step 0": one(first, "summary_decodability", **at),
        "summary at the end": one(last, "summary_decodability", **at),
        "selectivity at the end": one(last, "selectivity", length=trained),
        "settled at step": str(last[last["quantity"] == "settled_step"]["value"].iloc[-1]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the figures of docs/probes.md.")
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("out", type=Path, metavar="OUT")
    given = parser.parse_args()
    path = find_browser()
    if path is None:
        raise SystemExit("no Chromium found: install one, or name it in the variable CHROMIUM")
    html, numbers = page(given.root)
    given.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        shot = browser.new_page(viewport={"width": 1272, "height": 400})
        shot.set_content(html, wait_until="load")
        shot.wait_for_timeout(500)
        shot.screenshot(path=given.out / "probes.png", full_page=True)
        browser.close()
    print(numbers.T.to_string(header=False))


if __name__ == "__main__":
    main()
