"""Each intervention as an edit: against formulas, by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from workbench.diagnosis.bench.memory_models import MemoryNumbers
from workbench.diagnosis.bench.needle_models import SURPLUS, NeedleNumbers, WrittenBit
from workbench.diagnosis.intervened_pass import TIE, IntervenedPass, asking, clearly_right, inside_of, last_classes
from workbench.measure.edits.interventions.all_interventions import by_name, interventions_on
from workbench.measure.edits.interventions.intervention import IdEdit, Intervention, TrainedIds
from workbench.measure.edits.interventions.sharpening import SMALLEST_GAP, gap_set, with_mass
from workbench.models.positions.encoding import Encoding
from workbench.models.positions.id_samplers import PositionError
from workbench.models.positions.registry import ENCODINGS
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator

BY_NAME = {
    repair.name: repair
    for repair in interventions_on(ModelConfig(d_vocab=3, n_layers=2, d_model=4, n_heads=1, n_ctx=8))
}
N = 8


def position_edit(name: str) -> IdEdit:
    edit = BY_NAME[name]
    assert isinstance(edit, IdEdit)
    return edit


def ids_under(
    name: str, wrong: bool = False, between: bool = False, absolute: bool = True, top: int = 4
) -> list[float]:
    """Of a string with the ids 0 .. 8 whose training ended at the id 4."""
    repair = BY_NAME[name].control if wrong else BY_NAME[name]
    ids = torch.arange(9)[None]
    return (repair.edit(ids, TrainedIds(4, top, between, absolute)) if isinstance(repair, IdEdit) else ids)[0].tolist()


def test_ids_under_repairs_lie_inside_training() -> None:
    assert ids_under("P.int") == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    assert ids_under("P.int", between=True) == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    assert ids_under("P.clip") == [0, 1, 2, 3, 4, 4, 4, 4, 4]
    assert ids_under("P.low") == [0, 0, 0, 0, 0, 1, 2, 3, 4]
    assert ids_under("P.row", top=5) == [0, 1, 2, 3, 4, 5, 3, 4, 5]
    assert ids_under("P.lag") == list(range(9))


def test_ids_of_controls_lie_outside_training_or_are_as_far_apart_as_without_repair() -> None:
    assert ids_under("P.int", wrong=True) == [0, 4, 5, 5, 6, 6, 7, 7, 8]
    assert ids_under("P.clip", wrong=True) == [0, 5, 6, 7, 8, 8, 8, 8, 8]
    assert ids_under("P.int", wrong=True, between=True, absolute=False) == list(range(9))
    assert ids_under("P.low", wrong=True, absolute=False) == [0, 0, 0, 0, 0, 2, 4, 6, 8]


def test_ids_inside_training_stay() -> None:
    for name in ("P.int", "P.clip", "P.low", "P.row"):
        ids = torch.arange(5)[None]
        assert position_edit(name).edit(ids, TrainedIds(4, 4, True, True)) is ids


def encodings() -> list[Encoding]:
    return [example for kind in ENCODINGS.values() for example in kind.examples()]


def small(positions: Any = "none", **options: Any) -> HookedTransformer:
    sizes: dict[str, Any] = {"n_layers": 2, "d_model": 16, "n_heads": 2, "n_ctx": 64, "initializer_range": 0.5}
    return HookedTransformer(ModelConfig(d_vocab=6, d_vocab_out=2, positions=positions, **{**sizes, **options})).eval()


@pytest.mark.parametrize("encoding", encodings(), ids=lambda e: f"{e.name}-{getattr(e, 'scaling', '')}")
def test_ids_between_whole_ones_are_read_where_an_encoding_says_so_and_refused_elsewhere(encoding: Encoding) -> None:
    model, tokens = small(encoding), torch.randint(0, 6, (2, 7), generator=generator("between"))
    whole = torch.arange(7)[None]
    if encoding.reads_ids and not encoding.between:
        with pytest.raises(PositionError, match="ids"):
            model(tokens, whole + 0.5)
        return
    torch.testing.assert_close(model(tokens, whole.double()), model(tokens, whole))
    # Halfway between the ids i and 2 i lies another output, unless ids are not read.
    assert torch.equal(model(tokens, whole * 1.5), model(tokens, whole)) == (not encoding.reads_ids)


def batch_of(length: int, strings: int = 64, word: str = "test", task: Any = None) -> Any:
    return (task or make_task("flip_flop")).sample(strings, length, generator(word), "matched", window=N)


def repaired(model: Any, repairs: list[Intervention], length: int = 16) -> tuple[Tensor, Tensor]:
    """Clean outputs and outputs under repairs of the same strings."""
    inside, batch = inside_of(model, batch_of(N, word="inside")), batch_of(length)
    run = IntervenedPass(model, inside, repairs)
    run.fit(batch_of(length, word="fit"))
    return IntervenedPass(model, inside).outputs(batch), run.outputs(batch)


def test_no_repair_is_the_clean_pass() -> None:
    model, batch = small("rotary"), batch_of(16)
    clean, _ = repaired(model, [])
    torch.testing.assert_close(clean, model(batch.tokens).detach())


def test_sharpening_is_a_model_with_larger_queries() -> None:
    model, other = small("learned"), small("learned")
    with torch.no_grad():
        for block in other.blocks:
            block.attn.W_Q *= 4.0
    _, made = repaired(model, [BY_NAME["D.beta4"]])
    torch.testing.assert_close(made, other(batch_of(16).tokens).detach(), rtol=1e-3, atol=1e-3)


def test_log_scaling_is_that_of_the_swaps() -> None:
    from circuits.interventions.replaced_attention import log_scaled, replaced_attention
    from circuits.passes import clean_pass, evaluation_ids

    model, batch = small("alibi"), batch_of(16)
    _, made = repaired(model, [BY_NAME["D.logn"]])
    clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch))
    heads = [(layer, head) for layer in range(2) for head in range(2)]
    swapped = replaced_attention(model, clean, log_scaled(N + 1.0), heads)
    torch.testing.assert_close(made, swapped, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("positions", ["rotary", "alibi", {"name": "relative", "buckets": 16, "max_distance": 16}])
def test_clipped_lags_are_lags_of_the_model_itself(positions: Any) -> None:
    """The score of each far key, one at a time, is that of the same key at the clipped lag."""
    model = small(positions, n_layers=1)
    batch, last = batch_of(16, strings=2), 16
    _, cache = model.run_with_cache(batch.tokens)
    inside = inside_of(model, batch_of(N, word="inside"))
    scores = []
    for key in range(last + 1):
        ids = torch.arange(last + 1)[None].clone()
        ids[0, key] = last - min(last - key, N - 1)
        with torch.no_grad():
            _, seen = model.run_with_cache(batch.tokens, ids, names_filter=["blocks.0.attn.hook_attn_scores"])
        scores.append(seen["blocks.0.attn.hook_attn_scores"][:, :, -1, key])
    pattern = torch.stack(scores, -1).softmax(-1)
    z = torch.einsum("bhk,bkhe->bhe", pattern, cache["blocks.0.attn.hook_v"])
    seen_z: list[Tensor] = []
    run = IntervenedPass(model, inside, [BY_NAME["P.lag"]])
    with model.hooks(fwd_hooks=[("blocks.0.hook_attn_out", lambda x, hook: seen_z.append(x))]):
        run.outputs(batch)
    expected = torch.einsum("bhe,hed->bd", z, model.blocks[0].attn.W_O)
    torch.testing.assert_close(seen_z[0][:, -1], expected.detach(), rtol=1e-4, atol=1e-5)


def test_the_sink_keeps_the_weight_that_it_had_at_n() -> None:
    """A uniform head: BOS has 1/K_N at N, and r / (K - 1 + r) at K keys with r = K / K_N."""
    model = NeedleNumbers(offset=1.0).build()
    task = WrittenBit()
    inside = inside_of(model, batch_of(32, word="inside", task=task))
    batch, rows = batch_of(128, task=task), []
    run = IntervenedPass(model, inside, [BY_NAME["K.sink"]])
    with model.hooks(fwd_hooks=[("blocks.0.hook_attn_out", lambda x, hook: rows.append(x[:, -1, 2]))]):
        run.outputs(batch)
    ratio = 129 / 33
    torch.testing.assert_close(rows[0], torch.full((64,), ratio / (128 + ratio)))


def test_the_scale_of_a_head_is_that_at_n() -> None:
    model, rows = NeedleNumbers().build(), []
    task = WrittenBit()
    inside = inside_of(model, batch_of(32, word="inside", task=task))
    run = IntervenedPass(model, inside, [BY_NAME["K.scale"]])
    run.fit(batch_of(128, word="fit", task=task))
    with model.hooks(fwd_hooks=[("blocks.0.hook_attn_out", lambda x, hook: rows.append(x[:, :, 2]))]):
        run.outputs(batch_of(128, task=task))
    torch.testing.assert_close(rows[0][:, -1], torch.full((64,), 1 / 33))
    torch.testing.assert_close(rows[0][:, -2], torch.full((64,), 1 / 128))  # of the last query alone


def test_the_gap_set_is_what_stands_apart_and_not_what_ties() -> None:
    scores = torch.tensor([[[5.0, 4.9, 0.0, 0.1, -0.2, 0.0]]])
    assert gap_set(scores)[0, 0].tolist() == [True, True, False, False, False, False]
    nearly_equal = torch.tensor([[[0.0, 0.1, 0.2, SMALLEST_GAP - 0.1, 0.0, 0.0]]])
    assert bool(gap_set(nearly_equal).all())
    # Weight .2 on the one best key: the nearest hardmax is uniform on all keys, the gap set is that key.
    dispersed = torch.tensor([[[3.0] + [0.0] * 80]])
    assert gap_set(dispersed)[0, 0].sum() == 1


def test_weight_is_held_and_both_parts_keep_their_directions() -> None:
    """Also where the set has all the weight that float32 can tell."""
    values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])[None, :, None]
    for margin in (2.0, 60.0):
        made = with_mass(torch.tensor([[[margin, 0.0, 0.0]]]), values, torch.tensor([0.7]))
        torch.testing.assert_close(made, torch.tensor([[[0.7, 0.3]]]))


def test_pooled_rows_have_the_moments_of_n_with_classes_weighted_alike() -> None:
    model = small("learned", n_layers=1)
    inside, batch = inside_of(model, batch_of(N, word="inside")), batch_of(16, strings=64)
    run, rows = IntervenedPass(model, inside, [by_name("C.pool0")]), []
    run.fit(batch)
    with model.hooks(fwd_hooks=[("blocks.0.hook_resid_post", lambda x, hook: rows.append(x[:, -1]))]):
        IntervenedPass(model, inside).outputs(batch)
    classes = torch.as_tensor(last_classes(batch))
    weights = torch.stack([1 / (2 * (classes == c).sum()) for c in classes])
    mean = (weights[:, None] * rows[0]).sum(0)
    torch.testing.assert_close(run.outside.moments[0][0], mean)
    spread = (weights[:, None] * (rows[0] - mean).pow(2)).sum(0).sqrt()
    torch.testing.assert_close(run.outside.moments[0][1], spread)


def test_statistics_are_taken_under_the_repairs_before_them() -> None:
    """The scale of the second layer's heads at n is that behind mended first ones."""
    model, fit = small("learned"), batch_of(16, word="fit")
    inside = inside_of(model, batch_of(N, word="inside"))
    alone, behind = (IntervenedPass(model, inside, [*first, BY_NAME["K.scale"]]) for first in ([], [BY_NAME["P.int"]]))
    assert not torch.allclose(alone.fit(fit).rms[1], behind.fit(fit).rms[1])
    ids = position_edit("P.int").edit(torch.arange(17)[None], TrainedIds(N, N, False, True))
    _, cache = model.run_with_cache(fit.tokens, ids)
    torch.testing.assert_close(behind.outside.rms[0], cache["blocks.0.attn.hook_z"][:, -1].pow(2).mean((0, 2)).sqrt())


