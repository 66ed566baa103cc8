"""What exact claims compute, on sizes small enough for every run of the tests: their rows are held.

At full size they are computed again in tests/science and tests/product.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tests.support.claims.committed import built
from tests.support.held import Held
from tests.support.printed import printed
from workbench.claims.claim import Claim
from workbench.claims.exact.overlapping_windows import changed_chain, random_chain
from workbench.claims.exact.random_strings import drifting_source, length_needed, mean_interval, second_layer
from workbench.claims.exact.sparse_classes import RandomClass
from workbench.claims.exact.two_functions import nearly_equal_pair
from workbench.claims.reproducing import compute_rows

EXACT = "workbench.claims.exact"
SMALL: Mapping[str, Mapping[str, Any]] = {
    "QB03": {"HEADS": 6, "LONGEST": 5},
    "QB04": {"SIMULATED_PAIRS": 5, "EPSILONS": (0.4, 0.2), "SIMULATED_LENGTH": 400, "short_strings.RESAMPLES": 50},
    "QB06": {"RARE_LENGTH": 5_000},
    "QB07": {"PAIRS": 5, "two_functions.SHORT": (3, 4, 5), "short_strings.RESAMPLES": 50},
    "QB09": {"random_strings.BATCHES": 2, "random_strings.DRAWS": 40, "EPSILONS": (0.3, 0.15)},
    "QB12": {"SOURCES": 2, "random_strings.SOURCE_LENGTH": 30_000, "random_strings.SUBSETS": 3},
    "QB13": {
        "SOURCES": 2,
        "random_strings.SOURCE_LENGTH": 9_000,
        "random_strings.SUBSETS": 3,
        "random_strings.SUBSET_SIZES": (100, 800),
    },
    "QB10": {"rounding_attention.FORWARD": 60},
    "QB11": {},
    "QB15": {"handmade_averages.LENGTHS": (10, 60)},
    "QB15b": {"NEARBY": 60},
    "QB16": {"handmade_averages.LENGTHS": (10, 60)},
    "QB17": {"handmade_averages.LONGEST": 64, "handmade_averages.CHAINS": 2},
    "QB17b": {"handmade_averages.LONGEST": 64, "handmade_averages.CHAINS": 2},
    "HE08": {
        "STRINGS": 300,
        "published_labels.PERIODS": (1, 2, 3),
        "published_labels.LOCALITIES": (0, 1, 2),
    },
    "SE01": {"CLASSES": 20},
    "SE02": {"HEADS": 3},
    "SE03": {"sparse_classes.LONGEST": 16},
    "SE04": {"sparse_classes.LONGEST": 16},
    "SE05": {"sparse_classes.LONGEST": 16},
    "SE06": {"sparse_classes.LONGEST": 16},
    "SE07": {"CLASSES": 3},
    "SE08": {"CLASSES": 2},
    "SE09": {"CLASSES": 1},
    "SE10": {"CHAINS": 4, "WORST": 1, "CHANGES": 2, "overlapping_windows.BLOCKS": 6},
    "SE13": {},
    "SX01": {"recurrent_states.LONG": 200},
    "SX02": {"recurrent_states.LONG": 200},
    "SX03": {"BITS": (2, 3)},
    "SX08": {"BITS": (2, 3)},
    "SX05": {"NEAR_MISSES": 60, "LONGEST": 6},
    "TR01": {},
    "TR04": {},
}
"""Constants that are made smaller: of the module that states the claim, or ``module.NAME`` of one below ``exact``."""
CLAIMS = [claim for claim in built() if claim.id in SMALL]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_exact_rows_at_small_sizes(claim: Claim, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL[claim.id].items():
        place, _, constant = name.rpartition(".")
        module = import_module(f"{EXACT}.{place}" if place else claim.rows.partition(":")[0])
        assert hasattr(module, constant)
        monkeypatch.setattr(module, constant, value)
    rows = compute_rows(claim)
    named = printed([(row.quantity, row.item, row.n, row.expected) for row in rows])
    numbers = [[_rounded(one) for one in (row.value, row.low, row.high) if one is not None] for row in rows]
    held([len(rows), named, numbers if len(rows) < 9 else printed(numbers)])


def _rounded(value: float) -> float:
    """Errors that are nought but for rounding are nought."""
    return 0.0 if abs(value) < 1e-9 else value


# ---- the parts of their experiments --------------------------------------------------------------------
def test_the_length_at_which_errors_fall_below_epsilon() -> None:
    errors, grid = np.array([0.8, 0.4, 0.2, 0.1]), np.array([1.0, 2.0, 4.0, 8.0])
    assert length_needed(errors, grid, 0.9) == 1.0
    assert length_needed(errors, grid, 0.8) == 1.0
    assert length_needed(errors, grid, 0.4) == pytest.approx(2.0)
    assert length_needed(errors, grid, np.sqrt(0.4 * 0.2)) == pytest.approx(np.sqrt(8.0))


def test_the_interval_of_a_mean_is_students() -> None:
    mean, low, high = mean_interval(np.array([1.0, 2.0, 3.0]))
    assert (mean, low, high) == pytest.approx((2.0, 2 - 4.302653 / np.sqrt(3), 2 + 4.302653 / np.sqrt(3)))


def test_sources_and_what_is_averaged_over_them(held: Held) -> None:
    bits = drifting_source(300, 4)
    held(["".join(map(str, bits.tolist())), second_layer(bits).tolist(), second_layer(bits[:1]).tolist()])


def test_a_pair_of_functions_that_nearly_agree(held: Held) -> None:
    found = []
    for seed in range(4):
        f, g = nearly_equal_pair(np.random.default_rng(seed))
        found.append(
            [f.head.period, f.head.locality, float(np.abs(f.values - g.values).max()), f.on_all(4).tolist()[:5]]
        )
    held(found)


@pytest.mark.parametrize("noise", [0, 1])
def test_random_classes_and_their_losses(noise: int, held: Held) -> None:
    from fractions import Fraction

    found: list[Any] = []
    for seed in range(3):
        drawn = RandomClass.draw(np.random.default_rng(seed), 2, 2 + seed % 2, Fraction(noise, 5))
        losses = [str(drawn.loss(one, n)) for one in drawn.hypotheses[:6] for n in (3, 8)]
        kept = [drawn.hypotheses.index(one) for one in drawn.minimisers(8)]
        found.append([len(drawn.hypotheses), losses, kept, str(drawn.coverage(9))])
    held(found)


def test_random_chains_and_their_errors(held: Held) -> None:
    rng = np.random.default_rng(2)
    chain = random_chain(rng)
    other = changed_chain(chain, rng)
    held(
        [
            chain.errors(4).tolist(),
            other.errors(4).tolist(),
            chain.step.tolist(),
            int((chain.step != other.step).any(2).sum()),
        ]
    )
