"""Edits of a forward pass: each changes what it says in the way known in closed form, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from circuits.one_sequence import attention_row, look
from workbench.diagnosis.intervened_pass import IntervenedPass, inside_of
from workbench.measure.edits.edit import Edit, EditError, parse_edit, parse_edits
from workbench.measure.edits.edited_forward import Trained, edited_forward
from workbench.measure.edits.interventions.all_interventions import by_name
from workbench.measure.edits.one_sequence import one_sequence
from workbench.models.handmade.transformers import key_head, majority
from workbench.models.transformer import kernels
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.models.transformer.tie_sets import in_tie_set, tie_set_pattern, tie_set_scores
from workbench.runs import RunError
from workbench.tasks import TaskError, make_task

MARGIN = 2.0
TEXT = "0100110"
KEYS = [i for i, bit in enumerate("^" + TEXT) if bit == "1"]
"""Places of the key tokens, BOS at 0."""


@pytest.fixture
def keyed(make_run: Callable[..., Any]) -> str:
    """A run whose one head gives every 1 the score 2: class 1's logit is the mass on the ones."""
    return str(make_run(key_head(MARGIN), make_task("parity"), 16).path)


def mass(text: str) -> list[float]:
    """The mass on the ones at every position, BOS first, in closed form."""
    found = []
    for seen in range(1, len(text) + 2):
        ones = text[: seen - 1].count("1")
        found.append(ones * math.exp(MARGIN) / (ones * math.exp(MARGIN) + seen - ones))
    return found


def second(outputs: Any) -> Any:
    """Logit of class 1, where that of class 0 is 0."""
    return np.log(outputs[:, 1] / outputs[:, 0])


# ---- what a link says ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text", ["zero.0.1", "mean.2.0", "hardmax.1.3", "hardmax.all", "patch.0.12", "patch.1.3.40", "P.int"]
)
def test_an_edit_is_read_as_it_is_written(text: str) -> None:
    assert parse_edit(text).text == text


def test_several_edits_each_once() -> None:
    assert parse_edits("zero.0.1,hardmax.all,zero.0.1") == (Edit("zero", 0, 1), Edit("hardmax"))
    assert parse_edits("") == ()


@pytest.mark.parametrize(
    "text",
    ["", "zero", "zero.0", "zero.0.1.2", "zero.-1.0", "burn.0.1", "patch.0", "hardmax.x.y", "zero.0.1e3", "zero.0.²"],
)
def test_what_is_no_edit_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(EditError, match="edit"):
        parse_edit(text)


def test_too_many_edits_are_refused() -> None:
    with pytest.raises(EditError, match="9 edits"):
        parse_edits(",".join(f"zero.0.{i}" for i in range(9)))


# ---- canaries --------------------------------------------------------------------------------------------
def test_the_clean_pass_is_the_closed_form(keyed: str) -> None:
    found = look(keyed, 100, {"text": TEXT}, 0, 0)
    np.testing.assert_allclose(second(found.clean.outputs), mass(TEXT), atol=1e-5)
    assert found.edited is None
    assert found.tokens == ["<bos>", *TEXT]
    assert found.oracle == [None, 0, 1, 1, 1, 0, 1, 1]


def test_zero_ablation_takes_the_head_away(keyed: str) -> None:
    found = look(keyed, 100, {"text": TEXT}, 0, 0, edits="zero.0.0")
    np.testing.assert_allclose(found.edited.outputs, 0.5, atol=1e-6)
    np.testing.assert_allclose(second(found.clean.outputs), mass(TEXT), atol=1e-5)
    np.testing.assert_array_equal(found.edited.row, found.clean.row)


def test_mean_ablation_puts_the_mean_of_other_strings_there(keyed: str) -> None:
    one = one_sequence(keyed, 100, {"text": TEXT})
    others = ["".join("^01"[i] for i in row[1:]) for row in one.reference().tokens.tolist()]
    wanted = np.mean([mass(other)[: len(TEXT) + 1] for other in others], axis=0)
    found = look(keyed, 100, {"text": TEXT}, 0, 0, edits="mean.0.0")
    np.testing.assert_allclose(second(found.edited.outputs), wanted, atol=1e-5)


def test_hard_attention_is_uniform_on_the_keys_and_on_all_where_there_is_none(keyed: str) -> None:
    found = look(keyed, 100, {"text": TEXT}, 0, 0, edits="hardmax.0.0")
    # Two of six keys at margin 2 hold less than uniform attention to six does: k* is found per row, not assumed.
    wanted = [attention_mass_after_swap(seen, TEXT[: seen - 1].count("1")) for seen in range(1, len(TEXT) + 2)]
    np.testing.assert_allclose(second(found.edited.outputs), wanted, atol=1e-5)
    assert found.edited.row[KEYS].sum() == pytest.approx(wanted[-1])
    assert look(keyed, 100, {"text": TEXT}, 0, 0, edits="hardmax.all").edited.outputs[-1, 1] == pytest.approx(
        found.edited.outputs[-1, 1]
    )


