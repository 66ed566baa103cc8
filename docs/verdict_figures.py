"""The two figures of docs/verdict.md, drawn from the gallery and from a task: ``python docs/verdict_figures.py``.

The first shows the skill of two runs over prefix length, with intervals, threshold and bracket. The second shows
sequences of the matched and the challenge test set of a flip-flop side by side.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

from workbench.core.thresholds import CHALLENGE_FROM, ROBUST
from workbench.runs import Run
from workbench.table import Table
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
RUNS = ("majority_nope_s0", "flip_flop_rotary_s0")
"""Runs of the gallery, a panel each."""
INK, GREY, LIGHT = "#1f2933", "#5f6b78", "#d7dce1"
BLUE, ORANGE, RED, GREEN = "#0b4f9c", "#c4570a", "#b3261e", "#dceefb"
LOWEST = -0.2
"""Lower end of the axis of skill."""


def text(x: float, y: float, words: str, fill: str = INK, anchor: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}"{more}>{words}</text>'


def heading(size: int) -> str:
    """The attributes of a text that is a heading."""
    return f' font-size="{size}" font-weight="600"'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def rectangle(x: float, y: float, width: float, height: float, fill: str, more: str = "") -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"{more}/>'


def picture(width: int, height: int, title: str, parts: list[str]) -> str:
    """An SVG file on a white ground, readable on light and dark pages."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
    head += 'role="img" font-family="system-ui, sans-serif" font-size="12">'
    return "\n".join([head, f"<title>{title}</title>", rectangle(0, 0, width, height, "#ffffff"), *parts, "</svg>\n"])


def skill_panel(run: str, left: float) -> list[str]:
    """Skill over prefix length at the last step of a run: both test sets, threshold, trained range and bracket."""
    rows = Table.load(ROOT / "checkpoints" / "gallery").frame(run=run, measurement="behaviour")
    rows = rows[rows["step"] == rows["step"].max()]
    trained = Run.open(ROOT / "checkpoints" / "gallery" / run).trained_length
    skills = rows[rows["quantity"] == "skill"]
    lengths = sorted({*skills["length"]})
    width, top, height = 350.0, 58.0, 240.0

    def across(length: float) -> float:
        return left + 12 + (width - 24) * math.log(length / lengths[0]) / math.log(lengths[-1] / lengths[0])

    def down(skill: float) -> float:
        return top + height * (1.05 - skill) / (1.05 - LOWEST)

    parts = [rectangle(left, top, across(trained) - left, height, GREEN)]
    parts.append(text((left + across(trained)) / 2, top + height / 2 + 18, "trained lengths", GREY))
    failures = rows[(rows["quantity"] == "failure_length") & rows["high"].notna()].set_index("law")
    for law, at, colour in (("matched", 14, BLUE), ("challenge", 30, ORANGE)):
        if law in failures.index:
            low, high = across(failures.loc[law, "low"]), across(failures.loc[law, "high"])
            y = top + height - 44 + at
            parts += [line(low, y, high, y, colour, ' stroke-width="2"')]
            parts += [line(x, y - 4, x, y + 4, colour, ' stroke-width="2"') for x in (low, high)]
            ends = f"({failures.loc[law, 'low']:.0f}, {failures.loc[law, 'high']:.0f}]"
            parts.append(text(low - 8, y + 4, f"{law}: fails at {ends}", colour, "end"))
    for tick in (0, 0.5, 1):
        parts += [
            line(left, down(tick), left + width, down(tick), LIGHT),
            text(left - 8, down(tick) + 4, f"{tick:g}", GREY, "end"),
        ]
    parts.append(line(left, down(ROBUST), left + width, down(ROBUST), RED, ' stroke-dasharray="5 3"'))
    parts.append(text(left + width - 4, down(ROBUST) + 15, f"threshold {ROBUST:g}", RED, "end"))
    for law, shift, colour in (("matched", -2.0, BLUE), ("challenge", 2.0, ORANGE)):
        tested = skills[skills["law"] == law].sort_values("length")
        if law == "challenge":
            tested = tested[(tested["length"] <= trained) | (tested["length"] >= CHALLENGE_FROM * trained)]
        points = []
        for row in tested.itertuples():
            x, y = across(row.length) + shift, down(row.value)
            points.append((row.length, x, y))
            if not math.isnan(row.low):
                parts.append(
                    line(x, down(max(row.low, LOWEST)), x, down(min(row.high, 1)), colour, ' stroke-width="2.5"')
                )
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
        for (first, x1, y1), (second, x2, y2) in pairwise(points):
            gap = law == "challenge" and first <= trained < second
            parts.append(line(x1, y1, x2, y2, colour, ' stroke-dasharray="1 4"' if gap else ""))
    octaves = [
        length for length in lengths if abs(math.log2(length / trained) - round(math.log2(length / trained))) < 0.3
    ]
    ticks = [length for length in octaves if length <= trained or length >= 1.9 * trained]
    parts += [text(across(length), top + height + 16, f"{length:.0f}", GREY) for length in ticks]
    (verdict,) = rows[rows["quantity"] == "verdict"]["label"]
    parts.append(text(left + width / 2, top - 12, f"{run}: {verdict}", INK, more=' font-weight="600"'))
    parts.append(text(left + width / 2, top + height + 34, "prefix length (log scale)", GREY))
    parts.append(line(across(trained), top, across(trained), top + height, GREY, ' stroke-dasharray="2 3"'))
    parts.append(text(across(trained) - 5, top + height * 0.3, f"N = {trained}", GREY, "end"))
    return parts


