"""Small helpers of tasks, branch by branch: places that laws admit, lengths, names, chains, and what is guessed where."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.in_context import chains
from workbench.tasks.sequences import addition
from workbench.tasks.sequences.sequence_task import ids_of_all, numbered_names, symbol_names
from workbench.tasks.text import byte_pairs, corpus
from workbench.tasks.text.byte_text import BYTE_NAMES


# ---- retrieval -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("k", "length", "law", "window", "places"), [
    (1, 3, "matched", 5, (0, 0)), (1, 40, "training", 5, (0, 37)), (2, 40, "matched", None, (0, 35)),
    (1, 40, "challenge", 5, (5, 33)),  # the answer at 34 is the last one that is outside
    (2, 40, "challenge", 5, (5, 32)), (2, 40, "challenge", None, (5, 32)),
    (1, 10, "challenge", 5, (0, 7)),  # up to twice the window there is no outside
    (1, 11, "challenge", 5, (4, 5)), (1, 13, "challenge", 5, (4, 7)), (1, 12, "challenge", 5, (4, 6)),
    (3, 11, "challenge", 5, (3, 4)), (4, 11, "challenge", 5, (2, 2)), (5, 11, "challenge", 5, (0, 0)),
    (3, 12, "challenge", 5, (4, 4)), (3, 13, "challenge", 5, (4, 5)), (1, 7, "challenge", 1, (1, 4)),
])  # fmt: skip
def test_where_the_copy_of_a_key_may_begin(
    k: int, length: int, law: Any, window: int | None, places: tuple[int, int]
) -> None:
    assert make_task("kgram_retrieval", k=k)._copy_starts(length, law, window) == places


@pytest.mark.parametrize(("name", "places"), [
    ("ul", (1, 9)), ("ur", (0, 8)), ("nl_first", (1, 8)), ("nr_first", (0, 7)), ("nl_last", (2, 9)), ("nr_last", (1, 8)),
])  # fmt: skip
def test_where_an_occurrence_may_be(name: str, places: tuple[int, int]) -> None:
    task = make_task(name)
    assert task._key_places(10) == places
    assert [task.admissible(n) for n in (3, 4, 5)] == [False, len(name) == 2, True]


def test_a_first_window_that_sees_all_but_the_separator_knows_the_answer() -> None:
    task = make_task("ur", symbols=3)
    batch = task.label(torch.tensor([[2, 3, 3, 1, 2, 4, 1]]))
    assert [task.shortcuts(batch, window)["first_window"].tolist() for window in (4, 5, 6)] == [
        [pytest.approx(1 / 3)], [1.0], [1.0],
    ]  # fmt: skip
    assert "first_window" not in task.shortcuts(batch, 7)


@pytest.mark.parametrize(("name", "symbols", "length", "chance"), [
    ("k_hop", 4, 1, 1.0), ("k_hop", 4, 2, 0.75), ("k_hop", 4, 3, 0.75), ("ur", 4, 9, 0.25),
])  # fmt: skip
def test_chance_of_short_strings(name: str, symbols: int, length: int, chance: float) -> None:
    assert make_task(name, symbols=symbols).chance("matched", length) == pytest.approx(chance)


def test_keys_that_must_occur_again_are_given_up() -> None:
    """Two symbols, the key one of them: between the copy and the key there may be the other one alone."""
    task = make_task("kgram_retrieval", k=1, symbols=2)
    batch = task.sample(50, 9, torch.Generator().manual_seed(0), "matched")
    assert ((batch.tokens[:, 1:] == batch.tokens[:, -1:]).sum(1) == 2).all()
    assert batch.mask[:, -1].all()


# ---- sequences -----------------------------------------------------------------------------------
def test_names_of_symbols() -> None:
    assert symbol_names(26)[-1] == "z"
    assert symbol_names(27)[:2] == ("s0", "s1")
    assert len(symbol_names(27)) == 27
    assert numbered_names("p", 3) == ("p0", "p1", "p2")
    assert numbered_names("p", 0) == ()


@pytest.mark.parametrize(("ids", "shown"), [
    ([0, 1, 2], [0, 1, 2, 0]), ([0, 1, 2, 3], [0, 1, 2, 3]), ([0, 1, 2, 3, 4], [0, 1, 2, 3]),
])  # fmt: skip
def test_as_many_ids_as_tokens(ids: list[int], shown: list[int]) -> None:
    assert ids_of_all(ids, torch.ones(2, 3, dtype=torch.long)).tolist() == [shown] * 2


@pytest.mark.parametrize(("name", "fields", "inputs"), [
    ("uf", {"symbols": 3}, {1: None, 2: None, 3: 1, 4: None, 5: 2, 7: 3, 9: None}),
    ("nf", {}, {1: None, 3: 1, 4: None, 101: 50}),
    ("duplicate_string", {}, {1: None, 4: 1, 5: None, 6: None, 7: 2}),
    ("uf", {"symbols": 5, "stride": 2}, {3: 1, 4: 2, 5: None, 6: 3, 7: 4, 9: 5, 10: None}),
    ("addition", {}, {5: None, 6: None, 8: None, 9: 5, 10: None, 12: 7}),
    ("parity_scratchpad", {"jump": 2}, {1: None, 3: None, 4: 2, 5: None, 7: 4}),
    ("variable_assignment", {"depth": 1, "variables": 4}, {9: 5, 10: None, 12: 8, 15: None, 6: None}),
    ("variable_assignment", {"depth": 2, "variables": 6}, {15: 8, 21: 14, 18: None, 27: None}),
])  # fmt: skip
def test_how_long_the_input_is(name: str, fields: dict[str, Any], inputs: dict[int, int | None]) -> None:
    task = make_task(name, **fields)
    assert {length: task.input_length(length) for length in inputs} == inputs
    assert {length: task.prompt_of(length) for length in inputs} == {
        length: None if n is None else n + 2 for length, n in inputs.items()
    }
    assert [task.admissible(length) for length in inputs] == [n is not None for n in inputs.values()]
    assert not task.admissible(0)


@pytest.mark.parametrize(("name", "fields", "longest"), [
    ("uf", {"symbols": 3}, 7), ("sort", {"symbols": 4}, 9), ("uf", {"symbols": 5, "stride": 2}, 9),
    ("variable_assignment", {"depth": 2, "variables": 6}, 21), ("variable_assignment", {"depth": 2, "variables": 8}, 21),
    ("variable_assignment", {"depth": 1, "variables": 4, "scratchpad": False}, 10),
])  # fmt: skip
def test_the_longest_sequence_is_the_last_one(name: str, fields: dict[str, Any], longest: int) -> None:
    task = make_task(name, **fields)
    assert task.next_length(longest) == task.next_length(longest - 0.5) == longest
    with pytest.raises(TaskError, match=f"{longest}"):
        task.next_length(longest + 0.5)


@pytest.mark.parametrize(("window", "seen"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (8, 3)])
def test_the_longest_input_of_training(window: int, seen: int) -> None:
    assert make_task("nf")._longest_input(window) == seen


def test_windows_are_told_where_something_is_hidden_and_something_seen() -> None:
    task = make_task("nf", symbols=2)
    batch = task.label(torch.tensor([[1, 2, 2, 3, 1, 2, 2]]))
    told = {
        window: sorted(set(task.shortcuts(batch, window)) - {"position_only", "last_token"}) for window in (2, 3, 6, 7)
    }
    both = ["first_window", "last_window"]
    assert told == {2: [], 3: both, 6: both, 7: []}


@pytest.mark.parametrize("tokens", [2, 4, 6, 7])
def test_assignments_come_in_threes(tokens: int) -> None:
    task = make_task("variable_assignment", depth=1, variables=3)
    with pytest.raises(TaskError, match="assignments"):
        task._walk(torch.ones(1, tokens, dtype=torch.long))
    places, variables = task._walk(torch.tensor([[2, 5, 2, 4, 3]]))
    assert (places.tolist(), variables.tolist()) == ([[2]], [[2, 3]])


@pytest.mark.parametrize(("total", "window", "inner"), [
    (8, 8, range(2, 6)), (8, 11, range(3, 5)), (8, 9, range(3, 6)), (6, 12, range(6)), (6, 8, range(2, 4)),
])  # fmt: skip
def test_places_of_the_chain_asked_about(total: int, window: int, inner: range) -> None:
    """Assignments whose three tokens are outside both windows, where twice as many as the chain has fit there."""
    task = make_task("variable_assignment", depth=1, variables=99)
    found = task._places(400, total, torch.Generator().manual_seed(0), "challenge", window)
    assert sorted({int(place) for place in found[:, 0, 0]}) == list(inner)
    anywhere = task._places(400, total, torch.Generator().manual_seed(0), "matched", window)
    assert sorted({int(place) for place in anywhere[:, 0, 0]}) == list(range(total))
    assert (found.flatten(1).sort(1).values == torch.arange(total)).all()


@pytest.mark.parametrize(("pairs", "window", "k", "places"), [
    (10, 4, 2, (2, 7)), (10, 5, 2, (3, 7)), (10, 6, 2, (3, 6)), (10, 7, 2, (0, 9)), (10, 7, 1, (4, 6)), (9, 5, 1, (3, 6)),
])  # fmt: skip
def test_places_of_small_numbers(pairs: int, window: int, k: int, places: tuple[int, int]) -> None:
    """Pairs whose two tokens are outside both windows, where twice as many as may be small fit there."""
    task = make_task("sparse_parity", k=k)
    batch = task.sample(400, 2 * pairs + 1, torch.Generator().manual_seed(0), "challenge", window)
    found = (batch.meta["planted"][batch.meta["planted"] > 0] - 1) // 2
    assert (int(found.min()), int(found.max())) == places


@pytest.mark.parametrize(("fields", "most"), [
    ({"k": 3}, {1: 3, 50: 3}),
    ({"k": 6, "k_at": 24}, {1: 1, 7: 1, 8: 2, 23: 5, 24: 6, 48: 12}),
    ({"k": 6, "k_at": 24, "least": 2}, {1: 2, 12: 3, 8: 2}),
])  # fmt: skip
def test_how_many_numbers_may_be_small(fields: dict[str, int], most: dict[int, int]) -> None:
    task = make_task("sparse_parity", **fields)
    assert {length: task.largest_count(length) for length in most} == most


def test_a_string_of_small_numbers_has_a_large_one_too() -> None:
    task = make_task("sparse_parity", k=3)
    assert [n for n in range(1, 12) if task.admissible(n)] == [9, 11]


@pytest.mark.parametrize(
    ("modulus", "k", "chance"), [(3, 1, 0.5), (3, 2, 0.5), (5, 1, 0.25), (5, 2, 0.25), (4, 3, 7 / 27)]
)
def test_the_likeliest_planted_sum(modulus: int, k: int, chance: float) -> None:
    assert make_task("planted", modulus=modulus, k=k).chance("matched", 9) == pytest.approx(chance)


@pytest.mark.parametrize("rows", [
    [[3, 2, 2]], [[2, 2, 3]], [[2, 3, 3, 2]], [[2, 2, 2]], [[2, 3, 2, 2], [2, 2, 3, 2]], [[2, 3, 2], [2, 2, 2]],
])  # fmt: skip
def test_what_is_no_sum(rows: list[list[int]]) -> None:
    with pytest.raises(TaskError, match=r"'\+'"):
        make_task("addition")._split(torch.tensor(rows))


@pytest.mark.parametrize(("first", "second", "total"), [
    ("1", "1", "10"), ("1", "0", "1"), ("0", "0", "0"), ("11", "1", "100"), ("1", "11", "100"), ("101", "10", "111"),
    ("01", "1", None), ("1", "00", None),
])  # fmt: skip
def test_sums(first: str, second: str, total: str | None) -> None:
    x = torch.tensor([["01+".index(sign) + 1 for sign in f"{first}+{second}"]])
    if total is None:
        with pytest.raises(TaskError, match="zeros"):
            make_task("addition")._outputs(x)
    else:
        assert (make_task("addition")._outputs(x) - 1).tolist() == [[int(sign) for sign in total]]


@pytest.mark.parametrize(
    ("reach", "total"), [(None, "10000"), (4, "10000"), (3, "00000"), (2, "01000"), (1, "01100"), (0, "01110")]
)
def test_carries_within_reach(reach: int | None, total: str) -> None:
    """1111 + 0001: the carry of the lowest digits comes four digits far, into the one in front."""
    a, b = torch.tensor([[1, 1, 1, 1]]), torch.tensor([[1]])
    assert addition._sum(a, b, reach).tolist() == [[int(sign) for sign in total]]


# ---- in context ----------------------------------------------------------------------------------
def test_codes_of_symbols_in_a_row() -> None:
    string = torch.tensor([[0, 2, 1, 1]])
    assert [chains.codes_of(string, k, 3).tolist() for k in (1, 2, 3, 4, 5)] == [
        [[0, 2, 1, 1]], [[2, 7, 4]], [[7, 22]], [[22]], [[]],
    ]  # fmt: skip


@pytest.mark.parametrize(("k", "key", "counts"), [
    (1, 0, [0, 3]), (1, 1, [2, 1]), (2, 1, [1, 1]), (2, 3, [1, 0]), (5, 11, [1, 0]), (6, 23, [0, 0]), (7, 0, [0, 0]),
])  # fmt: skip
def test_what_followed_a_key(k: int, key: int, counts: list[int]) -> None:
    """After ``0 1 0 1 1 0 1``; a key of as many symbols as there are is followed by none."""
    string = torch.tensor([[0, 1, 0, 1, 1, 0, 1]])[:, : 6 if k > 2 else 7]
    assert chains.followers_of(string, torch.tensor([[key]]), k, 2).tolist() == [[float(count) for count in counts]]


def test_what_followed_the_last_symbols_so_far() -> None:
    string = torch.tensor([[0, 1, 0, 1, 1, 0]])
    assert chains.follower_counts(string, 1, 2)[0].tolist() == [[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [0, 2]]
    assert chains.follower_counts(string, 2, 2)[0].tolist() == [[0, 0], [0, 0], [0, 0], [1, 0], [0, 0], [0, 1]]
    assert chains.follower_counts(string[:, :1], 2, 2).tolist() == [[[0, 0]]]


def test_transitions_so_far() -> None:
    """How often 00, 01, 10 and 11 occurred, and the last symbol, counted from 1."""
    found = chains.transition_counts(torch.tensor([[0, 1, 1, 0]]), 1, 2)
    assert found is not None
    assert found[0].tolist() == [[0, 0, 0, 0, 1], [0, 1, 0, 0, 2], [0, 1, 0, 1, 2], [0, 1, 1, 1, 1]]
    two = chains.transition_counts(torch.tensor([[0, 1, 1, 0]]), 2, 2)
    assert two is not None
    assert two[0, :, -1].tolist() == [1, 5, 8, 7]
    assert two[0, :, :-1].nonzero().tolist() == [[2, 3], [3, 3], [3, 6]]


def test_chains_avoid_a_symbol_at_their_ends() -> None:
    """Six symbols of twelve: two at each end never are the one to be avoided, and those between may be."""
    shares = torch.tensor([[[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]], dtype=torch.float64).repeat(200, 1, 1)
    start = torch.zeros(400, 1, dtype=torch.long)
    plain = chains.draw_chain(shares, start, 6, torch.Generator().manual_seed(0))
    assert (plain[::2] == torch.tensor([0, 1, 0, 1, 0, 1])).all()
    shares[::2] = 0.5
    found = chains.draw_chain(
        shares, start, 6, torch.Generator().manual_seed(0), avoid=torch.ones(400, dtype=torch.long), ends=2
    )
    assert [bool((found[:, place] == 1).any()) for place in range(6)] == [False, False, True, True, False, False]
    short = chains.draw_chain(shares, start.expand(-1, 3), 2, torch.Generator().manual_seed(0))
    assert short.tolist() == [[0, 0]] * 400


@pytest.mark.parametrize(("dimension", "lengths"), [(1, [3, 5, 7, 9]), (2, [5, 8]), (4, [9])])
def test_pairs_and_an_x(dimension: int, lengths: list[int]) -> None:
    task = make_task("linear_regression", dimension=dimension)
    assert [n for n in range(10) if task.admissible(n)] == lengths


@pytest.mark.parametrize(
    ("p", "k", "sizes"), [(3, 1, [0, 1, 1, 1, 2]), (3, 0, [0, 0, 0, 1, 1]), (1, 0, [0, 1, 2, 3, 4])]
)
def test_how_many_places_are_of_a_class(p: int, k: int, sizes: list[int]) -> None:
    task = make_task("mod_p_mean", p=p, k=k)
    assert [task._class_size(n) for n in range(5)] == sizes
    assert [task.admissible(n) for n in range(5)] == [size > 0 for size in sizes]
    with pytest.raises(TaskError, match="length 0"):
        task.chance("matched", 0)


@pytest.mark.parametrize(("size", "tolerance", "chance"), [
    (4, 0.12, 1 / 5), (4, 0.125, 2 / 5), (4, 0.25, 3 / 5), (4, 0.49, 4 / 5), (1, 0.49, 1 / 2), (10, 0.1, 3 / 11),
])  # fmt: skip
def test_how_many_shares_one_constant_reaches(size: int, tolerance: float, chance: float) -> None:
    task = make_task("mod_p_mean", p=1, k=0, tolerance=tolerance)
    assert task.chance("matched", size) == pytest.approx(chance)


# ---- text ----------------------------------------------------------------------------------------
def test_names_of_bytes() -> None:
    shown = {32: "␣", 33: "!", 126: "~", 127: "x7f", 10: "⏎", 9: "⇥", 31: "x1f", 255: "xff", 65: "A"}
    assert {byte: BYTE_NAMES[byte] for byte in shown} == shown


def test_constants_of_text() -> None:
    """Another one would make runs on disk runs of another text."""
    assert (corpus.TRAINING_CAP, corpus.HELD_OUT_CAP, corpus.ENTRIES) == (8_388_608, 2_097_152, 1_000_000)
    assert (corpus.CONTEXT_BYTES, corpus.ENOUGH) == (8, 256)
    assert (byte_pairs.LEARNT_FROM, byte_pairs.PIECE) == (4_194_304, 65_536)


def test_tokens_of_files_end_with_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two texts, one of which is encoded in pieces; names of what no pair was learnt for are counted from theirs on."""
    texts = [b"ab ab\tab\n" * 3, b"xy"], [b"abab"]
    asked = []

    def split(*given: Any) -> Any:
        asked.append(given)
        return texts

    monkeypatch.setattr(byte_pairs, "split_texts", split)
    monkeypatch.setattr(byte_pairs, "PIECE", 10)
    made = byte_pairs.byte_pairs.__wrapped__("folder", 0.5, 300, 3 << 20)
    assert asked == [("folder", 0.5, 3 << 20, 2 << 20)]
    assert len(made.names) == len(set(made.names)) == 300
    assert made.names[-1] == "<end>"
    first = next(i for i, name in enumerate(made.names) if name.startswith("<unused"))
    assert first > 256
    assert made.names[first:-1] == tuple(f"<unused{i}>" for i in range(first, 299))
    assert "ab" in made.names
    assert not {"\u0120", "\u010a", "\u0109"} & set("".join(made.names[:first]))
    for side, given in zip((made.corpus.training, made.corpus.held_out), texts, strict=True):
        assert int((side == 299).sum()) == len(given)
        assert int(side[-1]) == 299
    written = "".join(made.names[int(token)] for token in made.corpus.training)
    assert written == "ab␣ab⇥ab⏎" * 3 + "<end>xy<end>"
    assert int(made.corpus.likeliest_after[299, 298]) == 299
    made = byte_pairs.byte_pairs.__wrapped__("folder", 0.5, 300, 1 << 20)
    assert asked[-1] == ("folder", 0.5, 1 << 20, 1 << 20)


