"""Text that the project writes itself: the same bytes everywhere, with something far back that later bytes need."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.text.corpus import GENERATED, corpus, split_texts
from workbench.tasks.text.generated_passages import CAST, PASSAGES, TOPICS, passage, passages

THINGS = sorted(thing for things in TOPICS.values() for thing in things)


def test_the_bytes_are_those_that_runs_were_trained_on() -> None:
    """Written down once. Other passages would make runs on disk runs of another text, under the same name: whoever
    changes what is written gives it a name of its own."""
    together = hashlib.sha256(b"".join(passages().values())).hexdigest()
    assert together == "78550406b0759fc230b9d681b9dbdf2f6ffb63068cf01f58fe62afffabe04e6f"
    assert sum(map(len, passages().values())) == 2_194_082


def test_every_passage_is_another_one_and_comes_back_to_its_names() -> None:
    every = passages()
    assert len(every) == len(set(every.values())) == PASSAGES
    names = [Counter(re.findall(r"(?<![.?] )(?<!^)(?<!\")\b[A-Z][a-z]+", passage(number))) for number in range(200)]
    # Words that begin a sentence or a question are left out, so that names are what is left.
    assert all(len(found) <= CAST for found in names)
    assert sum(sum(found.values()) - len(found) for found in names) / 200 > 3
    across = Counter(name for found in names for name in found)
    assert max(across.values()) <= 3  # invented anew for each passage


def test_things_keep_their_colour_within_a_passage_and_not_beyond() -> None:
    pattern = re.compile(rf"(\w+) ({'|'.join(THINGS)})\b")
    colours: dict[str, set[str]] = {}
    for number in range(200):
        own: dict[str, set[str]] = {}
        for colour, thing in pattern.findall(passage(number)):
            own.setdefault(thing, set()).add(colour)
        assert all(len(found) == 1 for found in own.values())
        for thing, found in own.items():
            colours.setdefault(thing, set()).update(found)
    assert all(len(found) > 3 for found in colours.values())


def test_a_passage_is_of_one_topic_above_all() -> None:
    topic = {thing: name for name, things in TOPICS.items() for thing in things}
    shares = []
    for number in range(200):
        found = Counter(topic[thing] for thing in re.findall(rf"\b({'|'.join(THINGS)})\b", passage(number)))
        shares.append(max(found.values()) / sum(found.values()))
    assert 0.8 < sum(shares) / 200 < 0.95


def test_the_task_reads_it_under_its_name_and_holds_whole_passages_out() -> None:
    training, held_out = split_texts(GENERATED, 0.9, 1 << 30, 1 << 30)
    assert sorted(training + held_out) == sorted(passages().values())
    assert not set(training) & set(held_out)
    assert 0.85 < len(training) / PASSAGES < 0.95
    found = corpus(GENERATED, 0.9)
    assert bytes(found.held_out.tolist()) == b"".join(held_out)
    batch = make_task("text", folder=GENERATED).sample(4, 60, torch.Generator().manual_seed(0), "training")
    circle = b"".join(training) * 2
    assert all(bytes(t - 1 for t in row) in circle for row in batch.tokens[:, 1:].tolist())


def test_caps_and_shares_are_kept() -> None:
    training, held_out = split_texts(GENERATED, 0.5, 1000, 10)
    assert (sum(map(len, training)), sum(map(len, held_out))) == (1000, 10)
    with pytest.raises(TaskError, match=r"\b0\.999999\b"):
        make_task("text", folder=GENERATED, share=0.999999)


def test_next_token_reads_it_too() -> None:
    task = make_task("next_token", folder=GENERATED, tokens=512, most=1)
    assert task.sample(2, 20, torch.Generator().manual_seed(0), "matched").tokens.shape == (2, 21)
