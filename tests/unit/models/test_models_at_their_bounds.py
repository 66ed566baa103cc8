"""Parts of models at their thresholds, hand-made models held weight by weight, and edits as links write them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.held import Held, digest
from tests.support.models.reference import build, tokens
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.compute_device import ComputeDevice
from workbench.models.errors import DeviceError, PositionError
from workbench.models.handmade import attention_heads as heads
from workbench.models.handmade import averages, cascades, state_space, transformers
from workbench.models.interop.conformance import TOLERANCE, Comparison, difference, kind, labelled_difference, table
from workbench.models.interop.hugging_face import self_test
from workbench.models.interop.upstream_lens import UpstreamError, fields_of_config, fields_of_weights, upstream_fields
from workbench.models.interventions import MOST, REPAIRS, Edit, EditError, check_edits, parse_edit, parse_edits
from workbench.models.positions.relative import Relative
from workbench.models.positions.rotary import Rotary
from workbench.models.ssm import scan as scanning
from workbench.models.transformer import distinct_inputs, kernels
from workbench.models.transformer.predicted_ids import (
    id_loss,
    ids_right,
    ids_supervised,
    next_id_hooks,
    outputs_and_ids,
)
from workbench.models.transformer.scores import ScoreInputs, feature_map, hardmax
from workbench.models.transformer.supervised_positions import supervised_positions
from workbench.models.transformer.tie_sets import (
    in_tie_set,
    nearest_hardmax,
    sort_rows,
    tie_set_pattern,
    tie_set_scores,
)

# ---- hand-made models --------------------------------------------------------------------------------------------
LETTERS = ("<bos>", "a", "b", "c")
MADE: dict[str, Any] = {
    "induction": heads.induction_model(3, 2.5), "anti-induction": heads.anti_induction_model(3, 2.5),
    "anti-induction, itself seen": heads.anti_induction_model(3, 2.5, "seen"), "left neighbour": heads.left_neighbour_model(3, 4.0),
    "fixed lag": heads.fixed_lag_model(3, 2), "lag of itself": heads.fixed_lag_model(2, 0),
    "sine": averages.sine_of_average(3.0), "fine sine": averages.sine_of_average(7.5, 0.001), "class": averages.class_average(3, 1),
    "kgram": averages.kgram_average(2, 1, 3.0), "2-gram": averages.kgram_average(3, 2, 5.0, local=4.0),
    "flip-flop": state_space.flip_flop(), "parity": state_space.parity(),
    "key head": transformers.key_head(1.5), "short key head": transformers.key_head(-2.0, 9), "uniform": transformers.uniform_head(),
    "counter": transformers.majority(), "blurred counter": transformers.majority(7), "windowed counter": transformers.majority(20, window=4, n_ctx=9),
    "dyck": cascades.compile_cascade(cascades.counted_brackets([("a", "b")], LETTERS)),
    "shuffle": cascades.compile_cascade(cascades.counted_brackets([("a", "b"), ("c", "d")], (*LETTERS, "d"))),
    "blocks": cascades.compile_cascade(cascades.equal_blocks("abc", LETTERS)),
    "prefix": cascades.compile_cascade(cascades.prefix_expressions({"a": 0, "b": 1, "c": 2}, LETTERS)),
    "twice": cascades.compile_cascade(cascades.contains_twice("a", "bc", LETTERS)),
    "never three": cascades.compile_cascade(cascades.never_three("a", "bc", LETTERS)),
    "last of two": cascades.compile_cascade(cascades.last_of_two("a", "c", LETTERS)),
    "depth two": cascades.compile_cascade(cascades.depth_two("a", "b", LETTERS)),
    "stack": cascades.compile_cascade(cascades.bounded_stack(2, 2)), "stack of three kinds": cascades.compile_cascade(cascades.bounded_stack(3, 1)),
}  # fmt: skip


def test_weights_and_answers_of_hand_made_models(held: Held) -> None:
    found = {}
    for name, model in MADE.items():
        weights = torch.cat([value.double().flatten() for value in model.state_dict().values()])
        x = torch.randint(1, model.cfg.d_vocab, (3, 8), generator=torch.Generator().manual_seed(4))
        x[:, 0] = 0
        with torch.no_grad():
            answers = model.double()(x)
        changed = [
            key
            for key, value in model.cfg.model_dump(mode="json").items()
            if isinstance(value, int) and not isinstance(value, bool)
        ]
        sizes = [getattr(model.cfg, key, 0) for key in changed if key != "n_heads"]
        found[name] = [digest(weights), digest(answers), [int(size) for size in sizes if isinstance(size, int)]]
        model.float()
    held(found)


def test_key_tokens_are_among_the_first(held: Held) -> None:
    drawn = transformers.key_tokens(4, 24, 3, torch.Generator().manual_seed(2))
    assert drawn.shape == (4, 25)
    assert (drawn == 2).sum(1).tolist() == [3] * 4
    assert bool((drawn[:, 9:] == 1).all())
    full = transformers.key_tokens(4, 24, 8, torch.Generator().manual_seed(2))
    assert bool((full[:, 1:9] == 2).all())
    assert transformers.key_tokens(2, 5, 2, torch.Generator().manual_seed(0)).eq(2).sum(1).tolist() == [2, 2]
    held(digest(drawn))


@pytest.mark.parametrize(("made", "stateful", "latches"), [
    (cascades.counted_brackets([("a", "b")], LETTERS), 2, 1), (cascades.equal_blocks("abc", LETTERS), 2, 3),
    (cascades.last_of_two("a", "b", LETTERS), 1, 1), (cascades.bounded_stack(4, 2), 2, 4), (cascades.bounded_stack(1, 2), 2, 2),
])  # fmt: skip
def test_states_that_cascades_hold(made: cascades.Cascade, stateful: int, latches: int) -> None:
    assert (made.stateful, made.latches) == (stateful, latches)


# ---- where work is left out -----------------------------------------------------------------------------------------
def test_places_are_picked_while_they_are_three_quarters_at_most() -> None:
    mask = torch.tensor([[True, True, False, True], [True, True, True, False]])
    found = supervised_positions(mask)
    assert found is not None, "six of eight"
    assert found.index.tolist() == [0, 1, 3, 4, 5, 6]
    x = torch.arange(16.0).view(2, 4, 2)
    assert torch.equal(found.put(found.pick(x)), x * mask[..., None])
    mask[0, 2] = True
    assert supervised_positions(mask) is None, "seven of eight"
    assert supervised_positions(torch.zeros(2, 3, dtype=torch.bool)).index.tolist() == []  # type: ignore[union-attr]


@pytest.mark.parametrize(("positions", "d_vocab", "shape", "shared", "taken"), [
    ("none", 5, (64, 16), True, True), ("none", 5, (33, 31), True, False), ("none", 513, (64, 16), True, False), ("none", 512, (64, 16), True, True),
    ("learned", 32, (64, 16), True, True), ("learned", 33, (64, 16), True, False), ("learned", 21, (64, 16), False, True),
    ("learned", 22, (64, 16), False, False), ("limit", 3, (16, 64), True, True), ("sinusoidal", 5, (64, 16), False, False),
    ("sinusoidal", 32, (64, 16), True, True), ("rotary", 5, (64, 16), False, True),
])  # fmt: skip
def test_pairs_of_token_and_id_are_worth_while_from_twice_as_many_places_on(
    positions: str, d_vocab: int, shape: tuple[int, int], shared: bool, taken: bool
) -> None:
    cfg = ModelConfig(d_vocab=d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=24, positions=positions)
    ids = torch.arange(shape[1])[None].expand(1 if shared else shape[0], -1)
    x = torch.randint(0, d_vocab, shape, generator=torch.Generator().manual_seed(0))
    found = distinct_inputs.pairs(cfg, x, ids)
    assert (found is not None) == taken
    if found is not None:
        every = found.tokens * 1000 + found.ids
        rows = cfg.positions.rows(24)
        read = ids % rows if rows and cfg.positions.name == "limit" else ids if cfg.positions.added else ids * 0
        assert torch.equal(found.spread(every[..., None].double())[..., 0], (x * 1000 + read).double())
    hard = ModelConfig(
        d_vocab=d_vocab, n_layers=1, d_model=4, n_heads=1, n_ctx=24, positions=positions, attention="hardmax"
    )
    assert distinct_inputs.pairs(hard, x, ids) is None


@pytest.mark.parametrize(("most", "found"), [
    (1, [(4, 5), (3, 4), (2, 3), (1, 2), (0, 1)]), (39, [(4, 5), (3, 4), (2, 3), (1, 2), (0, 1)]), (40, [(4, 5), (2, 4), (0, 2)]),
    (99, [(3, 5), (0, 3)][:0] or [(4, 5), (0, 4)]), (100, [(0, 5)]),
])  # fmt: skip
def test_blocks_of_queries_fit_what_is_held_at_once(
    most: int, found: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sequences, two heads, five positions: 20 scores for each query."""
    monkeypatch.setattr(kernels, "SCORES_AT_ONCE", most)
    q = torch.zeros(2, 5, 2, 3)
    assert [(block.start, block.stop) for block in kernels.blocks(ScoreInputs(q, q))] == found


