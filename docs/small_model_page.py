"""docs/small_model.md, its figure and its rows: ``python docs/small_model_page.py ROOT PAGE``.

ROOT holds the text (``docs/small_model_text.py``) and the runs: the positive control at three learning rates, and the
small language model. Each is trained and measured where it is not yet, so the same command goes on where it was cut
off. The page tells of the training that there is, and how much of it is missing; ``--gallery DIR`` packs the rows of
the language model, without weights, into DIR.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from other_machines_table import one, pick
from plateau_figure import photograph
from plotly.subplots import make_subplots
from small_model_text import PACKAGES

from workbench.runs.adoption.rows_only import write_rows_only
from workbench.runs.run import Run
from workbench.table import Table

HERE = Path(__file__).parent
CONTROL = "docs/small_model_control.py"
RATES = ("0.003", "0.001", "0.0003")
"""Learning rates of the control, all of which are told."""
FORMED = 0.3
"""The score from which a head counts as formed; stated with the recipe, before anything was trained."""
KINDS = {"previous_token": "previous-token head", "induction": "induction head"}
BEGUN = 0.1
"""The score from which it is told what is left of it at other lengths."""
MODEL = "the small language model of make small-model"
STEPS, TOKENS = 14_650, 4096
"""Updates that the recipe asks for, and tokens of each."""
TRAINED = 256
LENGTHS = (64, 128, 256, 512, 1024)
LAWS = ("uniform", "unigram", "passages")
SEQUENCES = 64
CHECKPOINTS = (
    *(50, 100, 150, 250, 400, 600, 900, 1300, 1800, 2400, 3100, 3900),
    *(4800, 5800, 7000, 8300, 9800, 11400, 13000),
)
MEASURED = ("behaviour", "behaviour.copies", "circuits.repeats", "circuits.heads", "circuits.hardmax")


def control_options(rate: str) -> list[str]:
    """Options of ``lengthlens train`` for the control at a learning rate."""
    size = ["--layers", "2", "--heads", "4", "--d-model", "64", "--steps", "1500", "--batch-size", "32"]
    often = ["--set", "training.checkpoints.log=0", "--set", "training.checkpoints.linear=5"]
    return ["--lengths", "64-64", "--positions", "rotary", *size, "--learning-rate", rate, *often]


def model_options(root: Path) -> list[str]:
    """Options of ``lengthlens train`` for the language model, whose text lies below ROOT."""
    text = ["--set", f"task.folder={root.as_posix()}/text", "--set", "task.most=64"]
    often = ["--set", "training.checkpoints.log=0", "--set", "training.checkpoints.linear=0"]
    named = ["--set", f"training.checkpoints.at=[{','.join(map(str, CHECKPOINTS))}]"]
    rate = ["--learning-rate", "0.003", "--set", "training.warmup=200"]
    return ["--layers", "2", "--heads", "4", *rate, *text, *often, *named]


def made(root: Path) -> None:
    """Text, runs and measurements, as far as they are not there."""
    if not (root / "text").is_dir():
        _run([sys.executable, str(HERE / "small_model_text.py"), str(root / "text")])
    for rate in RATES:
        out = str(root / f"control-{rate}")
        _lens("train", f"{CONTROL}:RepeatedTokens", "--out", out, *control_options(rate))
        laws = ["--set", 'circuits.repeats.token_laws=["uniform"]', "--set", 'behaviour.copies.token_laws=["uniform"]']
        only = ["--only", "circuits.repeats", "--only", "behaviour.copies", *laws]
        _lens("measure", out, "--trust-code", CONTROL, *only, "--lengths", "64,128,256", "--executor", "serial")
    _lens("train", "next_token", "--out", str(root / "run"), *model_options(root))
    measured(root / "run")


def measured(run: Path) -> None:
    """Measure what is there of the language model."""
    only = [part for name in MEASURED for part in ("--only", name)]
    lengths = ",".join(map(str, LENGTHS))
    _lens("measure", str(run), *only, "--lengths", lengths, "--sequences", str(SEQUENCES), "--executor", "serial")


def _lens(*command: str) -> None:
    _run([sys.executable, "-m", "lengthlens", *command])


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True)


# ---- what the rows say -----------------------------------------------------------------------------
def value(frame: pd.DataFrame, **where: Any) -> float:
    """The value of the one row in which columns have these values."""
    return float(one(frame, **where)["value"])


def best_heads(frame: pd.DataFrame, quantity: str, length: int, law: str) -> pd.DataFrame:
    """At each step the head with the highest value at a length: a row a step, ascending."""
    rows = pick(frame, quantity=quantity, length=length, mode=law, status="ok")
    return rows.loc[rows.groupby("step")["value"].idxmax()].sort_values("step")


def formed_at(frame: pd.DataFrame, quantity: str, law: str) -> int | None:
    """The first step whose best head reaches :data:`FORMED` at N, the lower end of its interval too; None if none."""
    best = best_heads(frame, quantity, TRAINED, law)
    steps = best[best["low"] >= FORMED]["step"]
    return None if steps.empty else int(steps.iloc[0])


def followed(frame: pd.DataFrame, quantity: str, law: str) -> tuple[str, pd.DataFrame]:
    """The head that is best at N at the last step, by name, and its values at every step and length."""
    last = best_heads(frame, quantity, TRAINED, law).iloc[-1]
    rows = pick(frame, quantity=quantity, mode=law, layer=last["layer"], head=last["head"], status="ok")
    name = f"L{last['layer']:.0f}H{last['head']:.0f}"
    return name, rows.pivot_table(index="step", columns="length", values="value")


def losses(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean loss on held-out text in windows of each length, by step."""
    rows = pick(frame, measurement="behaviour", quantity="loss", law="matched", mode="teacher_forced", status="ok")
    return rows.pivot_table(index="step", columns="length", values="value")


