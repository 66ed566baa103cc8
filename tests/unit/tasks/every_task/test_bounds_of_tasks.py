"""Where tasks stop: what is exactly as large as a bound is taken, and what is larger by one is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.automata import answer_rhythm, dfa, string_sampling
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.regex import derivatives, parse
from workbench.tasks.automata.string_support import Listing
from workbench.tasks.counting import dyck_k, equal_blocks
from workbench.tasks.in_context import chains, kgram_continuations
from workbench.tasks.regular import regular_task
from workbench.tasks.sequences import planted
from workbench.tasks.source_code import LONGEST, LONGEST_PATH, code_of, read_code
from workbench.tasks.text import corpus

EXPRESSION = "(a|b)*a(a|b)"


def law(expression: str = "(a|b)*bb(a|b)*") -> string_sampling.StringSampling:
    made = Automaton.from_regex(expression)
    return string_sampling.StringSampling(made, made.labels)


def strings_of(name: str, length: int, **parameters: Any) -> int:
    """How many strings the matched law has, where they are listed; 0 where they are not."""
    found = make_task(name, **parameters).support("matched", length)
    return 0 if found is None else len(found.batch)


def refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except TaskError:
        return True
    return False


BOUNDS: dict[str, tuple[Any, str, int, Callable[[], bool]]] = {
    "derivatives of an expression": (
        dfa, "MOST_DERIVATIVES", derivatives(parse(EXPRESSION), "ab", 99),
        lambda: refused(lambda: Automaton.from_regex(EXPRESSION)),
    ),
    "lengths until states come around": (
        answer_rhythm, "LONGEST_RHYTHM", 6,
        lambda: refused(lambda: answer_rhythm.rhythm_of(Automaton.from_regex("(aaaaaa)*"), np.arange(6), "it")),
    ),
    "states of a language": (
        regular_task, "MOST_STATES", 4, lambda: refused(lambda: make_task("regular", regex="(a|b)*bbb(a|b)*")),
    ),
    "states of a stack": (
        dyck_k, "LARGEST_AUTOMATON", 8, lambda: make_task("dyck_k", k=2, depth=2).automaton() is None,
    ),
    "states of a sum": (
        planted, "LARGEST_AUTOMATON", 13, lambda: make_task("planted", k=3, modulus=3).automaton() is None,
    ),
    "longer first blocks": (
        equal_blocks, "MOST_LISTED", 5, lambda: not strings_of("a_n_b_n", 10, ask="next"),
    ),
    "events in blocks": (
        equal_blocks, "MOST_LISTED", 16, lambda: not strings_of("a_n_b_n", 10),
    ),
    "transitions of contexts": (
        kgram_continuations, "MOST_TRANSITIONS", 27, lambda: refused(lambda: make_task("in_context_kgram", k=2, symbols=3)),
    ),
    "counts of transitions": (
        chains, "MOST_COUNTS", 9, lambda: chains.transition_counts(torch.tensor([[0, 1, 2, 0]]), 1, 3) is None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_what_is_as_large_as_a_bound_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, constant, size, stops = BOUNDS[name]
    for bound, stopped in ((size, False), (size - 1, True)):
        monkeypatch.setattr(module, constant, bound)
        assert stops() == stopped, bound


def test_sets_of_states_that_are_too_many_have_no_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    tails = law().tails_after(1)
    assert tails is not None
    monkeypatch.setattr(string_sampling, "MOST_SUBSETS", len(tails.table))
    assert law().tails_after(1) is not None
    monkeypatch.setattr(string_sampling, "MOST_SUBSETS", len(tails.table) - 1)
    assert law().tails_after(1) is None
    assert law().margin(9, 2) == 2
    monkeypatch.setattr(string_sampling, "MOST_SUBSETS", 0)
    assert law().margin(9, 2) == 0


@pytest.mark.parametrize("margin", [0, 1])
def test_as_many_strings_are_listed_as_may_be(margin: int) -> None:
    found = Listing(law(), 999).strings(4, margin)
    assert found is not None
    assert sum(found.values()) == pytest.approx(1)
    assert Listing(law(), len(found)).strings(4, margin) == found
    assert Listing(law(), len(found) - 1).strings(4, margin) is None


def test_the_most_of_a_refused_context_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kgram_continuations, "MOST_TRANSITIONS", 27)
    with pytest.raises(TaskError, match="k must be an integer from 1 to 2 where symbols is 3, not 4"):
        make_task("in_context_kgram", k=4, symbols=3)


def test_a_file_of_a_task_has_a_longest_size(tmp_path: Path) -> None:
    file = tmp_path / "task.py"
    file.write_bytes(b"#" * LONGEST)
    assert len(read_code(file)) == LONGEST
    file.write_bytes(b"#" * (LONGEST + 1))
    with pytest.raises(TaskError, match="has more than 1,048,576 bytes"):
        read_code(file)


@pytest.mark.parametrize(
    ("file", "taken"), [("", False), ("f", True), ("f" * LONGEST_PATH, True), ("f" * (LONGEST_PATH + 1), False)]
)
def test_a_path_of_a_task_has_a_longest_one(file: str, taken: bool) -> None:
    spec = {"name": "x", "source": {"file": file, "class": "X", "sha256": "0" * 64}}
    assert refused(lambda: code_of(spec)) != taken


def test_as_many_far_places_as_are_enough_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy 20 bytes back of which one place is told by it alone; one is enough where that is said."""
    text = np.frombuffer(
        b"abcdefghX" + bytes(range(128, 140)) + b"abcdefghX" + bytes(range(150, 190)), dtype=np.uint8
    ).copy()
    for enough, places in ((1, 1), (2, len(text))):
        monkeypatch.setattr(corpus, "ENOUGH", enough)
        made = corpus.Corpus(np.arange(256, dtype=np.uint8), text)
        assert len(made.far_repeats(40)) == places


@pytest.mark.parametrize(("name", "taken", "other"), [
    ("mod_p_mean", {"p": 4, "k": 3}, {"k": 4}),
    ("needle", {"keys": 4, "distractors": 3}, {"distractors": 4}),
    ("flip_flop", {"write_probability": 0.5, "read_probability": 0.5}, {"read_probability": 0.5001}),
    ("mod_count", {"m": 4, "increments": (1, 3)}, {"increments": (1, 1)}),
    ("mod_count", {"m": 4, "increments": (0, 5)}, {"increments": (0, 4)}),
    ("letter_majority", {"letters": 4, "half": "first"}, {"letters": 3}),
    ("dyck_k", {"k": 3, "depth": 30}, {"k": 4}),
    ("sparse_parity", {"k": 3, "least": 3}, {"least": 4}),
    ("sparse_parity", {"values": 6}, {"values": 7}),
    ("planted", {"k": 4, "span": 4}, {"k": 5}),
    ("planted", {"k": 3, "span": 9, "gap": 4}, {"span": 8}),
    ("variable_assignment", {"depth": 2, "variables": 3}, {"variables": 2}),
    ("regular", {"regex": "a*b", "alphabet": "ab"}, {"alphabet": "a"}),
    ("mixture", {"weights": (1.0, 0.5), "only": 2}, {"only": 3}),
])  # fmt: skip
def test_parameters_that_go_together_just_so(name: str, taken: dict[str, Any], other: dict[str, Any]) -> None:
    made = make_task(name, **taken)
    assert made.next_length(1) >= 1
    assert refused(lambda: make_task(name, **{**taken, **other}))
