"""Effective attention: the map is the layer, and its statistics are those of maps known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from circuits.effective_attention import VALUES, ChannelValues, EffectiveAttention, statistics
from workbench.core.names import Gates
from workbench.models import HookedSSM, SSMConfig
from workbench.models.handmade.state_space import flip_flop
from workbench.models.ssm.hidden_attention import EffectiveInputs, effective_hooks, effective_inputs
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator


@pytest.mark.parametrize("gates", ["nonnegative", "signed"])
@pytest.mark.parametrize("layer", [0, 1])
def test_the_map_times_the_inputs_is_what_the_layer_reads(gates: str, layer: int) -> None:
    cfg = SSMConfig(d_vocab=5, n_layers=2, d_model=8, d_state=3, n_ctx=8, gates=gates, dt_max=1.0)
    model = HookedSSM(cfg, seed=1)
    tokens = torch.randint(5, (2, 17), generator=torch.Generator().manual_seed(0))
    _, cache = model.run_with_cache(tokens)
    at = f"blocks.{layer}.mixer.hook_"
    weights = effective_inputs(model, cache, layer).weights(range(17))
    x = cache[f"{at}x"]
    y = torch.einsum("bdqk,bkd->bqd", weights, x) + model.blocks[layer].mixer.D * x
    assert torch.allclose(y, cache[f"{at}y"], atol=1e-5)
    assert not weights.triu(1).any()
    some = effective_inputs(model, cache, layer).weights([3, 16])
    assert torch.allclose(some, weights[:, :, [3, 16]], atol=1e-6)


def constant(gate: float, pos: int, gates: Gates = "nonnegative") -> EffectiveInputs:
    """One channel with the same gate at every token."""
    rate = -np.log((gate + 1) / 2 if gates == "signed" else gate)
    ones = torch.ones(1, pos, 1)
    return EffectiveInputs(ones, ones, ones, torch.full((1, 1), float(rate)), gates)


@pytest.mark.parametrize(("gate", "gates"), [(0.5, "nonnegative"), (0.9, "nonnegative"), (-0.9, "signed")])
def test_a_constant_gate_weighs_by_its_power(gate: float, gates: Gates) -> None:
    row = constant(gate, 12, gates).weights([11])[0, 0, 0]
    assert torch.allclose(row, torch.tensor([gate ** (11 - s) for s in range(12)]), atol=1e-6)


def test_statistics_of_known_rows() -> None:
    uniform, point, none = np.ones((1, 1, 1, 8)), np.zeros((1, 1, 1, 8)), np.zeros((1, 1, 1, 8))
    point[..., 2] = -3.0
    for rows, support, peak, locality in ((uniform, 8.0, 8.0, 7.0), (point, 1.0, 1.0, 5.0)):
        found = statistics(rows, [7], 0.05)
        assert found["scan_support"].item() == pytest.approx(support)
        assert found["scan_peak_support"].item() == pytest.approx(peak)
        assert found["scan_locality"].item() == locality
    assert all(np.isnan(v).all() for v in statistics(none, [7], 0.05).values())


def test_statistics_of_a_decaying_scan() -> None:
    """Gate 1/2: weights 2^-lag, whose largest holds half of all, and 31/32 of which lie within lag 4."""
    weights = constant(0.5, 40).weights([39]).double().numpy()
    found = statistics(weights, [39], 0.05)
    assert found["scan_peak_support"].item() == pytest.approx(2.0)
    assert found["scan_support"].item() == pytest.approx(4.0, rel=1e-6)  # entropy of 2^-(lag+1) is 2 log 2
    assert found["scan_locality"].item() == 4


def measured(model, task, lengths):
    measurement = EffectiveAttention(window=1)
    names = measurement.hooks(model.cfg)
    for n in lengths:
        batch = task.sample(16, n, generator("effective", n), "matched")
        _, cache = model.run_with_cache(batch.tokens, names_filter=names)
        measurement.observe("matched", n, batch, cache)
    return measurement.rows(model, lambda *names: np.random.default_rng(0))


def test_a_flip_flop_looks_at_one_token_however_far_it_is() -> None:
    rows = measured(flip_flop(), make_task("flip_flop"), [8, 64, 256])
    peaks = [r["value"] for r in rows if r["quantity"] == "scan_peak_support" and r["status"] == "ok"]
    slopes = [r for r in rows if r["quantity"] == "scan_dispersion_exponent"]
    assert peaks == pytest.approx([1.0] * len(peaks))
    assert slopes[0]["note"] == "there is no shorter measured length"
    assert all(abs(r["value"]) < 1e-9 for r in slopes if r["status"] == "ok")


@pytest.mark.asserts("scan_support", "scan_peak_support", "scan_locality", "scan_dispersion_exponent")
def test_a_uniform_scan_disperses_with_exponent_one() -> None:
    model = HookedSSM(SSMConfig(
        d_vocab=6, n_layers=1, d_model=8, d_state=1, n_ctx=8, time_invariant=True, dt_min=0.1, dt_max=0.1
    ))  # fmt: skip
    with torch.no_grad():
        model.blocks[0].mixer.A_log.fill_(-200.0)  # the rate 0: nothing is ever forgotten
    rows = measured(model, make_task("flip_flop"), [8, 64])
    slopes = [r["value"] for r in rows if r["quantity"] == "scan_dispersion_exponent" and r["status"] == "ok"]
    assert slopes == pytest.approx([1.0] * 16, abs=1e-5)
    far = {
        quantity: [r["value"] for r in rows if r["quantity"] == quantity and r["length"] == 64]
        for quantity in ("scan_locality", "scan_support", "scan_peak_support")
    }
    assert far["scan_locality"] == pytest.approx([61.0] * 16)  # 95 % of 65 keys
    assert far["scan_support"] == far["scan_peak_support"] == pytest.approx([65.0] * 16, rel=1e-4)


def test_settings_that_mean_nothing_are_told() -> None:
    with pytest.raises(ValueError, match=r"effective_attention\.window"):
        EffectiveAttention(window=0)


def test_hooks_are_the_model_s() -> None:
    model = flip_flop()
    assert set(effective_hooks(0)) <= set(model.hook_dict)


@pytest.mark.parametrize(
    ("weights", "query", "epsilon", "locality"),
    [
        ([0.25, 0.75], 1, 0.25, 0.0), ([0.25, 0.75], 1, 0.2499, 1.0), ([0.0, 0.0, 1.0], 2, 0.05, 0.0),
        ([0.25, 0.25, 0.5, 0.0], 2, 0.3, 1.0), ([0.5, -0.5, 0.0], 2, 0.4, 2.0), ([0.5, 0.5, 0.0], 2, 0.5, 1.0),
    ],
)  # fmt: skip
def test_how_far_one_looks_by_hand(weights: list[float], query: int, epsilon: float, locality: float) -> None:
    assert statistics(np.array(weights)[None, None, None], [query], epsilon)["scan_locality"].item() == locality


def test_queries_and_channels_without_weights_are_left_out_of_means() -> None:
    rows = np.zeros((1, 3, 2, 4))
    rows[0, 0, 0, :2] = 1.0
    rows[0, 1, 0, 0] = rows[0, 1, 1, :] = 2.0
    found = statistics(rows, [1, 3], 0.05)
    assert found["scan_support"][0].tolist() == [
        pytest.approx(2.0),
        pytest.approx(2.0),
        pytest.approx(np.nan, nan_ok=True),
    ]
    assert found["scan_peak_support"][0, :2] == pytest.approx([2.0, 2.0])
    assert np.array_equal(found["scan_locality"][0], [1.0, 2.0, np.nan], equal_nan=True)


def test_a_length_that_asks_nothing_is_left_out_of_slopes() -> None:
    """The next slope is taken from the length before it."""
    measurement = EffectiveAttention(resamples=2)

    class Seen:
        def __init__(self, query: int | None, peak: float) -> None:
            self.queries = [] if query is None else [query - 1, query]
            self.peak = peak

        def values(self) -> dict[str, np.ndarray]:
            grown = np.array([[[self.peak]], [[2 * self.peak]]])
            return dict.fromkeys(("scan_support", "scan_peak_support", "scan_locality"), grown)

    measurement._seen.update({32: Seen(31, 4.0), 16: Seen(None, 9.0), 8: Seen(7, 1.0)})  # type: ignore[dict-item]
    rows = measurement.rows(None, lambda *parts: np.random.default_rng(0))
    slopes = {r["length"]: r for r in rows if r["quantity"] == "scan_dispersion_exponent"}
    assert [*slopes] == [8, 16, 32]
    assert slopes[8]["note"] == "there is no shorter measured length"
    assert slopes[16]["note"] == "no supervised query in the last 4 of length 16"
    assert slopes[32]["value"] == pytest.approx(1.0)  # four times the peak support of 32 keys, of 8
    assert len([r for r in rows if r["length"] == 16]) == 4


def test_values_have_a_place_for_each_layer() -> None:
    seen = ChannelValues.__new__(ChannelValues)
    part = {name: np.arange(3.0)[None] for name in VALUES}
    more = {name: value + 10 for name, value in part.items()}
    seen._layers = {0: [part, part], 1: [more, more]}
    found = seen.values()["scan_locality"]
    assert found.tolist() == [[[0, 1, 2], [10, 11, 12]]] * 2
