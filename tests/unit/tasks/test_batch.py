"""Batches, and what every task inherits: lengths, errors, loss and correctness."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from workbench.tasks import Task, TaskError, find_task, make_task
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
        with pytest.raises(TaskError, match=f"{length}"):
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
    with pytest.raises(TaskError, match=r"unknown test set .*matched, challenge, training"):
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
    with pytest.raises(TaskError, match="majority"):
        make_task("majority").lengths(4, 4)


def test_bad_requests_are_answered_in_one_sentence(seeded):
    task = make_task("majority")
    with pytest.raises(TaskError, match="length 10"):
        task.sample(2, 10, seeded(0))
    with pytest.raises(TaskError, match="'sorted'"):
        task.sample(2, 11, seeded(0), "sorted")
    with pytest.raises(TaskError, match="ids"):
        task.label(torch.tensor([[1, 3]]))
    with pytest.raises(TaskError, match="ids"):
        task.label(torch.tensor([[0, 1, 2]]))
    with pytest.raises(TaskError, match="majority"):
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


@pytest.fixture
def bare() -> Batch:
    """Two strings of four tokens, nothing in front of them."""
    tokens = torch.tensor([[1, 2, 1, 2], [2, 2, 1, 1]])
    mask = torch.tensor([[True, False, True, True], [True, True, True, True]])
    return Batch(tokens, tokens - 1, mask, tokens, None, 4, bos=False, law="given")


def test_without_bos_the_first_index_has_prefix_length_one(bare: Batch) -> None:
    assert bare.prefix_lengths().tolist() == [1, 2, 3, 4]
    assert [bare.index(length) for length in (1, 2, 4)] == [0, 1, 3]
    for wrong in (0, 5):
        with pytest.raises(TaskError, match=f"{wrong}"):
            bare.index(wrong)
    assert not bare.led
    cut = bare.prefix(2)
    assert (cut.length, cut.tokens.tolist(), cut.mask.tolist()) == (2, [[1, 2], [2, 2]], [[True, False], [True, True]])
    assert cut.prefix_lengths().tolist() == [1, 2]


def test_what_is_not_there_stays_so_when_batches_are_joined_and_cut(bare: Batch) -> None:
    ids = replace(bare, position_ids=torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7]]), meta={"place": torch.tensor([3, 9])})
    both = Batch.join([ids, ids.rows(1, 2)])
    assert both.update_summary is None
    assert both.position_ids is not None
    assert both.position_ids[:, 0].tolist() == [0, 4, 4]
    assert both.meta["place"].tolist() == [3, 9, 9]
    assert Batch.join([bare, bare]).position_ids is None
    assert (len(both), both.length, both.bos, both.prompt) == (3, 4, False, None)


@pytest.mark.parametrize(("found", "bos", "index"), [
    (None, True, None), ([3, 1], True, [3, 1]), ([3, 1], False, [2, 0]), ([[3], [1]], False, [2, 0]), ([3, 0], True, None),
    ([0, 3], True, None), ([[3, 1], [1, 2]], True, None),
])  # fmt: skip
def test_one_place_for_each_string_holds_its_answer_or_none_is_stated(found, bos: bool, index, bare: Batch) -> None:
    """None where nothing is said, where one is no place, or where there are several queries."""
    meta = {} if found is None else {"answer_position": torch.tensor(found)}
    told = make_task("majority").answer_index(replace(bare, bos=bos, meta=meta))
    assert (None if told is None else told.tolist()) == index


@pytest.mark.parametrize(("prompt", "answered"), [(None, [False, True]), (2, [True, False])])
def test_the_last_query_decides_or_all_of_an_answer_of_several_tokens(prompt, answered, bare: Batch) -> None:
    mask = torch.tensor([[False, True, True, False], [False, True, True, True]])
    right = torch.tensor([[False, True, True, False], [False, True, False, True]])
    assert make_task("majority").sequence_correct(right, replace(bare, mask=mask, prompt=prompt)).tolist() == answered


@pytest.mark.parametrize(("only", "start", "found"), [
    (4096, 1, 4096), (4097, 1, None), (4097, 1.5, 4097), (4097, 2, 4097), (7, 7, 7), (7, 6.2, 7), (7, 7.5, None), (1, -3, 1),
])  # fmt: skip
def test_the_next_length_is_looked_for_among_so_many(only: int, start: float, found: int | None) -> None:
    own = type("Own", (find_task("parity"),), {"name": "own", "admissible": lambda self, length: length == only})
    task = own()
    if found is None:
        with pytest.raises(TaskError, match="admissible"):
            task.next_length(start)
    else:
        assert task.next_length(start) == found


def test_tasks_speak_alike_whose_tokens_and_answers_are_the_same() -> None:
    majority = make_task("majority")
    assert majority.speaks_as(make_task("majority", queries="last"))
    assert not majority.speaks_as(make_task("parity")), "other answers"
    assert not majority.speaks_as(make_task("letter_majority", letters=2)), "other tokens"


@pytest.mark.parametrize(("symbols", "more"), [(39, False), (40, True)])
def test_a_card_shows_forty_tokens(symbols: int, more: bool) -> None:
    card = make_task("kgram_retrieval", symbols=symbols)._repr_html_()
    assert ("s38 .." in card, "s39" in card) == (more, more)


def test_a_task_of_numbers_states_its_own_chance_and_all_tokens_but_the_first_have_a_gap_before_them() -> None:
    own = type("Own", (find_task("mod_p_mean"),), {"name": "own", "chance": Task.chance})
    with pytest.raises(NotImplementedError, match="chance"):
        own().chance("matched", 5)
    assert Task.chance(make_task("parity"), "matched", 5) == 0.5
    gaps = Task.neutral_gaps(make_task("parity"), torch.ones(2, 3, dtype=torch.long))
    assert gaps.tolist() == [[False, True, True]] * 2


def test_what_tasks_promise_where_they_say_nothing(bare: Batch) -> None:
    task = make_task("needle")
    assert (Task.answer_tokens.fget(task), Task.period.fget(task), Task.one_string_per_length.fget(task)) == (
        None,
        1,
        False,
    )
    assert (Task.prefix_closed(task, "matched"), Task.challenge_is_matched.fget(task)) == (False, "")
    assert (Task.support(task, "matched", 5), Task.strata(task, bare), Task.prompt_of(task, 5)) == (None, {}, None)
    assert (Task.beyond_window(task, 10**6), Task.affordable(task, 9, 77), Task.positions(task, 9)) == (False, 77, 10)
    assert [Task.admissible(task, length) for length in (0, 1, 2)] == [False, True, True]
    assert Task.stratum_chance(task, "any", "matched", 9) == task.chance("matched", 9)


def test_a_batch_is_drawn_by_its_seed_length_and_test_set() -> None:
    task = make_task("flip_flop")
    batch = task.batch(8, 16)
    assert (batch.law, batch.length, len(batch)) == ("matched", 16, 8)
    assert torch.equal(batch.tokens, task.batch(8, 16, seed=0, test_set="matched").tokens)
    assert not torch.equal(batch.tokens, task.batch(8, 16, seed=1).tokens)
    longer = task.batch(8, 17).tokens[:, :-1]
    assert not torch.equal(batch.tokens, longer), "another length has a random stream of its own"


def test_the_challenge_set_takes_the_trained_length() -> None:
    task = make_task("flip_flop")
    near, far = (task.batch(64, 64, test_set="challenge", trained_length=n) for n in (4, 24))
    assert not torch.equal(near.tokens, far.tokens)


def test_an_unknown_test_set_is_refused() -> None:
    with pytest.raises(TaskError, match="'hard'"):
        make_task("flip_flop").batch(8, 16, test_set="hard")
