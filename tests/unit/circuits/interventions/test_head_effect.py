"""The effect of a head: one necessary head is named, two redundant ones are not, and chance names none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from circuits.interventions import head_effect
from circuits.interventions.head_effect import (
    ABOVE_CHANCE,
    DIRECTION,
    LEAST_HEAD,
    NAMED,
    TO_CHANCE,
    UNNAMED,
    beats_constant,
    best_constant,
    choose,
    drop_ends,
    head_effect_statistics,
    share_ends,
)
from tests.support.circuits.two_headed import two_headed
from workbench.measure.intervals import tango, wilson
from workbench.measure.result import Result
from workbench.models import HookedTransformer
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task

TASK = make_task("majority")
N = 15


def effect(model: HookedTransformer, **options: Any) -> Result:
    settings = {"trained": N, "lengths": [N], "factors": [1], "replicates": 4, "resamples": 200, **options}
    return head_effect_statistics(model, TASK, **settings)


def only(found: Result, **where: Any) -> dict[str, Any]:
    rows = [row for row in found.rows if all(row[name] == value for name, value in where.items())]
    assert len(rows) == 1, rows
    return rows[0]


# ---- models whose heads are known -------------------------------------------------------------------
@pytest.mark.asserts("head_drop", "accuracy_without_head", "selection_drop", "necessary_head")
def test_the_one_necessary_head_is_named_and_falls_to_chance() -> None:
    found = effect(two_headed(1))
    label = only(found, quantity="necessary_head")
    assert (label["label"], label["layer"], label["head"], label["n"]) == (NAMED, 0, 0, 512)
    assert label["note"] == "set A chose L0 H0 of 4 heads; control: L0 H1"
    for mode in ("mean", "resample"):
        drop = only(found, quantity="head_drop", mode=mode, control="")
        left = only(found, quantity="accuracy_without_head", mode=mode)
        assert drop["value"] == pytest.approx(1 - left["value"])
        assert drop["low"] > 0.35
        assert drop["label"] == TO_CHANCE
        assert left["low"] <= 0.5
        control = only(found, quantity="head_drop", mode=mode, control=LEAST_HEAD)
        assert (control["layer"], control["head"], control["value"]) == (0, 1, 0.0)
        drops = [row["value"] for row in found.rows if row["quantity"] == "selection_drop" and row["mode"] == mode]
        assert drops[0] > 0.35
        assert drops[1:] == [0.0, 0.0, 0.0]
    assert only(found, quantity="accuracy_without_head", mode="")["value"] == 1.0


def test_of_one_head_a_layer_the_control_is_a_random_direction() -> None:
    found = effect(majority())
    label = only(found, quantity="necessary_head")
    assert label["label"] == NAMED
    assert label["note"].endswith("control: a random direction of equal norm")
    control = only(found, quantity="head_drop", mode="mean", control=DIRECTION)
    assert (control["layer"], control["head"]) == (0, None)
    assert control["value"] < only(found, quantity="head_drop", mode="mean", control="")["low"]


def test_of_two_redundant_heads_none_is_named() -> None:
    found = effect(two_headed(2))
    assert only(found, quantity="accuracy_without_head", mode="")["value"] == 1.0
    assert only(found, quantity="necessary_head")["label"] == UNNAMED
    assert only(found, quantity="head_drop", mode="mean", control="")["low"] <= 0


# ---- the rule by hand ------------------------------------------------------------------------------
def test_the_head_with_the_largest_smaller_drop_is_chosen_and_the_least_of_its_layer_is_the_control() -> None:
    drops = {
        (0, 0): {"mean": 90, "resample": 1},
        (0, 1): {"mean": 20, "resample": 30},
        (0, 2): {"mean": 5, "resample": 5},
    }
    assert choose(drops) == ((0, 1), (0, 0))  # type: ignore[arg-type]
    assert choose({(0, 0): {"mean": 2, "resample": 3}, (1, 0): {"mean": 2, "resample": 2}}) == ((0, 0), None)


def test_the_interval_covers_the_draw_of_what_is_put_in_place() -> None:
    """A binary answer turns with the mean that is put in place: over samples of C the drop lies between 0 and 0.4."""
    whole = np.ones(512)
    half = np.repeat([1.0, 0.0], 256)
    without = np.where(np.arange(512) < 410, 1.0, 0.0)
    still = drop_ends(whole, without, without[None], np.random.default_rng(0), 2000)
    assert still == pytest.approx(tango(102, 0, 512), abs=0.01)
    low, high = drop_ends(whole, without, np.stack([whole, half]), np.random.default_rng(0), 2000)
    assert low == 0.0
    assert high > 0.5
    assert share_ends(without, without[None], np.random.default_rng(0), 2000) == pytest.approx(
        wilson(410, 512), abs=0.01
    )


def test_sets_are_disjoint_and_the_mean_is_that_of_set_c(monkeypatch: pytest.MonkeyPatch) -> None:
    model = two_headed(1)
    drawn: dict[int, list[torch.Tensor]] = {0: [], 1: [], 2: []}
    replaced: list[torch.Tensor] = []
    blocks, put = head_effect._Sets._blocks, head_effect._replaced

    def kept(self: Any, which: int, also: Any = ()) -> Any:
        for batch, clean in blocks(self, which, also):
            drawn[which].append(batch.tokens)
            yield batch, clean

    def noted(head: int, new: torch.Tensor) -> Any:
        replaced.append(new)
        return put(head, new)

    monkeypatch.setattr(head_effect._Sets, "_blocks", kept)
    monkeypatch.setattr(head_effect, "_replaced", noted)
    effect(model, sequences=64, replicates=1)
    a, b, c = (torch.cat(drawn[which])[:64] for which in range(3))
    assert not any(torch.equal(x, y) for x, y in ((a, b), (b, c), (a, c)))
    _, cache = model.run_with_cache(c, names_filter=["blocks.0.attn.hook_z"])
    assert torch.allclose(replaced[0], cache["blocks.0.attn.hook_z"][:, :, 0].double().mean(0), atol=1e-6)


# ---- above chance ----------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(20))
def test_an_edit_that_makes_the_model_constant_is_at_chance_for_every_draw_of_b(seed: int) -> None:
    """Without its head the model gives one answer throughout, the share of which in B varies around 0.5."""
    found = effect(two_headed(1), sequences=64, seed=seed)
    left = only(found, quantity="accuracy_without_head", mode="mean")
    assert left["label"] == ""
    assert only(found, quantity="head_drop", mode="mean", control="")["label"] == TO_CHANCE
    whole = only(found, quantity="accuracy_without_head", mode="")
    assert (whole["value"], whole["label"]) == (1.0, ABOVE_CHANCE)


def test_an_edit_that_leaves_skill_is_above_chance() -> None:
    found = effect(two_headed(2))
    for mode, value in (("mean", 1.0), ("resample", 0.72)):
        left = only(found, quantity="accuracy_without_head", mode=mode)
        assert (left["label"], left["value"]) == (ABOVE_CHANCE, pytest.approx(value, abs=0.05))
        assert only(found, quantity="head_drop", mode=mode, control="")["label"] == ""


@pytest.mark.parametrize("seed", range(20))
def test_the_best_constant_never_beats_itself_and_skill_beats_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2, 512)
    first, second = (classes == 0).astype(float), (classes == 1).astype(float)
    best = max(first, second, key=lambda flags: flags.sum())
    for constant in (first, second):
        assert not beats_constant(best, constant, np.stack([first, second]), np.random.default_rng(0), 500)
        assert not beats_constant(best, constant, constant[None], np.random.default_rng(0), 500)
    skilled = (rng.random(512) < 0.75).astype(float)
    assert beats_constant(best, skilled, skilled[None], np.random.default_rng(0), 500)


def test_the_best_constant_by_hand() -> None:
    """Of two blocks of majority, the more frequent class; of copies, the more frequent whole answer."""
    batch = TASK.sample(64, N, torch.Generator().manual_seed(0), "matched")
    right = best_constant(TASK, [batch.rows(0, 40), batch.rows(40, 64)])
    last = batch.targets[:, -1].numpy()
    assert right.tolist() == (last == np.bincount(last).argmax()).astype(float).tolist()
    copies = make_task("uf")
    drawn = copies.sample(3, 9, torch.Generator().manual_seed(0), "matched").take(torch.tensor([0, 1, 1, 2]))
    assert best_constant(copies, [drawn]).tolist() == [0.0, 1.0, 1.0, 0.0]


def test_the_best_constant_of_numbers_is_right_for_the_most_within_the_tolerance() -> None:
    means = make_task("mod_p_mean")
    batch = means.sample(256, 16, torch.Generator().manual_seed(0), "matched")
    values, right = batch.targets[:, -1, 0].numpy(), best_constant(means, [batch])
    low, high = values[right > 0].min(), values[right > 0].max()
    assert high - low <= 2 * means.tolerance_ + 1e-6
    assert right.sum() == max(((values >= v) & (values <= v + 2 * means.tolerance_ + 1e-6)).sum() for v in values)