def attention_mass_after_swap(seen: int, ones: int) -> float:
    """Mass on the ones of the nearest uniform set, among the two candidates of tied rows: the ones, or all."""
    top = ones * math.exp(MARGIN) / (ones * math.exp(MARGIN) + seen - ones)
    to_ones, to_all = (1 - top, top - ones / seen) if ones else (1.0, 0.0)
    return 1.0 if to_ones < to_all else ones / seen


@pytest.mark.parametrize("donor", [1, 3, 6])
def test_a_patch_after_the_last_block_gives_the_donors_output_and_changes_no_other_prefix(
    keyed: str, donor: int
) -> None:
    found = look(keyed, 100, {"text": TEXT}, 0, 0, edits=f"patch.0.{donor}")
    clean, edited = found.clean.outputs, found.edited.outputs
    np.testing.assert_array_equal(edited[:-1], clean[:-1])
    np.testing.assert_array_equal(edited[-1], clean[donor])
    shorter = look(keyed, 100, {"text": TEXT[:donor]}, 0, 0).clean.outputs
    np.testing.assert_allclose(edited[-1], shorter[-1], atol=1e-6)


def test_a_patch_into_a_stated_prefix(make_run: Callable[..., Any]) -> None:
    run = make_run(majority(256), make_task("majority"), 16)
    found = look(str(run.path), 100, {"text": "110000"}, 0, 0, edits="patch.0.2.5")
    answers = found.edited.outputs.argmax(1), found.clean.outputs.argmax(1)
    assert [a.tolist()[1:] for a in answers] == [[1, 1, 1, 0, 1, 0], [1, 1, 1, 0, 0, 0]]


@pytest.fixture
def random_model() -> HookedTransformer:
    cfg = ModelConfig(d_vocab=3, n_layers=2, d_model=16, n_heads=2, n_ctx=64, d_vocab_out=2, positions="rotary")
    return HookedTransformer(cfg, seed=3)


@pytest.mark.parametrize("edit", ["zero.1.0", "mean.1.0", "hardmax.1.0", "patch.1.2"])
def test_every_edit_changes_the_output_and_nothing_before_it(random_model: HookedTransformer, edit: str) -> None:
    model, task = random_model, make_task("parity")
    batch = task.label(torch.tensor([[1, 2, 2, 1, 2, 1, 1, 2]]))
    reference = task.sample(16, 8, torch.Generator().manual_seed(0), "matched")
    before = ["blocks.0.hook_resid_post", "blocks.1.attn.hook_q"]
    names = [*before, "blocks.1.attn.hook_z", "blocks.1.hook_resid_post"]
    clean = edited_forward(model, batch, (), names)
    made = edited_forward(model, batch, parse_edits(edit), names, reference)
    assert all(torch.equal(clean[name], made[name]) for name in before)
    torch.testing.assert_close(clean["blocks.1.attn.hook_z"][:, :, 1], made["blocks.1.attn.hook_z"][:, :, 1])
    assert (clean["logits"][0, -1] - made["logits"][0, -1]).abs().max() > 1e-4
    assert not model.hook_dict["blocks.1.attn.hook_z"].fwd_hooks


def test_edits_leave_no_trace_in_the_model(random_model: HookedTransformer) -> None:
    batch = make_task("parity").label(torch.tensor([[1, 2, 1]]))
    before = edited_forward(random_model, batch, (), [])["logits"]
    edited_forward(random_model, batch, parse_edits("zero.0.0,hardmax.all,patch.0.1"), [])
    assert torch.equal(edited_forward(random_model, batch, (), [])["logits"], before)


# ---- repairs ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("repair", "margin"), [("D.beta2", 2 * MARGIN), ("D.beta4", 4 * MARGIN)])
def test_sharpening_multiplies_the_margin_and_the_pattern_shows_it(keyed: str, repair: str, margin: float) -> None:
    found = look(keyed, 100, {"text": TEXT}, 0, 0, edits=repair)
    ones = len(KEYS)
    mass = ones * math.exp(margin) / (ones * math.exp(margin) + len(TEXT) + 1 - ones)
    assert second(found.edited.outputs)[-1] == pytest.approx(mass, abs=1e-5)
    assert found.edited.row[KEYS].sum() == pytest.approx(mass, abs=1e-5)
    assert attention_row(keyed, 100, {"text": TEXT}, 0, 0, len(TEXT), repair)["row"] == pytest.approx(found.edited.row)


