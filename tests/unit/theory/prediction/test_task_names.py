"""From names to maps: spellings of the literature, keys with parameters, programs that tasks state, with BOS and without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.tasks import make_task
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.crasp.zoo import ZOO
from workbench.theory.errors import TheoryError
from workbench.theory.prediction import state_space_claims
from workbench.theory.prediction.known_maps import ENTRIES, average, kgram, kgram_average
from workbench.theory.prediction.predict import READINGS, one_line, predict, predict_regex
from workbench.theory.prediction.state_space_claims import EXPRESSIVE, SIGNED, state_space_claim
from workbench.theory.prediction.task_names import HOUSE, base_of, entry_of, key_of, program_of, resolve


@pytest.mark.parametrize(("name", "key", "house"), [
    ("t4", "tomita_4", True), ("T7", "tomita_7", True), ("tomita4", "tomita_4", True), ("Tomita-4", "tomita_4", True), ("t_4", "t_4", None),
    ("tomita_4", "tomita_4", True), ("d3", "bounded_dyck_3", True), ("D-12", "bounded_dyck_12", True), (" D 2 ", "bounded_dyck_2", True),
    ("d 2 3", "d_2_3", None), ("mod_count_5", "mod_count_5", True), ("Alternating  Blocks_3", "alternating_blocks_3", True),
    ("mod_p", "mod_p_mean", True), ("simple_task", "simple_average", False), ("simple average", "simple_average", False),
    ("Unique-Copy", "uf", True), ("copy repeat", "nf", True), ("bin majority interleave", "interleaved_majority", True),
    ("anbncn", "anbncn", False), ("dyck_1", "dyck_1", True), ("shuffle_dyck_2", "shuffle_dyck_2", False), ("contains_ab", "contains_ab", False),
])  # fmt: skip
def test_names_of_the_literature(name: str, key: str, house: bool | None) -> None:
    if house is None:
        with pytest.raises(TheoryError, match="nothing is known about"):
            resolve(name, {})
        return
    found, task = resolve(name, {})
    assert (found, task is not None) == (key, house)


def test_a_parameter_that_is_given_counts_more_than_the_one_of_the_name() -> None:
    assert resolve("tomita_4", {"n": 5})[0] == "tomita_5"
    assert resolve("tomita", {"n": 5})[0] == "tomita_5"
    task = make_task("tomita", n=3)
    assert resolve(task, {}) == ("tomita_3", task)


@pytest.mark.parametrize(("key", "base"), [
    ("tomita_4", "tomita"), ("bounded_dyck_12", "bounded_dyck"), ("mod_count_3", "mod_count"), ("shuffle_dyck_2", "shuffle_dyck_2"),
    ("dyck_1", "dyck_1"), ("tomita", "tomita"), ("tomita_x", "tomita_x"), ("tomita_4_5", "tomita_4_5"),
])  # fmt: skip
def test_the_task_of_a_key(key: str, base: str) -> None:
    assert base_of(key) == base


@pytest.mark.parametrize(("task", "key"), [
    (("a_n_b_n", {"letters": 2}), "anbn"), (("a_n_b_n", {"letters": 3}), "anbncn"), (("a_n_b_n", {"letters": 4}), "anbncndn"),
    (("shuffle_dyck", {"k": 4}), "shuffle_dyck_4"), (("simple", {}), "simple_average"), (("letter_majority", {}), "most_frequent"),
    (("boolean", {"n": 5}), "boolean_5"), (("majority", {}), "majority"), (("mod_count", {"m": 7}), "mod_count_7"),
])  # fmt: skip
def test_keys_of_tasks(task: tuple[str, dict[str, Any]], key: str) -> None:
    assert key_of(make_task(task[0], **task[1])) == key
    assert HOUSE["a_n_b_n"]({"letters": 5}) == "a_n_b_n"


def test_entries_that_hang_on_a_parameter() -> None:
    def of(**parameters: Any) -> Any:
        return SimpleNamespace(parameters=parameters)

    assert entry_of("simple_average", None) == average(1)
    assert entry_of("mod_p_mean", of(p=3)) == average(3)
    assert entry_of("kgram_retrieval", of(k=2)) == kgram(2)
    assert entry_of("in_context_kgram", of(k=2)) == kgram_average(2)
    assert entry_of("majority", None) == entry_of("majority", of()) == ENTRIES["majority"]
    for name in ("mod_p_mean", "kgram_retrieval", "in_context_kgram", "no such map"):
        assert entry_of(name, None) is None


@pytest.mark.parametrize(("period", "locality", "verdict"), [(1, 0, "guaranteed"), (2, 0, "not expressible")])
def test_averages_and_k_grams(period: int, locality: int, verdict: str) -> None:
    found = average(period)
    assert (found.without.verdict, found.with_positions.verdict) == (verdict, "guaranteed")
    assert (found.with_positions.period, found.with_positions.locality) == (period, locality)
    assert (kgram(period).without.verdict, kgram(period).with_positions.locality) == (verdict, period)
    assert (kgram_average(period).without.verdict, kgram_average(period).with_positions.locality) == ("open", period)


# ---- programs that tasks state -------------------------------------------------------------------------------------
TEXT = "alphabet a b\nmore := count(Q(a)) < count(Q(b))"


@pytest.mark.parametrize(("bos", "names", "stated", "read"), [
    (True, ("BOS", "a", "b"), TEXT, True), (False, ("a", "b"), TEXT, True), (True, ("a", "b"), TEXT, False),
    (False, ("BOS", "a", "b"), TEXT, False), (True, ("BOS", "0", "1"), "majority", True), (False, ("0", "1"), "majority", True),
    (False, ("1", "0"), "majority", False),
])  # fmt: skip
def test_a_stated_program_reads_the_tokens_without_bos(
    bos: bool, names: tuple[str, ...], stated: str, read: bool
) -> None:
    task: Any = SimpleNamespace(name="mine", bos=bos, tokens_names=names, crasp_program=stated)
    if not read:
        with pytest.raises(TheoryError, match="tokens"):
            program_of("mine", task)
        return
    found = program_of("mine", task)
    assert found is not None
    assert (found.name, found.fragment) == ("majority" if stated in ZOO else "stated by the task mine", "C-RASP[]")


@pytest.mark.parametrize(("key", "ask", "found"), [
    ("tomita_4", "member", True), ("tomita_4", "next", False), ("no such key", "member", False), ("majority", None, True),
])  # fmt: skip
def test_acceptors_stand_for_tasks_that_ask_for_membership(key: str, ask: str | None, found: bool) -> None:
    task: Any = SimpleNamespace(name=key, crasp_program=None, **({} if ask is None else {"ask": ask}))
    assert (program_of(key, task) is not None) == found
    assert (program_of(key, None) is not None) == (key in ZOO)


# ---- state-space models --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("key", "verdict", "derived"), [
    ("dyck_1", "expressible", False), ("anbncn", "expressible", False), ("shuffle_dyck_9", "expressible", False), ("boolean_7", "expressible", False),
    ("shuffle_dyck", "open", False), ("majority", "expressible", True), ("most_frequent", "expressible", True), ("uf", "open", False), ("dyck_2", "open", False),
])  # fmt: skip
def test_counters_and_state_space_models(key: str, verdict: str, derived: bool) -> None:
    for gates in ("ssm-nonnegative", "ssm-signed"):
        found = state_space_claim(key, None, gates)
        assert (found.verdict, found.derived, bool(found.note)) == (verdict, derived, verdict == "expressible")


@pytest.mark.parametrize(("expressions", "nonnegative", "signed", "by", "told"), [
    (["(a|b)*b"], "expressible", "expressible", EXPRESSIVE, ""), (["(aa)*"], "not expressible", "expressible", SIGNED, "2 repetitions"),
    (["(aaa)*"], "not expressible", "not expressible", SIGNED, "3 repetitions"), (["(aaaa)*"], "not expressible", "expressible", SIGNED, "4 repetitions"),
    (["(aaaaaa)*"], "not expressible", "not expressible", SIGNED, "6 repetitions"), (["(aa)*", "a*"], "not expressible", "expressible", SIGNED, "2 repetitions"),
    (["a*", "(aaa)*"], "not expressible", "not expressible", SIGNED, "3 repetitions"),
])  # fmt: skip
def test_what_comes_round_decides_for_state_space_models(
    expressions: list[str], nonnegative: str, signed: str, by: str, told: str
) -> None:
    def languages() -> list[Automaton]:
        return [Automaton.from_regex(one) for one in expressions]

    found = state_space_claim("x", languages, "ssm-nonnegative")
    assert (found.verdict, found.theorem, found.derived) == (nonnegative, EXPRESSIVE, False)
    other = state_space_claim("x", languages, "ssm-signed")
    assert (other.verdict, other.theorem, other.derived) == (signed, by, signed == "expressible")
    assert told in found.reason
    assert told in other.reason


def test_nothing_is_claimed_of_a_new_kind_of_gates() -> None:
    languages = [Automaton.from_regex("(aa)*")]
    for key, own in (("x", lambda: languages), ("dyck_1", None), ("majority", None)):
        claim = state_space_claim(key, own, "ssm-new")
        assert (claim.verdict, claim.theorem) == ("open", "none")


def test_a_monoid_that_is_too_large_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_space_claims, "syntactic_monoid", lambda language: None)
    found = state_space_claim("x", lambda: [Automaton.from_regex("a*")], "ssm-signed")
    assert (found.verdict, found.theorem) == ("not decided", "none")


# ---- lines ---------------------------------------------------------------------------------------------------------
def test_predictions_in_a_line() -> None:
    assert one_line("majority") == (
        "guaranteed: program majority (theorems 1, 7 and 9 of Huang et al., arXiv 2410.02140)"
    )
    assert one_line("text") == "open: text defines no fixed map from inputs to answers, so no theorem is about it"
    assert one_line("tomita_8").startswith("no prediction: ")
    assert predict("majority", "ssm-signed").model == "state-space model, signed gates"
    assert predict("majority", "learned").model == "positions learned, ids random_offset"


def test_the_other_reading_is_told_of_maps_without_positions_alone() -> None:
    told = predict_regex("(a|b)*b", "none")
    assert told.other_reading.startswith(f"{READINGS['neutral_symbol']}: not expressible; ")
    assert predict_regex("(a|b)*b", "limit").other_reading == ""
    assert predict_regex("(a|b)*b(a|b)*", "none").other_reading == ""
    assert predict_regex("a*", "none", alphabet="ab").languages[0].alphabet == ("a", "b")