def test_every_control_is_another_edit() -> None:
    model = small("rotary")
    for repair in interventions_on(model.cfg):
        if repair.no_place(model.cfg):
            continue
        _, made = repaired(model, [repair])
        _, wrong = repaired(model, [repair.control])
        assert not torch.allclose(made, wrong), repair.name


def test_a_tie_is_no_right_answer() -> None:
    task = WrittenBit()
    batch = batch_of(16, strings=4, task=task)
    outputs = torch.zeros(4, 17, 2)
    assert clearly_right(task, outputs, batch).sum() == 0
    outputs.scatter_(2, batch.targets[..., None], 1.0)
    assert clearly_right(task, outputs, batch).sum() == 4


def test_what_a_model_has_no_place_for_says_why() -> None:
    said = {name: repair.no_place(small("none").cfg) for name, repair in BY_NAME.items()}
    assert said["P.int"] == "the model reads no position ids"
    assert not said["D.logn"]
    linear = small("none", attention="linear").cfg
    assert BY_NAME["D.gap"].no_place(linear) == "its attention is linear, not by softmax"
    assert not BY_NAME["K.scale"].no_place(linear)
    assert "before queries meet keys" in BY_NAME["P.lag"].no_place(small("learned").cfg)
    with pytest.raises(ValueError, match=r"P\.clip"):
        IntervenedPass(small(), inside_of(small(), batch_of(N)), [BY_NAME["P.int"], BY_NAME["P.clip"]])


