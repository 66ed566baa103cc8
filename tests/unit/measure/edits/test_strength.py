"""The strength of an intervention, the first wrong sequence, and the token that decides an answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from circuits.one_sequence import look
from probes.one_sequence import read_sequence
from workbench.measure.edits.chosen_sequence import MOST_DECISIVE, decisive_keys
from workbench.measure.edits.edit import EditError, parse_edits
from workbench.measure.edits.edited_forward import Trained, edited_forward
from workbench.measure.study import forward
from workbench.models.handmade.transformers import key_head, majority
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks import make_task

MARGIN = 2.0
TEXT = "0100110"


@pytest.fixture
def keyed(make_run: Callable[..., Any]) -> str:
    """A run whose one head gives every 1 the score 2."""
    return str(make_run(key_head(MARGIN), make_task("parity"), 16).path)


def random_model(positions: str) -> HookedTransformer:
    cfg = ModelConfig(d_vocab=3, n_layers=2, d_model=16, n_heads=2, n_ctx=64, d_vocab_out=2, positions=positions)
    return HookedTransformer(cfg, seed=3)


# ---- strength --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("strength", [0.0, 0.25, 0.5, 1.0])
def test_scores_are_multiplied_by_one_plus_the_strength_times_the_rest_of_the_factor(
    keyed: str, strength: float
) -> None:
    found = look(keyed, 100, {"text": TEXT}, 0, 0, edits="D.beta4", strength=strength)
    margin, ones = MARGIN * (1 + 3 * strength), TEXT.count("1")
    mass = ones * math.exp(margin) / (ones * math.exp(margin) + len(TEXT) + 1 - ones)
    assert found.edited is not None
    assert np.log(found.edited.outputs[-1, 1] / found.edited.outputs[-1, 0]) == pytest.approx(mass, abs=1e-5)
    keys = [i for i, bit in enumerate("^" + TEXT) if bit == "1"]
    assert found.edited.row[keys].sum() == pytest.approx(mass, abs=1e-5)
    assert (found.strength, found.graded) == (strength, True)


@pytest.mark.parametrize("strength", [0.25, 0.5, 0.9])
def test_ids_lie_between_the_own_ones_and_the_interpolated_ones(strength: float) -> None:
    model, task = random_model("rotary"), make_task("parity")
    batch = task.sample(4, 24, torch.Generator().manual_seed(0), "matched")
    own = torch.arange(25, dtype=torch.float64)[None]
    ids = (1 - strength) * own + strength * own * 8 / 24  # nine positions with BOS: the last id at N is 8
    expected = forward(model, batch, [], ids=ids)["logits"]
    made = edited_forward(model, batch, parse_edits("P.int", strength), [], trained=Trained(9))["logits"]
    torch.testing.assert_close(made, expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", ["P.int", "P.clip", "P.low", "D.logn", "D.beta2"])
def test_at_strength_zero_the_pass_is_the_clean_one_to_the_bit(name: str) -> None:
    model, task = random_model("rotary"), make_task("parity")
    batch = task.sample(4, 24, torch.Generator().manual_seed(0), "matched")
    clean = edited_forward(model, batch, (), [])["logits"]
    assert torch.equal(edited_forward(model, batch, parse_edits(name, 0), [], trained=Trained(9))["logits"], clean)


def test_a_model_that_reads_whole_ids_has_two_strengths() -> None:
    model, task = random_model("learned"), make_task("parity")
    batch = task.sample(4, 24, torch.Generator().manual_seed(0), "matched")
    for strength in (0.0, 1.0):
        edited_forward(model, batch, parse_edits("P.int", strength), [], trained=Trained(9))
    with pytest.raises(EditError, match=r"0 or 1, not 0\.5"):
        edited_forward(model, batch, parse_edits("P.int", 0.5), [], trained=Trained(9))
    assert not parse_edits("P.int")[0].intervention.has_strengths(model.cfg)
    assert parse_edits("D.logn")[0].intervention.has_strengths(model.cfg)


@pytest.mark.parametrize("strength", [-0.1, 1.5, float("nan")])
def test_a_strength_outside_the_range_is_refused(strength: float) -> None:
    with pytest.raises(EditError, match="from 0 to 1"):
        parse_edits("P.int", strength)


def test_an_edit_that_is_no_intervention_has_no_strength(keyed: str) -> None:
    halved = look(keyed, 100, {"text": TEXT}, 0, 0, edits="zero.0.0", strength=0.5)
    np.testing.assert_allclose(halved.edited.outputs, 0.5, atol=1e-6)


def test_probes_read_the_pass_of_that_strength(keyed: str) -> None:
    none, full = (read_sequence(keyed, 100, {"text": TEXT}, "D.beta4", strength=strength) for strength in (0.0, 1.0))
    np.testing.assert_array_equal(none.position.edited, none.position.clean)
    assert not np.array_equal(full.position.edited, full.position.clean)


# ---- the first wrong sequence ----------------------------------------------------------------------------
def test_the_first_wrong_sample_is_the_first_that_is_answered_wrong(keyed: str) -> None:
    """The head's model says 1 wherever a 1 is seen, and is right about half of the time."""
    right = []
    for seed in range(8):
        found = look(keyed, 100, {"law": "matched", "length": 20, "seed": seed}, 0, 0)
        right.append(int(found.clean.outputs[-1].argmax()) == found.text.replace(" ", "").count("1") % 2)
    chosen = look(keyed, 100, {"law": "matched", "length": 20, "wrong_of": 8}, 0, 0)
    assert False in right
    assert chosen.chosen is not None
    assert (chosen.chosen.sample, chosen.chosen.tried, chosen.chosen.wrong) == (right.index(False), 8, True)
    same = look(keyed, 100, {"law": "matched", "length": 20, "seed": right.index(False)}, 0, 0)
    assert chosen.text == same.text
    assert same.chosen is None
    edited = look(keyed, 100, {"law": "matched", "length": 20, "wrong_of": 8}, 0, 0, edits="zero.0.0")
    assert edited.text == chosen.text, "the choice does not depend on the edit"


