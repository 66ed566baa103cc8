"""Majority of letters and of three interleaved strings."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.sampling import accepted, integers

MANY = 12_000


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


@pytest.mark.science
@pytest.mark.parametrize("shares", ["any", "even"])
def test_every_string_of_letters_has_its_probability(shares, seeded, assert_law):
    """n! prod(c!) / ... : with all shares equally likely, counts are uniform, orders too; ties are left out."""
    letters, length = 3, 4
    law = {}
    for string in product(range(letters), repeat=length):
        counts = sorted(string.count(j) for j in range(letters))
        orders = factorial(length) / prod(map(factorial, counts))
        law[string] = (counts[-1] > counts[-2]) * (1.0 if shares == "even" else 1 / orders)
    total, place = sum(law.values()), {string: i for i, string in enumerate(law)}
    batch = make_task("letter_majority", letters=letters, shares=shares).sample(MANY, length, seeded(0), "matched")
    found = torch.tensor([place[tuple(row)] for row in (batch.tokens[:, 1:] - 1).tolist()])
    assert_law(found, [share / total for share in law.values()])


@pytest.mark.science
def test_the_challenge_law_of_letters_sorts_them_in_random_order(seeded, assert_law):
    task = make_task("letter_majority", letters=4)
    tokens = task.sample(MANY, 12, seeded(1), "challenge").tokens[:, 1:]
    changes = (tokens[:, 1:] != tokens[:, :-1]).sum(1)
    present = torch.stack([(tokens == j).any(1) for j in range(1, 5)], 1).sum(1)
    assert torch.equal(changes + 1, present), "each letter in one block"
    four = tokens[present == 4]
    first = four[:, 0] - 1
    assert_law(first, [0.25] * 4)
    matched = task.sample(MANY, 12, seeded(2), "matched").tokens[:, 1:]
    for j in range(1, 5):
        assert abs((tokens == j).sum(1).double().mean() - (matched == j).sum(1).double().mean()) < 0.1


@pytest.mark.science
def test_letter_majority_shortcuts(seeded):
    task = make_task("letter_majority")
    for law in ("matched", "challenge"):
        batch = task.sample(1_500, 400, seeded(3), law)
        found = {name: float(hits.mean()) for name, hits in task.shortcuts(batch, 50).items()}
        assert found["position_only"] == pytest.approx(1 / 26, abs=0.015)
        assert task.chance(law, 400) == 1 / 26
        if law == "challenge":  # 50 of 400 sorted tokens show a leader with about a fifth of the tokens seldom
            assert max(found.values()) < 0.15
        else:
            assert found["first_window"] > 0.4


def test_near_ties_are_reported(seeded):
    task = make_task("letter_majority", letters=3)
    strata = task.strata(task.label(torch.tensor([[1, 1, 1, 2, 2], [1, 1, 1, 1, 2], [1, 1, 2, 2, 3]])))
    assert {name: kind.tolist() for name, kind in strata.items()} == {
        "lead 1": [True, False, False],
        "lead 2 to 5": [False, True, False],
    }


def test_rows_are_drawn_until_enough_are_kept(seeded):
    rows = accepted(50, lambda number: integers(100, (number, 1), seeded(number)), lambda r: r[:, 0] == 7)
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
    with pytest.raises(TaskError, match="no answer to one of these inputs"):
        task.label(torch.tensor([[1, 1, 1, 2, 1, 1, 3]]))


@pytest.mark.science
@pytest.mark.parametrize(("size", "law"), [(3, "matched"), (4, "matched"), (4, "challenge"), (5, "challenge")])
def test_the_three_strings_are_independent_and_never_tied(size, law, seeded, assert_law):
    task = make_task("interleaved_majority")
    batch = task.sample(MANY, 3 * size + 4, seeded(size), law)
    strings = (batch.tokens[:, 1 : 3 * size + 1] - 1).view(MANY, size, 3)
    counts = strings.sum(1)
    allowed = [c for c in range(size + 1) if 2 * c != size]
    joint = torch.tensor([allowed.index(c) for c in counts.flatten().tolist()]).view(MANY, 3)
    assert_law(joint @ torch.tensor([1, len(allowed), len(allowed) ** 2]), [len(allowed) ** -3] * len(allowed) ** 3)
    one = counts[:, 0] == 1
    place = strings[one, :, 0].argmax(1)
    ends = [0.5, *[0.0] * (size - 2), 0.5]
    assert_law(place, ends if law == "challenge" else [1 / size] * size)
    whole = (2 * strings.sum(1) > size).long() + 1
    assert torch.equal(batch.tokens[:, 3 * size + 2 :], whole)
    assert task.shortcuts(batch, 3 * size + 4)["position_only"].mean() == pytest.approx(1 / 8, abs=0.015)