def gains(frame: pd.DataFrame, law: str) -> pd.DataFrame:
    """By how much the loss on a second copy is less than on the first, in nats, by step and length."""
    rows = pick(frame, quantity="copy_loss", target=law, status="ok")
    wide = rows.pivot_table(index=["step", "length"], columns="mode", values="value")
    return (wide["first"] - wide["second"]).unstack("length")


def millions(step: float) -> str:
    """Tokens seen until a step."""
    return f"{step * TOKENS / 1e6:.1f}"


# ---- the page --------------------------------------------------------------------------------------
def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose cells stand to the right."""
    lines = [f"| {' | '.join(head)} |", "|" + "--:|" * len(head)]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def page(root: Path, frame: pd.DataFrame, control: pd.DataFrame) -> str:
    """The whole page, of the rows of the language model and of the controls."""
    licences = "; ".join(f"{p.name} ({p.licence})" for p in PACKAGES)
    head = HEAD.format(licences=licences, steps=STEPS, total=STEPS * TOKENS / 1e6, verdict=verdict_text(frame))
    parts = [head, *_found(frame), "", *_control(control), "", *_over_training(frame), "", *_by_length(frame), ""]
    parts += _command(root)
    return "\n".join(parts) + "\n"


def verdict_text(frame: pd.DataFrame) -> str:
    """What the list of runs calls the model, and what that does not say."""
    rows = frame[(frame["measurement"] == "behaviour") & (frame["quantity"] == "verdict")]
    if rows.empty:
        return ""
    last = rows[rows["step"] == rows["step"].max()].iloc[0]
    first, *others = last["note"].split("; ")
    note = ". ".join([first, *(part[0].upper() + part[1:] for part in others)])
    return (
        f"The list of runs gives this model the verdict *{last['label']}*: {note}.\n"
        "The best accuracy of next-token prediction is below 1 and unknown. So this verdict makes no claim about the\n"
        "quality of the training."
    )


def control_rows(root: Path) -> pd.DataFrame:
    """What was measured of the controls at their last steps; ``run`` is their learning rate."""
    frames = [Table.load(root / f"control-{rate}").frame().assign(run=rate) for rate in RATES]
    every = pd.concat([frame[frame["step"] == frame["step"].max()] for frame in frames], ignore_index=True)
    columns = ["run", "step", "quantity", "length", "mode", "target", "layer", "head", "value", "low", "high", "status"]
    return every[columns]


def _control(control: pd.DataFrame) -> list[str]:
    head = ["learning rate", "accuracy, second copy", "induction", "displaced induction", "at 128", "at 256"]
    rows, passed = [], []
    for rate in RATES:
        frame = pick(control, run=rate)
        copied = value(frame, quantity="copy_accuracy", mode="second", target="uniform", length=64)
        plain = _best(frame, "repeats_induction", 64)
        behind = _best(frame, "repeats_displaced_induction", 64)
        where = {"layer": behind["layer"], "head": behind["head"], "mode": "uniform"}
        places = value(frame, quantity="repeats_displacement", length=64, **where)
        beyond = [value(frame, quantity="repeats_displaced_induction", length=n, **where) for n in (128, 256)]
        told = f"{behind['value']:.2f}, d = {places:.0f}"
        rows.append([rate, f"{copied:.2f}", f"{plain['value']:.2f}", told, *(f"{v:.2f}" for v in beyond)])
        passed += [rate] if plain["value"] > FORMED else []
    said = f"it exceeds {FORMED} at learning rate {', '.join(passed)}" if passed else f"it exceeds {FORMED} at no rate"
    return [CONTROL_TEXT.format(said=said, formed=FORMED), *table(head, rows)]


def _best(frame: pd.DataFrame, quantity: str, length: int) -> pd.Series[Any]:
    return best_heads(frame, quantity, length, "uniform").iloc[-1]


def _over_training(frame: pd.DataFrame) -> list[str]:
    kinds = [("repeats_previous_token", "unigram")]
    kinds += [("repeats_induction", law) for law in LAWS]
    kinds += [("repeats_displaced_induction", "unigram")]
    best = [best_heads(frame, quantity, TRAINED, law).set_index("step")["value"] for quantity, law in kinds]
    loss, copied = losses(frame)[TRAINED], [gains(frame, law)[TRAINED] for law in LAWS]
    head = ["M tokens", "loss", "previous token", *(f"induction, {law}" for law in LAWS), "displaced"]
    head += [f"gain, {law}" for law in LAWS]
    rows = [
        [millions(step), f"{loss[step]:.2f}", *(f"{b[step]:.3f}" for b in best), *(f"{g[step]:+.2f}" for g in copied)]
        for step in loss.index
    ]
    return [OVER_TRAINING, *table(head, rows)]


def _by_length(frame: pd.DataFrame) -> list[str]:
    parts = [BY_LENGTH]
    for quantity, title in (("repeats_previous_token", "previous token"), ("repeats_induction", "induction")):
        name, found = followed(frame, quantity, "unigram")
        parts += [
            f"The scores are those of {name}, the head with the highest {title} score at {TRAINED} tokens at the end "
            "of training:",
            "",
        ]
        rows = [[millions(step), *(f"{found.loc[step, n]:.3f}" for n in LENGTHS)] for step in found.index]
        parts += [*table(["M tokens", *map(str, LENGTHS)], rows), ""]
    loss = losses(frame)
    rows = [[millions(step), *(f"{loss.loc[step, n]:.2f}" for n in LENGTHS)] for step in loss.index]
    parts += ["The last table gives the mean loss on held-out text, in nats, for windows of each length:", ""]
    return [*parts, *table(["M tokens", *map(str, LENGTHS)], rows)]


def _found(frame: pd.DataFrame) -> list[str]:
    """What the rows say, in sentences whose every number is theirs."""
    last = int(frame["step"].max())
    rule = f"A head has *formed* if the lower limit of its score at {TRAINED} tokens is at least {FORMED}."
    parts = ["## What it shows", "", rule, ""]
    if last < STEPS:
        missing = (STEPS - last) * TOKENS / 1e6
        parts += [
            f"**This is {millions(last)} of {STEPS * TOKENS / 1e6:.0f} M tokens**: training was cut off, and "
            f"`make small-model` trains the {missing:.1f} M that are left. The results below end there.",
            "",
        ]
    heads = {kind: any(formed_at(frame, f"repeats_{kind}", law) is not None for law in LAWS) for kind in KINDS}
    shown = [
        f"{('an' if kind == 'induction' else 'a') if heads[kind] else 'no'} {title}" for kind, title in KINDS.items()
    ]
    bound = f"**In {millions(last)} M tokens this recipe shows {' and '.join(shown)}.**"
    parts += [f"{bound} This is one seed of one recipe.", "", "| head | sequences | formed after | highest score |"]
    parts += ["|:--|:--|--:|--:|"]
    for quantity, title in (
        ("repeats_previous_token", "Previous-token head"),
        ("repeats_induction", "Induction head"),
        ("repeats_displaced_induction", "Displaced induction head, d from 1 to 8"),
    ):
        for law in LAWS:
            step = formed_at(frame, quantity, law)
            best = best_heads(frame, quantity, TRAINED, law)
            top = best.loc[best["value"].idxmax()]
            formed = "not formed" if step is None else f"{millions(step)} M tokens"
            parts.append(f"| {title} | {law} | {formed} | {top['value']:.{3 if step is None else 2}f} |")
    parts.append("")
    for quantity, title in (("repeats_previous_token", "previous-token head"), ("repeats_induction", "induction head")):
        name, found = followed(frame, quantity, "unigram")
        begun = found[found[TRAINED] >= BEGUN]
        if not begun.empty:
            parts.append(f"- Beyond {TRAINED} tokens, the score of the {title} {name} falls. {_kept(begun)}")
    loss = losses(frame)
    beyond = loss[LENGTHS[-1]] - loss[TRAINED]
    parts.append(
        f"- The cross-entropy at length {LENGTHS[-1]:,} minus that at length {TRAINED} is {beyond.iloc[0]:+.2f} nats "
        f"before training and {beyond.iloc[-1]:+.2f} nats at the end. This difference is largest after "
        f"{millions(beyond.idxmax())} M training tokens, with {beyond.max():+.2f} nats."
    )
    return parts


def _kept(begun: pd.DataFrame) -> str:
    """Shares of a head's score at N that are left at 2N and 4N, at the first and the last of some checkpoints."""
    said = []
    for step in dict.fromkeys((begun.index[0], begun.index[-1])):
        twice, fourfold = (begun.loc[step, n] / begun.loc[step, TRAINED] for n in (2 * TRAINED, 4 * TRAINED))
        score = begun.loc[step, TRAINED]
        said.append(
            f"After {millions(step)} M training tokens, the score at length {TRAINED} is {score:.2f}. At twice this "
            f"length the head keeps {twice:.2f} of this score, and at four times this length {fourfold:.2f}."
        )
    return " ".join(said)


