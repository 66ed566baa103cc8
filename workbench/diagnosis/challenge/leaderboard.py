"""The page of the open challenge, with the leaderboard of all stored answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.core.thresholds import LEVEL_TEXT, MOST_COST, NAMING_SHARE
from workbench.diagnosis.bench.scoring import Share
from workbench.diagnosis.challenge.answer_file import EXAMPLE, read_answers
from workbench.diagnosis.challenge.budget import BUDGET
from workbench.diagnosis.challenge.errors import ChallengeError
from workbench.diagnosis.challenge.scoring import PARTS, Scores, paired_difference, score_answers
from workbench.diagnosis.challenge.truth import CAUSES, LOCATIONS, Truth, read_truth
from workbench.storage.bounded import read_bytes

ENTRIES = "entries.json"
ANSWERS = "answers"
TRUTH = "truth.json"
LARGEST = 1 << 20
"""Maximum size of the list of entries, in bytes."""
FACTS = ("about", "passes", "most_passes", "neighbours")


@dataclass(frozen=True)
class Entry:
    """One line of the leaderboard.

    Attributes:
        name: name of the method, and of its file of answers.
        about: the method in a clause.
        passes: forward passes per model: the mean, and the most for one model.
        neighbours: for a baseline, the number of neighbours for each part.
        scores: its scores.
    """

    name: str
    about: str
    passes: tuple[float, int]
    neighbours: Mapping[str, int]
    scores: Scores


def stored_entries(folder: Path) -> tuple[Truth, list[Entry]]:
    """Return the truth and the entries of a folder, best cause first.

    Raises:
        ChallengeError: for a list of entries that does not fit, or answers that do not fit.
    """
    truth = read_truth(folder / TRUTH)
    path = folder / ENTRIES
    try:
        listed: dict[str, dict[str, Any]] = json.loads(read_bytes(path, LARGEST))
        complete = all(set(facts) == set(FACTS) for facts in listed.values())
    except (OSError, ValueError, TypeError, AttributeError):
        complete = False
    if not complete:
        raise ChallengeError(f"{path} must list entries by name, each with {', '.join(FACTS)}; restore the file")
    entries = [
        Entry(
            name,
            str(facts["about"]),
            (float(facts["passes"]), int(facts["most_passes"])),
            facts["neighbours"],
            score_answers(read_answers(folder / ANSWERS / f"{name.replace(' ', '_')}.jsonl", truth.names), truth),
        )
        for name, facts in listed.items()
    ]
    return truth, sorted(entries, key=lambda entry: [-entry.scores.share(part).hits for part in PARTS])


def page(truth: Truth, entries: list[Entry]) -> str:
    """Return the page as Markdown; the same entries give the same text.

    Args:
        truth: the truth of the public split.
        entries: the entries, best first.
    """
    return "\n".join([_top(truth), _board(truth, entries), _entries(entries), _models(truth, entries)])


def _top(truth: Truth) -> str:
    return f"""# Open challenge

After this page you can test your own method of finding the cause of a failure, and compare it with others.

A *challenge* is a folder of small transformers. Each model is correct up to N, the longest trained length. Most of them
fail at a longer length n, because we planted a flaw with a known cause. Your method names three things for each model:
the cause, the location, and an intervention that recovers accuracy. The page
[Diagnosis on planted causes](diagnosis_bench.md) describes the flaws.

## Take part

```
lengthlens challenge make --seed {truth.seed} --out my_challenge
lengthlens challenge score answers.jsonl --challenge my_challenge
```

The first command takes about five seconds of CPU time per model. It also writes the true causes to
`my_challenge-truth.json`. In Python, open the models like this:

```python
from lengthlens.challenge import open_challenge

for entry in open_challenge("my_challenge").models:
    model, task = entry.load(), entry.task  # a HookedTransformer and its task
    batch = entry.draw(entry.length, 512)  # sequences of length n, with answers
    accuracy = task.correct(model(batch.tokens), batch)[:, -1].double().mean()
```

Write one line per model:

```
{EXAMPLE}
```

- `cause` is one of {_codes(CAUSES)}. The answer `none` means that the model does not fail, or that the method
  cannot decide. It is wrong if the model has a flaw.
