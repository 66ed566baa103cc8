"""Mixtures of tasks: one of one task is that task, several are told apart by their mark, and what cannot be mixed."""

from __future__ import annotations

import pytest
import torch

from workbench.tasks import TaskError, make_task, mixture
from workbench.tasks.registry import stored_task, task_of
from workbench.tasks.testing import check_task

LAWS = ("training", "matched", "challenge")


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", ["ur symbols=8", "majority", "parity", "aa_star", "flip_flop"])
def test_a_mixture_of_one_is_that_task(name: str) -> None:
    task, one = (
        make_task(name.split()[0], **({"symbols": 8} if "=" in name else {})),
        make_task("mixture", components=[name]),
    )
    assert (one.tokens_names, one.output_names, one.bos) == (task.tokens_names, task.output_names, task.bos)
    lengths = task.lengths(1, 40)
    assert one.lengths(1, 40) == lengths
    for law in LAWS:
        mine, its = (found.sample(16, lengths[-1], seeded(), law, 8) for found in (one, task))
        assert mine.meta.keys() == its.meta.keys()
        for part in ("tokens", "targets", "mask", "output_summary"):
            assert torch.equal(getattr(mine, part), getattr(its, part)), (law, part)
        assert mine.length == its.length
        if law != "training":
            assert one.chance(law, lengths[-1]) == task.chance(law, lengths[-1])
            assert one.prefix_closed(law) == task.prefix_closed(law)
        hits, its_hits = one.shortcuts(mine, 8), task.shortcuts(its, 8)
        assert hits.keys() == its_hits.keys()
        assert all(torch.equal(hits[key], its_hits[key]) for key in hits)
    assert (one.one_string_per_length, one.period) == (task.one_string_per_length, task.period)


MIXED = ["ur symbols=3", "majority", "nl_first symbols=4"]


@pytest.mark.parametrize("more", [{}, {"weights": [1, 2, 5]}, {"only": 2}])
def test_a_mixture_keeps_what_a_task_promises(more) -> None:
    check_task(make_task("mixture", components=MIXED, **more))


def test_names_are_those_of_all_components_each_once() -> None:
    task = make_task("mixture", components=MIXED)
    assert task.tokens_names == ("<bos>", "a", "b", "c", "<sep>", "0", "1", "d", "<1>", "<2>", "<3>")
    assert len(set(task.output_names)) == len(task.output_names)
    assert set("abcd") < set(task.output_names)


def test_every_string_has_the_answers_of_the_component_that_its_mark_names() -> None:
    task = make_task("mixture", components=["ur symbols=3", "ul symbols=3"])
    sep, one, two = 4, 5, 6
    string = [3, 1, 2, 1, sep, 2]
    for mark, answer in ((one, 0), (two, 0)):
        assert task.reference([mark, *string])[-1] == answer
    labelled = task.label(torch.tensor([[one, 1, 2, 3, sep, 2], [two, 1, 2, 3, sep, 2]]))
    assert labelled.targets[:, -1].tolist() == [2, 0]
    assert labelled.mask.sum(1).tolist() == [1, 1]


def test_components_are_drawn_in_their_shares_and_alone() -> None:
    task = make_task("mixture", components=MIXED, weights=[1, 2, 5])
    marks = task.sample(8000, 12, seeded()).tokens[:, 1] - 8
    assert (marks.bincount(minlength=3) / 8000).tolist() == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.02)
    for k in (1, 2, 3):
        alone = task.model_copy(update={"only": k})
        assert (alone.tokens_names, alone.output_names) == (task.tokens_names, task.output_names)
        assert set((alone.sample(64, 12, seeded()).tokens[:, 1] - 7).tolist()) == {k}
    # Where strings of a length are of one component only, it is drawn.
    assert set(task.sample(64, 2, seeded()).tokens[:, 1].tolist()) == {9}


def test_chance_is_that_of_a_guess_that_knows_the_component() -> None:
    task = make_task("mixture", components=["ur symbols=2", "ur symbols=4"], weights=[3, 1])
    parts = [make_task("ur", symbols=k).chance("matched", 11) for k in (2, 4)]
    assert task.chance("matched", 12) == pytest.approx(0.75 * parts[0] + 0.25 * parts[1])


