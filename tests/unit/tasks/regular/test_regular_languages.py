"""Regular languages as tasks: labels against two oracles, lengths, floors, and what is refused."""

from __future__ import annotations

import pickle
from itertools import product

import pytest
import torch

from tests.support.tasks.regular_languages import IDS, LANGUAGES, asked
from workbench.tasks import TaskError, make_task
from workbench.tasks.testing import check_task

FLIP = {"start": "off", "accepting": ["on"], "transitions": {"off": {"x": "on", "y": "off"}, "on": {"x": "off"}}}


@pytest.mark.parametrize(("name", "parameters", "alphabet", "member", "length", "period"), LANGUAGES, ids=IDS)
def test_membership_is_what_plain_python_says_on_every_string(
    name, parameters, alphabet, member, length, period, every_string
):
    task = make_task(name, **parameters)
    assert task.tokens_names[1:] == tuple(alphabet)
    strings = every_string(len(alphabet), length)
    for string, labels in zip(strings.tolist(), asked(task, strings), strict=True):
        word = "".join(alphabet[i - 1] for i in string)
        assert labels == [int(member(word[:end])) for end in range(1, length + 1)], word


@pytest.mark.parametrize("ask", ["member", "next", "state"])
def test_an_automaton_of_ones_own_agrees_with_the_reference_on_every_string(ask, every_string):
    """All 256 strings of length 8 over two symbols, one transition being left out."""
    task = make_task("regular", dfa=FLIP, ask=ask)
    strings = every_string(2, 8)
    for string, labels in zip(strings.tolist(), asked(task, strings), strict=True):
        assert labels == task.reference(string), string


@pytest.mark.parametrize(
    ("name", "parameters", "reach"),
    [
        ("tomita", {"n": 7}, 1),
        ("bounded_dyck", {"n": 2}, 2),
        ("abab_star", {}, 3),
        ("abd_bc", {}, 1),
        ("tomita", {"n": 3}, 2),
    ],
)
def test_what_may_follow_is_what_can_be_completed(name, parameters, reach, every_string):
    """By brute force over continuations of up to ``reach`` symbols after the next, from all strings of 4 symbols."""
    member, alphabet = next((c[3], c[2]) for c in LANGUAGES if c[:2] == (name, parameters))
    task = make_task(name, **parameters, ask="next")
    endings = ["".join(e) for n in range(reach + 1) for e in product(alphabet, repeat=n)]
    strings = every_string(len(alphabet), 4)
    for string, labels in zip(strings.tolist(), asked(task, strings), strict=True):
        word = "".join(alphabet[i - 1] for i in string)
        follow = [s for s in alphabet if any(member(word + s + ending) for ending in endings)]
        if member(word):
            follow.append("<eos>")
        assert labels[-1] == (task.output_names.index(" ".join(follow)) if follow else None), word


def test_answers_have_readable_names_in_a_fixed_order():
    assert make_task("tomita", n=4).output_names == ("no", "yes")
    assert make_task("tomita", n=4, ask="next").output_names == ("0 1 <eos>", "1 <eos>")
    assert make_task("tomita", n=4, ask="state").output_names == ("start", "after 0", "after 00", "dead")
    assert make_task("bounded_dyck", n=2, ask="next").output_names == ("a <eos>", "a b", "b")
    assert make_task("blocks_abcde", ask="next").output_names == ("a", "a b", "b c", "c d", "d e", "e <eos>")
    assert make_task("regular", dfa=FLIP, ask="state").output_names == ("off", "on", "dead")
    assert make_task("regular", dfa=FLIP, ask="next").output_names == ("x y", "x <eos>")
    assert make_task("tomita", n=3).question == "Is the string so far in Tomita 3?"
    assert make_task("zero_two", ask="next").question == "Which symbols may follow the string so far in (0|1|2)*02*?"


def test_summaries_are_the_answer_and_the_state():
    batch = make_task("tomita", n=4, ask="next").label(torch.tensor([[1, 1, 2, 1, 1, 1, 2]]))
    assert batch.update_summary.tolist() == [[0, 1, 2, 0, 1, 2, 3, 3]]
    assert batch.output_summary.tolist() == [[0, 0, 1, 0, 0, 1, 2, 2]]
    assert batch.mask.tolist() == [[False, *[True] * 5, False, False]]


