"""The page of the bench: targets compared with results, and every kind with its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workbench.core.thresholds import LEVEL_TEXT
from workbench.diagnosis.bench.members import PER_KIND
from workbench.diagnosis.bench.plants import KINDS
from workbench.diagnosis.bench.scoring import (
    OUTCOMES,
    TARGETS,
    BenchRow,
    Share,
    confusion,
    drop_too_small,
    entry_right,
    kind_of,
    of_group,
    outcome,
    reaches_target,
    share,
    site_right,
    true,
)

TOP = """# The bench of known causes

After this page you know how often a [diagnosis](diagnosis.md) names the right cause and location, and where it fails.

The bench tests the diagnosis on models whose cause of failure is known. A *member* of the bench is a model that answers
correctly at every length. We change one or two of its numbers (a *flaw*), so that the model fails beyond N = 32, the
longest trained length.

- The strength of the flaw is chosen so that accuracy drops by 0.22 to 0.48. The diagnosis plays no part in this choice.
- We check each flaw: removing it must recover at least 0.8 of the accuracy drop.
- In the `joint` kinds, which have two flaws with different causes, removing only one flaw must recover at most half of
  the drop.
- Members that fail these checks, or that answer incorrectly at N, are excluded before the diagnosis counts.

A *kind* is a way of planting a flaw. Members of each kind come in pairs with about the same accuracy drop. One member
of a pair belongs to the first half of the bench, on which thresholds may be chosen. The other one belongs to the second
half. All members of three kinds are in the second half; these kinds are *held out*.

The correct labels of each kind were written down before any of its members was diagnosed. In some kinds two locations
cannot be distinguished by any intervention on the residual stream. An example is an offset in the representation of the
answer, and the same offset in the read-out. Both locations then count as correct.

The labels are those of [Why models fail](diagnosis.md). The causes are `position` (position encoding), `keys` (number
of attended tokens), `content` (input content), `steps` (recurrence depth) and `joint` (two causes). The locations are:

- `selection`: a head attends to wrong keys.
- `dispersion`: attention to the right keys thins out.
- `code`: the representation of the answer moves.
- `read-out`: the answer is represented, but the output misses it.
- `lost`: the answer is lost before the end of a block.

## What changed after members were seen

- The intervention `T.slow`, which slows the steps of a recurrent state, was added after a member of the first half that
  forgets its state had been diagnosed. No earlier intervention tested this cause.
- A first rule for the location was chosen on 19 members of the first half. It was right for 50 of 75 members of the
  second half.
- The present rule was then chosen on the first half, by somebody who knew which kinds of the second half were wrong.

Therefore, after all rules were fixed, we made as many members again with other random numbers, and diagnosed them once.
The column *drawn afterwards* shows these members. The table of targets compares this column with the targets.

## Kinds that were added later

Six kinds were added later. Their models have a head that finds the previous token by its vector in the position table
(its *row*). In four of these kinds the head is *soft*: about half of its attention goes to other tokens. Position
interventions repeat position ids, and repeated ids break these soft heads at N as well. So no position intervention is
applicable.

The first rules diagnosed such models as `content` with grade *strong*, or as `keys`. The present rules are stricter:

- The cause is `content` only if a position intervention was applicable and failed.
- The cause is `keys` only if a position intervention was applicable.
- Otherwise the label is `position or content` or `position or keys`. The tables count both labels as undecided.

We applied the present rules to the stored results, without running any diagnosis again. Six diagnoses of the first
kinds changed from `content` to `position or content`. In each of these six, a position intervention recovers at least
0.95 of the drop, and its control at least 0.69. Seventeen diagnoses of two later kinds changed from `keys` to `position
or keys`. The rule for `keys` was written after these wrong diagnoses were known. It is therefore not independent of
these kinds.

The attention score of the soft heads was chosen before any of them was diagnosed. The criteria were accuracy at N, and
the cost of interventions at N. In a first design, all position vectors beyond N were mixed with others, and the
proportion of the mixture set the accuracy drop. Seven of the 8 soft heads of that design were diagnosed as `keys` when
the kinds with completely changed vectors were added. Both designs stay on the bench.

To train and diagnose all members again:

    make diagnosis-bench
