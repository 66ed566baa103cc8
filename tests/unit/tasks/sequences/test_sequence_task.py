"""Input-to-output tasks: every input up to a stated length, drawn sequences, and position ids."""

from __future__ import annotations

from functools import reduce
from itertools import permutations, product

import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.sequences.sequence_task import EOS, _learnt_elsewhere


def strings_over(letters, lengths):
    return [list(x) for n in lengths for x in product(letters, repeat=n)]


def arrangements(letters, lengths):
    return [list(x) for n in lengths for x in permutations(letters, n)]


def sums(digits):
    """All ``a+b`` with up to so many digits each, without leading zeros."""
    numbers = [format(n, "b") for n in range(2**digits)]
    return [[*a, "+", *b] for a in numbers for b in numbers]


def assignments():
    """All inputs of depth 2 with one chain (every choice of variables) or two (every interleaving)."""
    found = []
    for a, b, c in permutations(["v0", "v1", "v2", "v3", "v4", "v5"], 3):
        found.append([a, "<start>", a, "<-", b, b, "<-", c])
    for order in set(permutations([0, 0, 1, 1])):
        for names in permutations(["v0", "v1", "v2", "v3", "v4", "v5"], 6):
            chains = [[(names[0], names[1]), (names[1], names[2])], [(names[3], names[4]), (names[4], names[5])]]
            body = [chains[chain].pop(0) for chain in order]
            found.append([names[0], "<start>", *(token for left, right in body for token in (left, "<-", right))])
    return found


def chained(x):
    """The chain asked about, by following edges of a graph."""
    edges = dict(zip(x[2::3], x[4::3], strict=True))
    nodes = [x[0], edges[x[0]], edges[edges[x[0]]]]
    return [nodes[0], "<-", nodes[1], nodes[1], "<-", nodes[2]]