def test_linear_attention_carries_its_state_over_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = torch.randn(3, 2, 9, 2, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    whole = kernels.linear_attention(q, k, v)
    weights = torch.einsum("bqhe,bkhe->bhqk", feature_map(q), feature_map(k)).tril()
    wanted = torch.einsum("bhqk,bkhe->bqhe", weights / weights.sum(-1, keepdim=True), v)
    for size in (1, 4, 8, 9):
        monkeypatch.setattr(kernels, "LINEAR_BLOCK", size)
        assert torch.allclose(kernels.linear_attention(q, k, v), wanted, atol=1e-10)
    assert torch.allclose(whole, wanted, atol=1e-10)


def test_scans_in_blocks_and_pieces_are_the_recurrence(monkeypatch: pytest.MonkeyPatch) -> None:
    gates, writes = torch.rand(2, 2, 37, 3, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    wanted = scanning.recurrence(gates, writes)
    for block, step, shortest in (
        (1, 1, 1),
        (1 << 17, 1 << 13, 8),
        (12 * 10, 36, 2),
        (12 * 16, 12, 4),
        (12 * 36, 24, 1),
        (12 * 37, 1 << 13, 1),
    ):
        for name, value in (("BLOCK_ELEMENTS", block), ("STEP_ELEMENTS", step), ("SHORTEST_PIECE", shortest)):
            monkeypatch.setattr(scanning, name, value)
        one, other = gates.clone().requires_grad_(), writes.clone().requires_grad_()
        found = scanning.scan(one, other)
        assert torch.allclose(found, wanted, atol=1e-12)
        (found * torch.arange(37.0).view(1, 37, 1, 1)).sum().backward()
        plain, again = gates.clone().requires_grad_(), writes.clone().requires_grad_()
        (scanning.recurrence(plain, again) * torch.arange(37.0).view(1, 37, 1, 1)).sum().backward()
        assert torch.allclose(one.grad, plain.grad, atol=1e-9)  # type: ignore[arg-type]
        assert torch.allclose(other.grad, again.grad, atol=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shape", "block", "shortest", "ends"), [
    ((2, 10, 3, 2), 12 * 4, 1, [4, 8, 10]), ((2, 10, 3, 2), 12 * 5, 1, [5, 10]), ((2, 10, 3, 2), 1, 3, [3, 6, 9, 10]), ((1, 4, 1, 1), 100, 1, [4]), ((0, 4, 1, 1), 2, 1, [2, 4]),
])  # fmt: skip
def test_blocks_of_time(
    shape: tuple[int, ...], block: int, shortest: int, ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "BLOCK_ELEMENTS", block)
    monkeypatch.setattr(scanning, "SHORTEST_PIECE", shortest)
    found = scanning._blocks(shape)
    assert [one.stop for one in found] == ends
    assert [one.start for one in found] == [0, *ends[:-1]]


@pytest.mark.parametrize(
    ("pos", "numbers", "pieces"),
    [(64, 8192, 1), (64, 4096, 2), (64, 4097, 1), (16, 1, 2), (15, 1, 1), (640, 100, 80), (640, 1000, 8)],
)
def test_pieces_that_run_side_by_side(pos: int, numbers: int, pieces: int) -> None:
    assert scanning._pieces(torch.empty(1, pos, numbers, 1)) == pieces


# ---- scores ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("window", "seen"),
    [
        (None, ["1...", "11..", "111.", "1111"]),
        (1, ["1...", ".1..", "..1.", "...1"]),
        (3, ["1...", "11..", "111.", ".111"]),
        (4, ["1...", "11..", "111.", "1111"]),
    ],
)
def test_which_keys_a_query_sees(window: int | None, seen: list[str]) -> None:
    q = torch.ones(1, 4, 1, 2)
    inputs = ScoreInputs(q, q, window=window)
    assert ["".join(".1"[not hidden] for hidden in row) for row in inputs.later(range(4), 4).tolist()] == seen
    assert bool((inputs.scores(range(4)).isfinite() == ~inputs.later(range(4), 4)).all())
    assert inputs.plain == (window is None)


