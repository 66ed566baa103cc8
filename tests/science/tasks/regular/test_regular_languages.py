"""Regular languages as tasks: labels against two oracles, lengths, floors, and what is refused."""

from __future__ import annotations

import pytest

from tests.support.tasks.regular_languages import IDS, LANGUAGES, asked
from workbench.tasks import make_task


@pytest.mark.parametrize("ask", ["member", "next", "state"])
@pytest.mark.parametrize(("name", "parameters", "alphabet", "member", "length", "period"), LANGUAGES, ids=IDS)
def test_labels_agree_with_the_reference_on_every_string(
    name, parameters, alphabet, member, length, period, ask, every_string
):
    if ask == "next" and (name, parameters) in [("tomita", {"n": 1}), ("alternating_blocks", {"k": 1})]:
        return  # refused: the same symbols may follow every string
    task = make_task(name, **parameters, ask=ask)
    strings = every_string(len(alphabet), length)
    for string, labels in zip(strings.tolist(), asked(task, strings), strict=True):
        assert labels == task.reference(string), string


@pytest.mark.parametrize("law", ["matched", "challenge"])
@pytest.mark.parametrize(("name", "parameters", "alphabet", "member", "length", "period"), LANGUAGES, ids=IDS)
def test_floors_of_membership(name, parameters, alphabet, member, length, period, law, seeded):
    """Chance is that of the best constant; on challenge no shortcut is above it, at 8 times the window."""
    task = make_task(name, **parameters)
    if task.one_string_per_length:
        return
    n = task.next_length(160)
    found = {
        key: hits.mean().item() for key, hits in task.shortcuts(task.sample(4_000, n, seeded(n), law, 20), 20).items()
    }
    assert task.chance(law, n) == 0.5
    assert found["position_only"] == pytest.approx(0.5, abs=0.03)
    if law == "challenge":
        for key, share in found.items():
            assert share < 0.54 or key in task.outside_floor, key