# (task, parameters, every input, the answer written in another way than the task's own oracle)
CASES = [
    ("uf", {"symbols": 5}, arrangements("abcde", range(1, 6)), lambda x: x[:]),
    ("ub", {"symbols": 5}, arrangements("abcde", range(1, 6)), lambda x: x[::-1]),
    ("nf", {"symbols": 3}, strings_over("abc", range(1, 7)), lambda x: x[:]),
    ("nb", {"symbols": 3}, strings_over("abc", range(1, 7)), lambda x: x[::-1]),
    ("reverse", {}, strings_over("ab", range(1, 10)), lambda x: x[::-1]),
    ("duplicate_string", {}, strings_over("ab", range(1, 10)), lambda x: x * 2),
    ("odds_first", {}, strings_over("ab", range(1, 10)), lambda x: x[::2] + x[1::2]),
    ("sort", {"symbols": 6}, arrangements("abcdef", range(1, 7)), sorted),
    ("addition", {}, sums(5), lambda x: list(bin(sum(int(n, 2) for n in "".join(x).split("+")))[2:])),
    *(
        (
            "parity_scratchpad",
            {"jump": k},
            strings_over("01", range(k, 10)),
            lambda x, k=k: [str(reduce(int.__xor__, map(int, x[: i * k]))) for i in range(1, len(x) // k + 1)],
        )
        for k in (1, 2, 3, 4)
    ),
    ("variable_assignment", {"depth": 2, "variables": 6}, assignments(), chained),
    (
        "variable_assignment",
        {"depth": 2, "variables": 6, "scratchpad": False},
        assignments(),
        lambda x: chained(x)[-1:],
    ),
]
NAMES = list(dict.fromkeys(name for name, *_ in CASES))


@pytest.mark.parametrize(("name", "parameters", "inputs", "answer"), CASES, ids=[f"{c[0]}-{len(c[2])}" for c in CASES])
def test_labels_and_oracle_agree_on_every_input(name, parameters, inputs, answer):
    task = make_task(name, **parameters)
    token = {n: i for i, n in enumerate(task.tokens_names)}
    layouts = {}
    for x in inputs:
        y = answer(x)
        layout = (x.index("+") if "+" in x else 0, len(x), len(y))  # one batch, one layout
        layouts.setdefault(layout, []).append([*x, task.separator, *y])
    for (_, given, asked), sequences in layouts.items():
        batch = task.label(torch.tensor([[token[n] for n in s] for s in sequences]))
        assert batch.prompt == given + 2
        assert torch.equal(batch.mask[0], torch.arange(given + asked + 2) > given)
        assert (batch.mask == batch.mask[0]).all()
        found = batch.targets[:, given + 1 :].tolist()
        for sequence, row in zip(sequences, found, strict=True):
            assert [task.output_names[c] for c in row] == [*sequence[given + 1 :], EOS]
            assert task.reference([token[n] for n in sequence]) == [None] * given + row
    assert sum(map(len, layouts.values())) == len(inputs)


@pytest.mark.parametrize("law", ["training", "matched", "challenge"])
@pytest.mark.parametrize("name", NAMES)
def test_drawn_sequences_show_the_answers_they_ask_for(name, law, seeded):
    task = make_task(name)
    for near in (3, 20, 150):
        batch = task.sample(12, task.next_length(near), seeded(near), law, window=40)
        assert batch.tokens.shape == (12, batch.length + 1)
        assert torch.equal(batch.mask[0], torch.arange(batch.length + 1) >= batch.prompt - 1)
        assert (batch.mask == batch.mask[0]).all()
        shown = torch.tensor(task.answer_tokens)[batch.targets[:, batch.prompt - 1 : -1]]
        assert torch.equal(shown, batch.tokens[:, batch.prompt :])
        assert (batch.targets[:, -1] == task.d_vocab_out - 1).all()
        summary = batch.targets.where(batch.mask, task.d_vocab_out)
        assert torch.equal(batch.output_summary[:, 1:], summary[:, 1:])
        for tokens, target in zip(batch.tokens[:, 1:].tolist(), batch.targets[:, 1:].tolist(), strict=True):
            assert task.reference(tokens) == [None] * (batch.prompt - 2) + target[batch.prompt - 2 :]


@pytest.mark.parametrize("name", NAMES)
def test_answers_come_from_the_input_and_not_from_what_is_shown(name, seeded):
    """A model that feeds on its own mistakes is still asked for the right answers."""
    task = make_task(name)
    batch = task.sample(6, task.next_length(40), seeded(1))
    spoilt = batch.tokens[:, 1:].clone()
    spoilt[:, batch.prompt - 1 :] = 1
    again = task.label(spoilt)
    assert torch.equal(again.targets, batch.targets)
    assert again.prompt == batch.prompt
    assert [task.reference(row) for row in spoilt.tolist()] == [
        task.reference(row) for row in batch.tokens[:, 1:].tolist()
    ]


def test_one_wrong_token_spoils_the_whole_answer(seeded):
    task = make_task("nf")
    batch = task.sample(3, 21, seeded(2))
    right = torch.ones_like(batch.mask)
    right[0, batch.prompt - 1] = False  # the first answer
    right[1, 3] = False  # a place where nothing is asked
    assert task.sequence_correct(right, batch).tolist() == [False, True, True]


def test_an_answer_is_asked_as_far_as_the_sequence_goes():
    task = make_task("uf", symbols=4)
    batch = task.label(torch.tensor([[3, 1, 4, 5, 3]]))
    assert batch.mask.tolist() == [[False, False, False, False, True, True]]
    assert batch.targets[batch.mask].tolist() == [2, 0]
    assert task.reference([3, 1, 4, 5, 3]) == [None, None, None, 2, 0]
    assert batch.output_summary.tolist() == [[0, 5, 5, 5, 2, 0]]


def test_admissible_lengths():
    assert make_task("uf", symbols=4).lengths(1, 99) == [3, 5, 7, 9]
    assert make_task("duplicate_string").lengths(1, 14) == [4, 7, 10, 13]
    assert make_task("addition").lengths(1, 20) == [9, 12, 15, 18]
    assert make_task("parity_scratchpad", jump=3).lengths(1, 20) == [5, 9, 13, 17]
    assert make_task("variable_assignment", depth=2, variables=7).lengths(1, 99) == [15, 21]
    assert make_task("parity_scratchpad").prompt_of(9) == 6
    assert make_task("parity_scratchpad").prompt_of(8) is None


@pytest.mark.parametrize(
    ("name", "parameters", "length", "sentence"),
    [
        ("uf", {"symbols": 4}, 9.5, "9 tokens"),
        ("variable_assignment", {"variables": 7}, 30, "21 tokens"),
    ],
)
def test_a_vocabulary_that_is_too_small_is_named(name, parameters, length, sentence):
    with pytest.raises(TaskError, match=sentence):
        make_task(name, **parameters).next_length(length)


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("uf", {"symbols": 1}, "uf: symbols must be an integer at least 2 and at most 4096, not 1"),
        (
            "parity_scratchpad",
            {"jump": 5},
            "parity_scratchpad: jump must be an integer at least 1 and at most 4, not 5",
        ),
        (
            "variable_assignment",
            {"depth": 3, "variables": 3},
            "variable_assignment: variables must be at least depth + 1 = 4, because the variables of a chain differ, not 3",
        ),
    ],
)
def test_impossible_parameters_are_refused_when_the_task_is_made(name, parameters, sentence):
    with pytest.raises(TaskError) as caught:
        make_task(name, **parameters)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("name", "names", "sentence"),
    [
        ("nf", ["a b"], "'<sep>'"),
        ("nf", ["a <sep> <sep>"], "'<sep>'"),
        ("nf", ["a <sep> a a", "a a <sep> a"], "'<sep>'"),
        ("addition", ["1 1 = 1"], "addition"),
        ("addition", ["0 1 + 1 = 1"], "addition"),
        ("addition", ["1 0 + 1 =", "1 1 + 1 ="], "addition"),
        ("variable_assignment", ["v0 <start> v1 <- v2 <sep>"], "variable_assignment"),
        (
            "variable_assignment",
            ["v0 <start> v0 <- <sep>"],
            "assignments",
        ),
    ],
)
def test_what_cannot_be_labelled_is_said(name, names, sentence):
    task = make_task(name)
    tokens = [[task.tokens_names.index(n) for n in row.split()] for row in names]
    with pytest.raises(TaskError, match=sentence):
        task.label(torch.tensor(tokens))


