"""Strings that a run is asked beside its own: of another evaluation seed, of its task under other parameters, or both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.table.making import CONFIG
from workbench.table.other_strings import OWN_STRINGS, OtherStrings, other_strings


@pytest.mark.parametrize(("seed", "parameters", "found"), [
    (None, None, OWN_STRINGS), (3, None, OWN_STRINGS), (0, None, OtherStrings(0)), (4, {"p": 0.5}, OtherStrings(4)), (None, {"p": 0.25}, OtherStrings(None, '{"p":0.25}')), (3, {"bos": True, "p": 0.25, "new": 1}, OtherStrings(None, '{"new":1,"p":0.25}')),
    (4, {"p": 1}, OtherStrings(4, '{"p":1}')), (None, {}, OWN_STRINGS),
])  # fmt: skip
def test_what_of_strings_is_not_a_runs_own(
    seed: int | None, parameters: dict[str, Any] | None, found: OtherStrings
) -> None:
    made = other_strings(CONFIG, seed, parameters)
    assert made == found
    assert bool(made) == (found != OWN_STRINGS)
    assert OtherStrings.of(made.metadata) == made
    assert made.text == ("" if not made else json.dumps(made.setting, sort_keys=True, separators=(",", ":")))
    assert made.parameters == (json.loads(found.task) if found.task else {})
    assert set(made.metadata) == {
        name for name, there in (("evaluation_seed", found.seed is not None), ("task_parameters", found.task)) if there
    }
