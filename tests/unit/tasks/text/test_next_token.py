"""Next-token prediction: which tokens a text is made of, where windows come from, and what repeats itself."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.random_tokens import passages, repeat_twice, repeats, token_weights
from workbench.tasks.text.byte_pairs import END, byte_pairs
from workbench.tasks.text.corpus import split_files

TOKENS = 600
Seeded = Callable[[int], torch.Generator]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty files of two thousand words each, of sixty different ones."""
    root, words = tmp_path_factory.mktemp("text"), random.Random(0)
    known = ["".join(words.choices("abcdefghij", k=words.randint(2, 8))) for _ in range(60)]
    for i in range(40):
        (root / f"{i}.txt").write_text("".join(words.choice(known) + (" " if j % 10 else "\n") for j in range(2000)))
    return root


@pytest.fixture
def task(folder: Path) -> Any:
    return make_task("next_token", folder=str(folder), share=0.7, tokens=TOKENS)


def text_of(names: tuple[str, ...], symbols: list[int]) -> str:
    return "".join(names[i] for i in symbols).replace("\u2423", " ").replace("\u23ce", "\n")


def test_tokens_put_together_are_the_files_each_followed_by_an_end(folder: Path) -> None:
    found = byte_pairs(str(folder), 0.7, TOKENS, 8 << 20)
    for files, side in zip(split_files(str(folder), 0.7), (found.corpus.training, found.corpus.held_out), strict=True):
        whole = "".join(path.read_text() + END for path in files)
        assert text_of(found.names, side.tolist()) == whole
    assert len(set(found.names)) == len(found.names) == TOKENS
    assert found.names[-1] == END


def test_pairs_are_learnt_from_the_training_files_alone(folder: Path, tmp_path: Path) -> None:
    first = byte_pairs(str(folder), 0.7, TOKENS, 8 << 20)
    held_out = split_files(str(folder), 0.7)[1][0]
    for path in folder.iterdir():
        (tmp_path / path.name).write_text("QQXX " * 500 if path.name == held_out.name else path.read_text())
    other = byte_pairs(str(tmp_path), 0.7, TOKENS, 8 << 20)
    assert other.tokenizer == first.tokenizer
    assert other.names == first.names
    byte_pairs.cache_clear()
    assert byte_pairs(str(folder), 0.7, TOKENS, 8 << 20).tokenizer == first.tokenizer, "the same files, the same tokens"


def test_the_first_merge_is_the_most_frequent_pair(folder: Path) -> None:
    """By counting: a word has the space before it, and no pair crosses from one into the next."""
    words = Counter(word for path in split_files(str(folder), 0.7)[0] for word in path.read_text().split(" "))
    pairs: Counter[str] = Counter()
    for word, count in words.items():
        for part, spaced in zip(word.split("\n"), [True, False], strict=False):
            shown = "\u0120" * spaced + part
            pairs.update({a + b: 0 for a, b in itertools.pairwise(shown)})
            for a, b in itertools.pairwise(shown):
                pairs[a + b] += count
    merges = json.loads(byte_pairs(str(folder), 0.7, TOKENS, 8 << 20).tokenizer)["model"]["merges"]
    assert "".join(merges[0]) == pairs.most_common(1)[0][0]


def test_a_text_is_read_up_to_its_cap_and_unused_tokens_have_names(folder: Path, tmp_path: Path) -> None:
    small = make_task("next_token", folder=str(folder), share=0.7, tokens=TOKENS)
    assert small.d_vocab == len(small.tokens_names) == TOKENS + 1
    assert small.d_vocab_out == len(small.output_names) == TOKENS
    for i in range(8):
        (tmp_path / str(i)).write_text("a b")
    few = byte_pairs(str(tmp_path), 0.5, 512, 1 << 20)
    assert len(few.names) == 512
    assert few.names[-2:] == ("<unused510>", END)
    cut = byte_pairs(str(folder), 0.7, TOKENS, 1000)
    lengths = [
        text_of(cut.names, side.tolist()).replace(END, "") for side in (cut.corpus.training, cut.corpus.held_out)
    ]
    assert [len(text) for text in lengths] == [1000, 1000]


@pytest.mark.parametrize(("law", "side"), [("training", 0), ("matched", 1), ("challenge", 1)])
def test_windows_come_from_their_own_side(task: Any, law: str, side: int, seeded: Seeded) -> None:
    data = (task.corpus.training, task.corpus.held_out)[side].tolist()
    whole = ",".join(map(str, data + data[:32]))
    batch = task.sample(100, 31, seeded(1), law)
    for row, after in zip(batch.tokens[:, 1:].tolist(), batch.meta["next_token"].tolist(), strict=True):
        assert ",".join(str(t - 1) for t in row) + f",{after}" in whole
    assert torch.equal(batch.targets[:, 1:-1], batch.tokens[:, 2:] - 1)
    assert torch.equal(batch.targets[:, -1], batch.meta["next_token"])
    assert batch.mask[:, 1:].sum(1).eq(1 if law == "challenge" else 31).all()


def test_challenge_tokens_repeat_what_stands_far_back(tmp_path: Path, seeded: Seeded) -> None:
    """In a text of three words, of which four in a row come again soon."""
    words = random.Random(1)
    for i in range(30):
        (tmp_path / str(i)).write_text(" ".join(words.choices(["ab", "cd", "ef"], k=1000)))
    task: Any = make_task("next_token", folder=str(tmp_path), share=0.7, tokens=512)
    batch = task.sample(100, 400, seeded(2), "challenge")
    for row, after in zip(batch.tokens[:, 1:].tolist(), batch.meta["next_token"].tolist(), strict=True):
        copies = [i for i in range(len(row) - 4) if row[i : i + 4] == row[-4:]]
        assert row[copies[-1] + 4] == after + 1
        assert copies[-1] >= 50
        assert copies[-1] + 4 < 350
        assert task.corpus.likeliest_after[row[-2] - 1, row[-1] - 1] != after


