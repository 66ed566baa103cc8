"""The letters that have not occurred: every string, its automaton, and the shares of the sets."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from workbench.tasks import make_task
from workbench.tasks.testing import check_task


@pytest.mark.parametrize("letters", [3, 6])
def test_the_task_keeps_the_rules_for_tasks(letters):
    check_task(make_task("set_complement", letters=letters))


def test_answers_of_every_string(every_string):
    """The names of the answers, against the letters that a text lacks."""
    task = make_task("set_complement", letters=3)
    strings = every_string(3, 5)
    batch = task.label(strings)
    assert bool(batch.mask[:, 1:].all())
    machine = task.automaton()
    states = machine.run(strings.numpy() - 1)
    for row, tokens in enumerate(strings.tolist()):
        text = "".join("abc"[token - 1] for token in tokens)
        expected = [" ".join(sorted(set("abc") - set(text[:end]))) or "none" for end in range(1, 6)]
        assert [task.output_names[target] for target in batch.targets[row, 1:].tolist()] == expected
        assert [task.output_names[answer] for answer in machine.labels[states[row]]] == expected
        assert [task.output_names[answer] for answer in task.reference(tokens)] == expected


def test_the_automaton_has_one_state_for_each_set_and_none_can_be_merged():
    machine = make_task("set_complement", letters=4).automaton()
    assert len(machine) == 2**4
    assert len(set(machine.labels.tolist())) == 2**4, "all answers differ, and the start has none"
    assert machine.labels[machine.start] == -1


def test_sets_are_uniform_at_every_length(seeded, assert_law):
    """With three letters seven sets are possible from length 3 on, six at length 2, and three at length 1."""
    task = make_task("set_complement", letters=3)
    for length, possible in ((1, 3), (2, 6), (3, 7), (30, 7)):
        answers = task.sample(6_000, length, seeded(length), "matched").targets[:, -1]
        codes = sorted(set(answers.tolist()))
        assert len(codes) == possible
        assert task.chance("matched", length) == pytest.approx(1 / possible)
        assert_law(torch.searchsorted(torch.tensor(codes), answers.contiguous()), [1 / possible] * possible)


def test_the_last_absent_letter_occurs_once_if_none_is_absent(seeded):
    batch = make_task("set_complement", letters=3).sample(600, 24, seeded(0))
    full = batch.tokens[:, 1:][batch.targets[:, -1] == 0]
    assert len(full) > 40
    assert all(min(Counter(row).values()) == 1 for row in full.tolist())


@pytest.mark.parametrize("letters", [3, 4, 6])
def test_challenge_sets_are_uniform_and_some_letters_occur_inside_only(letters, seeded, assert_law):
    task = make_task("set_complement", letters=letters)
    batch = task.sample(6_000, 64, seeded(3), "challenge", 12)
    sets = 2**letters - 1
    assert_law(batch.targets[:, -1], [1 / sets] * sets)
    sizes: dict[int, list[int]] = {}
    for row in batch.tokens[:, 1:].tolist():
        every, outer = set(row), set(row[:12] + row[-12:])
        assert (outer == every) == (len(every) == 1)
        sizes.setdefault(len(every), []).append(len(outer))
    assert set(sizes[letters]) == set(range(1, letters)), "one to all letters of the set except one"
    assert_law(torch.tensor(sizes[letters]) - 1, [1 / (letters - 1)] * (letters - 1))


def test_windows_decide_matched_sets_and_not_those_of_the_challenge(seeded):
    """A window is right in the challenge only for sets of one letter: 4 of 15."""
    task = make_task("set_complement")

    def score(law):
        hits = task.shortcuts(task.sample(8_000, 128, seeded(1), law, 32), 32)
        return {name: float(values.mean()) for name, values in hits.items()}

    assert score("matched")["last_window"] > 0.9
    challenge = score("challenge")
    assert challenge["last_window"] == pytest.approx(4 / 15, abs=0.03)
    assert challenge["first_window"] == pytest.approx(4 / 15, abs=0.03)
    assert challenge["last_token"] == pytest.approx(4 / 15, abs=0.03), "the set of the last token alone"
    assert challenge["position_only"] == pytest.approx(1 / 15, abs=0.02)


def test_too_few_tokens_inside_make_the_challenge_that_of_the_matched_set(seeded):
    """Length 9 with N = 3 leaves three tokens inside: too few for four letters, and enough for three."""
    few, enough = (make_task("set_complement", letters=letters) for letters in (4, 3))
    drawn = [few.sample(64, 9, seeded(4), law, 3).tokens for law in ("matched", "challenge")]
    assert torch.equal(*drawn)
    rows = enough.sample(400, 9, seeded(4), "challenge", 3).tokens[:, 1:].tolist()
    assert any(set(row) == {1, 2, 3} for row in rows)
    assert all(len(set(row[:3] + row[-3:])) < 3 for row in rows)
