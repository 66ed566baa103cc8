"""The figures, and figures in words, of docs/probes.md: ``python docs/probe_figures.py ROOT OUT``.

ROOT holds the measured runs of the sweep ``probes``; OUT gets ``probes-selectivity.png``, ``probes-coupling.png`` and
``probes-erasure.png``, one panel per run, and the tables that the page shows are printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
from playwright.sync_api import sync_playwright

from workbench.core.verdicts import NOT_MEASURED
from workbench.dashboard.screenshots import ARGUMENTS, find_browser
from workbench.figures import coupling_over_training, erasure_over_length, selectivity_over_training
from workbench.runs import find_runs
from workbench.table.query import Table

WIDTH, HEIGHT = 310, 220
SHOWN = ("majority_nope", "parity_nope", "flip_flop_rotary", "retrieval_rotary")
SEEDS = ("parity_nope", "parity_nope_s1", "parity_nope_s2")
STYLE = f"""
body {{ margin: 12px; font: 13px Inter, system-ui, sans-serif; background: white; width: {4 * WIDTH}px; }}
.row {{ display: grid; grid-template-columns: repeat(4, 1fr); }}
h3 {{ font-size: 12px; font-weight: 600; margin: 0; }}
"""


def selectivity(frame: pd.DataFrame, trained: int) -> go.Figure:
    """Selectivity of the summary at N, over training."""
    return selectivity_over_training(frame, trained=trained, length=trained)


def coupling(frame: pd.DataFrame, trained: int) -> go.Figure:
    """Length coupling over training."""
    return coupling_over_training(frame, trained=trained)


def erasure(frame: pd.DataFrame, trained: int) -> go.Figure:
    """Accuracy under erasure before the last block, at the last checkpoint."""
    layer = int(frame.loc[frame["measurement"] == "probes.erasure", "layer"].max()) - 1
    return erasure_over_length(frame, trained=trained, step=int(frame["step"].max()), layer=layer)


PICTURES: dict[str, Callable[[pd.DataFrame, int], go.Figure]] = {
    "selectivity": selectivity,
    "coupling": coupling,
    "erasure": erasure,
}


def page(
    draw: Callable[[pd.DataFrame, int], go.Figure], frames: dict[str, pd.DataFrame], trained: dict[str, int]
) -> str:
    """The page that is photographed: one panel per run."""
    parts: list[str] = []
    for name in SHOWN:
        figure = draw(frames[name], trained[name])
        figure.update_layout(width=WIDTH, height=HEIGHT, margin={"r": 72})
        drawn = figure.to_html(full_html=False, include_plotlyjs=not parts)
        parts.append(f"<div><h3>{name}, N = {trained[name]}</h3>{drawn}</div>")
    return f"<html><head><style>{STYLE}</style></head><body><div class='row'>{''.join(parts)}</div></body></html>"


def one(rows: pd.DataFrame, quantity: str, **where: object) -> str:
    """A value with its interval, at the last site that the rows have."""
    rows = rows[rows["quantity"] == quantity]
    for column, value in where.items():
        rows = rows[rows[column] == value]
    if rows.empty or rows["value"].isna().all():
        return "undefined"
    r = rows.iloc[-1]
    interval = "" if pd.isna(r["low"]) else f" [{r['low']:.3f}, {r['high']:.3f}]"
    return f"{r['value']:.3f}{interval}"


def told(frame: pd.DataFrame, name: str, trained: int) -> dict[str, str]:
    """What the page's table says of one run, at its first and last checkpoint."""
    last, first = frame[frame["step"] == frame["step"].max()], frame[frame["step"] == frame["step"].min()]
    verdict = last[last["quantity"] == "verdict"]["label"]
    at = {"mode": "refit", "control": ""}
    return {
        "run": name,
        "verdict": str(verdict.iloc[0]) if len(verdict) else NOT_MEASURED,
        "length_coupling": one(last, "length_coupling", mode="used", control=""),
        "length_coupling_in": one(last, "length_coupling_in", mode="used", control=""),
        **{f"length_coupling, {c}": one(last, "length_coupling", mode="used", control=c) for c in CONTROLS},
        **{f"used_inner, {s}": one(last, "length_coupling", mode="used_inner", site=s) for s in inner_sites(last)},
        "summary at N, step 0": one(first, "summary_decodability", length=trained, **at),
        "summary at N, last step": one(last, "summary_decodability", length=trained, **at),
        "selectivity at N, step 0": one(first, "selectivity", length=trained),
        "selectivity at N, last step": one(last, "selectivity", length=trained),
        "settled at step": str(last[last["quantity"] == "settled_step"]["value"].iloc[-1]),
    }


CONTROLS = ("untrained", "token_only", "last_8_tokens", "shuffled_labels", "hashed_labels")


def inner_sites(rows: pd.DataFrame) -> list[str]:
    """The sites that are read through the mean Jacobian."""
    return [str(site) for site in rows.loc[rows["mode"] == "used_inner", "site"].unique()]


def changes(frame: pd.DataFrame, name: str, trained: int) -> dict[str, str]:
    """Length coupling of one run, and C(n) at each length past training, of the last checkpoint."""
    last = frame[frame["step"] == frame["step"].max()]
    accuracy = last[last["measurement"] == "behaviour"]
    used = {"mode": "used", "control": ""}
    return {
        "run": name,
        "accuracy at N": one(accuracy, "accuracy", mode="teacher_forced", law="matched", length=trained),
        "length_coupling": one(last, "length_coupling", **used),
        **{f"C({k}N)": one(last, "length_coupling_at", length=k * trained, **used) for k in (2, 4, 8)},
    }


def tables(frames: dict[str, pd.DataFrame], trained: dict[str, int]) -> Iterator[str]:
    """The tables of the page, as text."""
    yield pd.DataFrame([told(frames[name], name, trained[name]) for name in SHOWN]).T.to_string(header=False)
    yield pd.DataFrame([changes(frames[name], name, trained[name]) for name in SEEDS]).T.to_string(header=False)


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the figures of docs/probes.md.")
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("out", type=Path, metavar="OUT")
    given = parser.parse_args()
    path = find_browser()
    if path is None:
        raise SystemExit("no Chromium found: install one, or name it in the variable CHROMIUM")
    trained = {run.name: run.trained_length for run in find_runs(given.root)}
    wanted = dict.fromkeys((*SHOWN, *SEEDS))
    if missing := [name for name in wanted if name not in trained]:
        root = given.root
        raise SystemExit(f"{root} holds no {missing[0]}: lengthlens sweep probes --out {root} makes it")
    table = Table.load(given.root)
    frames = {name: table.frame(run=name) for name in wanted}
    given.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        shot = browser.new_page(viewport={"width": 4 * WIDTH + 24, "height": HEIGHT})
        for name, draw in PICTURES.items():
            shot.set_content(page(draw, frames, trained), wait_until="load")
            shot.wait_for_timeout(500)
            shot.screenshot(path=given.out / f"probes-{name}.png", full_page=True)
        browser.close()
    print(*tables(frames, trained), sep="\n\n")


if __name__ == "__main__":
    main()