# ---- what repeats itself ---------------------------------------------------------------------------
def period_of(row: list[int]) -> int:
    return next(p for p in range(1, len(row) + 1) if all(a == b for a, b in zip(row, row[p:], strict=False)))


def test_a_share_of_training_strings_repeats_itself(folder: Path, seeded: Seeded, assert_law: Any) -> None:
    task = make_task(
        "next_token", folder=str(folder), share=0.7, tokens=TOKENS, repeated_passages=0.3, repeated_tokens=0.2
    )
    batch = task.sample(2000, 40, seeded(3), "training")
    data = task.corpus.training.tolist()
    pairs = {*itertools.pairwise(data), (data[-1], data[0])}
    kinds, periods = [], []
    for row, after in zip(batch.tokens[:, 1:].tolist(), batch.meta["next_token"].tolist(), strict=True):
        period = period_of([*row, after + 1])
        own = all((a - 1, b - 1) in pairs for a, b in itertools.pairwise(row[: min(period, 40)]))
        kinds.append(0 if period > 20 else 1 if own or period < 8 else 2)
        periods += [period] if kinds[-1] == 2 else []
    counts = torch.tensor(kinds).bincount(minlength=3) / 2000
    assert counts[0] == pytest.approx(0.5, abs=0.05)
    assert counts[2] == pytest.approx(0.2, abs=0.04)
    assert {min(periods), max(periods)} == {8, 20}
    assert_law(torch.tensor(periods) - 8, [1 / 13] * 13)
    plain = task.sample(200, 40, seeded(3), "matched")
    assert sum(period_of(row) <= 20 for row in plain.tokens[:, 1:].tolist()) == 0, "what is measured is text"


@pytest.mark.parametrize("share", ["repeated_passages", "repeated_tokens"])
def test_the_token_behind_a_repeating_string_is_that_of_its_period(folder: Path, seeded: Seeded, share: str) -> None:
    task = make_task("next_token", folder=str(folder), share=0.7, tokens=TOKENS, **{share: 1.0})
    for length in (16, 33):
        batch = task.sample(200, length, seeded(4), "training")
        for row, after in zip(batch.tokens[:, 1:].tolist(), batch.meta["next_token"].tolist(), strict=True):
            whole = [*row, after + 1]
            assert any(all(a == b for a, b in zip(whole, whole[p:], strict=False)) for p in range(8, length // 2 + 1))
    short = task.sample(200, 15, seeded(4), "training")
    assert not any(period_of(row) <= 7 for row in short.tokens[:, 1:].tolist()), "too short to repeat a period of 8"


def test_shares_are_of_the_same_strings(folder: Path) -> None:
    with pytest.raises(TaskError, match="repeated_passages"):
        make_task("next_token", folder=str(folder), repeated_passages=0.6, repeated_tokens=0.5)


# ---- laws of random tokens -------------------------------------------------------------------------
def test_random_tokens_by_three_laws(task: Any) -> None:
    counts = Counter(task.corpus.training.tolist())
    unigram, observed = token_weights(task, "unigram"), token_weights(task, "observed")
    assert token_weights(task, "uniform") is None
    assert unigram is not None
    assert observed is not None
    assert unigram.tolist() == [0.0, *(float(counts[i]) for i in range(TOKENS))]
    assert observed.tolist() == [0.0, *(float(counts[i] > 0) for i in range(TOKENS))]
    assert 0 < observed.sum() < TOKENS, "this text does not have every byte"
    with pytest.raises(TaskError, match="majority"):
        token_weights(make_task("majority"), "unigram")


def test_doubled_tokens_are_a_copy_and_the_same_again(seeded: Seeded, assert_law: Any) -> None:
    weights = torch.tensor([0.0, 1.0, 3.0, 0.0, 4.0])
    found = repeat_twice(500, 10, 5, seeded(5), True, weights)
    assert found.shape == (500, 10)
    assert found[:, 0].eq(0).all()
    assert torch.equal(found[:, 1:5], found[:, 6:10])
    assert_law(found[:, 1:6].flatten(), [0, 1 / 8, 3 / 8, 0, 4 / 8])
    bare = repeat_twice(400, 8, 5, seeded(5), False)
    assert torch.equal(bare[:, :4], bare[:, 4:])
    assert_law(bare[:, :4].flatten(), [1 / 5] * 5)


def test_passages_are_held_out_text_and_only_what_recurs_is_changed(task: Any, seeded: Seeded) -> None:
    found = passages(task, "passages", 50, 41, seeded(6))
    assert found is not None
    whole = ",".join(map(str, task.corpus.held_out.tolist()))
    whole += "," + whole[: 41 * 4]
    text = [",".join(str(t - 1) for t in row) for row in found[:, 1:].tolist()]
    assert all(row in whole for row in text)
    assert passages(task, "unigram", 50, 41, seeded(6)) is None
    twice = repeat_twice(50, 41, task.d_vocab, seeded(7), strings=found)
    assert torch.equal(twice[:, :21], found[:, :21])
    assert torch.equal(twice[:, 1:21], twice[:, 21:])
    again = repeats(50, 41, task.d_vocab, seeded(7), strings=found)
    assert torch.equal(again[:, 33:], found[:, 33:])
    changed = again != found
    assert changed.any(1).all()
    for row, block in zip(again[:, 1:].tolist(), again[:, 33:].tolist(), strict=True):
        assert sum(row[i : i + 8] == block for i in range(33)) >= 2
    with pytest.raises(TaskError, match="majority"):
        token_weights(make_task("majority"), "passages")