def test_scores_grow_with_the_log_of_keys_beyond_n_alone(keyed: str) -> None:
    """N = 16 and BOS are 17 keys; the last of 40 tokens sees 41."""
    text = "01" * 20
    found = look(keyed, 100, {"text": text}, 0, 0, edits="D.logn")
    np.testing.assert_allclose(found.edited.outputs[:17], found.clean.outputs[:17], atol=1e-6)
    margin = MARGIN * (1 + math.log(41 / 17) / math.log(17))
    assert second(found.edited.outputs)[-1] == pytest.approx(
        20 * math.exp(margin) / (20 * math.exp(margin) + 21), abs=1e-5
    )


def test_adaptive_temperature_multiplies_the_margin_by_its_polynomial(keyed: str) -> None:
    ones, zeros = len(KEYS), len(TEXT) + 1 - len(KEYS)

    def weight(margin: float) -> float:
        return math.exp(margin) / (ones * math.exp(margin) + zeros)

    one, other = weight(MARGIN), weight(MARGIN) * math.exp(-MARGIN)
    entropy = -ones * one * math.log(one) - zeros * other * math.log(other)
    factor = float(np.polyval([-0.037, 0.481, -2.3, 4.917, -1.791], entropy))
    assert factor > 1.2
    found = look(keyed, 100, {"text": TEXT}, 0, 0, edits="D.adaptive")
    assert second(found.edited.outputs)[-1] == pytest.approx(ones * weight(factor * MARGIN), abs=1e-5)
    assert found.edited.row[KEYS].sum() == pytest.approx(ones * weight(factor * MARGIN), abs=1e-5)
    halved = look(keyed, 100, {"text": TEXT}, 0, 0, edits="D.adaptive", strength=0.5)
    assert second(halved.edited.outputs)[-1] == pytest.approx(ones * weight((1 + factor) / 2 * MARGIN), abs=1e-5)


def test_a_pattern_in_several_blocks_of_queries_is_that_in_one(keyed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = look(keyed, 100, {"text": "01" * 20}, 0, 0, edits="D.adaptive,D.logn")
    monkeypatch.setattr(kernels, "SCORES_AT_ONCE", 200)
    parts = look(keyed, 100, {"text": "01" * 20}, 0, 0, edits="D.adaptive,D.logn")
    np.testing.assert_allclose(parts.edited.pattern, whole.edited.pattern, atol=1e-6)
    assert second(whole.edited.outputs)[-1] == pytest.approx(whole.edited.row[2::2].sum(), abs=1e-5)


@pytest.mark.parametrize("name", ["P.int", "P.clip", "P.low", "D.logn", "D.beta2", "D.adaptive"])
def test_a_repair_here_is_the_repair_of_the_diagnosis(name: str) -> None:
    cfg = ModelConfig(d_vocab=3, n_layers=2, d_model=16, n_heads=2, n_ctx=64, d_vocab_out=2, positions="rotary")
    model, task = HookedTransformer(cfg, seed=3), make_task("parity")
    at_n, beyond = (task.sample(8, length, torch.Generator().manual_seed(0), "matched") for length in (8, 24))
    inside = inside_of(model, at_n)
    wanted = IntervenedPass(model, inside, [by_name(name)]).outputs(beyond)
    made = edited_forward(model, beyond, parse_edits(name), [], trained=Trained(9))["logits"]
    torch.testing.assert_close(made, wanted, atol=1e-5, rtol=1e-4)
    clean = edited_forward(model, beyond, (), [])["logits"]
    assert (made - clean).abs().max() > 1e-3


def test_a_repair_without_a_place_and_two_of_ids_are_refused(keyed: str) -> None:
    with pytest.raises(EditError, match=r"P\.int"):
        look(keyed, 100, {"text": TEXT}, 0, 0, edits="P.int")
    with pytest.raises(EditError, match="change"):
        parse_edits("P.int,P.clip")
    with pytest.raises(EditError, match=r"P\.int"):
        parse_edit("K.sink")


# ---- tie sets --------------------------------------------------------------------------------------------
def test_the_tie_set_is_the_best_of_all_sets_by_brute_force() -> None:
    scores = torch.randn(1, 1, 40, 7, generator=torch.Generator().manual_seed(0)) * 2
    weights = scores.softmax(-1)[0, 0].double().numpy()
    found = in_tie_set(scores)[0, 0].numpy()
    subsets = np.array([[(s >> i) & 1 for i in range(7)] for s in range(1, 128)], dtype=float)
    uniform = subsets / subsets.sum(1, keepdims=True)
    best = (np.abs(weights[:, None] - uniform[None]).sum(2) / 2).min(1)
    own = np.abs(weights - found / found.sum(1, keepdims=True)).sum(1) / 2
    np.testing.assert_allclose(own, best, atol=1e-6)


def test_later_keys_are_never_in_a_tie_set() -> None:
    scores = torch.zeros(1, 2, 5, 5).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
    assert torch.equal(tie_set_scores(scores), scores)
    torch.testing.assert_close(tie_set_pattern(scores)[0, 0, 2], Tensor([1, 1, 1, 0, 0]) / 3)


# ---- what cannot be done -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("sequence", "edits", "said"),
    [
        ({"text": "01x1"}, "", "character"),
        ({"text": " , "}, "", "type"),
        ({"text": "<bos>01"}, "", "token"),
        ({"text": "01" * 10_000}, "", "20,001 positions"),
        ({"law": "matched", "length": 10**9, "seed": 0}, "", r"\b16,383\b"),
        ({"law": "nowhere", "length": 8, "seed": 0}, "", "'nowhere'"),
        ({"text": "01"}, "zero.1.0", "layers 0"),
        ({"text": "01"}, "hardmax.0.7", "heads 0"),
        ({"text": "0110"}, "patch.0.4", "3 tokens"),
        ({"text": "0110"}, "patch.0.1.9", "4 tokens"),
        ({"text": "0" * 5000}, "hardmax.all", "4,096 positions"),
    ],
)
def test_bad_input_is_one_sentence(keyed: str, sequence: dict[str, Any], edits: str, said: str) -> None:
    with pytest.raises((TaskError, EditError), match=said):
        look(keyed, 100, sequence, 0, 0, edits=edits)


