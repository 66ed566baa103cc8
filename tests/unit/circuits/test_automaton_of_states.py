"""Automata extracted from models whose automata are known, and from counters, which have none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from circuits import extract_automaton
from circuits.automaton_of_states import ExtractionError
from workbench.models import HookedRNN, HookedSSM, RNNConfig
from workbench.models.handmade.attention_heads import induction_model
from workbench.models.handmade.blank import without_weights
from workbench.models.handmade.cascades import (
    Cascade,
    compile_cascade,
    contains_twice,
    counted_brackets,
    depth_two,
    last_of_two,
    never_three,
)
from workbench.models.handmade.state_space import flip_flop, parity
from workbench.models.ssm.config import SSMConfig
from workbench.tasks import make_task


def of_two_classes(cascade: Cascade) -> HookedSSM:
    """The model of a cascade with the answers no and yes in place of one output that is positive for yes."""
    model = compile_cascade(cascade)
    weights = model.state_dict()
    for name in ("unembed.W_U", "unembed.b_U"):
        weights[name] = torch.cat([torch.zeros_like(weights[name]), weights[name]], -1)
    classes = HookedSSM(SSMConfig(**{**model.cfg.model_dump(), "d_vocab_out": 2}))
    classes.load_state_dict(weights)
    return classes.eval()


def last_symbol() -> HookedRNN:
    """An Elman network whose state is its input, so that it answers yes after 1."""
    cfg = RNNConfig(
        d_vocab=3, d_vocab_out=2, n_layers=1, d_model=3, n_ctx=1, cell="elman", nonlinearity="relu", residual=False,
        normalization_type=None,
    )  # fmt: skip
    model = without_weights(HookedRNN(cfg))
    with torch.no_grad():
        model.embed.W_E[:] = model.blocks[0].mixer.W_in[:] = torch.eye(3)
        model.unembed.W_U[2, 1], model.unembed.W_U[0, 0], model.unembed.W_U[1, 0] = 1.0, 1.0, 1.0
    return model.eval()


KNOWN = {
    "last symbol": (last_symbol(), make_task("regular", regex="(0|1)*1"), 2),
    "parity": (parity(), make_task("parity"), 2),
    "flip-flop": (flip_flop(), make_task("flip_flop"), 3),
    "bb occurs": (of_two_classes(contains_twice("b", "a", ("<bos>", "a", "b"))), make_task("regular"), 3),
    "never 000": (of_two_classes(never_three("0", "1", ("<bos>", "0", "1"))), make_task("tomita", n=4), 4),
    "{0,1,2}*02*": (of_two_classes(last_of_two("0", "1", ("<bos>", "0", "1", "2"))), make_task("zero_two"), 2),
    "depth two": (of_two_classes(depth_two("a", "b", ("<bos>", "a", "b"))), make_task("bounded_dyck", n=2), 4),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_known_automaton_is_found_exactly(name):
    """The number of states after minimization is that of the language, counted by hand."""
    model, task, states = KNOWN[name]
    found = extract_automaton(model, task, sequences=8)
    assert found.finite
    assert found.computes_task
    assert found.agreeing == 1.0
    assert len(found.smallest) == states <= len(found)
    assert set(found.agreement.values()) == {1.0}
    assert min(found.agreement) > found.longest
    own = task.automaton().smallest()
    assert np.array_equal(found.smallest.table, own.table), "both are numbered breadth first"
    assert np.array_equal(found.smallest.labels, own.labels)


def test_states_and_sequences_of_parity():
    found = extract_automaton(parity(), make_task("parity"), longest=3)
    assert found.table.tolist() == [[0, 1], [1, 0]]
    assert (found.answers.tolist(), found.sequences) == ([0, 1], ((), ("1",)))
    assert found.automaton.names == ("start", "after 1")


def test_a_counter_has_no_finite_automaton():
    """The depth of brackets grows with the length, so the longest sequences lead to new states."""
    model = of_two_classes(counted_brackets([("(", ")")], ("<bos>", "(", ")")))
    found = extract_automaton(model, make_task("dyck_1"), longest=8)
    assert not found.finite
    assert found.agreement == {}
    deepest = found.sequences.index(("(",) * 8)
    assert (found.table[deepest] == -1).all()
    assert "so the states are not finite" in str(found)
    with pytest.raises(ExtractionError, match="there is no automaton with these states"):
        _ = found.automaton


def test_too_many_states_stop_the_search(monkeypatch):
    monkeypatch.setattr("circuits.automaton_of_states.MOST_STATES", 5)
    model = of_two_classes(counted_brackets([("(", ")")], ("<bos>", "(", ")")))
    found = extract_automaton(model, make_task("dyck_1"), longest=8)
    assert found.too_many
    assert not found.finite
    assert len(found) == 5


def test_a_coarse_distance_merges_states_that_differ():
    """The two states of parity are 2 standard deviations apart: they lie at +1 and -1 and are equally frequent."""
    for distance, states in ((1.9, 2), (2.1, 1)):
        found = extract_automaton(parity(), make_task("parity"), merge_distance=distance, longest=4)
        assert len(found) == states
    assert not found.computes_task
    assert found.first_difference == ("1",)
    assert found.agreeing < 1


def test_the_difference_from_another_task_is_named():
    ends_in_1 = make_task("regular", regex="(0|1)*1")
    found = extract_automaton(parity(), ends_in_1, sequences=32)
    assert found.finite
    assert not found.computes_task
    assert found.first_difference == ("1", "0")
    assert "It gives another answer than the task (with 2 states) after 1 0." in str(found)


def test_the_convolution_belongs_to_the_state():
    """A model without recurrence that answers by the token before the last needs a state for each last token."""
    cascade = contains_twice("b", "a", ("<bos>", "a", "b"))
    model = of_two_classes(cascade)
    hooks = model.cfg.state_hooks()
    assert {name: hooks[name] for name in hooks if name.startswith("blocks.1")} == {
        "blocks.1.mixer.hook_ssm_state": 1,
        "blocks.1.hook_resid_pre": 1,
    }
    assert parity().cfg.state_hooks() == {"blocks.0.mixer.hook_ssm_state": 1}
    assert induction_model(4, 3.0).cfg.state_hooks() == {}


def test_redundant_states_are_merged_by_minimization():
    """Two copies of parity's states, which change at every symbol, are four states with two different futures."""
    machine = extract_automaton(parity(), make_task("parity"), longest=4).automaton
    table = np.array([[2, 3], [3, 2], [0, 1], [1, 0]])
    doubled = replace(machine, table=table, answers=np.array([0, 1, 0, 1]), names=("a", "b", "c", "d"))
    assert doubled.smallest().table.tolist() == machine.smallest().table.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("model", "task", "settings", "message"),
    [
        (induction_model(4, 3.0), make_task("kgram_retrieval", symbols=4), {}, "keeps no state of fixed size"),
        (parity(), make_task("simple"), {}, "the answers of simple are numbers"),
        (parity(), make_task("parity"), {"merge_distance": 0.0}, "merge_distance must be above 0, not 0"),
        (parity(), make_task("parity"), {"longest": 40}, "2 symbols at length 40 allow 1,099,511,627,776"),
        (parity(), make_task("parity"), {"longest": 0}, "longest must be at least 1"),
    ],
)
def test_bad_input_is_refused(model, task, settings, message):
    with pytest.raises(ExtractionError, match=message):
        extract_automaton(model, task, **settings)
