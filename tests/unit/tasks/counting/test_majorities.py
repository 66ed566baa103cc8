"""Majority of letters and of three interleaved strings."""

from __future__ import annotations

import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.sampling import integers, sample_by_rejection


@pytest.mark.parametrize(("letters", "length"), [(2, 9), (3, 7), (5, 4)])
def test_letter_majority_agrees_with_the_oracle_on_every_string(letters, length, every_string):
    """All 2^9, 3^7 and 5^4 strings; a second count by torch.mode, which breaks ties towards the smallest."""
    task = make_task("letter_majority", letters=letters)
    strings = every_string(letters, length)
    batch = task.label(strings)
    rows = zip(strings.tolist(), batch.targets[:, 1:].tolist(), batch.mask[:, 1:].tolist(), strict=True)
    for string, target, mask in rows:
        assert [t if m else None for t, m in zip(target, mask, strict=True)] == task.reference(string)
    asked = batch.mask[:, -1]
    assert torch.equal(batch.targets[asked, -1], strings[asked].mode(1).values - 1)
    ties = torch.stack([strings.eq(j).sum(1) for j in range(1, letters + 1)], 1)
    assert torch.equal(asked, ties.eq(ties.amax(1, keepdim=True)).sum(1) == 1)
    assert torch.equal(batch.update_summary[:, -1], ties)
    assert torch.equal(batch.output_summary[:, 1:], batch.targets[:, 1:].where(batch.mask[:, 1:], letters))


def test_near_ties_are_reported(seeded):
    task = make_task("letter_majority", letters=3)
    strata = task.strata(task.label(torch.tensor([[1, 1, 1, 2, 2], [1, 1, 1, 1, 2], [1, 1, 2, 2, 3]])))
    assert {name: kind.tolist() for name, kind in strata.items()} == {
        "lead 1": [True, False, False],
        "lead 2 to 5": [False, True, False],
    }


def test_rows_are_drawn_until_enough_are_kept(seeded):
    rows = sample_by_rejection(50, lambda number: integers(100, (number, 1), seeded(number)), lambda r: r[:, 0] == 7)
    assert rows.shape == (50, 1)
    assert (rows == 7).all()


# ---- interleaved ---------------------------------------------------------------------------------
@pytest.mark.parametrize("inputs", [3, 9])
def test_interleaved_majority_agrees_with_the_oracle_on_every_input(inputs, every_string):
    """All 2^3 and 2^9 inputs (no ties, the strings being odd)."""
    task = make_task("interleaved_majority")
    x = every_string(2, inputs)
    whole = torch.cat([x, torch.full((len(x), 1), 3), task._outputs(x)], 1)
    batch = task.label(whole)
    assert batch.prompt == inputs + 2
    rows = zip(whole.tolist(), batch.targets[:, 1:].tolist(), batch.mask[:, 1:].tolist(), strict=True)
    for string, target, mask in rows:
        assert [t if m else None for t, m in zip(target, mask, strict=True)] == task.reference(string)


def test_interleaved_majority_by_hand():
    task = make_task("interleaved_majority")
    assert task.tokens_names == ("<bos>", "0", "1", "<sep>")
    assert task.lengths(1, 14) == [7, 10, 13]
    batch = task.label(torch.tensor([[2, 1, 1, 3, 2, 1, 1]]))
    assert batch.update_summary[0, 1:].tolist() == [
        [1, 0, 0, 1], [1, -1, 0, 2], [1, -1, -1, 0], [1, -1, -1, 3], [1, -1, -1, 4], [1, -1, -1, 5], [1, -1, -1, 6],
    ]  # fmt: skip
    with pytest.raises(TaskError, match="inputs"):
        task.label(torch.tensor([[1, 1, 1, 2, 1, 1, 3]]))


# ---- one half of the alphabet ----------------------------------------------------------------------
@pytest.mark.parametrize(("half", "tokens"), [("first", [1, 2]), ("second", [3, 4, 5])])
@pytest.mark.parametrize("law", ["training", "challenge"])
@pytest.mark.parametrize("shares", ["any", "even"])
def test_strings_have_letters_of_a_half_alone(half, tokens, law, shares, seeded):
    task = make_task("letter_majority", letters=5, half=half, shares=shares)
    batch = task.sample(60, 9, seeded(4), law)
    assert batch.tokens[:, 1:].unique().tolist() == tokens
    assert task.tokens_names == make_task("letter_majority", letters=5).tokens_names
    assert task.chance(law, 9) == 1 / len(tokens)
    assert all(
        task.reference(row[1:])[-1] == target
        for row, target in zip(batch.tokens.tolist(), batch.targets[:, -1].tolist(), strict=True)
    )


def test_a_half_of_one_letter_is_refused():
    with pytest.raises(TaskError, match="letters"):
        make_task("letter_majority", letters=3, half="first")
