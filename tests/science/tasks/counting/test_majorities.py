"""Majority of letters and of three interleaved strings."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import pytest
import torch

from workbench.tasks import make_task

MANY = 12_000


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