def test_scale_cap_grouped_keys_factor_and_chosen_queries() -> None:
    q, k = torch.randn(2, 2, 5, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    k = k[:, :, :2]
    every = k.repeat_interleave(2, 2)
    products = torch.einsum("bqhe,bkhe->bhqk", q, every)
    seen = torch.ones(5, 5, dtype=torch.bool).tril()
    factor = torch.rand(1, 5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for given, wanted in (
        ({}, products / math.sqrt(3)), ({"scale": 0.3}, products * 0.3), ({"soft_cap": 0.7}, 0.7 * (products / math.sqrt(3) / 0.7).tanh()),
        ({"scale": 2.0, "soft_cap": 5.0, "factor": factor}, 5 * (products * 2 / 5).tanh() * factor.transpose(1, 2)[..., None]),
    ):  # fmt: skip
        inputs = ScoreInputs(q, k, **given)
        assert torch.allclose(inputs.scores(range(5))[..., seen], wanted[..., seen])
        assert torch.allclose(inputs.scores([3, 1], 4), inputs.scores(range(5))[:, :, [3, 1], :4])
        assert torch.allclose(inputs.scores(range(1, 4), 3), inputs.scores(range(5))[:, :, 1:4, :3])
        assert torch.allclose(
            inputs.select(slice(1, 2), slice(1, 3)).scores(range(5)), inputs.scores(range(5))[1:2, 1:3]
        )
        assert not inputs.plain, "keys are fewer"
        assert ScoreInputs(q, every, **given).plain == (not given)
    assert ScoreInputs(q, every, factor=factor).plain
    linear = ScoreInputs(q, every, attention="linear").scores(range(5)).softmax(-1)
    weights = torch.einsum("bqhe,bkhe->bhqk", feature_map(q), feature_map(every)).tril()
    assert torch.allclose(linear, weights / weights.sum(-1, keepdim=True))
    assert torch.equal(hardmax(torch.tensor([[1.0, 3.0, 3.0, -math.inf]])), torch.tensor([[0.0, 0.5, 0.5, 0.0]]))
    assert feature_map(torch.tensor([-1.0, 0.0, 2.0])).tolist() == pytest.approx([math.exp(-1), 1.0, 3.0])


# ---- tie sets ------------------------------------------------------------------------------------------------------------
ROWS = np.log([[8, 1, 1, 1, 1.0], [3, 3, 3, 1, 1.0], [1, 1, 1, 1, 1.0], [5, 4, 0.1, 0.1, 0.1], [1, 2, 4, 8, 16.0]])


def test_nearest_hardmaxes_held(held: Held) -> None:
    for keys in (None, np.array([5, 4, 3, 2, 1])):
        rows = sort_rows(ROWS, keys)
        found = nearest_hardmax(rows)
        for row, size, distance in zip(range(5), found.size, found.distance, strict=True):
            count = 5 if keys is None else int(keys[row])
            weights = np.sort(np.exp(ROWS[row, :count]) / np.exp(ROWS[row, :count]).sum())[::-1]
            every = [
                np.abs(weights - np.r_[np.full(k, 1 / k), np.zeros(count - k)]).sum() / 2 for k in range(1, count + 1)
            ]
            assert distance == pytest.approx(min(every))
            assert every[size - 1] == pytest.approx(min(every))
            assert found.distance_to_all[row] == pytest.approx(every[-1])
    rows, found = sort_rows(ROWS), nearest_hardmax(sort_rows(ROWS))
    parts = [rows.weight, rows.inside, rows.outside, rows.cost, rows.total, rows.keys]
    held([*(digest(part) for part in parts), found.size, digest(found.distance), digest(found.distance_to_all)])


def test_tie_sets_of_scores_with_hidden_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.models.transformer import tie_sets

    scores = torch.tensor(
        [[1.0, 9.0, 9.0, 1.0], [-math.inf, 5.0, 0.0, 0.0], [0.0, 0.0, -math.inf, -math.inf], [2.0, 2.0, 2.0, 2.0]]
    )[None, None]
    wanted = [[0, 1, 1, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
    for size in (1, 4, 8, 12, 1 << 18):
        monkeypatch.setattr(tie_sets, "SCORES_AT_ONCE", size)
        assert in_tie_set(scores)[0, 0].int().tolist() == wanted
    assert tie_set_pattern(scores)[0, 0].tolist() == [[x / sum(row) for x in row] for row in wanted]
    assert (tie_set_scores(scores)[0, 0] == 0).int().tolist() == wanted
    assert bool((tie_set_scores(scores)[0, 0] == -math.inf).eq(torch.tensor(wanted) == 0).all())


@pytest.mark.parametrize(("scores", "keys", "refused"), [
    ([[1.0, 2.0]], [1], ""), ([[1.0, 2.0]], [2], ""), ([[1.0, 2.0]], [0], "between 1 and 2"), ([[1.0, 2.0]], [3], "got 3 to 3"), ([[1.0, math.nan]], [2], "NaN"),
    ([[1.0, math.nan]], [1], ""), ([[math.inf, 1.0]], [2], "NaN"), ([[-math.inf, -math.inf]], [2], "NaN"), ([[-math.inf, 0.0]], [2], ""), ([[-math.inf, 0.0]], [1], "NaN"),
])  # fmt: skip
def test_rows_that_can_be_sorted(scores: list[list[float]], keys: list[int], refused: str) -> None:
    if refused:
        with pytest.raises(ValueError, match=refused):
            sort_rows(np.array(scores), np.array(keys))
    else:
        assert sort_rows(np.array(scores), np.array(keys)).keys.tolist() == keys


# ---- predicted ids -----------------------------------------------------------------------------------------------------------
def test_predicted_ids_are_those_of_the_next_tokens() -> None:
    mask = torch.tensor([[False, True, False, True], [True, True, False, False]])
    ids, said = torch.tensor([[0, 3, 1, 2]]), torch.tensor([[9, 1, 9, 9], [3, 0, 9, 9]])
    assert ids_supervised(mask).tolist() == [[False, True, False], [True, True, False]]
    assert ids_right(said, ids, mask).tolist() == [[True, True, True, True], [True, False, True, True]]
    logits = torch.zeros(2, 4, 5)
    assert float(id_loss(logits, ids, mask)) == pytest.approx(math.log(5))
    logits[0, 1, 1] = logits[1, 0, 3] = logits[1, 1, 1] = 50.0
    assert float(id_loss(logits, ids, mask)) == pytest.approx(0.0, abs=1e-6)


def test_a_model_that_predicts_ids_says_them_and_others_none() -> None:
    model, x = build("none", ids="predicted").eval(), tokens(2, 6)
    logits, ids = outputs_and_ids(model, x, torch.arange(6)[None])
    assert torch.equal(logits, model(x))
    hidden = model.ln_final(model(x, stop_at_layer=2))
    assert torch.equal(ids, model.unembed_ids(hidden).argmax(-1))
    assert outputs_and_ids(build("none").eval(), x, torch.arange(6)[None])[1] is None
    assert (next_id_hooks(model.cfg), next_id_hooks(build("none").cfg)) == (["hook_next_ids"], [])


# ---- encodings -------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("buckets", "far", "starts", "single"), [
    (2, 2, (0, 1), 1), (4, 4, (0, 1, 2, 3), 3), (8, 16, (0, 1, 2, 3, 4, 6, 8, 12), 4), (8, 5, (0, 1, 2, 3, 4, 5, 5, 5), 5), (3, 2, (0, 1, 2), 2), (6, 100, (0, 1, 2, 3, 10, 32), 3),
])  # fmt: skip
def test_where_buckets_begin(buckets: int, far: int, starts: tuple[int, ...], single: int) -> None:
    encoding = Relative(buckets=buckets, max_distance=far)
    assert encoding.starts == starts
    wanted = [max(b for b, start in enumerate(starts) if start <= max(lag, 0)) for lag in range(-3, 40)]
    assert encoding.bucket(torch.arange(-3, 40)).tolist() == wanted
    assert encoding.single == single
    assert Relative.reach(encoding.model_dump(exclude={"name"})).locality == single - 1
    assert Relative.reach({}).locality is None


def test_rotary_settings_of_transformer_lens() -> None:
    assert Rotary.settings_of_upstream({}) == {"name": "rotary", "base": 10_000.0}
    said = {"rotary_dim": 8, "d_head": 8, "rotary_base": 50, "rotary_scaling_factor": 4.0}
    assert Rotary.settings_of_upstream(said) == {"name": "rotary", "base": 50.0, "scaling": "linear", "factor": 4.0}
    with pytest.raises(PositionError, match="rotates 4 of 8"):
        Rotary.settings_of_upstream({"rotary_dim": 4, "d_head": 8})
    for encoding in Rotary.examples():
        cos, sin = encoding.turn(torch.arange(30)[None], 8, torch.float64)
        tables = {"rotary_cos": cos[0, :, 0].repeat(1, 2).float(), "rotary_sin": sin[0, :, 0].repeat(1, 2).float()}
        encoding.check_upstream_buffers(tables, 8)
        for name in tables:
            with pytest.raises(PositionError, match=f"its table {name} is not that"):
                encoding.check_upstream_buffers({name: tables[name] + 1e-4}, 8)
        with pytest.raises(PositionError, match="its table"):
            encoding.check_upstream_buffers({"blocks.0.attn.rotary_cos": tables["rotary_sin"]}, 8)
        encoding.check_upstream_buffers({"mask": tables["rotary_sin"]}, 8)


# ---- edits -------------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("text", "edit", "name"), [
    ("zero.0.1", Edit("zero", 0, 1), "ablate L0 H1 (zero)"), ("mean.2.0", Edit("mean", 2, 0), "ablate L2 H0 (mean)"),
    ("hardmax.1.3", Edit("hardmax", 1, 3), "hardmax L1 H3"), ("hardmax.all", Edit("hardmax"), "hardmax, all heads"),
    ("patch.1.20", Edit("patch", 1, None, 20), "patch after block 1 from prefix 20"),
    ("patch.1.2000.999999", Edit("patch", 1, None, 2000, 999_999), "patch after block 1 from prefix 2,000 into prefix 999,999"),
    ("D.logn", Edit("repair", repair="D.logn"), "scores \u00d7 log n (D.logn)"),
])  # fmt: skip
def test_edits_are_read_and_written(text: str, edit: Edit, name: str) -> None:
    assert parse_edit(text) == edit
    assert (edit.text, edit.name) == (text, name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "zero",
        "zero.1",
        "zero.0.1.2",
        "patch.1",
        "patch.1.2.3.4",
        "zero.0.-1",
        "zero.0.x",
        "patch.1.2000000",
        "hardmax",
        "repair.0.0",
        "K.scale",
        "zero.0.\u0661",
        "zero..1",
    ],
)
def test_texts_that_are_no_edit(text: str) -> None:
    with pytest.raises(EditError, match="is no edit; write one of zero"):
        parse_edit(text)


