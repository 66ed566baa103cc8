"""The numbers behind a sequence's figure: every mark and cell as rows, and one line per prefix to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.figures.labels import magnitude, proportion, signed_number
from workbench.figures.offered import register_public
from workbench.figures.sequence.attention_pattern import SCORE_FLOOR, View
from workbench.figures.sequence.sequence_marks import NORMAL_95, chosen_positions, outputs_of
from workbench.figures.sequence.sequence_window import window_of
from workbench.measure.edits.reading import PassName, ProbeReading, SequenceReading

Part = Literal["clean", "edited", "change"]
RowName = Literal["outputs", "pattern", "summary", "position"]
ALL_ROWS: tuple[RowName, ...] = ("outputs", "pattern", "summary", "position")


def sequence_rows(
    found: SequenceReading,
    read: ProbeReading | None = None,
    *,
    part: Part = "clean",
    rows: Sequence[RowName] = ALL_ROWS,
    view: View = "attention",
    site: int | None = None,
) -> pd.DataFrame:
    """Return the rows that :func:`workbench.figures.sequence_view` draws, one per mark or cell.

    Returns:
        columns row, position, token, key, key_token, name, value, low, high and true. ``row`` is outputs, pattern,
        ``summary`` or position. ``position`` is the index of the query, or the first of a pooled cell. Only pattern
        rows have ``key`` and ``key_token``. ``name`` is the answer class, or "". ``low`` and ``high`` are a 95 %
        interval if there is one. ``true`` is the oracle's answer or the true label as text, or "".
    """
    parts = []
    for row in rows:
        if row == "pattern":
            parts.append(_pattern_rows(found, part, view))
        elif row == "outputs":
            parts.append(_output_rows(found, part))
        elif read is not None:
            parts.append(_reading_rows(found, read, row, part, site))
    columns = ["row", "position", "token", "key", "key_token", "name", "value", "low", "high", "true"]
    filled = [one for one in parts if len(one)]
    return pd.concat(filled, ignore_index=True).reindex(columns=columns) if filled else pd.DataFrame(columns=columns)


@register_public
def sequence_table(
    found: SequenceReading,
    read: ProbeReading | None = None,
    *,
    part: Part = "clean",
    site: int | None = None,
) -> pd.DataFrame:
    """Return one row of texts per visible position: token, correct answer, the model's answer, decoded values, and the
    selected query's attention.
    """
    count = len(found.tokens)
    before: tuple[PassName, ...] = ("clean", "edited") if part == "change" else (part,)
    table: dict[str, list[str]] = {
        "prefix": [f"{i:,}" for i in range(0 if found.bos else 1, count + (0 if found.bos else 1))],
        "token": list(found.tokens),
        "oracle": [oracle_words(found, i) for i in range(count)],
    }
    for one in before:
        name = "answer" if part != "change" else {"clean": "as is", "edited": "edited"}[one]
        table[name] = [answer_words(found, one, i) for i in range(count)]
    if found.clean.row is not None:
        rows = [np.asarray(found.of(one).row, dtype=float) for one in before]
        shown = rows[0] if part != "change" else rows[1] - rows[0]
        written = proportion if part != "change" else signed_number
        visible = [i <= found.query for i in range(count)]
        table[f"attention from {found.query:,}"] = [
            written(float(v), 3) if seen else "" for v, seen in zip(shown, visible, strict=True)
        ]
    for concept in ("summary", "position") if read is not None else ():
        if read is not None and not read.concept(concept).problem:
            table |= _reading_columns(read, concept, before, site)
    return pd.DataFrame(table).iloc[slice(*found.keys)]


def answer_words(found: SequenceReading, part: PassName, index: int) -> str:
    """Return the model's answer at one position in words: a class with its probability, or numbers."""
    output = found.of(part).outputs[index]
    if not found.classes:
        return named_numbers(found, [float(v) for v in output])
    best = int(output.argmax())
    return f"{found.classes[best]} ({proportion(float(output[best]))})"


def oracle_words(found: SequenceReading, index: int) -> str:
    """Return the correct answer at one position in words; "" if the task has no answer there."""
    answer = found.oracle[index]
    if answer is None:
        return ""
    right = found.right(index)
    if right is not None:
        return found.classes[right]
    return named_numbers(found, [float(v) for v in (answer if isinstance(answer, list) else [answer])])


def named_numbers(found: SequenceReading, numbers: Sequence[float]) -> str:
    """Return numbers in words, with the names of the components for a vector."""
    return ", ".join(f"{before}{magnitude(v)}" for before, v in zip(titles(found, len(numbers)), numbers, strict=True))


