"""One sequence through one head, and all heads on one sequence: numbers and words as usual, structure under every option."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.figures.contents import contents, structure
from tests.support.held import Held
from tests.support.printed import told
from workbench import figures
from workbench.figures.look import Look
from workbench.figures.sequence.sequence_data import answer_words, named_numbers, oracle_words, shown_cells
from workbench.figures.sequence.sequence_view import at_hand, names_fit, row_of
from workbench.figures.sequence.sequence_window import window_of
from workbench.figures.sequence.wrong_string import wrong_strings_table
from workbench.figures.text.sequence_sentences import answers_sentence, attention_sentence, prefix_of, tally_sentence
from workbench.measure.edits.reading import (
    ConceptReading,
    HeadMaps,
    Pass,
    ProbeReading,
    SequenceReading,
    Twin,
    WrongString,
    WrongStrings,
)

SIZES = {"short": 7, "named": 26, "long": 300}


def waves(*shape: int, at: float = 0.0) -> np.ndarray:
    """Numbers between 0 and 1 without a pattern."""
    return np.abs(np.sin(np.arange(np.prod(shape)) * 12.9898 + at * 78.233) * 43758.5453 % 1).reshape(shape)


def pattern_of(cells: int, at: float) -> np.ndarray:
    seen = np.tril(np.ones((cells, cells), bool))
    weights = np.where(seen, waves(cells, cells, at=at) + 0.01, 0)
    return np.where(seen, weights / weights.sum(1, keepdims=True), np.nan)


def one_pass(count: int, classes: int, pool: int, at: float) -> Pass:
    cells = -(-count // pool)
    outputs = waves(count, classes, at=at)
    correct = [None if i % 3 == 0 else bool((i * 7 + int(10 * at)) % 5) for i in range(count)]
    pattern = pattern_of(cells, at)
    scores = np.where(np.isnan(pattern), np.nan, 9 * waves(cells, cells, at=at + 1) - 5)
    return Pass(
        outputs=(outputs / outputs.sum(1, keepdims=True)).astype(np.float32), correct=correct,
        pattern=pattern.astype(np.float32), scores=scores.astype(np.float32),
        row_top=np.nanmax(scores, axis=1).astype(np.float32), row=pattern_of(count, at)[-2, : count].astype(np.float32),
    )  # fmt: skip


def looked(count: int, classes: int = 2, pool: int = 1, bos: bool = True, **changes: Any) -> SequenceReading:
    tokens = [*(["<bos>"] if bos else []), *(("0", "1", "2")[i * i % 3] for i in range(count - bos))]
    row = one_pass(count, classes, pool, 0.1)
    made = SequenceReading(
        clean=row, edited=one_pass(count, classes, pool, 0.7), tokens=tokens, text="".join(tokens[bos:]), bos=bos,
        length=count - bos, oracle=[None if i % 3 == 0 else i % classes for i in range(count)],
        outputs_names=[f"c{i}" for i in range(classes)], asked=[i % 3 > 0 for i in range(count)], query=count - 2,
        queries=(0, count), keys=(0, count), pool=pool, trained=count // 2, step=1200, layer=1, head=0, edits="zero.0.1",
    )  # fmt: skip
    return replace(made, **changes)


def read(count: int, classes: list[str] | None, problem: str = "") -> ProbeReading:
    def concept(at: float, names: list[str] | None) -> ConceptReading:
        true = np.round(2 * waves(count, at=at)) - 1 if names else 3 * waves(count, at=at) - 1
        clean, edited = (
            np.round(waves(2, count, at=at + k)) if names else 4 * waves(2, count, at=at + k) - 1 for k in (1, 2)
        )
        rmse = [0.0, 0.0] if names else [0.25, 0.5]
        return ConceptReading(
            true, None if problem else clean, None if problem else edited, rmse, 256, problem, names, "parity"
        )

    return ProbeReading(
        [-1, 1], list(range(count)), [i % 3 > 0 for i in range(count)], concept(0.3, classes), concept(0.4, None)
    )


def readings() -> dict[str, tuple[SequenceReading, ProbeReading | None]]:
    made: dict[str, tuple[SequenceReading, ProbeReading | None]] = {}
    for name, count in SIZES.items():
        pool = 3 if name == "long" else 1
        made[name] = looked(count, pool=pool), read(count, ["even", "odd"])
    made["no bos"] = looked(12, bos=False, trained=30), read(12, None)
    made["many classes"] = looked(9, classes=11, edited=None), None
    made["no attention"] = (
        looked(8, clean=replace(one_pass(8, 2, 1, 0.1), pattern=None, scores=None, row_top=None, row=None), edited=None), read(8, None, "one class"),
    )  # fmt: skip
    real = [None if i % 2 else [i / 10, 0.5] for i in range(6)]
    made["vector"] = (
        looked(6, oracle=real, outputs_names=None, components=["a", "b"], within="within 0.1 of it", edited=None),
        read(6, None),
    )
    made["number"] = (
        looked(6, classes=1, oracle=[i / 7 for i in range(6)], outputs_names=None, clean=replace(one_pass(6, 1, 1, 0.2), outputs=waves(6, 1).astype(np.float32))), None,
    )  # fmt: skip
    whole = looked(9)

    def cut(one: Pass) -> Pass:
        return replace(one, pattern=one.pattern[4:8, 2:6], scores=one.scores[4:8, 2:6], row_top=one.row_top[4:8])  # type: ignore[index]

    made["part"] = (
        replace(whole, clean=cut(whole.clean), edited=cut(whole.edited_pass), queries=(4, 8), keys=(2, 6)),
        read(9, ["even", "odd"]),
    )
    return made


READINGS = readings()
IN_FULL = ("short", "number", "part")
"""Readings of which every number is held."""


@pytest.mark.parametrize("name", READINGS)
def test_a_sequence_under_every_option(name: str, held_rows: Held) -> None:
    found, probes = READINGS[name]
    parts = ("clean", "edited", "change") if found.edited is not None else ("clean",)
    options: list[dict[str, Any]] = [
        {"part": p, "view": v} for p, v in product(parts, ("attention", "times_length", "score"))
    ]
    options += [{"rows": rows} for rows in (("outputs",), ("pattern", "position"), ("summary", "outputs"))]
    options += [
        {"look": Look("dark"), "query": 5},
        {"strip": True, "site": -1, "query": 0},
        {"waiting": "in a moment", "site": 1},
    ]
    structures = {}
    for given in options:
        own = {key: one for key, one in given.items() if key in ("part", "rows", "view", "site")}
        at = {key: one for key, one in given.items() if key in ("part", "site")}
        probed = None if "waiting" in given else probes
        drawn = figures.figure_by_name("sequence_view").plain(found, probed, **given)
        rows, table = figures.sequence_view.data(found, probes, **own), figures.sequence_table(found, probes, **at)
        structures[str(given)] = f"{structure(drawn)}, {len(rows)} rows, a table of {len(table)}"
    usual = {}
    if name in IN_FULL:
        drawn = contents(figures.figure_by_name("sequence_view").plain(found, probes))
        usual = {"usual": drawn, "table": told(figures.sequence_table(found, probes))}
    held_rows({**usual, "options": structures})


@pytest.mark.parametrize("name", READINGS)
def test_what_is_said_of_a_sequence(name: str, held_rows: Held) -> None:
    found, _ = READINGS[name]
    queries = sorted({0, 1, 2, found.query, len(found.tokens) - 1})
    said = [[*answers_sentence(found, query), *attention_sentence(found, query)] for query in queries]
    answers = [(answer_words(found, part, i), oracle_words(found, i)) for part, _ in found.passes for i in queries]  # type: ignore[arg-type]
    numbers = named_numbers(found, [0.125, 1234.5][: max(1, len(found.components))])
    window = window_of(found)
    cells = [
        shown_cells(found, part, view)
        for part, view in product(
            ("clean", "change") if found.edited else ("clean",), ("attention", "times_length", "score")
        )
    ]  # type: ignore[arg-type]
    rest = [
        at_hand(found),
        names_fit(window),
        window.range_text,
        window.whole,
        [row_of(found, q) for q in queries],
        cells,
    ]
    rest += [window.limits(window.keys), window.edges(window.queries), [prefix_of(found, q) for q in queries]]
    sentences = ["".join(text for text, _ in one) for one in [*said, tally_sentence(found)]]
    held_rows([sentences, numbers, told(answers), *([told(rest)] if name in IN_FULL else [])])


# ---- one pattern, and all heads --------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 6, 40, 600])
def test_an_attention_pattern_under_every_option(count: int, held_rows: Held) -> None:
    structures, usual = {}, None
    for bos, (view, how) in product((True, False), (("attention", "max"), ("times_length", "mean"), ("score", "max"))):
        tokens = ["<bos>" if bos and not i else str(i % 3) for i in range(count)]
        pattern = np.nan_to_num(pattern_of(count, 0.2)) if view != "score" else 5 * waves(count, count)
        given: dict[str, Any] = {
            "trained": 20,
            "layer": 1,
            "head": 2,
            "view": view,
            "how": how,
            "query": count // 2 if bos else None,
        }
        drawn = figures.figure_by_name("attention_pattern").plain(pattern, tokens, **given)
        rows = figures.attention_pattern.data(pattern[:9, :9], tokens[:9], view=view, how=how)  # type: ignore[arg-type]
        structures[f"{bos} {view} {how}"] = f"{structure(drawn)}, {len(rows)} rows"
        usual = usual or (contents(drawn) if count < 20 else "")
        if count == 600:
            break
    held_rows({"usual": usual, "options": structures})


@pytest.mark.parametrize(
    ("layers", "heads", "cells", "pool"), [(1, 1, 5, 1), (2, 4, 20, 1), (9, 3, 4, 2), (17, 18, 12, 1)]
)
def test_all_heads_on_one_sequence(layers: int, heads: int, cells: int, pool: int, held_rows: Held) -> None:
    maps = np.stack([[pattern_of(cells, i + j / 10) for j in range(heads)] for i in range(layers)]).astype(np.float32)
    found = HeadMaps(maps, ["<bos>", *"01" * cells][: cells * pool], True, cells * pool - 1, pool, 7)
    costs: dict[tuple[int, int], dict[str, Any]] = {
        (0, 0): {"value": 0.5, "shown": True},
        (layers - 1, heads - 1): {"value": -0.2, "shown": layers > 1},
    }
    structures, usual = {}, None
    for given in ({}, {"layer": layers - 1, "head": 0}, {"look": Look("dark"), "layer": 0}):
        drawn = figures.figure_by_name("head_maps").plain(found, costs if given else None, **given)
        structures[str(given)] = f"{structure(drawn)}, {len(figures.head_maps.data(found, costs))} rows"
        usual = usual or (contents(drawn) if layers < 3 else "")
    held_rows({"usual": usual, "options": structures})


def test_strings_answered_wrong(held_rows: Held) -> None:
    twins = (None, Twin("011", (2,), 0.4, True, "0", "1"), Twin("0101", (1, 3), 1.25, False))
    strings = [
        WrongString("01" * i, "a", "b", m, twin, repaired)
        for i, (twin, m, repaired) in enumerate(zip(twins, (0.04, -1.26, 12.0), (None, True, False), strict=True))
    ]
    held_rows(wrong_strings_table(WrongStrings(strings, 3, 9, 7, 64, "matched")).to_dict("records"))
