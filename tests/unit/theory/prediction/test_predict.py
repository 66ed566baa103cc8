"""Predictions: the published labels, what is derived here proved again, and silence where theory is silent."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.support.theory.languages_by_hand import KNOWN
from workbench.models.positions import ENCODINGS
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.base import TaskError
from workbench.tasks.registry import find_task, make_task, task_names
from workbench.theory.crasp.builder import Predicate, Q, all_of, any_of, count, program
from workbench.theory.crasp.evaluator import evaluate
from workbench.theory.crasp.zoo import ZOO
from workbench.theory.errors import TheoryError
from workbench.theory.prediction.as_data import describe, describe_all
from workbench.theory.prediction.predict import Positions, Prediction, one_line, predict, predict_regex
from workbench.theory.prediction.reported_results import labelled_state_spaces, published_labels, published_results
from workbench.theory.prediction.rules import POSITIONAL, claim_at, of_languages
from workbench.theory.regular.deciders import find_certificate, in_crasp
from workbench.theory.regular.exclusion import exclude

SEP = "<sep>"


@pytest.mark.parametrize(("key", "positions", "label", "source"), published_labels())
def test_predictions_agree_with_every_published_label(key: str, positions: str, label: bool, source: str) -> None:
    said = predict(key, positions)
    assert said.verdict == ("guaranteed" if label else "not expressible")
    assert any(r.source == source and r.expressible == label for r in said.reported)


def test_the_labels_are_those_of_the_papers() -> None:
    rows = published_labels()
    assert len(rows) == 2 * 32 + 10
    out = {(key, positions) for key, positions, label, _ in rows if not label}
    assert ("tomita_4", "none") in out
    assert ("tomita_4", "learned") not in out
    assert {key for key, positions in out if positions == "learned"} == {
        "nf", "nb", "parity", "addition", "tomita_3", "tomita_5", "tomita_6", "zero_two", "nl_last", "nr_last",
    }  # fmt: skip


def test_the_theorem_is_silent_about_other_encodings_and_other_ids() -> None:
    for positions in ("rotary", "alibi", "sinusoidal"):
        said = predict("uf", positions)
        assert (said.verdict, said.theorem, said.language_class) == ("open", "none", "")
        assert "guaranteed" in said.reason  # what it would be for absolute positions
    arange = predict("uf", Positions("learned", "arange"))
    assert arange.verdict == "open"
    assert "random_offset" in arange.reason
    assert predict("parity", Positions("learned", "arange")).verdict == "not expressible"
    for name in ("limit", "relative"):  # what reads lags needs ids that go by one
        assert predict("uf", Positions(name, "random_offset")).verdict == predict("uf", Positions(name)).verdict
        for ids in ("pose", "random_subset", "coupled"):
            said = predict("uf", Positions(name, ids))
            assert (said.verdict, ids in said.reason) == ("open", True)
    assert predict("uf", "limit").verdict == "guaranteed"


@pytest.mark.parametrize(
    ("subject", "period", "locality", "verdict"),
    [
        ("aaaa_star", 4, 0, "guaranteed"),
        ("aaaa_star", 8, 3, "guaranteed"),
        ("aaaa_star", 2, 3, "not decided"),
        ("tomita_4", 1, 2, "guaranteed"),
        ("tomita_4", 1, 1, "not decided"),
        ("ur", 1, 1, "guaranteed"),
        ("ur", 1, 0, "not decided"),
        ("tomita_6", 12, 9, "not expressible"),
        ("majority", 1, 0, "guaranteed"),
    ],
)
def test_limit_positions_must_offer_what_the_program_reads(
    subject: str, period: int, locality: int, verdict: str
) -> None:
    assert predict(subject, Positions("limit", "arange", {"period": period, "locality": locality})).verdict == verdict


@pytest.mark.parametrize(
    ("subject", "settings", "verdict"),
    [
        ("tomita_4", {"buckets": 6}, "guaranteed"),  # lags 0, 1, 2 have buckets of their own
        ("tomita_4", {"buckets": 4}, "not decided"),
        ("tomita_4", {}, "guaranteed"),
        ("aaaa_star", {}, "not decided"),  # a residue mod 4 is not read off any bias
        ("tomita_6", {}, "not expressible"),
        ("majority", {"buckets": 2}, "guaranteed"),
    ],
)
def test_a_relative_bias_offers_the_lags_that_have_buckets_of_their_own(
    subject: str, settings: dict[str, int], verdict: str
) -> None:
    said = predict(subject, Positions("relative", "arange", settings))
    assert said.verdict == verdict
    assert said.language_class == POSITIONAL
    if verdict == "guaranteed":
        assert said.derived, "the theorem has a term for every lag"
        assert any("but for a constant per query" in text for text in said.assumptions)


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_gets_a_prediction_on_the_pages(name: str) -> None:
    for example in ENCODINGS[name].examples():
        said = describe("parity", {}, example.model_dump())
        assert said["unknown"] == ""
        assert said["verdict"] in ("not expressible", "open")
        assert said["positions"].startswith(name)
        assert (said["language_class"] == "") == (said["verdict"] == "open")
        (brief,) = describe_all([{"task": "parity", "parameters": {}, "positions": example.model_dump()}])
        assert brief["verdict"] == said["verdict"]


@pytest.mark.parametrize(("positions", "says"), [
    (("relativ",), "relative"),
    (("limit", "arange", {"buckets": 3}), "'buckets'"),
    (("relative", "arange", {"buckets": 300}), "max_distance"),
])  # fmt: skip
def test_positions_that_do_not_exist_are_refused(positions: tuple[Any, ...], says: str) -> None:
    with pytest.raises(TheoryError, match=says):
        Positions(*positions)


def test_parameters_change_the_map() -> None:
    assert predict("mod_p_mean", "none", p=1, k=0).verdict == "guaranteed"
    assert predict("mod_p_mean", "none", p=3).verdict == "not expressible"
    assert (
        predict("mod_p_mean", Positions("limit", "arange", {"period": 3, "locality": 0}), p=3).verdict == "guaranteed"
    )
    assert (
        predict("mod_p_mean", Positions("limit", "arange", {"period": 2, "locality": 0}), p=3).verdict == "not decided"
    )
    assert predict("kgram_retrieval", "none", k=1).verdict == "guaranteed"
    assert predict("kgram_retrieval", "none", k=2).verdict == "not expressible"
    assert (
        predict("kgram_retrieval", Positions("limit", "arange", {"period": 1, "locality": 1}), k=2).verdict
        == "not decided"
    )
    assert predict("tomita", "none", n=7).subject == "tomita_7"
    assert predict("regular", "learned", regex="(aab)*").verdict == "guaranteed"


def test_names_of_the_literature_are_understood() -> None:
    for name, subject in (
        ("T4", "tomita_4"),
        ("D_12", "bounded_dyck_12"),
        ("unique copy", "uf"),
        ("repeat-copy", "nf"),
        ("bin_majority", "majority"),
    ):
        assert predict(name, "learned").subject == subject
    with pytest.raises(TheoryError, match="parity"):
        predict("paritty")
    with pytest.raises(TheoryError, match="rotary"):
        predict("uf", "rotery")
    with pytest.raises(TaskError, match="at most 7"):
        predict("tomita_8")
    assert one_line("paritty").startswith("no prediction: nothing is known about 'paritty'")


def test_regular_expressions_with_and_without_positions() -> None:
    def verdicts(expression: str, alphabet: str | None = None) -> tuple[str, str]:
        said = [predict_regex(expression, p, alphabet=alphabet) for p in ("none", "learned")]
        return said[0].verdict, said[1].verdict

    assert verdicts("(ab|ba)*") == ("guaranteed", "guaranteed")
    assert verdicts("(ab|bba)*") == ("not expressible", "guaranteed")
    assert verdicts("(b|ab*a)*") == ("not expressible", "not expressible")
    assert verdicts("(a|b|c)*ab(a|b|c)*") == ("not expressible", "guaranteed")
    assert predict_regex("(a|b)*b", "none", "neutral_symbol").verdict == "not expressible"
    assert predict_regex("(a|b)*b", "none", "last_position").verdict == "guaranteed"
    assert predict("tomita_4", "learned", "neutral_symbol").program == ""
    with pytest.raises(TaskError, match="never closed"):
        predict_regex("(ab", "none")


def test_programs_behind_a_guarantee_can_be_had() -> None:
    assert predict("ur", "learned").programs() == [ZOO["ur"].program]
    (own,) = predict_regex("(ab|bba)*", "learned").programs()
    assert own.fragment == "C-RASP[local]"
    assert predict("parity", "learned").programs() == []


def test_a_number_in_a_name_may_have_thousands_of_digits() -> None:
    with pytest.raises(TheoryError, match="nothing is known about 'd999"):
        predict("d" + "9" * 5000)


def test_a_map_is_expressible_only_if_every_answer_is() -> None:
    states = predict("bounded_dyck", "none", n=3, ask="state")
    assert states.verdict == "guaranteed"
    assert predict("tomita", "none", n=4, ask="state").verdict == "not expressible"
    assert predict("tomita", "learned", n=4, ask="next").verdict == "guaranteed"


# ---- what is derived here, proved again ----------------------------------------------------------
FLIP = {"off": {"x": "on", "y": "off"}, "on": {"x": "off"}}  # y turns nothing off
FINITE: list[tuple[str, dict[str, object]]] = [
    *((name, {}) for name in task_names() if find_task(name).kind == "state"),
    ("dyck_k", {"k": 2, "depth": 3}),
    ("dyck_k", {"k": 2, "depth": 2, "ask": "next"}),
    ("mod_count", {"m": 4, "increments": (0, 3, -1)}),
    ("symmetric_group", {"tokens": "generators"}),
    ("sparse_parity", {"k": 1, "least": 1, "values": 4}),
    ("planted", {"k": 2, "modulus": 3, "fillers": 2, "span": 2}),
    ("tomita", {"n": 5, "ask": "state"}),
    ("tomita", {"n": 7, "ask": "next"}),
    ("bounded_dyck", {"n": 3, "ask": "next"}),
    ("regular", {"ask": "state", "dfa": {"start": "off", "accepting": ["on"], "transitions": FLIP}}),
]
MOST_STRINGS = 4_000


def promised(task: Any, string: tuple[int, ...]) -> bool:
    """Whether a string of symbol numbers holds no more than the k tokens that a planted task ever plants."""
    planted = {"sparse_parity": lambda s: s < task.values // 2, "planted": lambda s: s < task.modulus - 1}
    return task.name not in planted or sum(map(planted[task.name], string)) <= task.k


@pytest.mark.parametrize(("name", "parameters"), FINITE, ids=str)
def test_the_automaton_of_every_finite_state_task_answers_like_its_oracle(
    name: str, parameters: dict[str, object]
) -> None:
    """On all strings of a length, as long as these are few; of SparseParity those with at most k small numbers."""
    task = make_task(name, **parameters)
    automaton = task.automaton()
    if (name, parameters) == ("dyck_k", {}):
        assert automaton is None  # 8 types, 10 deep: some 10^9 stacks
        return
    assert automaton is not None
    assert automaton.alphabet == task.tokens_names[1:]
    symbols = len(automaton.alphabet)
    length = max(n for n in range(2, 13) if n == 2 or symbols**n <= MOST_STRINGS)
    compared = 0
    strings = list(itertools.product(range(symbols), repeat=length))
    for string, states in zip(strings, automaton.run(np.array(strings)), strict=True):
        if not promised(task, string):
            continue
        said = [None if a < 0 else int(a) for a in automaton.labels[states]]
        wanted = task.reference([1 + symbol for symbol in string])
        if name == "planted":  # asked at the end alone; the automaton tells every prefix
            said = [None] * (length - 1) + said[-1:]
        assert said == wanted, string
        compared += 1
    assert compared > 1 or symbols == 1


@pytest.mark.parametrize("name", [name for name in task_names() if find_task(name).kind != "state"])
def test_no_automaton_is_stated_where_the_state_is_not_finite(name: str) -> None:
    assert make_task(name).automaton() is None


def test_a_map_without_automaton_or_claim_is_told_so() -> None:
    assert predict("dyck_k").reason == "no claim about this map is known, and no automaton is stated for this task"
    assert predict("dyck_k", k=2, depth=3).verdict == "guaranteed"


@pytest.mark.parametrize(
    ("name", "parameters"), [("sparse_parity", {"values": 4}), ("planted", {"fillers": 2}), ("modular_arithmetic", {})]
)
def test_what_is_claimed_of_a_finite_state_map_is_what_deciding_finds(name: str, parameters: dict[str, object]) -> None:
    automaton = make_task(name, **parameters).automaton()
    assert automaton is not None
    for at in (Positions.from_name("none"), Positions.from_name("learned")):
        decided = claim_at(of_languages(automaton.languages, at), at)
        assert predict(name, at, **parameters).verdict == decided.verdict


class Stating(type(make_task("majority"))):  # type: ignore[misc]
    """The majority task under another name, which states a program."""

    name = "stating"
    program_text: ClassVar[str | None] = "alphabet 0 1\nmore := count(Q(0)) < count(Q(1))"

    @property
    def crasp_program(self) -> str | None:
        return self.program_text


def test_a_task_may_state_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    said = predict(Stating())
    assert (said.verdict, said.program) == ("guaranteed", "stated by the task stating")
    (own,) = said.programs()
    assert evaluate(own, np.array([own.ids("011")]))["more"].tolist() == [[False, False, True]]
    monkeypatch.setattr(Stating, "program_text", "majority")
    assert predict(Stating()).programs() == [ZOO["majority"].program]
    monkeypatch.setattr(Stating, "program_text", "alphabet a b\nmore := Q(a)")
    with pytest.raises(TheoryError, match="tokens"):
        predict(Stating())
    monkeypatch.setattr(Stating, "program_text", "alphabet 0 1\nmore := Q(0")
    with pytest.raises(TheoryError, match="line 2"):
        predict(Stating())
    monkeypatch.setattr(Stating, "program_text", None)
    assert predict(Stating()).reason.startswith("no claim about this map is known, and no automaton is stated")


def test_left_neighbours_without_positions_are_out_and_right_ones_in() -> None:
    def without(expression: str) -> str:
        return in_crasp(Automaton.from_regex(expression, "abs"), "last_position").decision

    assert without("(a|b)*as(a|b)*") == "no"  # UL: the letter before the only s is a
    assert without("(a|b)*as(a|b|s)*") == "no"  # NLFirst
    assert without("(a|b)*sa(a|b)*") == "yes"  # UR
    assert without("(a|b)*sa(a|b|s)*") == "yes"  # NRFirst
    for last in ("(a|b|s)*sa(a|b)*", "(a|b|s)*as(a|b)*"):  # NRLast, NLLast
        assert exclude(Automaton.from_regex(last, "abs")) is not None


def test_the_positionless_program_for_right_neighbours() -> None:
    """NEXT_a: the query is s, and an a stands where count(count(Q(s)) >= 1) = 2."""
    letters = "abc"
    answers: dict[str, Predicate] = {
        f"NEXT_{a}": any_of(Q(s) & (count(Q(a) & (count(count(Q(s)) >= 1) == 2)) >= 1) for s in letters)
        for a in letters
    }
    own, zoo = program([*letters, SEP], answers, outputs=list(answers)), ZOO["nr_first"].program  # type: ignore[arg-type]
    assert own.fragment == "C-RASP[]"
    for n in range(2, 6):
        contexts = itertools.product(letters, repeat=n)
        strings = [(*c, SEP, q) for c in contexts for q in letters if q in c[:-1]]
        mine, theirs = (evaluate(p, np.array([p.ids(s) for s in strings])) for p in (own, zoo))
        for a in letters:
            assert np.array_equal(mine[f"NEXT_{a}"][:, -1], theirs[f"NEXT_{a}"][:, -1])


@pytest.mark.parametrize("forward", [True, False])
def test_copying_different_letters_of_a_fixed_alphabet_needs_no_positions(forward: bool) -> None:
    """What the caveat on uf and ub says: how many places lie from a letter to the end tells the order."""
    letters = "abcd"
    inside = count(Q(SEP)) == 0
    places = {a: count(all_of([inside, count(Q(a)) >= 1])) for a in letters}
    given = {a: count(Q(a) & inside) >= 1 for a in letters}
    whole, written = count(inside), ~inside
    lines: dict[str, Predicate] = {}
    for a in letters:
        first = places[a] == whole if forward else places[a] == 1
        steps = [
            all_of([Q(s), written, given[a], (places[a] + 1 == places[s]) if forward else (places[a] == places[s] + 1)])
            for s in letters
        ]
        lines[f"NEXT_{a}"] = any_of([all_of([Q(SEP), given[a], first]), *steps])
    lines["NEXT_end"] = any_of(
        all_of([Q(s), written, (places[s] == 1) if forward else (places[s] == whole)]) for s in letters
    )
    own = program([*letters, SEP], lines, outputs=list(lines))  # type: ignore[arg-type]
    assert own.fragment == "C-RASP[]"
    for n in range(1, 5):
        for x in itertools.permutations(letters, n):
            y = x if forward else x[::-1]
            values = evaluate(own, np.array([own.ids((*x, SEP, *y))]))
            for i, wanted in enumerate([*y, "end"]):
                assert [name[5:] for name, v in values.items() if v[0, n + i]] == [wanted]


def test_pairs_that_are_followed_cannot_be_counted_but_can_be_read() -> None:
    """k-gram retrieval, k = 2: the strings whose only 00 that something follows is followed by 1."""

    def step(state: tuple[str, str], symbol: str) -> tuple[str, str]:
        recent, found = state
        if recent == "00":
            found = "many" if found != "none" else symbol
        return (recent + symbol)[-2:], found

    language = Automaton.explore("01", ("", "none"), step, lambda state: state[1] == "1").minimal()
    assert in_crasp(language, "last_position").decision == "no"
    found = find_certificate(language)
    assert found is not None
    assert found.locality <= 2


def test_shares_of_a_residue_class_tell_even_from_odd() -> None:
    even = Automaton.from_regex("(00)*(10)*", "01")
    assert in_crasp(even, "last_position").decision == "no"


def test_addition_modulo_a_number_is_excluded() -> None:
    digits = Automaton.explore("01234", 0, lambda total, d: (total + int(d)) % 5, lambda total: total == 0)
    assert exclude(digits) is not None


def test_star_free_languages_carry_the_note_on_state_space_models() -> None:
    def texts(said: Prediction) -> str:
        return " ".join(note.text for note in said.notes)

    assert "not star-free" in texts(predict_regex("(aa)*", "none"))
    assert " star-free: recognised" in f" {texts(predict('zero_two', 'none'))}"
    assert "recognised" in texts(predict_regex("(a|b|e)*be*", "learned"))
    assert KNOWN["S*be*"].star_free


def test_a_language_states_up_to_which_length_sequences_determine_it() -> None:
    """(ab)* has three states with the dead one, parity two; a map of several answers has no such note."""
    for prediction, states, length in ((predict_regex("(ab)*"), 3, 4), (predict("parity"), 2, 2)):
        (note,) = [note for note in prediction.notes if "smallest automaton" in note.text]
        assert f"has {states} states" in note.text
        assert f"right from N = {length} on" in note.text
    assert not any("smallest automaton" in note.text for note in predict("modular_arithmetic").notes)


# Of 1,000 random expressions these are some of those that the two readings part; each ends in what decides it.
PARTED = ["(a|b)*b", "(a|((b|(c))*c)|(a|b))", "(c|((c)*)*(a)*)((a|a)(c)*)*c"]


@pytest.mark.parametrize("expression", PARTED)
def test_both_readings_are_told_where_they_differ(expression: str) -> None:
    read, unread = (predict_regex(expression, "none", one) for one in ("last_position", "neutral_symbol"))
    assert (read.verdict, unread.verdict) == ("guaranteed", "not expressible")
    assert read.other_reading == (
        "where acceptance may not read the last symbol, as in the class of arXiv 2608.13433: not expressible; "
        + unread.reason
    )
    assert unread.other_reading == f"where acceptance may read the last symbol: guaranteed; {read.reason}"
    task = make_task("regular", regex=expression)
    assert predict(task, "none").other_reading == read.other_reading


@pytest.mark.parametrize("subject", ["tomita_4", "D_2", "zero_two", "parity", "majority"])
def test_one_reading_is_told_where_both_agree(subject: str) -> None:
    assert predict(subject, "none").other_reading == predict(subject, "learned").other_reading == ""


def test_published_numbers_name_what_was_asked() -> None:
    for key, positions, _, _ in published_labels():
        assert all(one.asked for one in published_results(key, positions)), key
    (four,) = published_results("tomita_4", "none")
    assert (four.ask, four.asked) == ("next", "the symbols that may come next, at every position")
    (three,) = published_results("tomita_3", "none")
    assert three.ask == "member"
    (parity,) = published_results("parity", "none")
    assert (parity.ask, parity.asked) == ("", "only the answer, after the string")
    assert {one.asked for one in published_results("uf", "rotary")} == {"only the answer, after the string"}


# ---- state-space models --------------------------------------------------------------------------
def of_nonnegative_gates(key: str) -> Prediction:
    name, _, pairs = key.rpartition("_")
    return predict(name, "ssm-nonnegative", k=int(pairs)) if name == "shuffle_dyck" else predict(key, "ssm-nonnegative")


@pytest.mark.parametrize(("key", "label"), labelled_state_spaces())
def test_state_space_labels_are_what_the_gates_allow(key: str, label: bool) -> None:
    """Star-free and counter languages, decided or looked up, against the paper's own division of its 27 languages."""
    said = of_nonnegative_gates(key)
    assert said.verdict == ("expressible" if label else "not expressible")
    assert [one.expressible for one in said.reported] == [label] * 3
    assert all(2 <= len(one.accuracy) <= 3 and one.accuracy[0] >= one.accuracy[-1] for one in said.reported)