def test_sizes_of_plants_are_as_said() -> None:
    """The surplus is 0 up to N and 1 - K_N / K beyond."""
    model, task = NeedleNumbers().build(), WrittenBit()
    batch = batch_of(128, task=task)
    _, cache = model.run_with_cache(batch.tokens)
    surplus = cache["blocks.0.hook_resid_post"][0, :, SURPLUS]
    keys = torch.arange(1, 130)
    torch.testing.assert_close(surplus, (1 - 33 / keys).clamp(min=0), atol=1e-6, rtol=1e-5)
    weight = cache["blocks.1.attn.hook_pattern"][:, 0, -1].amax(-1)
    torch.testing.assert_close(weight, torch.full((64,), math.e**8 / (math.e**8 + 128)), rtol=1e-4, atol=1e-6)


def test_slowed_steps_forget_in_a_whole_string_what_is_forgotten_in_n() -> None:
    """Gates exp(-r) in a string of 65 tokens with BOS become those of a rate r (N + 1) / 65, at N = 32."""
    task = WrittenBit()
    inside = inside_of(MemoryNumbers(decay=0.1).build(), batch_of(32, word="inside", task=task))
    batch = batch_of(64, task=task)
    repair = next(one for one in interventions_on(MemoryNumbers().build().cfg) if one.name == "T.slow")
    slowed = IntervenedPass(MemoryNumbers(decay=0.1).build(), inside, [repair]).outputs(batch)
    torch.testing.assert_close(slowed, MemoryNumbers(decay=0.1 * 33 / 65).build()(batch.tokens).detach())
    hurried = IntervenedPass(MemoryNumbers(decay=0.1).build(), inside, [repair.control]).outputs(batch)
    torch.testing.assert_close(hurried, MemoryNumbers(decay=0.1 * 65 / 33).build()(batch.tokens).detach())


