"""Heads in context of a model by hand whose attention on the answer is known: e^s / (e^s + t) at the query with index t.

It copies symbols by a head that feeds a head; a further output has the logit 1/2 whatever is read, so that an answer is
right just where the mass on its key is above 1/2, which is where t < e^s.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from circuits.interventions.heads_in_context import (
    ALL,
    ALONE,
    CHANGES,
    OTHERS,
    READERS,
    SUPPRESSORS,
    HeadsInContext,
    answer_keys,
    force_onto_answer,
    hard,
    others_of,
)
from circuits.passes import DeadHookError
from tests.support.circuits.copying_in_context import LENGTHS, REACH, SYMBOLS, copying, model_by_hand
from tests.support.models.pretrained_folders import VOCABULARY, save_folder
from workbench.measure.model_study import run
from workbench.models.interop.hugging_face.opening import open_folder
from workbench.models.transformer.tie_sets import tie_set_pattern
from workbench.tasks.presented.presented_task import PresentedBatch

PART = 12
"""Strings."""


@pytest.fixture(scope="module")
def result() -> Any:
    task = copying()
    return run(HeadsInContext(heads=1), model_by_hand(), task, trained=task.fitting, sequences=PART)


def asked(length: int) -> list[int]:
    """Indices of the tokens asked: of the second half of a copy, the prefix in front of its items."""
    batch = copying().sample(2, length, torch.Generator().manual_seed(0), "matched")
    return batch.mask[0].nonzero()[:, 0].tolist()


@pytest.mark.asserts("reading_mass")
def test_the_reader_is_the_head_with_most_mass_on_the_answer_and_its_mass_is_that_of_the_formula(result) -> None:
    for n in LENGTHS:
        wanted = float(np.mean([REACH / (REACH + t) for t in asked(n)]))
        assert result.value("reading_mass", length=n, target=READERS, layer=1, head=1) == pytest.approx(
            wanted, abs=1e-5
        )
        even = float(np.mean([1 / (t + 1) for t in asked(n)]))
        assert result.value("reading_mass", length=n, target=OTHERS, layer=1, head=0) == pytest.approx(even, abs=1e-5)
    rows = [r for r in result.rows if r["quantity"] == "reading_mass"]
    assert len(rows) == 2 * len(LENGTHS)


@pytest.mark.asserts("changed_accuracy", "changed_gain")
def test_what_each_change_of_the_reader_does_is_known(result) -> None:
    short, long = LENGTHS
    assert max(asked(short)) < REACH <= min(asked(long)), "right as it is at the one, wrong at the other"
    first = math.log(2 * short)
    mended = {t: REACH ** (math.log(t + 1) / first) > t for t in asked(long)}
    assert all(mended.values()), "log-n scaling holds the margin far enough for this reach"
    # With less than half of the mass on one key, the nearest hardmax is even attention on all of them.
    wanted = {"ablated": (0, 0), "held": (1, 1), "hardmax": (1, 0), "logn": (1, 1), "sharper": (1, 1)}
    for change in CHANGES:
        for n, accuracy, clean in zip(LENGTHS, wanted[change], (1, 0), strict=True):
            at = {"length": n, "mode": change, "target": READERS}
            assert result.value("changed_accuracy", **at) == accuracy
            assert result.value("changed_gain", **at) == accuracy - clean


@pytest.mark.asserts("changed_gain", "changed_log_probability_gain")
def test_heads_that_write_nothing_change_nothing(result) -> None:
    for row in result.rows:
        if row["quantity"] in ("changed_gain", "changed_log_probability_gain") and row["target"] == OTHERS:
            assert row["value"] == 0.0, row


@pytest.mark.asserts("changed_log_probability_gain")
def test_the_gain_in_log_probability_is_that_of_the_logits(result) -> None:
    n = LENGTHS[1]

    def logp(mass: float, t: int, items: int) -> float:
        """Of the answer: its logit is its mass, BOS has 1/2, a symbol what attention gives its keys."""
        rest = (1 - mass) / t
        # Index t repeats item t - n; the items before it are there twice, but the answer once; BOS has a key of no symbol.
        twice, once = t - items, items - (t - items) - 1
        others = [2 * rest] * twice + [rest] * once + [0.0] * (SYMBOLS - twice - once - 1)
        total = math.exp(mass) + math.exp(0.5) + sum(map(math.exp, others))
        return mass - math.log(total)

    gains = [logp(1.0, t, n) - logp(REACH / (REACH + t), t, n) for t in asked(n)]
    found = result.value("changed_log_probability_gain", length=n, mode="held", target=READERS)
    assert found == pytest.approx(float(np.mean(gains)), abs=1e-4)


def test_all_heads_are_scaled_and_nothing_else_is_done_to_them(result) -> None:
    modes = {r["mode"] for r in result.rows if r["target"] == ALL}
    assert modes == {"logn", "sharper"}
    assert result.value("changed_gain", length=LENGTHS[1], mode="sharper", target=ALL) == 1.0


def test_others_are_of_the_same_layers_and_where_there_are_none_a_row_says_so(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    drawn = others_of([(3, 0), (3, 2), (1, 1)], 4, rng)
    assert [layer for layer, _ in drawn] == [1, 3, 3]
    assert not {*drawn} & {(3, 0), (3, 2), (1, 1)}
    assert others_of([(1, 0), (1, 1)], 2, rng) == []
    monkeypatch.setattr("circuits.interventions.heads_in_context.others_of", lambda *given: [])
    task = copying()
    found = run(HeadsInContext(heads=1), model_by_hand(), task, trained=task.fitting, sequences=4)
    rows = [r for r in found.rows if r["target"] == OTHERS]
    assert {r["status"] for r in rows} == {"not_applicable"}
    assert {r["note"] for r in rows} == {"there are no other heads in the layers of the readers"}


def test_an_edit_that_was_never_called_is_an_error(monkeypatch) -> None:
    from circuits.interventions import heads_in_context

    task, model = copying(), model_by_hand()
    monkeypatch.setattr(heads_in_context, "show_pass", lambda *args: 0)
    monkeypatch.setattr(heads_in_context.AnswerShares, "shares", lambda self: {})
    from workbench.measure.grid import Grid
    from workbench.measure.model_study import ModelStudy

    study = ModelStudy(model, task, Grid(16, (16,), (16,), ()), 4, 0)
    with pytest.raises(DeadHookError, match="never called"):
        heads_in_context.scores_with_edits(
            study, study.batch("matched", 16), [(1, 1)], heads_in_context.force_onto_answer
        )


@pytest.mark.parametrize("name", ["llama", "gemma2", "mistral", "gpt2"])
def test_heads_of_opened_models_are_changed_as_edits_of_their_pattern_would_change_them(tmp_path, name) -> None:
    """Grouped keys, scales, soft caps and windows: the same outputs by hooks that see the whole pattern, in float64."""
    model = open_folder(save_folder(name, tmp_path / name), dtype=torch.float64)
    tokens = torch.randint(0, VOCABULARY, (3, 12), generator=torch.Generator().manual_seed(1))
    batch = PresentedBatch(
        tokens, tokens.roll(3, 1), torch.arange(12).expand(3, -1) > 8, tokens, None, 6, False, "matched",
        numbers=(0,) * 5 + (1, 2, 3, 4, 5, 6, 6), item_places=tuple(range(8)),
    )  # fmt: skip
    heads = [(0, 1), (1, 2), (1, 3)]
    targets = answer_keys(batch, torch.arange(12)).double()

    def pattern_of(change: str) -> Any:
        def edit(pattern: torch.Tensor, hook: Any) -> torch.Tensor:
            made = pattern.clone()
            layer = int(hook.name.split(".")[1])
            for _, head in [one for one in heads if one[0] == layer]:
                own = pattern[:, [head]]
                if change == "hardmax":
                    own = tie_set_pattern(own.log().tril(0).masked_fill(own == 0, -math.inf))
                else:
                    even = (targets / targets.sum(-1, keepdim=True).clamp(min=1))[:, None]
                    own = torch.where(targets.any(-1)[:, None, :, None], even, own)
                made[:, [head]] = own
            return made

        return edit

    for change, edits_of in (("hardmax", hard), ("held", force_onto_answer)):
        edits = edits_of(model, batch, heads, {})
        with torch.no_grad():
            found = model.run_with_hooks(tokens, fwd_hooks=[(n, lambda x, hook, e=e: e(x)) for n, e in edits.items()])
            hooks = [(f"blocks.{layer}.attn.hook_pattern", pattern_of(change)) for layer in (0, 1)]
            wanted = model.run_with_hooks(tokens, fwd_hooks=hooks)
            assert not torch.allclose(found, model(tokens), atol=1e-3)
        assert torch.allclose(found, wanted, atol=1e-5), change


@pytest.mark.asserts("changed_log_probability_gain")
def test_a_head_that_says_the_same_in_all_strings_is_its_mean() -> None:
    """The head beside the reader adds a constant to one symbol: to ablate it is to leave it as it is."""
    model = model_by_hand()
    task = copying()
    with torch.no_grad():
        model.blocks[1].attn.b_V[0, 0] = 1.0
        model.blocks[1].attn.W_O[0, 0] = 0.3 * model.unembed.W_U[:, 1]
    found = run(HeadsInContext(heads=1), model, task, trained=task.fitting, sequences=PART)
    for n in LENGTHS:
        at = {"length": n, "mode": "ablated", "target": OTHERS}
        assert found.value("changed_log_probability_gain", **at) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.asserts("changed_log_probability_gain", "changed_gain")
def test_a_head_that_reads_the_answer_and_speaks_against_it_is_no_reader() -> None:
    """Its twin's attention, and a quarter of its output taken away: without it the logit is the mass, with it 3/4."""
    model, task = model_by_hand(), copying()
    attn = model.blocks[1].attn
    with torch.no_grad():
        for name in ("W_Q", "W_K", "W_V", "phi"):
            getattr(attn, name)[0] = getattr(attn, name)[1]
        attn.W_O[0] = -0.25 * attn.W_O[1]
    found = run(HeadsInContext(heads=2), model, task, trained=task.fitting, sequences=PART)
    short = LENGTHS[0]

    def gain(**at: Any) -> float:
        return float(found.value("changed_log_probability_gain", mode="ablated", length=short, **at))

    assert gain(target=ALONE, layer=1, head=1) < 0 < gain(target=ALONE, layer=1, head=0)
    assert gain(target=READERS) == gain(target=ALONE, layer=1, head=1)
    assert gain(target=SUPPRESSORS) == gain(target=ALONE, layer=1, head=0)
    masses = {(r["layer"], r["head"], r["target"]) for r in found.rows if r["quantity"] == "reading_mass"}
    assert masses == {(1, 1, READERS), (1, 0, SUPPRESSORS)}
    (row,) = [r for r in found.rows if r["target"] == OTHERS and r["quantity"] == "changed_gain" and r["length"] == short
              and r["mode"] == "held"]  # fmt: skip
    assert row["status"] == "not_applicable", "the heads that were sought are no controls of each other"


def test_where_no_head_speaks_against_the_answer_a_row_says_so(result) -> None:
    rows = [r for r in result.rows if r["target"] == SUPPRESSORS]
    assert {r["status"] for r in rows} == {"not_applicable"}
    assert {r["mode"] for r in rows} == {"ablated"}