# ---- position ids ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("jump", "bits", "ids"),
    [
        (1, "1011", [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]),
        (2, "101101", [0, 1, 1, 2, 2, 3, 3, 0, 1, 2, 3]),
        (3, "101101", [0, 1, 1, 1, 2, 2, 2, 0, 1, 2]),
        (4, "10110100", [0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 1, 2]),
        (2, "101", [0, 1, 1, 2, 0, 1]),
    ],
)
def test_scratchpad_parities_share_the_id_of_the_bits_they_add(jump, bits, ids):
    task = make_task("parity_scratchpad", jump=jump)
    parities = [str(bits[:end].count("1") % 2) for end in range(jump, len(bits) + 1, jump)]
    tokens = [task.tokens_names.index(n) for n in [*bits, "<sep>", *parities]]
    assert task.label(torch.tensor([tokens, tokens])).position_ids.tolist() == [ids, ids]


def test_assignments_on_the_scratchpad_have_the_ids_of_their_copies():
    """The worked example of depth 2 with two chains interleaved 2, 1, 1, 2, and the same chains in the order 1, 2, 2, 1."""
    task = make_task("variable_assignment", depth=2, variables=6)

    def ids(names):
        return task.label(torch.tensor([[task.tokens_names.index(n) for n in names.split()]])).position_ids.tolist()

    answer = "<sep> v0 <- v1 v1 <- v2"
    assert ids(f"v0 <start> v3 <- v4 v0 <- v1 v1 <- v2 v4 <- v5 {answer}") == [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 6, 7, 8, 9, 10, 11]
    ]
    assert ids(f"v0 <start> v0 <- v1 v3 <- v4 v4 <- v5 v1 <- v2 {answer}") == [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 3, 4, 5, 12, 13, 14]
    ]


@pytest.mark.parametrize("name", ["parity_scratchpad", "variable_assignment"])
def test_every_drawn_sequence_has_an_id_for_each_token(name, seeded):
    task = make_task(name)
    batch = task.sample(5, task.next_length(60), seeded(3), "matched")
    ids = batch.position_ids
    assert ids.shape == batch.tokens.shape
    assert (ids[:, 0] == 0).all()
    assert (ids[:, batch.prompt - 1] == 0).all()
    for row in range(5):  # an answer token stands in the input at the same id (the parity: its bits do)
        given = ids[row, : batch.prompt - 1].tolist()
        for i in range(batch.prompt, batch.length + 1):
            place = given.index(ids[row, i])
            if name == "variable_assignment":
                assert batch.tokens[row, place] == batch.tokens[row, i]
    assert torch.equal(batch.rows(1, 3).position_ids, ids[1:3])