def test_as_many_edits_as_can_be_told_apart() -> None:
    many = [f"zero.{layer}.0" for layer in range(MOST)]
    assert len(parse_edits(",".join([*many, many[0], ""]))) == MOST
    with pytest.raises(EditError, match="9 edits at once"):
        parse_edits(",".join([*many, "zero.8.0"]))
    assert parse_edits("") == ()
    assert len(parse_edits("P.int,D.logn,D.beta2")) == 3
    with pytest.raises(EditError, match=r"\(P\.int\) and .*\(P\.row\) both change"):
        parse_edits("P.int,P.row")
    assert [parse_edit(name).repair for name in REPAIRS] == list(REPAIRS)


@pytest.mark.parametrize(("text", "layers", "heads_", "length", "refused"), [
    ("zero.1.3", 2, 4, 9, ""), ("zero.2.0", 2, 4, 9, "layers 0 to 1"), ("zero.0.4", 2, 4, 9, "heads 0 to 3"), ("zero.0.0", 2, 0, 9, "no attention heads"),
    ("patch.1.8", 2, 0, 9, ""), ("patch.1.9", 2, 0, 9, "1 to 8 tokens"), ("patch.1.0", 2, 4, 9, "1 to 8 tokens"), ("patch.1.1", 2, 4, 9, ""), ("patch.1.1.9", 2, 4, 9, ""),
    ("patch.1.1.10", 2, 4, 9, "has 9 tokens"), ("patch.1.5.5", 2, 4, 9, "1 to 4 tokens"), ("patch.2.1", 2, 4, 9, "layers 0 to 1"), ("hardmax.all", 1, 1, 1, ""),
    ("hardmax.all", 1, 0, 1, "no attention heads"), ("D.beta2", 1, 0, 1, ""),
])  # fmt: skip
def test_edits_that_a_model_has_a_place_for(text: str, layers: int, heads_: int, length: int, refused: str) -> None:
    if refused:
        with pytest.raises(EditError, match=refused):
            check_edits(parse_edits(text), layers, heads_, length)
    else:
        check_edits(parse_edits(text), layers, heads_, length)