@pytest.mark.parametrize("backward", [0.0, 1.0])
def test_a_challenge_of_text_shows_three_symbols_of_a_copy(backward: float) -> None:
    """From seven symbols on; shorter strings are plain text, all of which is asked."""
    task = make_task("copied_text", symbols=256, backward=backward)
    for length in (6, 7, 8, 30):
        batch = task.sample(200, length, torch.Generator().manual_seed(length), "challenge", 4)
        assert int(batch.mask.sum(1).max()) == (length if length < 7 else 1)
        if length < 7:
            continue
        hits = torch.zeros(200, dtype=torch.long)
        for row, (tokens, answer) in enumerate(
            zip(batch.tokens[:, 1:].tolist(), batch.targets[:, -1].tolist(), strict=True)
        ):
            span = [*tokens[-3:], answer + 1][:: -1 if backward else 1]
            starts = [i for i in range(length - 6) if tokens[i : i + 4] == span]
            assert starts
            hits[row] = starts[0]
        if length == 30:
            assert (int(hits.min()), int(hits.max())) == (4, 22)


def test_shares_of_repeated_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    """From sixteen tokens on, in training alone; periods are from 8 to half of the string."""
    text = corpus.Corpus(torch.arange(600).short().numpy(), torch.arange(600).short().numpy(), symbols=600, otherwise=0)
    cls = type(make_task("next_token", folder="generated"))
    monkeypatch.setattr(cls, "corpus", property(lambda self: text))
    made = lambda **fields: make_task("next_token", folder="generated", tokens=600, **fields)  # noqa: E731
    draw = lambda task, length, law="training": task.draw_strings(  # noqa: E731
        80, length, torch.Generator().manual_seed(0), law, None
    )

    def periods(strings: torch.Tensor, following: torch.Tensor) -> list[int]:
        whole = torch.cat([strings - 1, following[:, None]], 1)
        return [
            next((p for p in range(1, 40) if p < whole.shape[1] and (row[p:] == row[:-p]).all()), 0) for row in whole
        ]

    for fields, consecutive in (({"repeated_passages": 1.0}, True), ({"repeated_tokens": 1.0}, False)):
        strings, meta = draw(made(**fields), 40)
        found = periods(strings, meta["next_token"])
        assert (min(found), max(found)) == (8, 20)
        steps = (strings[:, 1:8] - strings[:, :7]) % 600 == 1
        assert bool(steps.all()) == consecutive
        assert {*periods(*_pair(draw(made(**fields), 15)))} == {0}
        assert {*periods(*_pair(draw(made(**fields), 16)))} == {8}
        assert {*periods(*_pair(draw(made(**fields), 40, "matched")))} == {0}
    strings, meta = draw(made(repeated_passages=0.25, repeated_tokens=0.25), 40)
    share = sum(period > 0 for period in periods(strings, meta["next_token"])) / 80
    assert math.isclose(share, 0.5, abs_tol=0.1)


def _pair(drawn: Any) -> tuple[torch.Tensor, torch.Tensor]:
    strings, meta = drawn
    return strings, meta["next_token"]