@pytest.mark.parametrize(
    ("name", "names", "ids"),
    [
        ("reverse", "a b b a <sep> a b b a", [0, 1, 2, 3, 4, 0, 4, 3, 2, 1]),
        ("ub", "a b c <sep> c b a", [0, 1, 2, 3, 0, 3, 2, 1]),
        ("uf", "a b c <sep> a b c", [0, 1, 2, 3, 0, 1, 2, 3]),
        ("nf", "a a b <sep> a", [0, 1, 2, 3, 0, 1]),
        ("duplicate_string", "a b <sep> a b a b", [0, 1, 2, 0, 1, 2, 1, 2]),
        ("odds_first", "a b a a b <sep> a a b b a", [0, 1, 2, 3, 4, 5, 0, 1, 3, 5, 2, 4]),
        ("addition", "1 1 0 + 1 1 = 1 0 0 1", [0, 3, 2, 1, 0, 2, 1, 0, 4, 3, 2, 1]),
        ("addition", "1 0 + 1 =", [0, 2, 1, 0, 1, 0]),
    ],
)
def test_copies_share_the_id_of_what_they_copy_and_digits_of_one_significance_share_one(name, names, ids):
    task = make_task(name, **({"symbols": 5} if name in ("uf", "ub") else {}))
    tokens = [task.tokens_names.index(n) for n in names.split()]
    assert task.label(torch.tensor([tokens, tokens])).position_ids.tolist() == [ids, ids]


@pytest.mark.parametrize("law", ["training", "matched", "challenge"])
@pytest.mark.parametrize("name", ["reverse", "uf", "addition"])
def test_coupled_ids_hold_in_every_law(name, law, seeded):
    task = make_task(name)
    batch = task.sample(4, task.next_length(12), seeded(1), law)
    answers = batch.tokens[:, batch.prompt :]
    ids = batch.position_ids
    assert ids.shape == batch.tokens.shape
    if name == "addition":  # the digits that an id names add up to the sum
        values = torch.where(ids > 0, (batch.tokens - 1) << (ids - 1).clamp(min=0), 0)
        assert torch.equal(values[:, : batch.prompt].sum(1), values[:, batch.prompt :].sum(1))
    else:
        assert torch.equal(batch.tokens.gather(1, ids[:, batch.prompt :]), answers)


def test_sorting_couples_no_ids(seeded):
    assert make_task("sort").sample(2, 9, seeded(0)).position_ids is None


def test_an_assignment_without_a_scratchpad_asks_for_the_last_variable_at_once(seeded):
    task = make_task("variable_assignment", depth=3, variables=8, scratchpad=False)
    batch = task.sample(6, task.next_length(20), seeded(2), "challenge", 12)
    assert batch.length - batch.prompt == 0
    assert torch.equal(batch.tokens.gather(1, batch.position_ids[:, -1:]), batch.tokens[:, -1:])
    assert task.chance("matched", batch.length) == 1 / 8
    assert task.lengths(1, 99) == [13, 22]


def test_the_scratchpad_is_written_into_settings_only_where_there_is_none():
    """Settings stored before there was the option, and ids of runs made from them, stay what they were."""
    assert make_task("variable_assignment").parameters == {"depth": 2, "variables": 256}
    assert make_task("variable_assignment", scratchpad=False).parameters["scratchpad"] is False


# ---- shortcut oracles ------------------------------------------------------------------------------
def test_whole_answers_are_not_learnt_by_heart(seeded):
    """Each of 512 answers is seen once: an oracle fitted on the batch itself would know them all."""
    task = make_task("uf")
    found = task.shortcuts(task.sample(512, 21, seeded(4), "matched"), 100)
    assert set(found) == {"position_only", "last_token"}
    assert found["position_only"].sum() == found["last_token"].sum() == 0


def test_the_best_constant_is_found_where_there_is_one():
    """Under a constant input every oracle but the windows answers right, and a single sequence teaches nothing."""
    task = make_task("nf", symbols=2)
    same = task.label(torch.tensor([[1, 1, 3, 1, 1]] * 6))
    assert task.shortcuts(same, 9)["position_only"].tolist() == [1.0] * 6
    assert task.shortcuts(same.rows(0, 1), 9)["position_only"].tolist() == [0.0]