def skill_figure() -> str:
    """Two runs, a panel each, under one legend."""
    parts = [text(16, 176, "skill", GREY, more=' transform="rotate(-90 16 176)"')]
    for x, words, colour in ((60, "matched test set", BLUE), (220, "challenge test set", ORANGE)):
        parts += [f'<circle cx="{x}" cy="18" r="4" fill="{colour}"/>', text(x + 10, 22, words, colour, "start")]
    parts.append(text(390, 22, "vertical bars: 95 % intervals, n = 512 or more", GREY, "start"))
    for run, left in zip(RUNS, (56.0, 462.0), strict=True):
        parts += skill_panel(run, left)
    return picture(830, 350, "Skill over prefix length of a scale-robust and a length-coupled run", parts)


LENGTH, WINDOW, SEQUENCES = 24, 8, 5
"""Of the second figure: tokens of a sequence, N, and sequences of each test set."""


def sequences_panel(law: str, left: float) -> list[str]:
    """Sequences of one test set; the last write, which decides the answer, is filled."""
    task = make_task("flip_flop", write_probability=0.2)
    batch = task.sample(SEQUENCES, LENGTH, generator("verdict figures"), law, window=WINDOW)  # type: ignore[arg-type]
    cell, top = 16.0, 74.0
    width = LENGTH * cell
    parts = [text(left + width / 2, 22, f"{law} test set", INK, more=' font-weight="600"')]
    for x, words in ((left, f"first {WINDOW} tokens"), (left + width - WINDOW * cell, f"last {WINDOW} tokens")):
        parts += [rectangle(x, top - 8, WINDOW * cell, SEQUENCES * 26 + 8, "#f0f2f4")]
        parts.append(text(x + WINDOW * cell / 2, top - 16, words, GREY))
    for number, tokens in enumerate(batch.tokens[:, 1:].tolist()):
        row = [task.vocabulary[token] for token in tokens]
        deciding = max(at for at, word in enumerate(row) if word.startswith("w"))
        y = top + 26 * number
        for at, word in enumerate(row):
            x = left + at * cell
            last = at == deciding
            if word.startswith("w"):
                parts.append(rectangle(x + 0.5, y - 1, cell - 1, 18, BLUE if last else "#cfe0f3", ' rx="2"'))
            fill = "#ffffff" if last else INK if word.startswith("w") else "#8a94a0"
            parts.append(text(x + cell / 2, y + 12, word, fill, more=' font-size="10"'))
    return parts


def sequences_figure() -> str:
    """Both test sets, side by side."""
    parts = sequences_panel("matched", 16) + sequences_panel("challenge", 440)
    parts += [rectangle(16, 214, 15, 15, BLUE, ' rx="2"'), rectangle(326, 214, 15, 15, "#cfe0f3", ' rx="2"')]
    parts.append(text(38, 226, "last write: it alone decides the answer", GREY, "start"))
    parts.append(text(348, 226, "earlier write", GREY, "start"))
    return picture(840, 240, "Sequences of the matched and the challenge test set of a flip-flop", parts)


FIGURES = {"verdict-skill.svg": skill_figure, "verdict-test-sets.svg": sequences_figure}

if __name__ == "__main__":
    for name, draw in FIGURES.items():
        (PICTURES / name).write_text(draw(), encoding="utf-8")
