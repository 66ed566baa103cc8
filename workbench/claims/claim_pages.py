"""The Markdown pages: one per suite with every row, and an index of all claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from workbench.claims.claim import KINDS, Claim, Row, Suite
from workbench.claims.claims_table import Evidence, current_evidence, judge_stored, read_evidence
from workbench.claims.labels import DEPENDS, LABELS, NOT_RUN, verdict_text
from workbench.claims.papers import PAPERS, Source
from workbench.claims.readable import (
    conditions_text,
    item_text,
    note_text,
    observation_text,
    prediction_text,
    prose,
    quantity_text,
    reason_text,
    statistic_text,
)
from workbench.claims.suites.registry import SUITES
from workbench.claims.surprises import SURPRISES, Surprise, current_surprises, drawing
from workbench.claims.typical_run import SIGN_TEST, STUDENT
from workbench.claims.verdict_rule import CAUSES, EXACT, SEVERAL, Judgement, decided_by, number
from workbench.storage.atomic import write_atomic
from workbench.storage.below import remove_file

MOST_ROWS = 12
"""Rows of a claim that its page shows; the table holds all."""
NOT_HAD = (
    "The models of the papers can have parallel attention and MLP blocks, dropout, and the parametrization muP. "
    "Our models have none of these."
)


ABOUT_RUNS = (
    "N is the longest trained length. A run is *fitted* if it solves its trained lengths. A *case* is a task with its "
    "settings and position encoding, and b0, b1 and b2 are the lengths N/2 to N, N+1 to 2N and 2N+1 to 3N."
)


def write_pages(folder: Path, requested: Collection[str] = ()) -> None:
    """Write the index, its figures and the pages of suites; the same table gives the same bytes.

    Claims without results are left out, unless the folder has results of every suite, as the folder of the
    documentation has.

    Args:
        folder: the folder of the tables.
        requested: ids of claims that are on the pages even without results.
    """
    evidence = read_evidence(folder)
    suites = _suites_of(evidence, requested)
    totals = {suite.name: len(suite.claims) for suite in SUITES.values()}
    pages = {"index.md": index_page(suites, evidence, sum(totals.values()))}
    pages |= {f"{suite.name}.md": suite_page(suite, evidence, totals[suite.name]) for suite in suites}
    drawings = figures(suites, evidence)
    for name, text in {**pages, **drawings}.items():
        write_atomic(folder, name, text.encode())
    for surprise in SURPRISES:  # a figure of what came out otherwise before
        if (name := figure_name(surprise)) not in drawings:
            remove_file(folder, name)


def _suites_of(evidence: Mapping[str, Evidence], requested: Collection[str]) -> list[Suite]:
    """The suites with results, each with the claims that have results."""
    suites = list(SUITES.values())
    computed = {name for name, stored in evidence.items() if stored.rows}
    if all(any(claim.id in computed for claim in suite.claims) for suite in suites):
        return suites
    named = computed | set(requested)
    reduced = [replace(suite, claims=tuple(c for c in suite.claims if c.id in named)) for suite in suites]
    return [suite for suite in reduced if suite.claims]


def _settled_ones(suites: Sequence[Suite]) -> list[str]:
    count = sum(bool(claim.settled) for suite in suites for claim in suite.claims)
    if not count:
        return []
    return [
        f"For {count} of these claims, we chose the "
        "statistic, the settings or a threshold when we already knew the numbers. Their pages state what was "
        "chosen. The verdicts on these claims describe what was computed, and are no tests of predictions made in "
        "advance.",
        "",
    ]


def index_page(suites: Sequence[Suite], evidence: Mapping[str, Evidence], total: int = 0) -> str:
    """Return the page with one table of all claims and their counts.

    Args:
        suites: the suites with the claims of the page.
        evidence: the stored rows.
        total: how many claims there are; if it is more than those of the page, the page states both counts.
    """
    count = sum(len(suite.claims) for suite in suites)
    partial = count < total
    left_out = f"This folder has results of {count} of {total} claims. `lengthlens reproduce --list` lists all suites."
    verdicts = {claim.id: judge_stored(claim, evidence) for suite in suites for claim in suite.claims}
    labels = [label for label in LABELS if any(judgement.verdict == label for judgement in verdicts.values())]
    lines = [
        "# Claims",
        "",
        "Papers on length generalization make the claims below. Each claim is an experiment that you can run by its "
        "name. Each page states what was computed, with which settings, and when the claim would not hold. All numbers "
        "are in `claims.parquet`.",
        "",
        "    lengthlens reproduce --list",
        "    lengthlens reproduce crasp-exact",
        "    lengthlens reproduce HE07 --again",
        "",
        *([left_out, ""] if partial else []),
        _counts(list(verdicts.values())),
        "",
        *_settled_ones(suites),
        *([*RULE_IN_WORDS, ""] if any(claim.trained for suite in suites for claim in suite.claims) else []),
        "| suite | " + " | ".join(labels) + " | all |",
        "|---|" + "---|" * (len(labels) + 1),
    ]
    for suite in suites:
        counts = Counter(verdicts[claim.id].verdict for claim in suite.claims)
        cells = [str(counts[label] or "") for label in labels]
        lines.append(f"| [{suite.name}]({suite.name}.md) | " + " | ".join(cells) + f" | {len(suite.claims)} |")
    lines += _papers(suites, partial)
    lines += _changes([claim for suite in suites for claim in suite.claims], verdicts)
    lines += _surprises(suites, evidence)
    lines += [
        "",
        "## Claims of this folder" if partial else "## All claims",
        "",
        f"The column *seeds* counts the seeds on the claim's side, with the {INTERVAL_OF_SHARE}.",
        "",
    ]
    lines += ["| claim | suite | what is claimed | verdict | seeds | observed |", "|---|---|---|---|---|---|"]
    for suite in suites:
        for claim in suite.claims:
            judgement = verdicts[claim.id]
            text = reason_text(verdict_text(claim, judgement.verdict, judgement.why))
            observed = _cell(_observed(claim, judgement, evidence))
            lines.append(
                f"| [{claim.id}]({suite.name}.md#{claim.id.lower()}) | {suite.name} | "
                f"{_cell(prediction_text(claim))} | {text} | {judgement.share or ''} | {observed} |"
            )
    return "\n".join(lines) + "\n"


INTERVAL_OF_SHARE = "exact interval of their share (Clopper-Pearson, 95 %)"
RULE_IN_WORDS = (
    "**How trained claims are decided.** Results of training differ between seeds. So a claim about training is "
    "decided by the *typical run*, the median over seeds. A run is *fitted* if it solves its trained lengths, and "
    "only fitted runs count. N is the longest trained length.",
    "",
    "- With six or more seeds the two-sided sign test decides at level 0.05. It needs 6 of 6, 7 of 7, 8 of 8, 8 of 9 "
    "or 9 of 10 seeds on one side. If the typical run lies on the threshold, the test decides in at most 5 % of draws.",
    "- With three to five seeds a t interval of the mean decides, for accuracies in logits. The verdict then names "
    "the number of seeds. If the typical run lies on the threshold, the interval decides in at most 7.5 % of draws.",
    "- With fewer than three seeds the claim is undecided. The number of seeds alone says which test applies.",
    "- A claim *depends on the seed* if the sequences of at least one seed show that it holds, and those of at least "
    "one other seed show that it does not.",
    "- A claim about several items or conditions holds if all of them do. It does not hold if one of them is shown on "
    "the other side at 0.05 divided by their number, or by twice their number for a t interval.",
    "- A number about several runs, such as a correlation, has an interval from resampling the seeds of each setting.",
    "",
    "A claim that fails here fails *at this scale*: the models of the papers are larger. Exact claims have no scale. "
    "If what we computed lies outside the range of a theorem, the verdict says so, and nothing is refuted. "
    "`runs.parquet` holds what was measured of each run.",
)


def _changes(claims: Sequence[Claim], verdicts: Mapping[str, Judgement]) -> list[str]:
    """The verdicts that the former rule decided otherwise, by former and present verdict."""
    groups: dict[tuple[str, str], list[str]] = {}
    for before in LABELS:
        for claim in claims:
            if claim.former == before and verdicts[claim.id].verdict not in (before, NOT_RUN):
                groups.setdefault((before, verdicts[claim.id].verdict), []).append(claim.id)
    if not groups:
        return []
    total = sum(map(len, groups.values()))
    lines = ["", "## Verdicts that the rule of seeds has changed", ""]
    lines += [
        "Until November 2026 the envelope of all intervals decided, and two seeds were enough where two were planned. "
        f"The rule above changed {total} of {len(verdicts)} verdicts. Each claim's page says why.",
        "",
        "| before | now | claims |",
        "|---|---|---|",
    ]
    return [*lines, *(f"| {old} | {new} | {len(names)}: {', '.join(names)} |" for (old, new), names in groups.items())]


def _papers(suites: Sequence[Suite], partial: bool) -> list[str]:
    """The papers, and how many claims each of them states and how many are our readings."""
    sources = Counter(source for suite in suites for claim in suite.claims for source in claim.sources)
    counts: Counter[tuple[str, str]] = Counter()
    for source, times in sources.items():
        counts[source.paper.key if source.paper else "", source.kind] += times
    count = counts["", "our own question"]
    own = f" No paper states the {count} questions of our own." if count else ""
    # The entries are part of the documentation, and a folder with some of the claims lies elsewhere.
    entries = "" if partial else " BibTeX entries: [references.bib](../references.bib)."
    lines = [
        "",
        "## Papers",
        "",
        "Each claim names its paper, the place in it, and who makes the claim. A *statement of the paper* is a "
        "theorem, a sentence or a published result at that place. *Our reading* is a consequence that we draw, or a "
        f"claim whose place in the paper we could not check.{own} A claim about two papers counts for both.{entries}",
        "",
        "| paper | title | identifier | statements | our readings |",
        "|---|---|---|---|---|",
    ]
    for paper in PAPERS:
        doi = f", [doi {paper.doi}](https://doi.org/{paper.doi})" if paper.doi else ""
        stated_and_read = [counts[paper.key, kind] or "" for kind in ("statement of the paper", "our reading")]
        if partial and not any(stated_and_read):
            continue
        cells = [paper.name, _cell(paper.title), f"[{paper.identifier}]({paper.url}){doi}", *map(str, stated_and_read)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _linked(source: Source) -> str:
    """A source whose paper leads to the index's table of papers and whose identifier leads to the paper."""
    paper = source.paper
    return source.text(f"[{paper.name}](index.md#papers), [{paper.identifier}]({paper.url})" if paper else "")