def titles(found: SequenceReading, count: int) -> list[str]:
    """Return the label of each number of an answer: the name of its component, if it has one."""
    return [f"{name}: " for name in found.components] if len(found.components) == count else [""] * count


def _site(read: ProbeReading, site: int | None) -> int:
    return len(read.sites) - 1 if site is None else int(read.sites.index(site))


def shown_cells(found: SequenceReading, part: Part, view: View) -> NDArray[np.float64] | None:
    """The attention cells of a view, NaN where no key is visible; None for a model without attention."""
    if found.clean.pattern is None:
        return None
    if part == "change":
        edited, clean = (shown_cells(found, one, view) for one in ("edited", "clean"))  # type: ignore[arg-type]
        assert edited is not None
        assert clean is not None
        return edited - clean
    cells = np.asarray(found.of(part).scores if view == "score" else found.of(part).pattern, dtype=float)
    if view == "times_length":
        edges = window_of(found).edges(range(*found.queries)) + 0.5
        cells = cells * ((edges[:-1] + 1 + edges[1:]) / 2)[:, None]
    if view == "score":
        # Scores are defined up to a constant per query, and are shown below the highest of their whole row, of
        # which only a part may be in view.
        top = np.asarray(found.of(part).row_top, dtype=float)[:, None]
        cells = np.maximum(cells - top, 4 * SCORE_FLOOR)
    return cells


def _pattern_rows(found: SequenceReading, part: Part, view: View) -> pd.DataFrame:
    cells = shown_cells(found, part, view)
    if cells is None:
        return pd.DataFrame()
    q, k = np.nonzero(np.isfinite(cells))
    names, block = np.array(found.tokens, dtype=object), found.pool
    queries, keys = (first + at * block for (first, _), at in ((found.queries, q), (found.keys, k)))
    return pd.DataFrame(
        {
            "row": "pattern",
            "position": queries,
            "token": names[queries],
            "key": keys,
            "key_token": names[keys],
            "name": "",
            "value": cells[q, k],
            "true": "",
        }
    )


def _output_rows(found: SequenceReading, part: Part) -> pd.DataFrame:
    outputs = outputs_of(found, part)
    width = outputs.shape[1]
    names = found.classes or found.components or [""] * width
    positions = range(*found.keys)
    at = np.repeat(np.arange(positions.start, positions.stop), width)
    return pd.DataFrame(
        {
            "row": "outputs",
            "position": at,
            "token": np.array(found.tokens, dtype=object)[at],
            "name": list(names) * len(positions),
            "value": outputs[positions.start : positions.stop].ravel(),
            "true": [oracle_words(found, int(i)) for i in at],
        }
    )


def _reading_rows(found: SequenceReading, read: ProbeReading, row: str, part: Part, site: int | None) -> pd.DataFrame:
    reading = read.concept(row)
    if reading.problem:
        return pd.DataFrame()
    at, index = chosen_positions(read.asked, range(*found.keys)), _site(read, site)
    values = {one: np.asarray(states, dtype=float)[index][at] for one, states in reading.passes.items()}
    displayed = values["edited"] - values["clean"] if part == "change" else values[part]
    classes = reading.classes
    half = NORMAL_95 * reading.rmse[index] if classes is None and part != "change" else np.nan
    true = np.asarray(reading.true, dtype=float)[at]
    return pd.DataFrame(
        {
            "row": row,
            "position": at,
            "token": np.array(found.tokens, dtype=object)[at],
            "name": [_class_name(classes, v) for v in (values["edited" if part == "change" else part])],
            "value": displayed,
            "low": displayed - half,
            "high": displayed + half,
            "true": [_class_name(classes, v) if classes is not None else f"{v:.6g}" for v in true],
        }
    )


def _reading_columns(read: ProbeReading, concept: str, parts: Sequence[str], site: int | None) -> dict[str, list[str]]:
    reading, index = read.concept(concept), _site(read, site)
    classes = reading.classes

    def as_text(values: Any) -> list[str]:
        named = [_class_name(classes, v) if classes is not None else magnitude(float(v)) for v in values]
        return [text if asked else "" for text, asked in zip(named, read.asked, strict=True)]

    made = {f"{concept}, true": as_text(reading.true)}
    for one in parts:
        suffix = "read" if len(parts) == 1 else {"clean": "as is", "edited": "edited"}[one]
        made[f"{concept}, {suffix}"] = as_text(reading.passes[one][index])
    return made


def _class_name(classes: Sequence[str] | None, value: float) -> str:
    """The name of a class; empty for numbers, and for a class the probe does not know."""
    return classes[int(value)] if classes is not None and value >= 0 else ""