@pytest.mark.parametrize(("name", "parameters", "alphabet", "member", "length", "period"), LANGUAGES, ids=IDS)
def test_periods_and_admissible_lengths(name, parameters, alphabet, member, length, period):
    """Lengths up to 8 (5 over more than two letters) at which the language has words, by brute force."""
    task = make_task(name, **parameters)
    assert task.period == task.rhythm.period == period
    for n in range(1, 9 if len(alphabet) <= 2 else 6):
        has_words = any(member("".join(w)) for w in product(alphabet, repeat=n))
        assert task.admissible(n) == (has_words or task.one_string_per_length)


def test_lengths_without_words_are_refused(seeded):
    with pytest.raises(TaskError, match="length 5"):
        make_task("abab_star").sample(2, 5, seeded(0))
    with pytest.raises(TaskError, match="blocks_abcde"):
        make_task("blocks_abcde").lengths(1, 4)
    assert make_task("bounded_dyck", n=3).lengths(1, 7) == [2, 4, 6]
    assert make_task("bounded_dyck", n=3, ask="next").lengths(1, 4) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("tomita", {"n": 8}, "tomita: n must be an integer at least 1 and at most 7, not 8"),
        ("tomita", {"ask": "all"}, "tomita: ask must be 'member' or 'next' or 'state', not 'all'"),
        (
            "tomita",
            {"n": 1, "ask": "next"},
            "tomita: all long sequences of Tomita 1 have the same answer, 1 <eos>; change 'ask' 'next'",
        ),
        ("bounded_dyck", {"n": 0}, "bounded_dyck: n must be an integer at least 1 and at most 24, not 0"),
        ("alternating_blocks", {"k": 25}, "alternating_blocks: k must be an integer at least 1 and at most 24, not 25"),
        ("regular", {"regex": "a(b"}, "regular: regular expression a>>(<<b: character 2, '(', is never closed"),
        ("regular", {"regex": "(a|b)*"}, "regular: all long sequences of (a|b)* have the same answer, yes; change 'ask' 'member'"),
        ("regular", {"regex": "ab"}, "regular: all long sequences of ab have the same answer, no; change 'ask' 'member'"),
        ("regular", {"regex": "ab", "ask": "next"}, "regular: all long sequences of ab have the same answer, none; change 'ask' 'next'"),
        ("regular", {"regex": "a*b", "alphabet": "a"}, "regular: regular expression a*b mentions 'b', which is not in its alphabet"),
        ("regular", {"regex": 3}, "regular: regex must be a string, not 3"),
        ("regular", {"regex": "a*b", "dfa": FLIP}, "regular: give either regex (with its alphabet) or dfa, which has its own alphabet, not both"),
        ("regular", {"dfa": {"start": "p"}}, "regular: an automaton needs start, accepting and transitions, and may have alphabet"),
        (
            "regular",
            {"regex": "(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)"},
            "regular: the automaton of (a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b) has 128 states, but at most 64 are possible; choose a simpler language",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_and_how(name, parameters, sentence):
    with pytest.raises(TaskError) as caught:
        make_task(name, **parameters)
    assert str(caught.value) == sentence


def test_parameters_survive_the_way_through_a_config():
    for name, parameters in (
        ("tomita", {"n": 3, "ask": "state", "misses": "mixed"}),
        ("regular", {"regex": "a*b", "alphabet": "ba", "dfa": None, "ask": "member", "misses": "replaced"}),
        ("regular", {"regex": None, "alphabet": None, "dfa": FLIP, "ask": "next", "misses": "mixed"}),
    ):
        task = make_task(name, **parameters)
        assert task.parameters == parameters
        assert make_task(task.name, **task.parameters) == task
    assert make_task("regular").parameters["regex"] == "(a|b)*bb(a|b)*"


def test_what_a_task_has_cached_is_not_taken_along(seeded):
    task = make_task("tomita", n=4)
    task.sample(4, 30, seeded(0), "challenge", 5)
    assert len(task.model_copy(update={"n": 3}).acceptor) == 5
    assert task.model_copy(update={"n": 4}) == task == pickle.loads(pickle.dumps(task))
    with pytest.raises(ValueError, match="less than or equal to 7"):
        task.model_copy(update={"n": 8})


def test_a_whole_period_must_be_right(seeded):
    task = make_task("abab_star")
    batch = task.sample(200, 24, seeded(0))
    member = batch.targets[:, -1] == 1
    right = torch.ones_like(batch.mask)
    assert task.sequence_correct(right, batch).all()
    for back in (1, 2, 3, 4):
        one_wrong = right.clone()
        one_wrong[:, -back] = False
        assert not task.sequence_correct(one_wrong, batch).any()
    one_wrong = right.clone()
    one_wrong[:, -5] = False
    assert task.sequence_correct(one_wrong, batch).all()
    alternates = batch.targets[:, 2::2].amax(1) == 1  # what one that checks ab only would say, at every even prefix
    loose = torch.where(torch.arange(25) % 2 == 0, alternates[:, None].long(), 0)
    assert not task.sequence_correct(loose == batch.targets, batch)[member].any()


@pytest.mark.parametrize(("name", "period"), [("aa_star", 2), ("aaaa_star", 4)])
def test_where_there_is_one_string_per_length_no_constant_answers_a_period(name, period, seeded):
    task = make_task(name)
    assert task.one_string_per_length
    for law in ("training", "matched", "challenge"):
        assert task.prefix_closed(law)
        for n in (40, 41, 42, 43):
            batch = task.sample(3, n, seeded(0), law)
            assert (batch.tokens[:, 1:] == 1).all()
            assert task.chance(law, n) == 0
            for constant in (0, 1):
                assert not task.sequence_correct(batch.targets == constant, batch).any()
            found = {key: hits.mean().item() for key, hits in task.shortcuts(batch, 10).items()}
            assert found == {"position_only": 0, "last_token": 0, "first_window": 1 / period, "last_window": 1 / period}


def test_the_last_symbol_may_answer_where_there_is_one_string_per_length(seeded):
    task = make_task("tomita", n=2, ask="next")
    assert task.one_string_per_length
    found = task.shortcuts(task.sample(2, 21, seeded(0)), 50)
    assert {key: hits.tolist() for key, hits in found.items()} == {"position_only": [0, 0], "last_token": [1, 1]}


def test_windows_know_what_they_can():
    """abd_bc, window 3 of ``a b a d b b b``: ab is open; from the end, bbb came after a d or before it."""
    task = make_task("abd_bc")
    batch = task.label(torch.tensor([[1, 2, 1, 4, 2, 2, 2]]))
    found = task.shortcuts(batch, 3)
    assert found["first_window"].tolist() == [0]
    assert found["last_window"].tolist() == [0.5]
    assert task.answer(torch.tensor([[4, 1]])).tolist() == [[2, 0]]


@pytest.mark.parametrize("name", ["tomita", "bounded_dyck", "last_nonneutral_a", "abd_bc", "mod_count"])
def test_the_first_window_answers_from_the_start_of_the_string(name, seeded):
    """It is the task's own answer to the prefix that it sees, held against what is right at the end."""
    task = make_task(name)
    batch = task.sample(200, 20, seeded(8), "matched")
    window = next(n for n in range(7, 12) if task.label(batch.tokens[:, 1 : 1 + n]).mask[:, -1].all())
    seen = task.label(batch.tokens[:, 1 : 1 + window]).targets[:, -1]
    hits = task.shortcuts(batch, window)["first_window"]
    assert hits.tolist() == (seen == batch.targets[:, -1]).double().tolist()
    assert 0 < hits.mean() < 1


@pytest.mark.parametrize(("name", "period"), [("abd_bc", 1), ("aa_star", 2), ("aaaa_star", 4)])
def test_asked_at_the_end_the_deciding_queries_are_left(name: str, period: int) -> None:
    every, last = make_task(name), make_task(name, queries="last")
    check_task(last)
    first, second = (task.batch(64, 12, 0, "matched") for task in (every, last))
    assert torch.equal(first.tokens, second.tokens)
    assert first.mask[:, 1:].all()
    assert second.mask.sum(1).tolist() == [period] * 64
    assert second.mask[:, -period:].all()
    assert every.parameters.get("queries") is None, "runs that were stored before keep their ids"
    reference = last.reference(second.tokens[0, 1:].tolist())
    assert [answer is None for answer in reference] == [True] * (12 - period) + [False] * period