def figures(suites: Sequence[Suite], evidence: Mapping[str, Evidence]) -> dict[str, str]:
    """Name of the file and SVG of each figure of the index."""
    return {figure_name(each): drawing(each, rows) for each, _, rows in current_surprises(_by_id(suites), evidence)}


def figure_name(surprise: Surprise) -> str:
    """Name of the file of a surprise's figure."""
    return f"{surprise.claim.lower()}.svg"


def _by_id(suites: Sequence[Suite]) -> dict[str, Claim]:
    return {claim.id: claim for suite in suites for claim in suite.claims}


def _surprises(suites: Sequence[Suite], evidence: Mapping[str, Evidence]) -> list[str]:
    """What came out furthest from what was published, a paragraph and a figure each."""
    shown = current_surprises(_by_id(suites), evidence)
    page = {claim.id: f"{suite.name}.md#{claim.id.lower()}" for suite in suites for claim in suite.claims}
    lines = ["", "## Furthest from what was published"] if shown else []
    for surprise, text, _ in shown:
        lines += ["", f"**{surprise.title}** ([{surprise.claim}]({page[surprise.claim]})). {text}", ""]
        lines += [f"![{surprise.title}: runs here against what was published]({figure_name(surprise)})"]
    return lines


def suite_page(suite: Suite, evidence: Mapping[str, Evidence], total: int = 0) -> str:
    """Return the page with the claims of one group; if they are fewer than ``total``, the page states both counts."""
    count = len(suite.claims)
    verdicts = [judge_stored(claim, evidence) for claim in suite.claims]
    lines = [
        f"# {suite.title}",
        "",
        f"    lengthlens reproduce {suite.name}",
        "",
        *([f"This page has {count} of {total} claims of the suite.", ""] if count < total else []),
        _counts(verdicts),
        "",
        *([NOT_HAD, "", ABOUT_RUNS, ""] if any(claim.trained for claim in suite.claims) else []),
        "The page [Claims](index.md) explains the verdicts and the columns.",
        "",
        "| claim | verdict | seeds on the claim's side | observed |",
        "|---|---|---|---|",
        *(
            f"| [{claim.id}](#{claim.id.lower()}) | "
            f"{reason_text(verdict_text(claim, judgement.verdict, judgement.why))} | "
            f"{judgement.share or ''} | {_cell(_observed(claim, judgement, evidence))} |"
            for claim, judgement in zip(suite.claims, verdicts, strict=True)
        ),
    ]
    for claim, judgement in zip(suite.claims, verdicts, strict=True):
        stored = current_evidence(claim, evidence)
        lines += _section(claim, judgement, stored.rows if stored else ())
    return "\n".join(lines) + "\n"