"""


def page(rows: Sequence[BenchRow]) -> str:
    """Return the page as Markdown; the same rows give the same text."""
    parts = [TOP, _targets(rows), _old_and_new(rows), _kinds(rows), _confusion(rows), _thrown_out(rows)]
    return "\n".join(parts)


TOLD = {"first": "first half", "second": "second half", "afterwards": "drawn afterwards"}
"""Group of members -> its name on the page, in the order of the columns."""
JUDGED = "afterwards"
"""The group that is compared with the targets."""


def _targets(rows: Sequence[BenchRow]) -> str:
    lines = [
        "## Targets",
        "",
        f"| what | target | {' | '.join(TOLD.values())} | {LEVEL_TEXT} interval | reached |",
        "|---|---|" + "---|" * (len(TOLD) + 2),
    ]
    for target in TARGETS:
        shares = {group: share(of_group(rows, group), target) for group in TOLD}
        judged = shares[JUDGED]
        bound = f"{'at most' if target.below else 'at least'} {target.bound:g}"
        verdict = {True: "yes", False: "no", None: "too few members"}[reaches_target(target, judged)]
        ends = f"{judged.ends[0]:.2f} to {judged.ends[1]:.2f}" if judged.of else ""
        cells = " | ".join(_share_text(one) for one in shares.values())
        lines.append(f"| {target.name} | {bound} | {cells} | {ends} | {verdict} |")
    return "\n".join([*lines, ""])


def _old_and_new(rows: Sequence[BenchRow]) -> str:
    """Return the outcomes for single plants: of the first kinds, of the later kinds, and of all."""
    own = [row for row in of_group(rows, JUDGED) if true(row) and kind_of(row).role == "single"]
    groups = [[row for row in own if not kind_of(row).later], [row for row in own if kind_of(row).later], own]
    counts = [Counter(filter(None, map(outcome, group))) for group in groups]
    lines = [
        "## First kinds and later kinds",
        "",
        f"The table covers the members with one planted flaw that were {TOLD[JUDGED]}. The later kinds were added "
        "after the results of the first kinds were published.",
        "",
        "| outcome | first kinds | later kinds | all kinds |",
        "|---|---|---|---|",
    ]
    for name in OUTCOMES:
        lines.append(f"| {name} | {' | '.join(_share_text(Share(found[name], found.total())) for found in counts)} |")
    sites = [[said for row in group if (said := site_right(row)) is not None] for group in groups]
    lines.append(f"| right location | {' | '.join(_share_text(Share(sum(said), len(said))) for said in sites)} |")
    return "\n".join([*lines, ""])


def _kinds(rows: Sequence[BenchRow]) -> str:
    columns = [f"{what}, {name}" for what in ("cause", "location") for name in TOLD.values()]
    lines = [
        "## Kinds",
        "",
        "Each count is the number of correct diagnoses, of all members whose flaw passed its check and whose accuracy "
        "drop is at least 0.2. A kind that is held out has no first half. A cell is empty if the kind has no correct "
        "location.",
        "",
        "In most kinds the model must find one token, the *write*, and report its bit. K is the number of keys. In the "
        "kinds with *counter*, the model decides which of two symbols is more frequent.",
        "",
        f"| kind | planted flaw | right cause | right location | {' | '.join(columns)} |",
        "|---|---|---|---|" + "---|" * len(columns),
    ]
    for kind in KINDS:
        own = [row for row in rows if row["kind"] == kind.name and true(row)]
        cells = []
        for right in (entry_right, site_right):
            for group in TOLD:
                said = [one for row in of_group(own, group) if (one := right(row)) is not None]
                cells.append(
                    "held out" if kind.held_out and group == "first" else _share_text(Share(sum(said), len(said)))
                )
        entries = " or ".join(kind.entries) if kind.role != "healthy" else "none"
        name = f"`{kind.name}`{' (held out)' if kind.held_out else ' (later)' if kind.later else ''}"
        sites = " or ".join(kind.sites)
        lines.append(f"| {name} | {kind.about} | {entries} | {sites} | {' | '.join(cells)} |")
    remarks = [f"- `{kind.name}`: {kind.remark}" for kind in KINDS if kind.remark]
    return "\n".join([*lines, "", *remarks, ""])


def _confusion(rows: Sequence[BenchRow]) -> str:
    blocks = []
    for column, title, what in (("entry", "Causes", "cause"), ("site", "Locations", "location")):
        counts_by_kind = confusion(of_group(rows, JUDGED), column)
        labels = sorted({label for counts in counts_by_kind.values() for label in counts})
        lines = [f"## {title} in the diagnoses, {TOLD[JUDGED]}", ""]
        lines += [f"Each number counts the members of a kind whose diagnosis has this label as its {what}.", ""]
        lines += [f"| kind | {' | '.join(labels)} |"]
        lines.append("|---|" + "---|" * len(labels))
        for kind in KINDS:
            if kind.name in counts_by_kind:
                cells = [str(counts_by_kind[kind.name][label] or "") for label in labels]
                lines.append(f"| `{kind.name}` | {' | '.join(cells)} |")
        blocks.append("\n".join([*lines, ""]))
    return "\n".join(blocks)


def _thrown_out(rows: Sequence[BenchRow]) -> str:
    out = [row for row in rows if not true(row)]
    few = [row for row in rows if true(row) and drop_too_small(row)]
    lines = ["## Excluded members", "", f"We made {len(rows)} members and excluded {len(out)} of them, by kind:", ""]
    lines += [f"- `{kind}`: {count}" for kind, count in sorted(Counter(row["kind"] for row in out).items())]
    lines += [
        "",
        f"In {len(few)} other members, accuracy drops by less than 0.2 on the sequences of the diagnosis, which then "
        "names no cause:",
        "",
    ]
    lines += [f"- `{kind}`: {count}" for kind, count in sorted(Counter(row["kind"] for row in few).items())]
    held = sorted({f"`{row['kind']}`" for row in rows if kind_of(row).held_out})
    return "\n".join([*lines, "", f"Kinds that are held out completely: {', '.join(held)}.", ""])


def _share_text(found: Share) -> str:
    if not found.of:
        return ""
    told = f"{found.hits} of {found.of}"
    return f"{told} ({found.hits / found.of:.2f})" if found.of > PER_KIND else told