def test_the_state_space_labels_are_those_of_the_paper() -> None:
    rows = dict(labelled_state_spaces())
    assert len(rows) == 27
    out = {key for key, label in rows.items() if not label}
    assert out == {"parity", "aa_star", "aaaa_star", "abab_star", "tomita_3", "tomita_5", "tomita_6"}
    learnt = {k for k in rows if of_nonnegative_gates(k).reported[-1].accuracy[1] > 90}
    assert learnt == {k for k, label in rows.items() if label} - {
        "dyck_1", "shuffle_dyck_2", "shuffle_dyck_4", "shuffle_dyck_6", "boolean_3", "boolean_5",
        "anbn", "anbncn", "anbncndn",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("subject", "parameters", "nonnegative", "signed"),
    [
        ("flip_flop", {}, "expressible", "expressible"),
        ("parity", {}, "not expressible", "expressible"),
        ("aaaa_star", {}, "not expressible", "expressible"),
        ("mod_count", {"m": 3}, "not expressible", "not expressible"),
        ("mod_count", {"m": 4}, "not expressible", "expressible"),
        ("mod_count", {"m": 6}, "not expressible", "not expressible"),
        ("majority", {}, "expressible", "expressible"),
        ("uf", {}, "open", "open"),
    ],
)
def test_signs_of_gates_decide(subject: str, parameters: Any, nonnegative: str, signed: str) -> None:
    found = [predict(subject, gates, **parameters) for gates in ("ssm-nonnegative", "ssm-signed")]
    assert [one.verdict for one in found] == [nonnegative, signed]
    assert all(not one.programs() and one.model.startswith("state-space model") for one in found)


def test_an_expression_for_state_space_models() -> None:
    assert predict_regex("(a|b)*bb(a|b)*", "ssm-nonnegative").verdict == "expressible"
    assert predict_regex("(aaa)*", "ssm-signed").verdict == "not expressible"
    assert predict_regex("(aa)*", "ssm-signed").verdict == "expressible"


def test_a_run_of_a_state_space_model_is_described_as_one() -> None:
    said = describe("parity", {}, "none", architecture="ssm-nonnegative")
    assert (said["verdict"], said["model"]) == ("not expressible", "state-space model, nonnegative gates")
    assert said["programs"] == []
    assert [one["where"] for one in said["reported"]] == ["on trained lengths and on one range of longer lengths"] * 3
    assert describe("parity", {}, "none")["model"] == "positions none"


def test_the_average_of_k_grams_is_two_layers_with_local_terms() -> None:
    said = predict("in_context_kgram", "limit", k=3)
    assert (said.verdict, said.locality) == ("guaranteed", 3)
    assert said.theorem.startswith("theorem 5.2")
    assert predict("in_context_kgram", "none").verdict == "open"
    assert predict("in_context_kgram", Positions("limit", settings={"locality": 2}), k=3).verdict == "not decided"
