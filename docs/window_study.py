"""Does a model fail where the first token leaves its window? ``python docs/window_study.py``.

Fifteen of the 18 layers of Gemma-3-270M see only the last 512 tokens. The task is to copy words. The study compares the
model with copies of itself that differ in what these layers see, on the same sequences. It tests three lengths on each
side of the window. Rows are stored when a length of a condition ends, and the same command continues. ``--print`` only
prints the table.

Four hypotheses were written down before the first run with a change:

1. Past the window, keeping the first token visible raises accuracy at each length.
2. Keeping another token visible raises it less.
3. Inside the window, hiding the first token lowers accuracy at each length, and hiding another token lowers it less.
4. A window of all tokens does not raise accuracy, as these layers were not trained at such distances.

A pilot with 16 other sequences suggested 1, 2 and 4.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from pretrained_models import GEMMA, cached_model

from workbench.claims.determinacy.statistics import mean_interval
from workbench.claims.determinacy.stored_rows import read_rows, write_rows
from workbench.models.interop.hugging_face.adapter import PretrainedModel
from workbench.models.interop.hugging_face.opening import open_folder
from workbench.models.interop.hugging_face.visible_keys import change_visible_keys
from workbench.tasks.presented.presented_task import Presented

TABLE = Path(__file__).parent, "window_study.parquet"
WINDOW = 512
INSIDE, PAST = (200, 225, 250), (264, 300, 400)
"""Words of a sequence; its prompt has twice as many tokens, with the one that begins it."""
SEQUENCES, SYMBOLS, SEED = 24, 1024, 1
AT_ONCE = 64
"""Answers whose logits are computed at once: a row of logits has 262,144 values."""
FINAL = "ln_final.hook_normalized"
FIRST, ANOTHER = (0,), ((37,), (101,))
"""Positions of the first token, and of two other tokens as controls."""
LATER_CONTROL = ((1,), (2,))
"""Positions of two controls that were added when the results were known: they leave the window just after the first
token, and those of :data:`ANOTHER` only at positions 549 and 613.
"""


@dataclass(frozen=True)
class Condition:
    """A change of what the layers with a window see.

    Attributes:
        name: of the condition in the table.
        words: what the page calls it.
        change: arguments of :func:`change_visible_keys`; empty = the model as it is.
        lengths: the tested lengths.
    """

    name: str
    words: str
    change: Mapping[str, Any]
    lengths: Sequence[int]


UNCHANGED = Condition("unchanged", "the model as it is", {}, (*INSIDE, *PAST))
CONDITIONS = (
    UNCHANGED,
    Condition("first kept", "the first token stays visible", {"visible": FIRST}, PAST),
    *(
        Condition(f"token {key[0]} kept", f"token {key[0]} stays visible", {"visible": key}, PAST)
        for key in (*ANOTHER, *LATER_CONTROL)
    ),
    Condition("wide", "all tokens are visible", {"window": 1 << 15}, PAST),
    Condition("first hidden", "the first token is hidden", {"hidden": FIRST}, INSIDE),
    *(
        Condition(f"token {key[0]} hidden", f"token {key[0]} is hidden", {"hidden": key}, INSIDE)
        for key in (*ANOTHER, *LATER_CONTROL)
    ),
)  # fmt: skip
SCHEMA = pa.schema(
    [
        ("condition", pa.string()),
        ("length", pa.int32()),
        ("sequence", pa.int32()),
        ("accuracy", pa.float32()),
        ("log_probability", pa.float32()),
    ]
)
"""One row for each sequence of a condition: the share of right answers over the whole vocabulary, and the mean
log-probability of the right answer."""


@torch.no_grad()
def answers(model: PretrainedModel, task: Presented, length: int, sequences: int) -> list[dict[str, float]]:
    """Return the accuracy and the mean log-probability of the model's answers in each sequence.

    Args:
        model: the model.
        task: copying, written as prompts.
        length: words of a sequence.
        sequences: how many.
    """
    drawn = torch.Generator().manual_seed(SEED * 100_000 + length)
    batch = task.sample(sequences, length, drawn, "matched")
    asked = batch.mask.any(0).nonzero()[:, 0]
    found = []
    for row in range(sequences):
        _, cache = model.run_with_cache(batch.tokens[row : row + 1], names_filter=FINAL, return_type=None)
        hidden = cache[FINAL][0, asked]
        targets = batch.targets[row, asked]
        right, log_probability = [], []
        for start in range(0, len(asked), AT_ONCE):
            logits = model.read_out(hidden[start : start + AT_ONCE]).float()
            part = targets[start : start + AT_ONCE]
            right.append(logits.argmax(-1) == part)
            log_probability.append(logits.log_softmax(-1).gather(-1, part[:, None])[:, 0])
        found.append(
            {
                "accuracy": float(torch.cat(right).double().mean()),
                "log_probability": float(torch.cat(log_probability).double().mean()),
            }
        )
    return found


def run_study(model: PretrainedModel, task: Presented, folder: Path, name: str, until: float) -> None:
    """Compute what the table lacks; each length of a condition is stored when it ends.

    Args:
        model: the model.
        task: copying, written as prompts.
        folder, name: the table.
        until: seconds since the epoch after which no length begins.
    """
    rows = read_rows(folder, name)
    done = {(row["condition"], row["length"]) for row in rows}
    left = [(one, length) for one in CONDITIONS for length in one.lengths if (one.name, length) not in done]
    start = time.monotonic()
    for number, (condition, length) in enumerate(left, 1):
        if time.time() >= until:
            print(f"{len(left) - number + 1} of {len(left)} left; run the same command to resume", flush=True)
            return
        with change_visible_keys(model, **condition.change) if condition.change else nullcontext():
            found = answers(model, task, length, SEQUENCES)
        where = {"condition": condition.name, "length": length}
        rows += [{**where, "sequence": sequence, **one} for sequence, one in enumerate(found)]
        write_rows(folder, name, rows, SCHEMA)
        spent = time.monotonic() - start
        remaining = spent / number * (len(left) - number) / 60
        print(f"{condition.words}, {length} words: {number} of {len(left)}, {remaining:.0f} min left", flush=True)


def accuracy_of(rows: Sequence[Mapping[str, Any]], condition: str, length: int) -> NDArray[np.float64]:
    """Return the accuracy of each sequence ``[sequence]``; empty where nothing is stored."""
    here = [row for row in rows if (row["condition"], row["length"]) == (condition, length)]
    return np.array([row["accuracy"] for row in sorted(here, key=lambda row: row["sequence"])])


def change_of_accuracy(rows: Sequence[Mapping[str, Any]], condition: str, length: int) -> tuple[float, float, float]:
    """Return the mean change of accuracy against the model as it is, on the same sequences: (mean, low, high).

    Args:
        rows: the rows of the table.
        condition: its name.
        length: words of a sequence.
    """
    return mean_interval(accuracy_of(rows, condition, length) - accuracy_of(rows, UNCHANGED.name, length))


def change_of_affected_answers(
    rows: Sequence[Mapping[str, Any]], condition: str, length: int
) -> tuple[float, float, float]:
    """Return the mean change of accuracy over the answers at positions from which the first token is out of sight.

    All other answers are those of the model as it is if a condition only keeps tokens visible.

    Args:
        rows: the rows of the table.
        condition: its name.
        length: words of a sequence.
    """
    share = affected_answers(length) / (length // 2)
    mean, low, high = change_of_accuracy(rows, condition, length)
    return mean / share, low / share, high / share


def affected_answers(length: int) -> int:
    """Return the number of answers at positions from which the first token is out of sight.

    The second half of the copy has answers, because a prompt does not show where the copy begins.

    Args:
        length: words of a sequence.
    """
    return max(0, min(length // 2, 2 * length - WINDOW))


def table_lines(rows: Sequence[Mapping[str, Any]], lengths: Sequence[int]) -> list[str]:
    """The table of some lengths, as lines of Markdown.

    Args:
        rows: the rows of the table.
        lengths: words of a sequence.
    """
    heads = [f"{length} words, {2 * length} tokens" for length in lengths]
    lines = [f"| what the layers with a window see | {' | '.join(heads)} |", "|---|" + "---|" * len(lengths)]
    mean, low, high = zip(*(mean_interval(accuracy_of(rows, UNCHANGED.name, n)) for n in lengths), strict=True)
    cells = [f"{m:.3f} [{a:.3f}, {min(b, 1):.3f}]" for m, a, b in zip(mean, low, high, strict=True)]
    lines.append(f"| {UNCHANGED.words} | {' | '.join(cells)} |")
    for one in CONDITIONS[1:]:
        if set(lengths) <= {*one.lengths}:
            changes = [change_of_accuracy(rows, one.name, length) for length in lengths]
            cells = [f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]" for mean, low, high in changes]
            lines.append(f"| {one.words} | {' | '.join(cells)} |")
    return lines


def copy_task(folder: Path) -> Presented:
    """Return the task of copying words, written as prompts for the model in a folder."""
    from workbench.models.interop.hugging_face.config_json import read_pretrained_config
    from workbench.models.interop.hugging_face.opening import open_tokenizer
    from workbench.runs.adoption.open_pretrained import Opened, prompted_task
    from workbench.tasks import make_task
    from workbench.tasks.presented.presentation import presentation

    told = presentation("bare", prefix=GEMMA.prefix)
    opened = Opened({1: folder}, make_task("uf", symbols=SYMBOLS), told, (*INSIDE, *PAST))
    return prompted_task(opened, open_tokenizer(folder), read_pretrained_config(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description="What a model loses when the first token leaves its window.")
    parser.add_argument("--minutes", type=float, default=60, help="begin no length after this many minutes; default 60")
    parser.add_argument("--print", action="store_true", help="compute nothing")
    parser.add_argument("--model", type=Path, help="a folder of the model, in place of the one in the cache")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if not arguments.print:
        folder = arguments.model or cached_model(GEMMA)
        run_study(open_folder(folder), copy_task(folder), *TABLE, time.time() + 60 * arguments.minutes)
    rows = read_rows(*TABLE)
    for lengths in (PAST, INSIDE):
        print("\n".join([*table_lines(rows, lengths), ""]))


if __name__ == "__main__":
    main()