- `location` is one of {_codes(LOCATIONS)}. [Why models fail](diagnosis.md#causes-and-locations) explains causes and
  locations.
- `intervention` is the name of an intervention, or two names joined by `and`. [Why models fail](diagnosis.md) explains
  interventions. `none` means that the method names no intervention.

A file that does not fit is refused, and the message names the line.

## Scores

- The *cause* is scored for every model.
- The *location* is scored if the planted flaw has a location.
- An *intervention* is right if it recovers at least {NAMING_SHARE:g} of the accuracy drop at n and costs at most
  {MOST_COST:g} of accuracy at N. It is scored if at least one intervention is right. Two interventions together can be
  right only if two causes were planted.

Intervals are {LEVEL_TEXT} Clopper-Pearson intervals. They treat models as independent, although models with the same
kind of flaw resemble each other.

## What is hidden, and what is not

- The folder contains weights, tasks, N and n. It does not contain causes, locations, or the seed. Models are in random
  order.
- The truth file lies next to the folder. The folder contains only its SHA-256 hash. Whoever got this folder first
  can check later that the truth was not changed.
- Whoever knows the seed can make the truth again. The seed of this public split is {truth.seed}, so its truth is no
  secret. Use the public split to develop and compare methods. To test a method of somebody else, choose a long random
  seed and keep the truth file to yourself.
- Weights are public, and most models are built by hand. Their residual stream is rotated at random, so that
  single weights do not show the flaw at first sight. Somebody who knows our source code can still find traces of a
  flaw in the weights. A task can narrow down the kind of flaw, for example if its sequences contain decoys.
- The kinds of flaws are those of our own bench. We wrote the rules of the diagnosis with the first half of this bench.
  This favors our entry.
- Each kind of flaw occurs once in the public split and once in the split from which our baselines learn. This favors
  the baselines, because they can recognize a kind that they have seen.
"""


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names[:-1]) + f" and `{names[-1]}`"


def _board(truth: Truth, entries: list[Entry]) -> str:
    healthy = sum(1 for model in truth.models if model.causes == ("none",))
    lines = [
        "## Leaderboard",
        "",
        f"The public split has {len(truth.models)} models: {len(truth.models) - healthy} with a planted flaw, and "
        f"{healthy} without one. Each cell contains the number of right answers, the share, and "
        "its interval. " + _constant_answers(truth),
        "",
        "| entry | cause | location | intervention | forward passes per model: mean (most) |",
        "|---|---|---|---|---|",
    ]
    for entry in entries:
        cells = " | ".join(_share(entry.scores.share(part)) for part in PARTS)
        passes = f"{entry.passes[0]:,.0f} ({entry.passes[1]:,})"
        lines.append(f"| {entry.name} | {cells} | {passes} |")
    best = entries[0]
    lines += [
        "",
        f"The next table compares `{best.name}` with each other entry on the same models. Each cell is the share of "
        f"right answers of `{best.name}` minus that of the entry, with its {LEVEL_TEXT} interval (Tango, paired by "
        "model). If the interval contains 0, the split is too small to rank the two entries.",
        "",
        "| compared with | cause | location | intervention |",
        "|---|---|---|---|",
    ]
    for entry in entries[1:]:
        cells = " | ".join(_difference(best, entry, part) for part in PARTS)
        lines.append(f"| {entry.name} | {cells} |")
    return "\n".join([*lines, ""])


def _constant_answers(truth: Truth) -> str:
    """How many models a method would get right that always names the same cause."""
    by_cause, count = Counter(model.causes[0] for model in truth.models), len(truth.models)
    common, most = by_cause.most_common(1)[0]
    return (
        f"For comparison: the constant answer `{common}` would name the cause of {most} of {count} models, and `none` "
        f"of {by_cause['none']}."
    )


def _difference(first: Entry, second: Entry, part: str) -> str:
    value, low, high = paired_difference(first.scores, second.scores, part)
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def _share(share: Share) -> str:
    if not share.of:
        return "not scored"
    low, high = share.ends
    return f"{share.hits} of {share.of} ({share.hits / share.of:.2f} [{low:.2f}, {high:.2f}])"


def _entries(entries: list[Entry]) -> str:
    lines = ["## Entries", ""]
    lines += [f"- `{entry.name}`: {entry.about}.{_neighbours(entry)}" for entry in entries]
    return "\n".join([
        *lines,
        "",
        f"Every entry may make {BUDGET:,} forward passes per model. The pass of one sequence counts as 1. A baseline "
        "uses at most 256 sequences of each length.",
        "",
        "A tool gives numbers, not causes. A baseline learns which numbers belong to which cause from a *tuning "
        "split*: as many other models, made with another seed, whose truth is known. Its answer for a model is the "
        "most frequent label of the most similar models of the tuning split. Similar models have similar numbers. "
        "The number of similar models is 1, 3, 5 or 7, and it is "
        "chosen for each part on the tuning split. A baseline therefore shows how much one tool and "
        "so many examples reveal about the cause. A researcher who uses this tool may find more or less.",
        "",
        "To add an entry, put its answers into `docs/challenge/answers`, and add its name to "
        "`docs/challenge/entries.json`. `python -m docs.challenge_page` prints this page. `make challenge` makes both "
        "splits, lets every method answer, and writes this page.",
        "",
    ])  # fmt: skip


def _neighbours(entry: Entry) -> str:
    if not entry.neighbours:
        return ""
    counts = ", ".join(f"{entry.neighbours[part]} for the {part}" for part in PARTS)
    return f" Number of similar models: {counts}."


def _models(truth: Truth, entries: list[Entry]) -> str:
    right = {entry.name: {score.model: score for score in entry.scores.models} for entry in entries}
    by_cause = Counter(model.causes[0] for model in truth.models)
    lines = [
        "## Right causes by planted cause",
        "",
        "Each cell counts the models whose cause was named correctly.",
        "",
        f"| entry | {' | '.join(f'{cause} ({count})' for cause, count in sorted(by_cause.items()))} |",
        "|---|" + "---|" * len(by_cause),
    ]
    for entry in entries:
        hits = Counter(model.causes[0] for model in truth.models if right[entry.name][model.model].cause)
        lines.append(f"| {entry.name} | {' | '.join(str(hits[cause]) for cause in sorted(by_cause))} |")
    return "\n".join([*lines, ""])
