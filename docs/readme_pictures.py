"""The two pictures of README.md: the Run page with three callouts, and a diagram of how LengthLens works.

``python docs/readme_pictures.py`` writes both again. The callouts need a Chromium and ``docs/pictures/run-light.png``.
"""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from workbench.dashboard.screenshots import ARGUMENTS, SIZE, find_browser
from workbench.figures.style.design_tokens import TOKENS

PICTURES = Path(__file__).resolve().parent / "pictures"
SCREENSHOT, CALLOUTS, DIAGRAM = "run-light.png", "run-callouts.png", "how-it-works.svg"
COLOURS = TOKENS["light"]

#: Where each numbered callout of the Run page stands: left, top, width and height of its frame, pixels.
FRAMES = ((10, 152, 1412, 252), (282, 46, 1000, 72), (220, 504, 1202, 380))

#: The boxes of the diagram in a row: title, and what it holds.
CHAIN = (
    ("Tasks", ("parity, majority,", "retrieval, copying, ...")),
    ("Model", ("transformer or", "state-space model")),
    ("Checkpoints", ("weights at many", "training steps")),
    ("Test lengths", ("N, 2N, 4N, 8N", "(N: longest trained)")),
)
#: The boxes below: title, and the question that it answers.
MEASURED = (
    ("Behaviour", ("Is the answer right", "beyond N?")),
    ("Probes", ("Is the task state or", "position encoded?")),
    ("Circuits", ("Which heads", "carry the answer?")),
    ("Interventions", ("What recovers", "the accuracy?")),
)
QUESTIONS = "Scale-robust or length-coupled? Why, since which training step, and what may fix it?"
SEPARATION = "The verdict depends only on accuracy. The other measurements explain it. Theory is compared with it."
BOX, GAP, MARGIN = (166, 74), 34, 16
UPPER, LOWER, END = 16, 154, 306


def diagram() -> str:
    """The diagram as SVG: four boxes in a row, four below, theory beside them, and the answers under all."""
    width = 2 * MARGIN + 5 * BOX[0] + 4 * GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {END + 62}" role="img" '
        'font-family="Inter, Helvetica, Arial, sans-serif">',
        "<title>How LengthLens works</title>",
        f'<rect width="{width}" height="{END + 62}" fill="{COLOURS["surface"]}"/>',
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="{COLOURS["line2"]}"/></marker></defs>',
    ]
    left = [MARGIN + place * (BOX[0] + GAP) for place in range(5)]
    for place, (title, lines) in enumerate(CHAIN):
        parts.append(_box(left[place], UPPER, title, lines, COLOURS["surface"]))
        if place:
            parts.append(_arrow(left[place] - GAP, UPPER + BOX[1] / 2, left[place], UPPER + BOX[1] / 2))
    for place, (title, lines) in enumerate(MEASURED):
        parts.append(_box(left[place], LOWER, title, lines, COLOURS["tint_robust"]))
    bus = (UPPER + BOX[1] + LOWER) / 2
    parts.append(_line(left[3] + BOX[0] / 2, UPPER + BOX[1], left[3] + BOX[0] / 2, bus))
    parts.append(_line(left[0] + BOX[0] / 2, bus, left[3] + BOX[0] / 2, bus))
    parts += [_arrow(x + BOX[0] / 2, bus, x + BOX[0] / 2, LOWER) for x in left[:4]]
    parts.append(_text(left[1] + BOX[0] + GAP / 2, bus - 7, "measured at every checkpoint and length", "ink2"))
    theory = ("C-RASP programs,", "theorems and bounds:", "what is expressible,", "and up to which length?")
    parts.append(_box(left[4], UPPER, "Theory", theory, COLOURS["tint_coupled"], LOWER + BOX[1] - UPPER))
    below = LOWER + BOX[1]
    parts += [_arrow(x + BOX[0] / 2, below, x + BOX[0] / 2, END - 24) for x in left]
    parts.append(
        f'<rect x="{MARGIN}" y="{END - 24}" width="{width - 2 * MARGIN}" height="56" rx="8" '
        f'fill="{COLOURS["sunken"]}" stroke="{COLOURS["line2"]}"/>'
    )
    parts.append(_text(width / 2, END, QUESTIONS, "ink", 15, bold=True))
    parts.append(_text(width / 2, END + 20, SEPARATION, "ink2"))
    return "\n".join([*parts, "</svg>", ""])


def _box(x: float, y: float, title: str, lines: tuple[str, ...], fill: str, height: float = BOX[1]) -> str:
    middle, first = x + BOX[0] / 2, y + height / 2 - 9 * (len(lines) - 1) - 3
    return "\n".join([
        f'<rect x="{x}" y="{y}" width="{BOX[0]}" height="{height}" rx="8" fill="{fill}" stroke="{COLOURS["line2"]}"/>',
        _text(middle, first, title, "ink", 15, bold=True),
        *(_text(middle, first + 19 + 17 * number, line, "ink2") for number, line in enumerate(lines)),
    ])  # fmt: skip


def _text(x: float, y: float, text: str, colour: str, size: int = 13, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="middle" font-size="{size}" fill="{COLOURS[colour]}"{weight}>'
        f"{escape(text)}</text>"
    )


def _line(x0: float, y0: float, x1: float, y1: float, tip: str = "") -> str:
    return f'<path d="M{x0:g} {y0:g}L{x1:g} {y1:g}" fill="none" stroke="{COLOURS["line2"]}" stroke-width="1.5"{tip}/>'


def _arrow(x0: float, y0: float, x1: float, y1: float) -> str:
    return _line(x0, y0, x1, y1, ' marker-end="url(#tip)"')


def callouts() -> bytes:
    """The Run page with its three numbered frames, as PNG.

    Raises:
        SystemExit: without a Chromium.
    """
    from playwright.sync_api import sync_playwright

    browser_path = find_browser()
    if browser_path is None:
        raise SystemExit("no Chromium found: install one, or name it in the variable CHROMIUM")
    picture = base64.b64encode((PICTURES / SCREENSHOT).read_bytes()).decode()
    frames = "".join(
        f'<div class="frame" style="left:{x}px;top:{y}px;width:{width}px;height:{height}px"><b>{number}</b></div>'
        for number, (x, y, width, height) in enumerate(FRAMES, 1)
    )
    colour = COLOURS["train"]
    page = (
        f"<style>body{{margin:0;width:{SIZE[0]}px;height:{SIZE[1]}px;background:url(data:image/png;base64,{picture})}}"
        f".frame{{position:absolute;border:3px solid {colour};border-radius:10px}}"
        f".frame b{{position:absolute;right:-17px;top:-17px;width:32px;height:32px;border-radius:50%;"
        f"background:{colour};"
        "color:#fff;font:600 19px/32px Inter,Helvetica,Arial,sans-serif;text-align:center}</style>" + frames
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        tab = browser.new_context(viewport={"width": SIZE[0], "height": SIZE[1]}).new_page()
        tab.set_content(page)
        png: bytes = tab.screenshot()
        browser.close()
    return png


if __name__ == "__main__":
    (PICTURES / DIAGRAM).write_text(diagram())
    (PICTURES / CALLOUTS).write_bytes(callouts())
