"""The Markdown pages: one per suite with every row, and an index of all claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.claims.claim import KINDS, Claim, Row, Suite
from workbench.claims.claims_table import Evidence, current, judged, read_evidence
from workbench.claims.judging import CAUSES, LABELS, Judgement, chance, number, verdict_text
from workbench.claims.suites.registry import SUITES
from workbench.claims.surprises import drawing, told
from workbench.storage.atomic import replacing

MOST_ROWS = 12
"""Rows of a claim that its page shows; the table holds all."""
NOT_HAD = (
    "The models of the papers can have parallel attention and MLP blocks, dropout, and the parametrization muP; ours "
    "have none of these."
)


def write_pages(folder: Path) -> None:
    """Write the index, its figures and the page of every suite; the same table gives the same bytes."""
    evidence = read_evidence(folder)
    suites = list(SUITES.values())
    pages = {"index.md": index_page(suites, evidence)} | {f"{s.name}.md": suite_page(s, evidence) for s in suites}
    for name, text in {**pages, **figures(suites, evidence)}.items():
        with replacing(folder / name) as stream:
            stream.write(text.encode())


def index_page(suites: Sequence[Suite], evidence: Mapping[str, Evidence]) -> str:
    """One table of all claims, with counts."""
    verdicts = {claim.id: judged(claim, evidence) for suite in suites for claim in suite.claims}
    lines = [
        "# Claims",
        "",
        "What papers on length generalization claim, as experiments that run by name. Each page tells what was "
        "computed, from which settings, and when the claim would not hold. All numbers are in `claims.parquet`.",
        "",
        "    lengthlens reproduce --list",
        "    lengthlens reproduce crasp-exact",
        "",
        _counts(list(verdicts.values())),
        "",
        f"{sum(bool(c.settled) for suite in suites for c in suite.claims)} of these claims had their statistic, "
        "their settings or a threshold settled with their numbers known: each says what. Their verdicts say that the "
        "claim is true of what was computed, not that a prediction made in advance came true.",
        "",
        "A claim about trained models is decided by runs that are shown to be fitted on their trained "
        "lengths, three at least: by the whole envelope of their intervals, from the least lower limit to the "
        "greatest upper one. Where that lies on both sides of a threshold the claim is undecided, and says "
        "whether too few runs were fitted, the seeds differ, or one interval holds the threshold. A claim "
        "that fails here fails at this scale: the papers' models are larger. What was measured of each run is "
        "in `runs.parquet`; nothing else is needed to go on.",
        "",
        "| suite | " + " | ".join(LABELS) + " | all |",
        "|---|" + "---|" * (len(LABELS) + 1),
    ]
    for suite in suites:
        found = Counter(verdicts[claim.id].verdict for claim in suite.claims)
        cells = [str(found[label] or "") for label in LABELS]
        lines.append(f"| [{suite.name}]({suite.name}.md) | " + " | ".join(cells) + f" | {len(suite.claims)} |")
    lines += _surprises(suites, evidence)
    lines += ["", "| claim | suite | what is claimed | verdict | observed |", "|---|---|---|---|---|"]
    for suite in suites:
        for claim in suite.claims:
            said = verdicts[claim.id]
            lines.append(
                f"| [{claim.id}]({suite.name}.md#{claim.id.lower()}) | {suite.name} | {_cell(claim.prediction)} | "
                f"{verdict_text(claim, said)} | {_cell(said.observation)} |"
            )
    return "\n".join(lines) + "\n"


def figures(suites: Sequence[Suite], evidence: Mapping[str, Evidence]) -> dict[str, str]:
    """Name of the file and SVG of each figure of the index."""
    return {f"{one.claim.lower()}.svg": drawing(one, rows) for one, _, rows in told(_by_id(suites), evidence)}


def _by_id(suites: Sequence[Suite]) -> dict[str, Claim]:
    return {claim.id: claim for suite in suites for claim in suite.claims}


def _surprises(suites: Sequence[Suite], evidence: Mapping[str, Evidence]) -> list[str]:
    """What came out furthest from what was published, a paragraph and a figure each."""
    found = told(_by_id(suites), evidence)
    page = {claim.id: f"{suite.name}.md#{claim.id.lower()}" for suite in suites for claim in suite.claims}
    lines = ["", "## Furthest from what was published"] if found else []
    for one, text, _ in found:
        lines += ["", f"**{one.title}** ([{one.claim}]({page[one.claim]})). {text}", ""]
        lines += [f"![{one.title}: runs here against what was published]({one.claim.lower()}.svg)"]
    return [*lines, "", "## All claims"] if found else lines


def suite_page(suite: Suite, evidence: Mapping[str, Evidence]) -> str:
    """Everything about the claims of one suite."""
    verdicts = [judged(claim, evidence) for claim in suite.claims]
    lines = [
        f"# {suite.title}",
        "",
        f"    lengthlens reproduce {suite.name}",
        "",
        _counts(verdicts),
        "",
        *([NOT_HAD, ""] if any(claim.trained for claim in suite.claims) else []),
        "| claim | verdict | observed |",
        "|---|---|---|",
        *(
            f"| [{claim.id}](#{claim.id.lower()}) | {verdict_text(claim, said)} | {_cell(said.observation)} |"
            for claim, said in zip(suite.claims, verdicts, strict=True)
        ),
    ]
    for claim, said in zip(suite.claims, verdicts, strict=True):
        found = current(claim, evidence)
        lines += _section(claim, said, found.rows if found else ())
    return "\n".join(lines) + "\n"


def _section(claim: Claim, said: Judgement, rows: Sequence[Row]) -> list[str]:
    facts = {
        "Claimed": claim.prediction,
        "Source": claim.source,
        "Kind": KINDS[claim.kind],
        "Measured": claim.statistic,
        "Settings": claim.scale,
        "Settings tried": str(claim.settings_tried) if claim.trained else "",
        "Holds if": claim.holds_if,
        "Verdict": f"**{said.verdict}**" + (f" ({said.why})" if said.why else ""),
        "Observed": said.observation,
        "Runs": f"{said.fitted} of {said.seeds} fitted" if said.seeds else "",
        "Beside": claim.note,
        "Settled with the numbers known": claim.settled,
        "Run it": f"`lengthlens reproduce {claim.id}`",
    }
    lines = ["", f"## {claim.id}", "", *(f"- {name}: {text}" for name, text in facts.items() if text)]
    return [*lines, *_rows(rows)]


def _rows(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    columns = {
        "of": lambda r: r.item,
        "quantity": lambda r: r.quantity,
        "value": lambda r: number(r.value),
        "95 %": lambda r: "" if r.low is None or r.high is None else f"{number(r.low)} to {number(r.high)}",
        "expected": lambda r: "" if r.expected is None else number(r.expected),
        "seed": lambda r: "" if r.seed is None else str(r.seed),
        "n": lambda r: "" if r.n is None else f"{r.n:,}",
        "fitted": lambda r: "" if r.planned is None else f"{r.entered or 0} of {r.planned}",
    }
    if len({(row.entered, row.planned) for row in rows}) == 1:
        del columns["fitted"]  # the section's line *Runs* says it
    cells = {name: [_cell(of(row)) for row in rows[:MOST_ROWS]] for name, of in columns.items()}
    shown = [name for name, values in cells.items() if any(values)]
    lines = ["", "| " + " | ".join(shown) + " |", "|" + "---|" * len(shown)]
    lines += ["| " + " | ".join(values) + " |" for values in zip(*(cells[name] for name in shown), strict=True)]
    more = len(rows) - MOST_ROWS
    return [*lines, *(["", f"and {more:,} more rows, in `claims.parquet`"] if more > 0 else [])]


def _counts(judgements: Sequence[Judgement]) -> str:
    found = Counter(j.verdict for j in judgements)
    told = ", ".join(f"{found[label]} {label}" for label in LABELS if found[label])
    luck = chance(judgements)
    rest = (
        f"{luck.by_interval} of the {luck.decided} decided ones rest on intervals at 95 %; by chance alone at most "
        f"{luck.false_by_chance:.1f} of them would be decided wrongly"
        if luck.by_interval
        else f"all {luck.decided} decided ones are exact"
        if luck.decided > 1
        else "the one that is decided is exact"
        if luck.decided
        else "none is decided"
    )
    causes = Counter(str(j.cause) for j in judgements)
    because: dict[str, str] = {
        "fit": "too few runs fitted",
        "seeds": "seeds on both sides",
        "threshold": "at the threshold",
    }
    open_ones = ", ".join(f"{causes[cause]} by {because[cause]}" for cause in CAUSES if causes[cause])
    undecided = f" Undecided: {open_ones}." if open_ones else ""
    return f"{len(judgements)} claims: {told}. {rest[0].upper()}{rest[1:]}.{undecided}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