def _command(root: Path) -> list[str]:
    shown = " ".join(f"'{part}'" if "[" in part else part for part in model_options(root))
    return ["## The command", "", "`make small-model` runs the whole study. This command trains only the model:", "",
            "```", f"lengthlens train next_token {shown}", "```"]  # fmt: skip


HEAD = """# A small language model over training

After this page you know when a previous-token head and an induction head form in a small language model, and whether
these heads still work beyond the trained length.

- A *previous-token head* attends to the token before the current one.
- An *induction head* attends to the token that followed an earlier occurrence of the current token. It lets a model
  copy.

The model is a transformer with two layers, width 128, 4 heads, rotary positions and a context of 256 tokens. It was
trained on next-token prediction with AdamW at a learning rate of 3e-3. The rate comes from an earlier trial of the same
recipe and not from a search. The tokenizer is a byte-level BPE of 1,024 tokens, made from the training files.

The text comes from three Debian packages: {licences}. The project contains no file of it. The recipe has {steps:,}
updates of 4,096 tokens, {total:.0f} M tokens in all. There is one seed. Nothing was selected on results beyond 256
tokens.

![Scores of two heads and the loss over training, one line per length](pictures/small-model.png)

*How to read the figure:* the left plot shows the score of the best previous-token head, and the middle plot that of the
best induction head. The right plot shows the loss on held-out text. Blue lines are lengths up to 256 tokens. Orange
lines are lengths that the model was never trained on.

The *score* of a head is its attention weight on the expected token, corrected for chance: 0 is uniform attention, and 1
is all attention on that token. Scores are means over 64 sequences and the last 16 queries of each. In each sequence a
block of eight tokens recurs after random gaps. There are three kinds of sequences:

- *uniform*: every token of the vocabulary is equally likely;
- *unigram*: tokens are as frequent as in the text;
- *passages*: held-out text, into which the block is inserted.

*Gain* measures copying, on sequences that consist of two copies of the same tokens. It is the loss on the first copy
minus the loss on the second, in nats.

{verdict}

`make small-model` writes this page (`docs/small_model_page.py`). Do not edit it by hand.
"""
CONTROL_TEXT = """## Does the score detect an induction head?

A positive control answers this question. We train a smaller model of the same kind (width 64, context 64) on random
sequences that repeat with a period of 8 to 32 tokens. There are 64 symbols, and training takes 1,500 updates at each of
three learning rates. To pass, the best induction score must exceed {formed} at one of the rates. Result: {said}.

Some models copy although their induction score is near 0. Their head attends to the token d positions after the earlier
occurrence, with d larger than 1. The layer below has moved the information to that position. The usual score measures
only d = 1. The column *displaced induction* gives the score at the best d from 1 to 8.

We added this column after the control at the highest learning rate had copied with an induction score near 0. The
threshold and the learning rates were fixed before. The columns *at 128* and *at 256* give the displaced score at two
and four times the trained length, for the head that is best at 64 tokens.
"""
OVER_TRAINING = """## Over training

All values are at 256 tokens. Each score is that of the best of the eight heads at this step. Loss and gain are in nats.
The first column counts the training tokens in millions.
"""
BY_LENGTH = """## Over length

The next two tables give scores on unigram sequences of 64 to 1,024 tokens. The trained length is 256. The model was
never trained on 512 or 1,024 tokens.
"""