def test_of_samples_that_are_all_right_the_first_is_shown_and_called_right(make_run: Callable[..., Any]) -> None:
    run = make_run(majority(256), make_task("majority"), 16)
    found = look(str(run.path), 100, {"law": "matched", "length": 21, "wrong_of": 8}, 0, 0)
    assert found.chosen is not None
    assert (found.chosen.sample, found.chosen.wrong) == (0, False)
    assert found.text == look(str(run.path), 100, {"law": "matched", "length": 21, "seed": 0}, 0, 0).text


# ---- the token that decides ------------------------------------------------------------------------------
def test_the_last_write_decides_every_answer_after_it() -> None:
    task = make_task("flip_flop")
    names = ["i0", "w1", "r", "i0", "w0", "r"]
    batch = task.label(torch.tensor([[task.tokens_names.index(name) for name in names]]))
    assert decisive_keys(task, batch) == [None, None, 2, 2, 2, 5, 5]  # BOS first; before a write nothing is asked


def test_a_task_with_one_query_names_the_place_of_its_answer_there() -> None:
    task = make_task("needle")
    batch = task.sample(1, 12, torch.Generator().manual_seed(0), "matched")
    keys = decisive_keys(task, batch)
    assert keys[:-1] == [None] * (len(keys) - 1)
    assert keys[-1] is not None
    answer = int(batch.targets[0, -1])
    assert task.output_names[answer] == task.tokens_names[int(batch.tokens[0, keys[-1]])]


def test_where_every_token_counts_none_decides() -> None:
    task = make_task("parity")
    assert set(decisive_keys(task, task.sample(1, 9, torch.Generator().manual_seed(0), "matched"))) == {None}


def test_of_a_long_sequence_the_last_answer_has_its_token() -> None:
    task = make_task("flip_flop")
    batch = task.sample(1, MOST_DECISIVE + 8, torch.Generator().manual_seed(0), "matched")
    keys = decisive_keys(task, batch)
    assert set(keys[:-1]) == {None}
    assert task.tokens_names[int(batch.tokens[0, keys[-1]])].startswith("w")