def _section(claim: Claim, judgement: Judgement, rows: Sequence[Row]) -> list[str]:
    facts = {
        "Claimed": prediction_text(claim),
        "Source": "; ".join(map(_linked, claim.sources)),
        "Kind": KINDS[claim.kind],
        "Measured": statistic_text(claim),
        "Settings": prose(claim.scale),
        "Settings tried": str(claim.settings_tried) if claim.trained else "",
        "Holds if": conditions_text(claim),
        "Verdict": f"**{judgement.verdict}**" + (f" ({reason_text(judgement.why)})" if judgement.why else ""),
        "Observed": observation_text(judgement, rows),
        "Runs": f"{judgement.fitted} of {judgement.seeds} solve the trained lengths" if judgement.seeds else "",
        "Seeds on the claim's side": str(judgement.share or ""),
        "Outside the theorem's range": prose(claim.outside),
        "Note": note_text(claim),
        "Chosen when the numbers were known": prose(claim.settled),
        "Run it": f"`lengthlens reproduce {claim.id}`",
    }
    lines = ["", f"## {claim.id}", "", *(f"- {name}: {text}" for name, text in facts.items() if text)]
    return [*lines, *_rows(rows)]


def _observed(claim: Claim, judgement: Judgement, evidence: Mapping[str, Evidence]) -> str:
    """The decisive numbers of a claim in words."""
    stored = current_evidence(claim, evidence)
    return observation_text(judgement, stored.rows if stored else ())


