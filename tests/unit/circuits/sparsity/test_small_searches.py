"""Places that a task plants, lengths that are searched, factors and runs that are refused: at their bounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from circuits.hardmax.failure_relation import COLUMNS, _varies, concordance, failure_relation
from circuits.interchange.measurement import Interchange, _Rows
from circuits.sparsity.influence import _hidden
from circuits.sparsity.measurement import PLANTED, Sparsity, planted_positions
from workbench.tasks.base import Batch


def given(bos: bool, update: bool = False, **meta: torch.Tensor) -> Batch:
    tokens = torch.tensor([[9, 1, 2, 1], [9, 2, 2, 1]])
    zeros = torch.zeros_like(tokens)
    return Batch(tokens, zeros, zeros.bool(), zeros, zeros if update else None, 4 - int(bos), bos, "given", meta=meta)


def test_planted_places_are_counted_from_one_and_zero_is_none() -> None:
    name, other = PLANTED[:2]
    places = torch.tensor([[1, 3], [0, 2]])
    assert planted_positions(given(True, **{name: places})) == [{1, 3}, {2}]
    assert planted_positions(given(False, **{name: places})) == [{0, 2}, {1}]
    assert planted_positions(given(True, **{name: places, other: torch.tensor([2, 0])})) == [{1, 2, 3}, {2}]
    assert planted_positions(given(True, unknown=places)) is None


def test_what_is_hidden_with_a_token() -> None:
    batch = given(True)
    earlier = torch.tensor([1, 2])
    assert _hidden(batch, earlier, 1, "token").tolist() == [[False, True, False, False]] * 2
    assert _hidden(batch, earlier, 1, "type").tolist() == [[False, True, False, False], [False, True, True, False]]


def searched(lengths: list[int], longest: int) -> list[int | None]:
    """The length that windows are asked of, and that of planted places."""
    asked: list[int | None] = []

    class Told(Sparsity):
        def _windows(self, study: Any, length: int | None) -> list[Any]:
            asked.append(length)
            return []

        _planted = _windows

    study: Any = SimpleNamespace(grid=SimpleNamespace(lengths=lengths, trained=8))
    Told(longest=longest).finish(study)
    return asked


@pytest.mark.parametrize(
    ("lengths", "longest", "found"),
    [
        ([4, 8, 16, 32], 32, [32, 8]), ([4, 8, 16, 32], 31, [16, 8]), ([4, 8, 16], 8, [None, 8]), ([9, 16], 16, [16, None]),
        ([4, 8, 16], 7, [None, 4]), ([4, 8, 16], 3, [None, None]),
    ],
)  # fmt: skip
def test_the_longest_lengths_that_are_searched(lengths: list[int], longest: int, found: list[int | None]) -> None:
    assert searched(lengths, longest) == found


# ---- interchange ---------------------------------------------------------------------------------
def test_factors_of_pairs_lie_above_one() -> None:
    assert tuple(Interchange(factors=(1.5, 2)).factors) == (1.5, 2)
    for factors in ((1,), (0.5,), (2, 1)):
        with pytest.raises(ValueError, match="multiples"):
            Interchange(factors=factors)


@pytest.mark.parametrize(
    ("donor", "recipient", "suffix", "coupled", "update", "said"),
    [
        (5, 9, 4, False, True, ""), (9, 5, 4, False, True, ""), (5, 9, 5, False, True, "strings of 5 tokens have no prefix"),
        (9, 5, 5, False, True, "strings of 5 tokens have no prefix"), (5, 9, 4, True, True, "position ids are coupled"),
        (5, 9, 4, False, False, "the task states no update summary"),
    ],
)  # fmt: skip
def test_why_prefixes_cannot_be_exchanged(
    donor: int, recipient: int, suffix: int, coupled: bool, update: bool, said: str
) -> None:
    batch = given(True, update)
    rows = _Rows.__new__(_Rows)
    rows.suffix = suffix
    rows.study = SimpleNamespace(  # type: ignore[assignment]
        cfg=SimpleNamespace(ids=SimpleNamespace(coupled=coupled)), batch=lambda law, length: batch
    )
    assert rows._no_exchange(donor, recipient).startswith(said)
    assert bool(rows._no_exchange(donor, recipient)) == bool(said)


# ---- runs that failed ----------------------------------------------------------------------------
def runs(**changed: Any) -> pd.DataFrame:
    columns = {
        "task": ["a"] * 5,
        "critical": [4.0, 8, 16, 32, 64],
        "low": [8.0, 16, 32, 64, 128],
        "high": [16.0, 32, 64, 128, 256],
    }
    return pd.DataFrame(columns).assign(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"critical": [0.0, 8, 16, 32, 64]}, {"low": [0.0, 16, 32, 64, 128]}, {"high": [8.0, 32, 64, 128, 256]},
        {"critical": [np.inf, 8, 16, 32, 64]}, {"critical": [np.nan, 8, 16, 32, 64]}, {"low": [np.inf, 16, 32, 64, 128]},
    ],
)  # fmt: skip
def test_one_run_that_says_nothing_is_enough_to_refuse(changed: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match="finite"):
        failure_relation(runs(**changed), resamples=1)


def test_five_runs_in_two_tasks_and_some_that_never_failed() -> None:
    assert COLUMNS == ("task", "critical", "low", "high")
    found = failure_relation(runs(task=list("aabba"), high=[16.0, 32, 64, np.nan, np.inf]), resamples=0)
    assert (found.runs, found.censored) == (5, 2)
    assert {*found.intercepts} == {"a", "b"}
    assert np.isnan(found.low)
    assert found.concordance == 1.0
    assert found.slope == pytest.approx(1.0, abs=0.15)  # each fails at two to four times its critical length
    with pytest.raises(ValueError, match="task"):
        failure_relation(runs(task=list("abcde")), resamples=0)
    with pytest.raises(ValueError, match="at least 5 runs, not 4"):
        failure_relation(runs().head(4), resamples=0)


def test_lengths_that_vary_within_some_task() -> None:
    tasks = np.array(["a", "a", "b", "b"])
    assert _varies(tasks, np.array([1.0, 1.0, 2.0, 2.1]))
    assert not _varies(tasks, np.array([1.0, 1.0, 2.0, 2.0]))
    assert not _varies(tasks, np.array([1.0, 1.0 + 1e-10, 2.0, 2.0]))
    assert _varies(tasks, np.array([1.0, 1.0 + 1e-8, 2.0, 2.0]))


def test_pairs_whose_order_is_certain() -> None:
    """The second run fails at 4 at the latest, which the third survives; of the first and the second nothing is certain."""
    low, high = np.array([1.0, 2, 4]), np.array([3.0, 4, 8])
    assert concordance(np.array([9.0, 1, 5]), low, high) == 0.5
    assert concordance(np.array([1.0, 1, 5]), low, high) == 1.0
    assert concordance(np.array([5.0, 1, 5]), low, high) == 0.75