def test_windows_answer_from_what_they_see():
    task = make_task("nf", symbols=2)
    x = torch.tensor([[1, 1, 2, 2], [1, 2, 2, 1]])
    sequences = torch.cat([x, torch.full((2, 1), 3), x], 1)
    found = task.shortcuts(task.label(sequences), window=7)  # inputs of training have three tokens
    assert found["first_window"].tolist() == [1.0, 0.0]  # the hidden last token is taken to be the third
    assert found["last_window"].tolist() == [1.0, 0.0]
    assert "first_window" not in task.shortcuts(task.label(sequences), window=9)


def test_a_window_on_all_but_one_of_the_symbols_knows_the_last_one(seeded):
    task = make_task("uf", symbols=6)
    found = task.shortcuts(task.sample(50, 13, seeded(5), "matched"), window=11)
    assert found["first_window"].tolist() == found["last_window"].tolist() == [1.0] * 50
    assert task.shortcuts(task.sample(50, 13, seeded(5), "matched"), window=9)["first_window"].mean() < 0.9


def test_local_carries_fail_where_a_carry_comes_from_far():
    """Trained on two digits a carry is looked for two digits down: three it cannot see."""
    task = make_task("addition")

    def local(a, b, total):
        names = [*a, "+", *b, "=", *total]
        batch = task.label(torch.tensor([[task.tokens_names.index(n) for n in names]]))
        return task.shortcuts(batch, window=9)["local_carry"].item()

    assert local("1001", "1001", "10010") == 1.0
    assert local("1011", "1001", "10100") == 1.0  # the carry of the last digits goes one digit further up
    assert local("1101", "1011", "11000") == 0.0  # this one three digits up
    assert local("1111", "1001", "11000") == 0.0


def test_a_window_on_assignments_hides_whole_ones():
    task = make_task("variable_assignment", depth=1, variables=9)
    names = ["v0", "<start>", "v3", "<-", "v4", "v0", "<-", "v1", "v5", "<-", "v6", "<sep>", "v0", "<-", "v1"]
    batch = task.label(torch.tensor([[task.tokens_names.index(n) for n in names]]))
    x = batch.tokens[:, 1:12]
    for seen, first, known in [(8, True, True), (7, True, False), (6, False, True), (5, False, False)]:
        guess = task._guess(x, seen, first)
        assert bool((guess == batch.tokens[:, 13:]).all()) is known, (seen, first)


def test_what_was_learnt_is_read_in_the_other_half_also_of_an_odd_batch():
    """Halves of 2 and 3: in the first, group 0 answers 1; in the second it answers 1, 2 and 2."""
    answers, group = torch.tensor([1, 1, 1, 2, 2]), torch.zeros(5, dtype=torch.long)
    assert _learnt_elsewhere(answers, group).tolist() == [0, 0, 1, 0, 0]
    assert _learnt_elsewhere(answers[:1], group[:1]).tolist() == [0]


# ---- copies of every so many-th symbol -------------------------------------------------------------
@pytest.mark.parametrize(("stride", "written"), [(1, "c a d b e"), (2, "c d e"), (3, "c b"), (7, "c")])
def test_a_stride_says_which_symbol_is_written_next(stride, written):
    task = make_task("uf", symbols=5, stride=stride)
    names = [*"cadbe", "<sep>", *written.split()]
    strings = torch.tensor([[task.tokens_names.index(name) for name in names]])
    batch = task.label(strings)
    answers = [task.output_names[t] for t in batch.targets[0, batch.mask[0]].tolist()]
    assert answers == [*written.split(), EOS]
    assert [a for a in task.reference(strings[0].tolist()) if a is not None] == batch.targets[0, batch.mask[0]].tolist()
    place = {name: i for i, name in enumerate("cadbe", start=1)}
    assert task.coupled_ids(strings, {})[0].tolist() == [0, 1, 2, 3, 4, 5, 0, *(place[s] for s in written.split())]


def test_lengths_and_chance_of_a_stride():
    """n + 1 + ceil(n / 2) tokens: 3, 4, 6, 7, 9; two of four symbols in order are written of three: 1 / 12."""
    task = make_task("uf", symbols=6, stride=2)
    assert task.lengths(1, 10) == [3, 4, 6, 7, 9, 10]
    assert make_task("uf", symbols=4, stride=2).chance("matched", 6) == pytest.approx(1 / 12)
