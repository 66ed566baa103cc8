"""Text by value: what is cut where, generated passages, tables of a corpus, and places that a far copy tells."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.held import Held
from tests.support.tasks.task_facts import code
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator
from workbench.tasks.text import byte_pairs, corpus
from workbench.tasks.text.corpus import Corpus
from workbench.tasks.text.generated_passages import passage, passages


def test_generated_passages(held: Held) -> None:
    held(
        [
            passage(0),
            *(code(passage(number)) for number in (1, 2, 1023, 4095)),
            code(sorted(passages())),
            len(passages()),
        ]
    )


@pytest.mark.parametrize(
    ("cap", "kept"), [(0, []), (2, [2]), (3, [3]), (4, [3, 1]), (7, [3, 4]), (8, [3, 4, 1]), (99, [3, 4, 2])]
)
def test_texts_are_cut_at_their_cap(cap: int, kept: list[int], tmp_path: Path) -> None:
    """Strings and files alike; nothing is read once it is full."""
    parts = [b"abc", b"defg", b"hi"]
    assert [len(part) for part in corpus._cut(parts, cap)] == kept
    for i, part in enumerate(parts):
        (tmp_path / f"{i}").write_bytes(part)
    assert corpus.read_files([tmp_path / f"{i}" for i in range(3)], cap) == corpus._cut(parts, cap)
    assert b"".join(corpus._cut(parts, cap)) == b"abcdefghi"[:cap]


@pytest.mark.parametrize(("cap", "pieces"), [
    (3, ["abc"]), (4, ["abcd"]), (5, ["abcd", "e"]), (6, ["abcd", "ef"]), (7, ["abcd", "ef", "g"]), (9, ["abcd", "ef", "ghi"]),
    (50, ["abcd", "ef", "ghi"]),
])  # fmt: skip
def test_pieces_that_pairs_are_learnt_from(cap: int, pieces: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_pairs, "PIECE", 4)
    assert list(byte_pairs._pieces([b"abcdef", b"ghi"], cap)) == pieces


@pytest.mark.parametrize("wide", [False, True], ids=["bytes", "tokens"])
def test_tables_of_a_corpus(wide: bool, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which symbol is likeliest after two, counts, and held-out places whose symbol a far copy alone tells."""
    monkeypatch.setattr(corpus, "ENOUGH", 2)
    random_words = random.Random(1)
    words = ["".join(random_words.choices("abcde", k=9)) for _ in range(8)]
    kind = np.int16 if wide else np.uint8
    sides = [
        np.array([ord(sign) - 96 for sign in "".join(random_words.choice(words) for _ in range(60))], dtype=kind)
        for _ in range(2)
    ]
    made = Corpus(*sides, symbols=6, otherwise=0)
    places = [made.far_repeats(length) for length in (9, 16, 20, 40, 41, 80, 400)]
    held([made.context, made.counts.tolist(), code(made.likeliest_after), [[len(x), code(x)] for x in places]])


def test_generated_text_as_a_task(held: Held) -> None:
    """Windows, the byte behind each, chance and shortcuts, under each law."""
    task = make_task("text", folder="generated")
    found = []
    for law in ("training", "matched", "challenge"):
        for length in (1, 2, 40):
            batch = task.sample(6, length, generator(law, length), law)
            shares = {name: float(hits.mean()) for name, hits in task.shortcuts(batch, 16).items()}
            found.append([code(batch.tokens), code(batch.meta["next_byte"]), task.chance(law, length), shares])
    found.append(code(torch.stack([task.corpus.counts])))
    held(found)