# ---- devices, and models of others ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("device", "dtype", "fits"), [
    ("cpu", "", True), ("cuda", "bfloat16", True), ("cuda:1", "float32", True), ("cuda:999", "", True), ("cuda:1000", "", False), ("mps", "", True),
    ("auto", "", True), ("gpu", "", False), ("cpu:0", "", False), ("cpu", "float16", False), ("", "", False),
])  # fmt: skip
def test_names_of_devices_and_numbers(device: str, dtype: str, fits: bool) -> None:
    if fits:
        assert ComputeDevice(device, dtype).dtype == dtype
    else:
        with pytest.raises(DeviceError, match=r"no kind of device|compute in"):
            ComputeDevice(device, dtype)


def test_differences_and_what_conforms() -> None:
    one, other = torch.tensor([1.0, -math.inf, 3.0]), torch.tensor([1.0, -math.inf, 2.5])
    assert difference(one, other) == 0.5
    assert difference(one, other[:2]) == math.inf
    assert difference(one, torch.tensor([1.0, 0.0, 3.0])) == math.inf
    assert labelled_difference((one[:1], ["a"]), (torch.tensor([9.0, 1.25]), ["pos_embed", "a"])) == 0.25
    assert labelled_difference((one[:1], ["a"]), (torch.tensor([9.0, 1.25]), ["b", "a"])) == math.inf
    assert kind("blocks.10.attn.hook_q") == "blocks.{l}.attn.hook_q"
    for value, conforms in ((TOLERANCE, True), (TOLERANCE * 1.01, False)):
        for place in ({"logits": value}, {"activations": value}, {"utilities": {"x": value}}):
            made = Comparison(
                **{
                    "case": "c",
                    "logits": 0.0,
                    "activations": 0.0,
                    "at": "h",
                    "hooks": ("blocks.0.h",),
                    "ours": (),
                    "utilities": {"y": 0.0},
                    **place,
                }
            )  # type: ignore[arg-type]
            assert made.conforms == conforms
            lines = list(table([made]))
            assert ("ABOVE 1e-05" in lines[1]) == (not conforms)
            assert lines[2:] == [
                "hooks compared: blocks.{l}.h",
                f"utilities compared, largest difference {max(made.utilities.values()):.1e}: {', '.join(made.utilities)}",
                "hooks of ours alone: none",
            ]