def test_slowed_steps_keep_the_signs_of_gates() -> None:
    from workbench.models.handmade.state_space import parity

    model = parity()
    batch = batch_of(16, task=make_task("parity"))
    inside = inside_of(model, batch_of(N, word="inside", task=make_task("parity")))
    repair = next(one for one in interventions_on(model.cfg) if one.name == "T.slow")
    torch.testing.assert_close(IntervenedPass(model, inside, [repair]).outputs(batch), model(batch.tokens).detach())


def test_answers_tie_that_lead_by_no_more_than_the_last_bits() -> None:
    task = WrittenBit()
    batch = task.sample(3, 4, generator("tie"), "matched")
    lead = TIE * (1 + 8.0)
    outputs = torch.full((3, 5, 2), 8.0, dtype=torch.float64)
    answers = batch.targets[:, -1]
    for string, less in enumerate((lead * 1.01, lead * 0.99, -1.0)):
        outputs[string, -1, 1 - answers[string]] -= less
    assert clearly_right(task, outputs, batch).tolist() == [1.0, 0.0, 0.0]


def test_strings_that_ask_nothing_are_left_out() -> None:
    drawn = make_task("flip_flop").sample(6, 9, generator("some"), "matched")
    mask = drawn.mask.clone()
    mask[[0, 3], -1] = False
    kept = asking(replace(drawn, mask=mask))
    assert torch.equal(kept.tokens, drawn.tokens[[1, 2, 4, 5]])
    whole = make_task("parity").sample(6, 8, generator("even"), "matched")
    assert asking(whole) is whole
