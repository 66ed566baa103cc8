"""The claims whose outcome is furthest from what was published: a paragraph and a figure each, made from their rows.

They were chosen by hand among the decided claims, with their numbers known; the texts state what is not ruled out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from workbench.claims.claim import Claim, Row
from workbench.claims.claims_table import Evidence, current_evidence, judge_stored
from workbench.claims.verdict_rule import Judgement, number


@dataclass(frozen=True)
class Surprise:
    """A claim that came out otherwise.

    Attributes:
        claim: its id.
        title: what came out, in a few words.
        template: the paragraph; ``{quantity}`` becomes the least and the greatest value of that quantity over runs, and
            ``{fitted}`` how many runs solve the trained lengths.
        published: quantity -> what the paper has, for the figure.
        names: quantity -> its name in the figure.
        mark: what the figure calls the paper's number.
        verdict: the verdict that the paragraph assumes; with another verdict the paragraph is not shown.
    """

    claim: str
    title: str
    template: str
    published: Mapping[str, float]
    names: Mapping[str, str]
    mark: str = "published"
    verdict: str = "does not hold at this scale"


SURPRISES = (
    Surprise(
        "HA09", "Learned positions do not carry copying past N",
        "Copying of distinct symbols with learned positions and random offsets is the case in which theory and paper "
        "agree on success: published accuracy is 99.9 % over (N, 2N]. Here runs that answer their trained lengths "
        "({fitted}) copy {b1} of the strings over (N, 2N] exactly. The seeds agree, so chance does not explain the "
        "difference. Scale may explain it: N is 17 here and 50 in the paper, and training takes 8,000 updates. These "
        "runs do not copy by induction: removing it costs no accuracy at N ([BA03](asymmetry.md#ba03)). A rule for all "
        "lengths exists, but short strings do not teach it.",
        {"b1": 0.999}, {"b1": "right over (N, 2N]"},
    ),
    Surprise(
        "HF04", "Without positions, Tomita 4 holds where the paper reports a failure",
        "A model must notice three zeros in a row. Theory says that no model without positions can do this at all "
        "lengths. Published accuracy falls to 16.5 % over (N, 2N] and to 0 beyond. Here every prefix is correct in "
        "{b1 every prefix} of the strings over (N, 2N], and in {b2 every prefix} over (2N, 3N] ({fitted}). Accuracy "
        "falls later, at a length that differs between seeds. Two ranges of lengths cannot distinguish a rule from a "
        "good approximation of it.",
        {"b1 every prefix": 0.165, "b2 every prefix": 0.0},
        {"b1 every prefix": "right over (N, 2N]", "b2 every prefix": "right over (2N, 3N]"},
    ),
    Surprise(
        "HF35", "A language outside the class beats one inside it",
        "If the languages inside the class generalize and those outside do not, then the worst language inside is "
        "better than the best one outside: the separation is above 0. Here the separation is {separation}. The "
        "language (aaaa)* with learned positions, which is inside, is correct on fewer strings over (N, 2N] than "
        "{{0,1,2}}*02* without positions, which is outside. The class states what can be learned for all lengths, and "
        "does not order languages at one scale.",
        {"separation": 0.0}, {"separation": "inside less outside"}, mark="claimed: above this",
    ),
)  # fmt: skip


def current_surprises(
    claims: Mapping[str, Claim], evidence: Mapping[str, Evidence]
) -> list[tuple[Surprise, str, Sequence[Row]]]:
    """Return the surprising results whose rows exist and have the assumed verdict, each with its text and the rows of
    its figure.
    """
    surprises: list[tuple[Surprise, str, Sequence[Row]]] = []
    for surprise in SURPRISES:
        claim = claims.get(surprise.claim)
        stored = current_evidence(claim, evidence) if claim else None
        if claim is None or stored is None or (judgement := judge_stored(claim, evidence)).verdict != surprise.verdict:
            continue
        rows = [row for row in stored.rows if row.quantity in surprise.published]
        surprises.append((surprise, paragraph(surprise, rows, judgement), rows))
    return surprises


def paragraph(surprise: Surprise, rows: Sequence[Row], judgement: Judgement) -> str:
    """Return the text about a surprising result, with the numbers of its rows inserted."""
    spans = {name: span([row for row in rows if row.quantity == name]) for name in surprise.published}
    return surprise.template.format(**spans, fitted=f"{judgement.fitted} of {judgement.seeds} seeds fitted")


def span(rows: Sequence[Row]) -> str:
    """The least and the greatest value; of one row its value and interval."""
    values = sorted(row.value for row in rows)
    if len(rows) == 1 and rows[0].low is not None and rows[0].high is not None:
        return f"{short(values[0])} [{short(rows[0].low)}, {short(rows[0].high)}]"
    return short(values[0]) if short(values[0]) == short(values[-1]) else f"{short(values[0])} to {short(values[-1])}"


def short(value: float) -> str:
    """Format a number with two decimals and a true minus sign."""
    return f"{value:.2f}".replace("-", "\u2212")


# ---- the figure -----------------------------------------------------------------------------------------
WIDTH, LINE, LEFT, RIGHT, TOP = 640, 22, 190, 30, 34
INK, SOFT, BLUE, RED = "#1f2933", "#6b7785", "#1f6feb", "#c2185b"


def drawing(surprise: Surprise, rows: Sequence[Row]) -> str:
    """An SVG: a line per run with its interval, and what was published as a diamond above each quantity."""
    limits = [end for row in rows for end in (row.value, row.low, row.high) if end is not None]
    low, high = -1.0 if min(limits) < 0 else 0.0, 1.0

    def across(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    height = TOP + LINE * len(rows) + 26
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{escape(surprise.title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<circle cx="{LEFT + 4}" cy="14" r="4" fill="{BLUE}"/>'
        f'<text x="{LEFT + 14}" y="18" fill="{INK}">a run here, 95 %</text>',
        f'<path d="{_diamond(LEFT + 144, 14)}" fill="none" stroke="{RED}" stroke-width="1.5"/>'
        f'<text x="{LEFT + 154}" y="18" fill="{INK}">{surprise.mark}</text>',
    ]
    bottom = TOP + LINE * len(rows)
    for tick in sorted({low, 0.0, 0.5, 1.0}):
        x = across(tick)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}" stroke="#d7dce1"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" fill="{SOFT}" text-anchor="middle">{number(tick)}</text>')
    for index, row in enumerate(rows):
        y = TOP + LINE * (index + 0.5)
        name = surprise.names[row.quantity] if index == 0 or rows[index - 1].quantity != row.quantity else ""
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4:.1f}" fill="{INK}" text-anchor="end">{escape(name)}</text>')
        if row.low is not None and row.high is not None:
            x1, x2 = across(row.low), across(row.high)
            ends = f'x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:.1f}" y2="{y:.1f}"'
            parts.append(f'<line {ends} stroke="{BLUE}" stroke-width="2"/>')
        parts.append(f'<circle cx="{across(row.value):.1f}" cy="{y:.1f}" r="4" fill="{BLUE}"/>')
        x = across(surprise.published[row.quantity])
        parts.append(f'<path d="{_diamond(x, y)}" fill="none" stroke="{RED}" stroke-width="1.5"/>')
    return "\n".join([*parts, "</svg>", ""])


def _diamond(x: float, y: float, size: float = 6) -> str:
    return f"M{x:.1f} {y - size:.1f}L{x + size:.1f} {y:.1f}L{x:.1f} {y + size:.1f}L{x - size:.1f} {y:.1f}Z"
