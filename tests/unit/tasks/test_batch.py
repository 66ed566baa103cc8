"""Batches, and what every task inherits: lengths, errors, loss and correctness."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.batch import Batch

ALL = ["flip_flop", "parity", "majority", "mod_p_mean", "kgram_retrieval"]
FIELDS = ("tokens", "targets", "mask", "output_summary", "update_summary")


@pytest.mark.parametrize("name", ALL)
def test_a_batch_has_bos_first_and_one_length(name, seeded):
    task = make_task(name)
    batch = task.sample(3, 11, seeded(0))
    assert batch.tokens.shape == (3, 12)
    assert len(batch) == 3
    assert (batch.tokens[:, 0] == 0).all()
    assert (batch.tokens[:, 1:] >= 1).all()
    assert batch.tokens.max() < task.d_vocab
    assert not batch.mask[:, 0].any()
    assert batch.prefix_lengths().tolist() == list(range(12))
    assert [batch.index(n) for n in (1, 11)] == [1, 11]
    assert batch.categorical is not task.real
    for length in (0, 12):
        with pytest.raises(TaskError, match=f"prefix length {length} is not in this batch"):
            batch.index(length)


@pytest.mark.parametrize("name", ["flip_flop", "parity", "majority", "mod_p_mean"])
def test_a_prefix_is_what_labelling_the_shorter_strings_gives(name, seeded):
    task = make_task(name)
    batch = task.sample(5, 21, seeded(1), "matched")
    prefix = batch.prefix(9)
    fresh = task.label(batch.tokens[:, 1:10])
    assert prefix.length == fresh.length == 9
    for field in FIELDS:
        assert torch.equal(getattr(prefix, field), getattr(fresh, field)), field


@pytest.mark.parametrize("name", ALL)
def test_rows_cut_every_field(name, seeded):
    batch = make_task(name).sample(6, 11, seeded(2), "challenge")
    rows = batch.rows(2, 4)
    for field in FIELDS:
        whole = getattr(batch, field)
        if whole is not None:
            assert torch.equal(getattr(rows, field), whole[2:4]), field
    assert {k: v.tolist() for k, v in rows.meta.items()} == {k: v[2:4].tolist() for k, v in batch.meta.items()}


@pytest.mark.parametrize("together", [1, 2 * 6 * 11, 1 << 17])
@pytest.mark.parametrize("name", [*ALL, "addition", "in_context_kgram"])
def test_blocks_are_what_each_generator_draws(name, together, seeded, monkeypatch):
    """Labelled one by one, in pairs of which the last one is left alone, or all together."""
    monkeypatch.setattr("workbench.tasks.base.LABELLED_AT_ONCE", together)
    task = make_task(name)
    length = task.next_length(11)
    blocks = task.sample_blocks(6, length, [seeded(k) for k in range(5)], "challenge", 4)
    alone = Batch.join([task.sample(6, length, seeded(k), "challenge", 4) for k in range(5)])
    assert blocks.update_summary is None
    for field in FIELDS[:-1]:
        assert torch.equal(getattr(blocks, field), getattr(alone, field)), field
    assert (blocks.length, blocks.law, blocks.prompt) == (alone.length, alone.law, alone.prompt)
    assert {k: v.tolist() for k, v in blocks.meta.items()} == {k: v.tolist() for k, v in alone.meta.items()}
    with pytest.raises(TaskError, match="unknown law"):
        task.sample_blocks(6, length, [seeded(0)], "other")


def test_sequences_are_taken_with_every_field(seeded):
    batch = make_task("kgram_retrieval").sample(6, 11, seeded(2), "challenge")
    which = torch.tensor([4, 1, 1])
    for field in FIELDS:
        whole = getattr(batch, field)
        if whole is not None:
            assert torch.equal(getattr(batch.take(which), field), whole[which]), field
    assert {k: v.tolist() for k, v in batch.take(which).meta.items()} == {
        k: v[which].tolist() for k, v in batch.meta.items()
    }
    shared = replace(batch, position_ids=torch.arange(batch.tokens.shape[1])[None])
    assert torch.equal(shared.take(which).position_ids, shared.position_ids)


def test_admissible_lengths():
    assert make_task("majority").lengths(2, 8) == [3, 5, 7]
    assert make_task("majority").next_length(50) == 51
    assert make_task("mod_p_mean", p=5, k=0).lengths(1, 7) == [5, 6, 7]
    assert make_task("mod_p_mean", p=5, k=2).lengths(1, 4) == [2, 3, 4]
    assert make_task("kgram_retrieval", k=3).next_length(1) == 7
    with pytest.raises(TaskError, match="majority has no admissible length between 4 and 4"):
        make_task("majority").lengths(4, 4)


def test_bad_requests_are_answered_in_one_sentence(seeded):
    task = make_task("majority")
    with pytest.raises(TaskError, match="no strings of length 10; the next admissible length is 11"):
        task.sample(2, 10, seeded(0))
    with pytest.raises(TaskError, match="unknown law 'sorted'; the laws are training, matched and challenge"):
        task.sample(2, 11, seeded(0), "sorted")
    with pytest.raises(TaskError, match=r"takes token ids from 1 to 2, .* not 3"):
        task.label(torch.tensor([[1, 3]]))
    with pytest.raises(TaskError, match=r"takes token ids from 1 to 2, .* not 0"):
        task.label(torch.tensor([[0, 1, 2]]))
    with pytest.raises(TaskError, match="majority cannot label empty strings"):
        task.label(torch.zeros(2, 0, dtype=torch.long))


def test_loss_and_correct_of_classes_look_at_supervised_queries_only():
    task = make_task("majority")
    batch = task.label(torch.tensor([[2, 1, 1]]))
    logits = torch.zeros(1, 4, 2)
    logits[0, 1] = torch.tensor([-50.0, 50.0])  # right: one leads after "1"
    logits[0, 2] = torch.tensor([50.0, -50.0])  # a tie: not asked
    assert task.correct(logits, batch)[batch.mask].tolist() == [True, True]
    assert task.loss(logits, batch).item() == pytest.approx(torch.tensor(2.0).log().item() / 2)


def test_loss_and_correct_of_real_answers():
    task = make_task("mod_p_mean", p=1, k=0, tolerance=0.05)
    batch = task.label(torch.tensor([[2, 1, 2, 1, 1]]))
    outputs = batch.targets.clone()
    assert task.loss(outputs, batch).item() == 0
    outputs[0, 1] += 0.049
    outputs[0, 2] -= 0.051
    assert task.correct(outputs, batch)[batch.mask].tolist() == [True, False, True, True, True]
    assert task.loss(outputs, batch).item() == pytest.approx((0.049**2 + 0.051**2) / 5, rel=1e-4)


def test_an_answer_on_the_edge_of_the_tolerance_is_right():
    """In float32, .35 - .3 > .05 by rounding alone."""
    task = make_task("mod_p_mean", p=1, k=0, tolerance=0.05)
    batch = task.label(torch.tensor([[2] * 7 + [1] * 13]))
    assert task.correct(torch.full((1, 21, 1), 0.3), batch)[0, -1]
    assert task.correct(torch.full((1, 21, 1), 0.4), batch)[0, -1]
    assert not task.correct(torch.full((1, 21, 1), 0.299), batch)[0, -1]


def test_the_token_that_holds_the_answer_is_found_with_and_without_bos() -> None:
    """Positions are counted from 1; indices from 0, where BOS, if there is one, stands first."""
    task = make_task("kgram_retrieval", symbols=5)
    batch = task.sample(6, 12, torch.Generator().manual_seed(0))
    cut = {name: getattr(batch, name)[:, 1:] for name in FIELDS if getattr(batch, name) is not None}
    without = replace(batch, **cut, bos=False, position_ids=None)
    rows = torch.arange(6)
    for one, shift in ((batch, 0), (without, 1)):
        index = task.answer_index(one)
        assert index is not None
        assert (index == batch.meta["answer_position"].reshape(6) - shift).all()
        assert (one.tokens[rows, index] == batch.tokens[rows, batch.meta["answer_position"].reshape(6)]).all()