# ---- the figure ------------------------------------------------------------------------------------
def figure(frame: pd.DataFrame) -> go.Figure:
    """Scores of two heads and loss over training, a line a length."""
    titles = []
    panels = []
    for quantity, title in (("repeats_previous_token", "previous token"), ("repeats_induction", "induction")):
        name, found = followed(frame, quantity, "unigram")
        titles.append(f"{title}, {name}")
        panels.append(found)
    drawn = make_subplots(rows=1, cols=3, subplot_titles=[*titles, "loss on held-out text"])
    colours = ("#9ecae1", "#4292c6", "#08306b", "#fdae6b", "#e6550d")
    for column, found in enumerate([*panels, losses(frame)], 1):
        rows = found[found.index > 0]
        for length, colour in zip(LENGTHS, colours, strict=True):
            line = {"color": colour, "width": 2}
            trace = go.Scatter(
                x=rows.index * TOKENS, y=rows[length], name=f"{length:,} tokens", line=line, mode="lines+markers",
                legendgroup=str(length), showlegend=column == 1, marker={"size": 4},
            )  # fmt: skip
            drawn.add_trace(trace, row=1, col=column)
    drawn.update_xaxes(type="log", title_text="tokens seen")
    # Both heads on one scale, so that nothing looks like something.
    highest = max(FORMED, *(found.max().max() for found in panels)) * 1.1
    for column in (1, 2):
        drawn.update_yaxes(title_text="score", range=[-0.05, highest], row=1, col=column)
    drawn.update_yaxes(title_text="nats", row=1, col=3)
    drawn.update_layout(template="plotly_white", width=1200, height=380, margin={"l": 60, "r": 20, "t": 50, "b": 60})
    return drawn


def main() -> None:
    """Make what is missing, and write page, figure and rows."""
    parser = argparse.ArgumentParser(description="Train and measure the small language model, and write its page.")
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("page", type=Path, metavar="PAGE")
    parser.add_argument("--figure", type=Path, help="also write the figure, as a .png")
    parser.add_argument("--control", type=Path, help="also write the rows of the controls, as a .parquet")
    parser.add_argument("--gallery", type=Path, help="also write the rows of the language model, without weights, here")
    parser.add_argument("--page-only", action="store_true", help="train and measure nothing")
    given = parser.parse_args()
    if not given.page_only:
        made(given.root)
    frame, control = Table.load(given.root / "run").frame(), control_rows(given.root)
    given.page.write_text(page(given.root, frame, control), encoding="utf-8")
    if given.control is not None:
        control.to_parquet(given.control)
    if given.figure is not None:
        drawn = figure(frame)
        photograph(drawn.to_html(include_plotlyjs=True), drawn.layout.width, drawn.layout.height, given.figure)
    if given.gallery is not None:
        write_rows_only(Run.open(given.root / "run"), MODEL, given.gallery)
    print(f"{given.page} is written.")


if __name__ == "__main__":
    main()