def test_each_component_is_a_stratum_with_its_own_chance() -> None:
    task = make_task("mixture", components=MIXED)
    assert task.strata_names == ("<1> ur symbols=3", "<2> majority", "<3> nl_first symbols=4")
    for k, name in enumerate(task.strata_names):
        batch = task.sample_stratum(name, 8, 12, seeded(), "matched", 8)
        assert set(batch.tokens[:, 1].tolist()) == {8 + k}
        assert [key for key, rows in task.strata(batch).items() if bool(rows.all())] == [name]
        assert task.stratum_chance(name, "matched", 12) == task.component(k).chance("matched", 11)
    # Strings of two tokens are of the second component alone.
    assert task.sample_stratum("<1> ur symbols=3", 8, 2, seeded(), "matched", 8) is None
    one = make_task("mixture", components=["majority"])
    assert one.strata_names == make_task("majority").strata_names


def test_a_mixture_survives_its_run() -> None:
    task = make_task("mixture", components=MIXED, weights=[1, 2, 5], only=2)
    assert task_of(stored_task(task)) == task


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"components": []}, "components takes 1 to 16 tasks, not 0"),
        ({"components": ["nf"]}, "nf writes its answer token by token"),
        ({"components": ["markov_chain"]}, "markov_chain answers with numbers"),
        ({"components": ["copied_text"]}, "queries a symbol that is not in its sequences"),
        ({"components": ["mixture"]}, "cannot be a component of a mixture"),
        ({"components": ["own.py:Own"]}, "unknown task"),
        ({"components": ["ur symbols"]}, "write NAME=VALUE"),
        ({"components": ["ur symbols=1"]}, "symbols must be an integer at least 2"),
        ({"weights": [1]}, "weights takes 2 numbers above 0"),
        ({"weights": [1, 0]}, "weights takes 2 numbers above 0"),
        ({"only": 3}, "the number of a component, 1 to 2"),
        ({"components": "ur"}, "components must be a list of strings"),
    ],
)
def test_what_cannot_be_mixed_is_refused_in_a_sentence(parameters, says) -> None:
    with pytest.raises(TaskError, match=r"^mixture: ") as refused:
        make_task("mixture", **parameters)
    assert says in str(refused.value)


def test_strings_without_a_mark_or_of_another_component_are_refused() -> None:
    task = make_task("mixture", components=MIXED)
    with pytest.raises(TaskError, match="mark"):
        task.label(torch.tensor([[1, 2, 4, 1]]))
    with pytest.raises(TaskError, match="a token of another component"):
        task.label(torch.tensor([[8, 5, 2, 4, 2]]))


PAIR = ["parity", "majority"]  # tokens <bos> 0 1 <1> <2>, answers even odd 0 1; majority has odd lengths alone


@pytest.mark.parametrize(("parameters", "length", "shares"), [
    ({"weights": [1, 3]}, 1, []), ({"weights": [1, 3]}, 2, [(0, 0.25), (1, 0.75)]), ({"weights": [1, 3]}, 3, [(0, 1.0)]),
    ({}, 4, [(0, 0.5), (1, 0.5)]), ({"only": 1}, 4, [(0, 1.0)]), ({"only": 2, "weights": [1, 3]}, 4, [(1, 1.0)]),
    ({"only": 2}, 3, []),
])  # fmt: skip
def test_components_that_a_length_has_strings_of(parameters, length, shares) -> None:
    task = make_task("mixture", components=PAIR, **parameters)
    assert task._drawn(length) == shares
    assert task.admissible(length) == bool(shares)


