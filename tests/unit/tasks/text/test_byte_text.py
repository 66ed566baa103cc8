"""Next-byte prediction: which bytes are read, where windows come from, and what the challenge asks."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.text import corpus as text_corpus
from workbench.tasks.text.corpus import Corpus, _fraction, corpus, split_files


@pytest.fixture
def folder(tmp_path):
    """Thirty files with texts of their own, one of them empty, some in a subfolder."""
    words = random.Random(0)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for i in range(30):
        place = tmp_path / ("deep/er" if i % 3 == 0 else ".") / f"file{i}.txt"
        place.write_text(
            "" if i == 7 else f"file{i}: " + " ".join(f"w{words.randrange(10_000)}" for _ in range(40)) + "\n"
        )
    return tmp_path


def of_bytes(training, held_out):
    return Corpus(*(np.frombuffer(side, dtype=np.uint8).copy() for side in (training, held_out)))


def texts(task, batch):
    """Windows as bytes, with the byte that follows each."""
    following = batch.meta["next_byte"].tolist()
    return [
        (bytes(t - 1 for t in row), byte) for row, byte in zip(batch.tokens[:, 1:].tolist(), following, strict=True)
    ]


def test_files_are_split_by_a_fixed_hash_of_their_names(folder):
    training, held_out = split_files(str(folder), 0.7)
    assert len(training) + len(held_out) == 29  # the empty one is left out
    assert not set(training) & set(held_out)
    assert all(_fraction(p.relative_to(folder).as_posix()) < 0.7 for p in training)
    assert all(_fraction(p.relative_to(folder).as_posix()) >= 0.7 for p in held_out)
    # Written down once: another hash would move files between the sides of runs on disk.
    found = [round(_fraction(name), 6) for name in ("abc.py", "os.py", "deep/er/file0.txt")]
    assert found == [0.769195, 0.850949, 0.93324]
    edge = training[-1]  # a share that is exactly a file's own place: that file is held out, and is on no other side
    at_edge = split_files(str(folder), _fraction(edge.relative_to(folder).as_posix()))
    assert [edge in side for side in at_edge] == [False, True]
    assert sum(map(len, at_edge)) == 29


@pytest.mark.parametrize(("law", "side"), [("training", 0), ("matched", 1), ("challenge", 1)])
def test_windows_come_from_their_own_side(folder, law, side, seeded):
    task = make_task("text", folder=str(folder), share=0.7)
    files = split_files(str(folder), 0.7)[side]
    data = b"".join(p.read_bytes() for p in files)
    batch = task.sample(200, 21, seeded(1), law)
    for window, byte in texts(task, batch):
        assert window + bytes([byte]) in data + data[:22]
    asked = batch.mask[:, 1:]
    assert asked.all() if law != "challenge" else asked.sum(1).eq(1).all() and asked[:, -1].all()
    assert torch.equal(batch.targets[:, 1:-1], batch.tokens[:, 2:] - 1)
    assert torch.equal(batch.targets[:, -1], batch.meta["next_byte"])


def test_every_place_of_the_circle_is_equally_likely(folder, seeded, assert_law):
    """By windows longer than the whole text: each tells where it starts."""
    (folder / "small").mkdir()
    for i in range(8):
        (folder / "small" / f"{i}").write_bytes(bytes([65 + i]))
    task = make_task("text", folder=str(folder / "small"), share=0.5)
    held_out = b"".join(p.read_bytes() for p in split_files(str(folder / "small"), 0.5)[1])
    n = len(held_out)
    found = texts(task, task.sample(3_000, n, seeded(2), "matched"))
    starts = {held_out[i:] + held_out[:i]: i for i in range(n)}
    assert_law(torch.tensor([starts[window] for window, _ in found]), [1 / n] * n)
    assert all(window[0] == byte for window, byte in found)
    assert task.prefix_closed("matched")
    assert not task.prefix_closed("challenge")


def test_given_strings_are_asked_for_what_they_show():
    task = make_task("text")
    batch = task.label(torch.tensor([[1 + b for b in b"import "]]))
    assert batch.mask.tolist() == [[False] + [True] * 6 + [False]]
    assert bytes(batch.targets[0, 1:7].tolist()) == b"mport "
    assert task.reference([1 + b for b in b"if"]) == [ord("f"), None]


def test_byte_names_are_unique_and_readable():
    task = make_task("text")
    assert len(set(task.tokens_names)) == task.d_vocab == 257
    assert task.d_vocab_out == 256
    assert [task.tokens_names[1 + b] for b in b"a \n\x00"] == ["a", "␣", "⏎", "x00"]


def test_chance_is_the_share_of_the_most_frequent_byte(folder):
    task = make_task("text", folder=str(folder), share=0.7)
    for law, files in zip(("training", "matched"), split_files(str(folder), 0.7), strict=True):
        data = b"".join(p.read_bytes() for p in files)
        assert task.chance(law, 9) == pytest.approx(max(map(data.count, range(256))) / len(data))


# ---- the challenge law -----------------------------------------------------------------------------
@pytest.mark.parametrize("length", [40, 100, 400])
def test_challenge_bytes_repeat_what_stands_far_back(length, seeded):
    """Checked on the windows themselves with bytes.rfind; the default text has thousands of such places."""
    task = make_task("text")
    table = task.corpus.likeliest_after
    batch = task.sample(150, length, seeded(length), "challenge")
    margin = length // 8
    for window, byte in texts(task, batch):
        copy = window.rfind(window[-8:], 0, -1)
        assert window[copy + 8] == byte
        assert copy >= margin
        assert copy + 8 < length - margin
        assert table[window[-2], window[-1]] != byte
    found = task.shortcuts(batch, 50)
    assert found["bigram"].sum() == 0


def test_bigrams_by_counting(folder):
    task = make_task("text", folder=str(folder), share=0.7)
    data = b"".join(p.read_bytes() for p in split_files(str(folder), 0.7)[0])
    circle = data + data[:2]
    for pair in {data[i : i + 2] for i in range(0, len(data) - 1, 37)}:
        counts = [circle.count(pair + bytes([b])) for b in range(256)]
        assert counts[task.corpus.likeliest_after[pair[0], pair[1]]] == max(counts)
    assert task.corpus.likeliest_after[0, 0] == ord(" ")


def test_without_repeats_the_challenge_asks_anywhere(seeded):
    found = of_bytes(b"some training text", bytes(range(256)) * 2).far_repeats(40)
    assert found.tolist() == list(range(512))
    assert of_bytes(b"abc", b"ab").far_repeats(3).tolist() == [0, 1]


def test_far_repeats_of_a_text_made_by_hand():
    """A word of 9 repeats at distance 31; windows of 44 and 48 show it well inside, those of 43 and of 300 do not."""
    rest = bytes(range(100, 122))
    held_out = (b"ABCDEFGHI" + rest) * 400
    every = of_bytes(b"no such bytes in here", held_out)
    for length in (44, 48):
        assert every.far_repeats(length).tolist() == list(range(31, len(held_out)))
    assert every.far_repeats(43).tolist() == list(range(len(held_out)))  # 31 + 8 > 43 - 5
    assert every.far_repeats(300).tolist() == list(range(len(held_out)))  # 31 <= 300 // 8


# ---- shortcut oracles ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("visible", "votes"),
    [
        (b"xabcdyabcezabc", {"d": 1, "e": 1}),
        (b"qbcdbcdabc", {"d": 2}),  # "abc" is new: what followed "bc"
        (b"acbcxc", {"b": 1, "x": 1}),
        (b"aabz", {"a": 2, "b": 1, "z": 1}),
        (b"a", {"a": 1}),
    ],
)
def test_windows_vote_by_what_followed_before(visible, votes):
    task = make_task("text")
    weights = task.answer(torch.tensor([[1 + b for b in visible]]))[0]
    assert {task.output_names[i]: weights[i].item() for i in weights.nonzero()[:, 0]} == votes


def test_shortcuts_of_text(seeded):
    task = make_task("text")
    found = task.shortcuts(task.sample(500, 120, seeded(3), "matched"), 50)
    assert set(found) == {"position_only", "last_token", "last_window", "first_window", "bigram"}
    assert found["bigram"].mean() > found["position_only"].mean()


def test_the_bigram_guesses_from_two_bytes_on_and_by_the_last_two(folder, seeded):
    task = make_task("text", folder=str(folder), share=0.7)
    batch = task.sample(400, 2, seeded(4), "matched")
    pairs = batch.tokens[:, -2:] - 1
    guess = torch.tensor([int(task.corpus.likeliest_after[a, b]) for a, b in pairs.tolist()])
    found = task.shortcuts(batch, 50)["bigram"]
    assert found.tolist() == (guess == batch.targets[:, -1]).double().tolist()
    assert 0 < found.mean() < 1
    assert "bigram" not in task.shortcuts(task.sample(4, 1, seeded(5), "matched"), 50)


# ---- bounds and errors -----------------------------------------------------------------------------
def test_what_is_read_is_bounded(folder, monkeypatch):
    monkeypatch.setattr("workbench.tasks.text.corpus.TRAINING_CAP", 1000)
    monkeypatch.setattr("workbench.tasks.text.corpus.HELD_OUT_CAP", 300)
    read = corpus(str(folder), 0.69)
    assert len(read.training) == 1000
    assert len(read.held_out) == 300
    assert bytes(read.training.tolist()) == b"".join(p.read_bytes() for p in split_files(str(folder), 0.69)[0])[:1000]


def test_the_folder_is_read_once(folder, seeded):
    task = make_task("text", folder=str(folder), share=0.71)
    first = task.sample(3, 9, seeded(4)).tokens
    for path in folder.rglob("*.txt"):
        path.unlink()
    again = make_task("text", folder=str(folder), share=0.71).sample(3, 9, seeded(4)).tokens
    assert torch.equal(first, again)


def test_the_default_is_the_standard_library():
    training, held_out = split_files("stdlib", 0.9)
    assert {"ast.py", "os.py", "random.py"} <= {p.name for p in training + held_out}
    assert all(p.suffix == ".py" for p in training + held_out)
    assert len({p.parent for p in training + held_out}) == 1
    assert make_task("text").parameters == {"folder": "stdlib", "share": 0.9}


def test_folders_without_text_are_refused_in_one_sentence(tmp_path):
    def refused(folder, share=0.9):
        with pytest.raises(TaskError) as caught:
            make_task("text", folder=str(folder), share=share)
        return str(caught.value)

    nowhere = tmp_path / "nowhere"
    assert refused(nowhere) == (
        f"text: folder {nowhere} cannot be read: No such file or directory; give a folder of text files"
    )
    file = tmp_path / "file"
    file.write_text("text")
    assert "cannot be read: Not a directory" in refused(file)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert refused(empty) == (
        f"text: folder {empty} has 0 files with text, but no training file at share = 0.9; "
        "give a folder with more files, or another share"
    )
    (empty / "a").write_text("")
    assert "has 0 files with text" in refused(empty, 0.8)
    one = tmp_path / "one"
    one.mkdir()
    (one / "a").write_text("text")
    assert "has 1 files with text, but no" in refused(one)
    with pytest.raises(TaskError, match="share"):
        make_task("text", share=1)


def test_a_folder_is_looked_at_within_bounds(tmp_path, monkeypatch):
    """A run names the folder, and a run is data: neither a whole disk nor a pipe keeps anybody waiting."""
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text("some text")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "device.txt").symlink_to("/dev/zero")
    training, held_out = split_files(str(tmp_path), 0.5)
    assert {path.name for path in training + held_out} == {f"{number}.txt" for number in range(40)}
    monkeypatch.setattr(text_corpus, "ENTRIES", 41)
    with pytest.raises(TaskError, match="folders"):
        make_task("text", folder=str(tmp_path), share=0.6)
