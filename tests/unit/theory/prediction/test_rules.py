"""Claims for one encoding, branch by branch: what positions offer, what a program reads, and the worst of several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from workbench.models.positions.encoding import Reach
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.crasp.zoo import ZOO
from workbench.theory.errors import TheoryError
from workbench.theory.prediction.known_maps import GUARANTEE, KnownMap, MapClaim
from workbench.theory.prediction.predict import predict
from workbench.theory.prediction.rules import (
    Positions,
    _certificate_within,
    _reading,
    _weakest,
    claim_at,
    of_languages,
    of_program,
)
from workbench.theory.prediction.task_names import Witness
from workbench.theory.regular.deciders import Certificate


def language(expression: str) -> Automaton:
    return Automaton.from_regex(expression, "".join(sorted({*expression} & {*"abs"})))


@pytest.mark.parametrize(("name", "ids", "settings", "text"), [
    ("none", "arange", {}, "none"), ("none", "pose", {}, "none"), ("learned", "random_offset", {}, "learned, ids random_offset"),
    ("learned", "arange", {}, "learned, ids arange"), ("limit", "arange", {}, "limit"), ("limit", "pose", {}, "limit, ids pose"),
    ("limit", "arange", {"period": 4, "locality": 2}, "limit (period 4, locality 2)"),
    ("limit", "random_offset", {"period": 4}, "limit (period 4), ids random_offset"), ("rotary", "pose", {}, "rotary"),
])  # fmt: skip
def test_positions_in_words(name: str, ids: str, settings: dict[str, int], text: str) -> None:
    assert str(Positions(name, ids, settings)) == text


@pytest.mark.parametrize(
    ("name", "ids"), [("none", "arange"), ("learned", "random_offset"), ("limit", "arange"), ("rotary", "arange")]
)
def test_positions_by_name_have_the_ids_of_their_theorem(name: str, ids: str) -> None:
    assert Positions.from_name(name) == Positions(name, ids)


# ---- programs that read what there is --------------------------------------------------------------------------
SOME_B, ENDS_B, PAIR = "(a|b)*b(a|b)*", "(a|b)*b", "(a|b)*bb(a|b)*"


@pytest.mark.parametrize(("expression", "period", "locality", "reads"), [
    (SOME_B, None, None, (1, 0)), (ENDS_B, None, 0, (1, 0)), (ENDS_B, 1, 0, (1, 0)), (ENDS_B, 5, 0, (1, 0)),
    (PAIR, None, None, (1, 1)), (PAIR, None, 1, (1, 1)), (PAIR, None, 0, None), (PAIR, 4, 1, (1, 1)), (PAIR, 6, 0, None),
    ("(aa)*", None, 0, (2, 0)), ("(aa)*", 2, 0, (2, 0)), ("(aa)*", 6, 3, (2, 0)), ("(aa)*", 1, None, None), ("(aa)*", 3, 0, None),
    ("(aaaa)*", 4, None, (4, 0)), ("(aaaa)*", 8, 0, (4, 0)), ("(aaaa)*", 2, 0, None),
    ("(aaaaa)*", None, 0, (5, 0)), ("(aaaaa)*", 5, 0, (5, 0)), ("(aaaaaa)*", None, 0, (6, 0)), ("(aaaaaa)*", 6, 0, (6, 0)),
    ("(aaaaaaa)*", None, 0, None), ("(aaaaaaa)*", 7, 0, (7, 0)), ("(aaaaaaa)*", 6, 0, None),
])  # fmt: skip
def test_programs_within_what_positions_offer(
    expression: str, period: int | None, locality: int | None, reads: tuple[int, int] | None
) -> None:
    """Periods are divisors of the one that is offered, or those up to 6 where all are."""
    found = _certificate_within(language(expression), Reach(period, locality))
    assert (found and (found.period, found.locality)) == reads
    assert _certificate_within(language(expression), None) is None


@pytest.mark.parametrize(("locality", "back", "reads"), [(None, 5, 5), (None, 6, None), (6, 6, 6), (5, 6, None)])
def test_how_far_back_programs_are_looked_for(locality: int | None, back: int, reads: int | None) -> None:
    """The symbol so many before the last one; up to 5 where any lag may be read."""
    far = language("(a|b)*b" + "(a|b)" * back)
    found = _certificate_within(far, Reach(1, locality))
    assert (found and found.locality) == reads


@pytest.mark.parametrize(("period", "locality", "text"), [
    (2, 0, "residues mod 2"), (1, 1, "the last 2 symbols"), (3, 4, "residues mod 3 and the last 5 symbols"),
])  # fmt: skip
def test_what_a_program_reads_in_words(period: int, locality: int, text: str) -> None:
    assert _reading(Certificate(period, locality)) == f"counts that read {text} distinguish all states"


@pytest.mark.parametrize(("verdicts", "worst", "asked"), [
    (["guaranteed"], 0, 1), (["guaranteed", "guaranteed"], 0, 2), (["guaranteed", "not decided", "guaranteed"], 1, 3),
    (["not decided", "open", "not decided"], 1, 3), (["open", "open"], 0, 2), (["guaranteed", "not expressible", "open"], 1, 2),
    (["not expressible", "not expressible"], 0, 1), (["open", "guaranteed"], 0, 2), (["not decided", "guaranteed"], 0, 2),
])  # fmt: skip
def test_the_worst_of_several_claims(verdicts: list[Any], worst: int, asked: int) -> None:
    """The first of equal ones; after one that is not expressible no other is asked for."""
    taken = []

    def claims() -> Iterator[MapClaim]:
        for place, verdict in enumerate(verdicts):
            taken.append(place)
            yield MapClaim(verdict, "theorem", str(place))

    assert _weakest(claims()).reason == str(worst)
    assert len(taken) == asked


# ---- what is stated of an entry ----------------------------------------------------------------------------------
WITHOUT = MapClaim("not expressible", "t", "without")
READS = MapClaim("guaranteed", "t", "with", period=2, locality=3, note="caveat")
ENTRY = KnownMap(WITHOUT, READS)
HELD = KnownMap(WITHOUT, replace(WITHOUT, reason="with"))


@pytest.mark.parametrize(("entry", "at", "verdict", "reason", "note"), [
    (ENTRY, Positions(), "not expressible", "without", ""),
    (ENTRY, Positions("rotary"), "open", "no theorem is about rotary positions; for absolute ones the verdict is: guaranteed", "with"),
    (ENTRY, Positions("learned"), "open", "the theorem's training has ids random_offset, this one arange",
     "with ids random_offset the verdict is: guaranteed"),
    (ENTRY, Positions("limit", "pose"), "open", "the theorem's training has ids arange or random_offset, this one pose",
     "with ids arange the verdict is: guaranteed"),
    (ENTRY, Positions("learned", "random_offset"), "guaranteed", "with", "caveat"),
    (ENTRY, Positions("limit", "arange", {"period": 4, "locality": 3}), "guaranteed", "with", "caveat"),
    (ENTRY, Positions("limit", "arange", {"period": 3, "locality": 3}), "not decided",
     "the known program needs a period that 2 divides and a locality of 3", ""),
    (ENTRY, Positions("limit", "arange", {"period": 2, "locality": 2}), "not decided",
     "the known program needs a period that 2 divides and a locality of 3", ""),
    (HELD, Positions("learned"), "not expressible", "with", ""), (HELD, Positions("limit", "pose"), "not expressible", "with", ""),
    (HELD, Positions("rotary"), "open", "no theorem is about rotary positions; for absolute ones the verdict is: not expressible", "with"),
])  # fmt: skip
def test_what_is_stated_for_positions(entry: KnownMap, at: Positions, verdict: str, reason: str, note: str) -> None:
    found = claim_at(entry, at)
    assert (found.verdict, found.reason, found.note) == (verdict, reason, note)
    assert not found.derived
    assert found.theorem == ("t" if found in (WITHOUT, READS, HELD.with_positions) else "none")


def test_a_step_from_the_theorem_to_the_positions_is_told_behind_a_caveat() -> None:
    relative = Positions("relative")
    assert relative.reach is not None
    for note in ("caveat", ""):
        claim = replace(READS, period=1, note=note)
        found = claim_at(KnownMap(WITHOUT, claim), relative)
        assert (found.verdict, found.derived) == ("guaranteed", True)
        assert found.note == "; ".join([*([note] if note else []), relative.reach.step])


# ---- programs and languages --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "without", "with_positions", "reads"), [
    ("majority", "guaranteed", "guaranteed", (1, 0)), ("ur", "not decided", "guaranteed", (1, 1)),
    ("aaaa_star", "not decided", "guaranteed", (4, 0)),
])  # fmt: skip
def test_what_a_program_shows(name: str, without: str, with_positions: str, reads: tuple[int, int]) -> None:
    case = ZOO[name]
    found = of_program(Witness(name, case.program, case.fragment))
    assert (found.without.verdict, found.with_positions.verdict) == (without, with_positions)
    claim = found.with_positions
    assert (claim.program, claim.period, claim.locality, claim.theorem, claim.derived) == (
        name,
        *reads,
        GUARANTEE,
        False,
    )
    known = of_program(Witness(name, case.program, case.fragment), WITHOUT)
    assert known.without == (claim if without == "guaranteed" else WITHOUT)


@pytest.mark.parametrize(("expressions", "at", "without", "with_positions", "reads"), [
    ([SOME_B], Positions(), "guaranteed", "guaranteed", (1, 0)), ([PAIR], Positions(), "not expressible", "not expressible", (1, 0)),
    ([SOME_B, PAIR], Positions("limit"), "not expressible", "guaranteed", (1, 1)), ([PAIR], Positions("limit"), "not expressible", "guaranteed", (1, 1)),
    ([PAIR, SOME_B], Positions("limit"), "not expressible", "guaranteed", (1, 1)), (["(b|ab*a)*"], Positions("limit"), "not expressible", "not expressible", (1, 0)),
    ([PAIR, "(b|ab*a)*"], Positions("limit"), "not expressible", "not expressible", (1, 0)),
    (["(aa)*", PAIR, "(aaa)*", SOME_B], Positions("limit"), "not expressible", "guaranteed", (6, 1)),
    (["(aaaaaaa)*"], Positions("limit"), "not expressible", "not decided", (1, 0)),
])  # fmt: skip
def test_what_is_decided_of_the_languages_of_all_answers(
    expressions: list[str], at: Positions, without: str, with_positions: str, reads: tuple[int, int]
) -> None:
    found = of_languages(lambda: [language(one) for one in expressions], at)
    claim = found.with_positions
    assert (found.without.verdict, claim.verdict, claim.period, claim.locality) == (without, with_positions, *reads)
    assert claim.derived == (reads != (1, 0) or (with_positions == "not expressible" and at.name != "none"))


def test_what_reads_no_position_is_told_so() -> None:
    found = of_languages(lambda: [language(SOME_B)], Positions("limit"))
    assert found.with_positions == replace(found.without, reason=f"{found.without.reason}; no position is read")
    blind = of_languages(lambda: [language(SOME_B)], Positions())
    assert blind.with_positions == blind.without == found.without
    halves = of_languages(lambda: [language("(aa)*"), language(SOME_B), language(PAIR)], Positions("limit"))
    assert halves.with_positions.reason == _reading(Certificate(2, 1))


FIRST_IS_EASY = {"regex": "a(a|b)*bb(a|b)*", "ask": "state"}
"""Nothing leads back to the state of the empty word, which a count knows; whether bb has occurred, none does."""


@pytest.mark.parametrize(("locality", "verdict"), [(0, "not decided"), (1, "guaranteed")])
def test_the_programs_of_all_answers_must_be_offered(locality: int, verdict: str) -> None:
    at = Positions("limit", "arange", {"period": 1, "locality": locality})
    assert predict("regular", at, **FIRST_IS_EASY).verdict == verdict


def test_every_answer_has_its_program_where_the_first_reads_least() -> None:
    said = predict("regular", "learned", **FIRST_IS_EASY)
    assert (said.verdict, said.period, said.locality, said.derived) == ("guaranteed", 1, 1, True)
    assert len(said.programs()) == len(said.languages) > 2


def test_confused_words_are_told_and_the_empty_one_is_called_so() -> None:
    parity = of_languages(lambda: [language("(b|ab*a)*")], Positions("limit")).with_positions
    assert parity.derived
    assert parity.reason.startswith("after many repetitions of ")
    assert "no program distinguishes (empty) from a, at any period and locality" in parity.reason
    with pytest.raises(TheoryError, match="did you mean"):
        Positions("lerned")


@pytest.mark.parametrize(("name", "settings", "offered", "lacking"), [
    ("none", {}, [(1, 0)], [(2, 0), (1, 1)]), ("learned", {}, [(7, 9)], []), ("rotary", {}, [], [(1, 0)]),
    ("limit", {"period": 4, "locality": 2}, [(1, 0), (2, 2), (4, 2)], [(3, 0), (8, 0), (1, 3)]), ("limit", {"period": 4}, [(4, 99)], [(3, 0)]),
    ("limit", {"locality": 2}, [(99, 2)], [(1, 3)]), ("relative", {"buckets": 8, "max_distance": 16}, [(1, 0)], [(2, 0), (1, 99)]),
])  # fmt: skip
def test_what_positions_offer(
    name: str, settings: dict[str, int], offered: list[tuple[int, int]], lacking: list[tuple[int, int]]
) -> None:
    at = Positions(name, "arange", settings)
    assert [at.offers(*pair) for pair in offered + lacking] == [True] * len(offered) + [False] * len(lacking)
    assert at.blind == (name == "none")