def test_a_step_that_is_not_there_is_named(keyed: str) -> None:
    with pytest.raises(RunError, match="77"):
        look(keyed, 77, {"text": "01"}, 0, 0)


def test_a_place_that_is_not_there_is_named(keyed: str) -> None:
    with pytest.raises(ValueError, match="head 3"):
        look(keyed, 100, {"text": "01"}, 0, 3)
    with pytest.raises(ValueError, match="length 9"):
        look(keyed, 100, {"text": "01"}, 0, 0, query=9)


# ---- long sequences ----------------------------------------------------------------------------------------
def test_pooled_cells_are_maxima_of_the_exact_rows(keyed: str) -> None:
    drawn = {"law": "matched", "length": 39, "seed": 5}
    whole = look(keyed, 100, drawn, 0, 0).clean.pattern
    pooled = look(keyed, 100, drawn, 0, 0, query=20, cells=10)
    assert pooled.pool == 4
    for cell in (0, 4, 9):
        block = whole[4 * cell : 4 * cell + 4, :4]
        assert pooled.clean.pattern[cell, 0] == pytest.approx(np.nanmax(block), abs=1e-6)
    row = attention_row(keyed, 100, drawn, 0, 0, query=20)
    np.testing.assert_allclose(row["row"][:21], whole[20, :21], atol=1e-6)
    np.testing.assert_array_equal(row["row"], pooled.clean.row)


def test_a_part_is_looked_at_token_by_token(keyed: str) -> None:
    drawn = {"law": "matched", "length": 39, "seed": 5}
    whole = look(keyed, 100, drawn, 0, 0)
    part = look(keyed, 100, drawn, 0, 0, query=20, cells=10, queries=(18, 28), keys=[4, 11])
    assert (part.queries, part.keys, part.pool) == ((18, 28), (4, 11), 1)
    for name in ("pattern", "scores"):
        np.testing.assert_allclose(getattr(part.clean, name), getattr(whole.clean, name)[18:28, 4:11], atol=1e-6)
    np.testing.assert_allclose(part.clean.row_top, whole.clean.row_top[18:28], atol=1e-6)
    np.testing.assert_allclose(part.clean.row[:21], whole.clean.pattern[20, :21], atol=1e-6)
    cut = look(keyed, 100, drawn, 0, 0, queries=(18, 900))
    assert cut.queries == (18, 40)
    for wrong in ((40, 50), (-1, 5), (7, 7)):
        with pytest.raises(ValueError, match="positions 0"):
            look(keyed, 100, drawn, 0, 0, keys=wrong)


def test_progress_is_told_and_may_stop_the_work(keyed: str) -> None:
    said: list[str] = []

    def progress(done: int, total: int, doing: str) -> None:
        said.append(doing)
        if len(said) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        look(keyed, 100, {"text": "01"}, 0, 0, edits="zero.0.0", progress=progress)
    assert said == ["reading the checkpoint", "the clean pass", "the edited pass"]