def _rows(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    columns = {
        "case": lambda r: item_text(r.item),
        "quantity": lambda r: quantity_text(r.quantity),
        "value": lambda r: number(r.value) if r.has_value else "none",
        "95 %": _limits,
        "expected": lambda r: "" if r.expected is None else number(r.expected),
        "seed": lambda r: "" if r.seed is None else str(r.seed),
        "n": lambda r: "" if r.n is None else f"{r.n:,}",
        "fitted runs": lambda r: "" if r.planned is None else f"{r.entered or 0} of {r.planned}",
    }
    if len({(row.entered, row.planned) for row in rows}) == 1:
        del columns["fitted runs"]  # the section's line *Runs* says it
    cells = {name: [_cell(of(row)) for row in rows[:MOST_ROWS]] for name, of in columns.items()}
    shown = [name for name, values in cells.items() if any(values)]
    lines = ["", "| " + " | ".join(shown) + " |", "|" + "---|" * len(shown)]
    lines += ["| " + " | ".join(values) + " |" for values in zip(*(cells[name] for name in shown), strict=True)]
    more = len(rows) - MOST_ROWS
    return [*lines, *(["", f"More rows of this claim in `claims.parquet`: {more:,}."] if more > 0 else [])]


def _limits(row: Row) -> str:
    """The interval of a row; nothing where it has none."""
    if row.low is None or row.high is None or math.isinf(row.high - row.low):
        return ""
    return f"{number(row.low)} to {number(row.high)}"


TESTS = {
    SIGN_TEST: "by six or more seeds (sign test)",
    STUDENT: "by three to five seeds (t interval)",
    SEVERAL: "by numbers about several runs",
    DEPENDS: "by single seeds that disagree",
    EXACT: "by exact numbers",
}


def _counts(judgements: Sequence[Judgement]) -> str:
    verdicts = Counter(j.verdict for j in judgements)
    summary = ", ".join(f"{verdicts[label]} *{label}*" for label in LABELS if verdicts[label])
    tests, causes = decided_by(judgements), Counter(str(j.cause) for j in judgements)
    decided = ", ".join(f"{tests[name]} {text}" for name, text in TESTS.items() if tests[name])
    total = f"{tests.total()} claims are" if tests.total() != 1 else "1 claim is"
    rest = f" {total} decided: {decided}." if decided else " No claim is decided."
    because = ", ".join(f"{causes[cause]} with {text}" for cause, text in CAUSES.items() if causes[cause])
    noun = "claim" if len(judgements) == 1 else "claims"
    return f"{len(judgements)} {noun}: {summary}.{rest}" + (f" Reasons for undecided: {because}." if because else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