@pytest.mark.parametrize(("found", "wanted", "tolerance", "near"), [
    ([1.0, 2.5], [1.0, 2.0], 0.25, True), ([1.0, 2.51], [1.0, 2.0], 0.25, False), ([0.25], [0.0], 0.25, True), ([0.26], [0.0], 0.25, False), ([math.nan], [0.0], 9.0, False),
])  # fmt: skip
def test_numbers_are_close_by_a_share_of_the_largest(
    found: list[float], wanted: list[float], tolerance: float, near: bool
) -> None:
    assert self_test.close(torch.tensor(found), torch.tensor(wanted), tolerance) == near


UPSTREAM = {
    "n_layers": 1,
    "d_model": 8,
    "n_heads": 2,
    "d_head": 4,
    "n_ctx": 9,
    "d_vocab": 5,
    "d_vocab_out": -1,
    "act_fn": "relu",
    "normalization_type": None,
    "d_mlp": 7,
}


@pytest.mark.parametrize(("change", "found"), [
    ({}, {"positions": {"name": "learned"}, "d_mlp": 7}), ({"attn_scale": 2.0}, {"d_head": 4}), ({"attn_scale": -1.0}, {}), ({"attn_scale": 2.00001}, "by sqrt"),
    ({"attn_scale": 2.000001}, {}), ({"d_vocab_out": 3}, {"d_vocab_out": 3}), ({"attn_only": True}, {"attn_only": True}), ({"positional_embedding_type": "rotary"}, {"positions": {"name": "rotary", "base": 10_000.0}}),
    ({"positional_embedding_type": "shortformer"}, "known here"), ({"normalization_type": "LNPre"}, "folded"), ({"gated_mlp": True}, "gated_mlp = True"), ({"unheard": 1}, "not known here"),
    ({"output_logits_soft_cap": None}, {}), ({"output_logits_soft_cap": 30.0}, "soft_cap"), ({"seed": 5}, {}),
])  # fmt: skip
def test_configs_of_transformer_lens(change: dict[str, Any], found: dict[str, Any] | str) -> None:
    if isinstance(found, str):
        with pytest.raises(UpstreamError, match=found):
            fields_of_config({**UPSTREAM, **change})
        return
    made = fields_of_config({**UPSTREAM, **change})
    assert made == made | found
    assert ("d_vocab_out" in made) == ("d_vocab_out" in change)
    assert ("d_mlp" in made) == ("act_fn" in made) == (not change.get("attn_only"))