@pytest.mark.parametrize(("window", "weights"), [
    ([4, 1], [0, 0, 1, 0]), ([4, 2], [0, 0, 0, 1]), ([3, 2], [0, 1, 0, 0]), ([3, 2, 2], [1, 0, 0, 0]), ([1, 2], [1, 1, 1, 1]),
    ([2, 2, 2], [1, 1, 1, 1]), ([4], [1, 1, 1, 1]), ([3], [1, 1, 1, 1]), ([2], [1, 1, 1, 1]), ([4, 1, 2], [0, 0, 0.5, 0.5]),
])  # fmt: skip
def test_a_window_is_answered_where_it_shows_the_mark_and_more(window, weights) -> None:
    task = make_task("mixture", components=PAIR)
    assert task.answer(torch.tensor([window])).tolist() == [weights]
    if len(window) == 2:
        both = task.answer(torch.tensor([window, [4, 2], [1, 1]]))
        assert both.tolist() == [weights, [0, 0, 0, 1], [1, 1, 1, 1]]


def test_a_mark_alone_asks_nothing() -> None:
    task = make_task("mixture", components=PAIR)
    assert task.reference([3]) == [None]
    assert task.reference([3, 2, 2]) == [None, 1, 0]
    labelled = task.label(torch.tensor([[3], [4]]))
    assert (labelled.mask.tolist(), labelled.targets.tolist()) == ([[False, False]] * 2, [[0, 0]] * 2)
    assert labelled.output_summary[:, 1].tolist() == [4, 4]


@pytest.mark.parametrize(("components", "only", "strata"), [
    (PAIR, 0, ("<1> parity", "<2> majority")), (PAIR, 1, ("<1> parity",)), (PAIR, 2, ("<2> majority",)),
])  # fmt: skip
def test_strata_are_those_that_are_drawn(components, only, strata) -> None:
    assert make_task("mixture", components=components, only=only).strata_names == strata


def test_a_stratum_without_strings_of_a_length_has_the_chance_of_all() -> None:
    task = make_task("mixture", components=["ur symbols=4", "majority"])
    length = 4
    assert not task.component(0).admissible(length - 1)
    assert task.stratum_chance("<1> ur symbols=4", "matched", length) == task.chance("matched", length) == 0.5
    assert task.stratum_chance("<1> ur symbols=4", "matched", 12) == task.component(0).chance("matched", 11) != 0.5


@pytest.mark.parametrize(("components", "reason", "strings"), [
    (["aa_star", "aaaa_star"], "there is one string per length", 2), (["aa_star", "parity"], "", 257),
    (["parity", "aa_star"], "", 257),
])  # fmt: skip
def test_the_challenge_law_is_the_matched_one_where_it_is_so_for_all(components, reason, strings) -> None:
    task = make_task("mixture", components=components)
    assert task.challenge_is_matched == reason
    assert (task.one_string_per_length, task.period, task.prefix_closed("matched")) == (False, 1, False)
    assert (task.automaton(), task.crasp_program) == (None, None)
    assert len(task.support("matched", 9).batch) == strings
    assert (task.outside_floor, task.neutral_tokens) == (frozenset(), ())


@pytest.mark.parametrize(("components", "counts"), [
    (["abab_star", "tomita"], True), (["abab_star", "parity"], False), (["parity", "abab_star"], False),
])  # fmt: skip
def test_shortcuts_are_those_that_all_components_have(components, counts) -> None:
    task = make_task("mixture", components=components)
    batch = task.sample(12, 9, seeded(), "matched", 4)
    assert len(set(batch.tokens[:, 1].tolist())) == 2
    hits = task.shortcuts(batch, 4)
    assert set(hits) == {"position_only", "last_token", "first_window", "last_window", *(["counts"] if counts else [])}
    assert all(len(right) == 12 for right in hits.values())


def test_sixteen_components_are_the_most() -> None:
    task = make_task("mixture", components=["parity"] * 16, only=16)
    assert task.tokens_names[-1] == "<16>"
    assert task.strata_names == ("<16> parity",)
    assert task._of_stratum("<16> parity") == 15
    assert task._of_stratum("<1> parity") == 0


@pytest.mark.parametrize(("pair", "read"), [
    ("symbols=8", ("symbols", 8)), ("queries=last", ("queries", "last")), ("x=[1,2]", ("x", [1, 2])), ("x=true", ("x", True)),
    ("x=", ("x", "")), ("x=a=b", ("x", "a=b")),
])  # fmt: skip
def test_parameters_of_a_component_are_json_or_text(pair, read) -> None:
    assert mixture._parameter(pair) == read