def test_what_shapes_tell() -> None:
    model = HookedTransformer(
        ModelConfig(d_vocab=5, d_vocab_out=3, n_layers=11, d_model=8, n_heads=2, n_ctx=9, d_mlp=6, positions="learned")
    )
    weights = model.state_dict()
    told = {
        "d_vocab": 5,
        "d_model": 8,
        "n_layers": 11,
        "n_heads": 2,
        "d_head": 4,
        "d_vocab_out": 3,
        "attn_only": False,
        "d_mlp": 6,
        "normalization_type": "LN",
        "n_ctx": 9,
    }
    assert fields_of_weights(weights) == told
    bare = {
        name: value
        for name, value in weights.items()
        if ".mlp." not in name and ".ln" not in name and "pos_embed" not in name
    }
    assert fields_of_weights(bare) == {key: told[key] for key in list(told)[:6]} | {"attn_only": True}
    assert fields_of_weights({**bare, "blocks.0.attn.mask": torch.ones(12, 12)})["n_ctx"] == 12
    with pytest.raises(UpstreamError, match="holds no tensor unembed"):
        fields_of_weights({name: value for name, value in weights.items() if "unembed" not in name})
    assert upstream_fields(model.cfg)["d_mlp"] == 6


@pytest.mark.parametrize(("options", "lacking"), [
    ({}, ""), ({"d_mlp": (6, 6)}, ""), ({"d_mlp": (6, 7)}, "no MLPs of different widths"), ({"log_scaling": "all", "attention": "hardmax"}, "no log_scaling all and no hardmax attention"),
    ({"positions": "limit", "log_scaling": "local"}, "no positions limit and no log_scaling local"),
])  # fmt: skip
def test_what_transformer_lens_has_not(options: dict[str, Any], lacking: str) -> None:
    cfg = ModelConfig(**{"d_vocab": 5, "n_layers": 2, "d_model": 8, "n_heads": 2, "n_ctx": 9, **options})
    if lacking:
        with pytest.raises(UpstreamError, match=lacking):
            upstream_fields(cfg)
    else:
        assert upstream_fields(cfg)["positional_embedding_type"] == "standard"
