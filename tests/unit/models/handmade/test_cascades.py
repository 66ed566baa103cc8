"""Compiled cascades: exact gates and sums, and every short string against regular expressions and plain Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch

from tests.support.held import Held, digest
from workbench.models.handmade import attention_heads as heads
from workbench.models.handmade import averages, cascades, state_space, transformers
from workbench.models.handmade.cascades import (
    Before,
    Cascade,
    Counter,
    Latch,
    Test,
    bounded_stack,
    compile_cascade,
    contains_twice,
    counted_brackets,
    depth_two,
    equal_blocks,
    last_of_two,
    never_three,
    prefix_expressions,
)


def balanced(word: str, pairs: tuple[str, ...] = ("()", "[]")) -> bool:
    return all(
        word.count(o) == word.count(c) and all(word[:n].count(o) >= word[:n].count(c) for n in range(len(word)))
        for o, c in pairs
    )


def expression(word: str) -> bool:
    """One whole expression in prefix notation, by taking it off the front."""

    def take(text: str) -> str | None:
        if not text:
            return None
        left: str | None = text[1:]
        for _ in range({"0": 0, "~": 1, "+": 2, ">": 3}[text[0]]):
            left = None if left is None else take(left)
        return left

    return take(word) == ""


MACHINES: list[tuple[str, int, Cascade, Callable[[str], bool]]] = [
    ("()", 9, counted_brackets([("(", ")")], ("<bos>", *"()")), lambda w: balanced(w, ("()",))),
    ("()[]", 6, counted_brackets([("(", ")"), ("[", "]")], ("<bos>", *"()[]")), balanced),
    ("abc", 7, equal_blocks("abc", ("<bos>", *"abc")),
     lambda w: w == "a" * (len(w) // 3) + "b" * (len(w) // 3) + "c" * (len(w) // 3)),
    ("0~+>", 6, prefix_expressions({"0": 0, "~": 1, "+": 2, ">": 3}, ("<bos>", *"0~+>")), expression),
    ("ab", 9, contains_twice("b", ["a"], ("<bos>", *"ab")), lambda w: "bb" in w),
    ("01", 9, never_three("0", ["1"], ("<bos>", *"01")), lambda w: "000" not in w),
    ("012", 7, last_of_two("0", "1", ("<bos>", *"012")), lambda w: re.fullmatch("[012]*02*", w) is not None),
    ("ab", 9, depth_two("a", "b", ("<bos>", *"ab")), lambda w: re.fullmatch("(a(ab)*b)*", w) is not None),
]  # fmt: skip


def said(cascade: Cascade, words: list[str]) -> torch.Tensor:
    ids = torch.tensor([[0, *(cascade.tokens.index(symbol) for symbol in word)] for word in words])
    with torch.no_grad():
        return compile_cascade(cascade)(ids)[:, 1:] > 0


@pytest.mark.parametrize(("letters", "length", "cascade", "right"), MACHINES, ids=lambda part: None)
def test_every_prefix_of_every_short_string(letters: str, length: int, cascade: Cascade, right) -> None:
    words = ["".join(word) for word in product(letters, repeat=length)]
    found = said(cascade, words)[..., 0].tolist()
    for word, answers in zip(words, found, strict=True):
        assert answers == [right(word[:n]) for n in range(1, length + 1)], word


def test_gates_are_exact_and_counts_whole_to_ten_thousand() -> None:
    cascade = counted_brackets([("(", ")")], ("<bos>", *"()"))
    model = compile_cascade(cascade)
    word = [1 if i % 5 in (0, 1, 3) else 2 for i in range(10_000)]
    at = "blocks.0.mixer.hook_ssm_"
    with torch.no_grad():
        _, cache = model.run_with_cache(
            torch.tensor([[0, *word]]), names_filter=[f"{at}gates", f"{at}state", "blocks.0.hook_resid_post"]
        )
    assert set(cache[f"{at}gates"].unique().tolist()) <= {0.0, 1.0}
    depth = torch.tensor([1 if token == 1 else -1 for token in word]).cumsum(0)
    feature = 1 + len(cascade.tokens)  # the first behind the constant and the tokens
    assert torch.equal(cache["blocks.0.hook_resid_post"][0, 1:, feature], depth.float())


def test_each_part_by_itself() -> None:
    tokens = ("<bos>", "set", "clear", "rest")
    parts = Cascade(
        tokens,
        (
            (Latch("bit", {"set": 1}, {"clear": 1}), Counter("sum", ((3, {"set": 1}), (-1, {"rest": 1})))),
            (Before("was", "bit"), Test("large", {"sum": 1, "always": -4})),
        ),
        ("bit", "was", "large"),
    )
    found = said(parts, [["set", "rest", "set", "clear", "rest", "rest"]])[0].int().tolist()  # type: ignore[list-item]
    assert [row[0] for row in found] == [1, 1, 1, 0, 0, 0]
    assert [row[1] for row in found] == [0, 1, 1, 1, 0, 0]
    assert [row[2] for row in found] == [0, 0, 1, 1, 0, 0]  # 3, 2, 5, 5, 4, 3 against 5
    assert (parts.stateful, parts.latches) == (1, 1)


@pytest.mark.parametrize(("kinds", "height"), [(2, 2), (3, 3), (4, 2)])
def test_a_bounded_stack_tells_its_top_on_every_word(kinds: int, height: int) -> None:
    cascade = bounded_stack(kinds, height)
    words: list[list[str]] = []

    def grow(word: list[str], stack: list[int], left: int) -> None:
        if not left:
            words.append(word)
            return
        for kind in range(kinds) if len(stack) < height else ():
            grow([*word, f"({kind}"], [*stack, kind], left - 1)
        if stack:
            grow([*word, f"){stack[-1]}"], stack[:-1], left - 1)

    grow([], [], 6)
    found = said(cascade, words).tolist()  # type: ignore[arg-type]
    width = max(1, (kinds - 1).bit_length())
    for word, answers in zip(words, found, strict=True):
        stack: list[int] = []
        for symbol, answer in zip(word, answers, strict=True):
            stack = [*stack, int(symbol[1])] if symbol[0] == "(" else stack[:-1]
            top = stack[-1] if stack else 0
            assert answer == [*(bool(top >> i & 1) for i in range(width)), not stack, len(stack) == height]
    assert cascade.latches == height * width
    assert cascade.stateful == 2


LETTERS = ("<bos>", "a", "b", "c")


MADE: dict[str, Any] = {
    "induction": heads.induction_model(3, 2.5), "anti-induction": heads.anti_induction_model(3, 2.5),
    "anti-induction, itself seen": heads.anti_induction_model(3, 2.5, "seen"), "left neighbour": heads.left_neighbour_model(3, 4.0),
    "fixed lag": heads.fixed_lag_model(3, 2), "lag of itself": heads.fixed_lag_model(2, 0),
    "sine": averages.sine_of_average(3.0), "fine sine": averages.sine_of_average(7.5, 0.001), "class": averages.class_average(3, 1),
    "kgram": averages.kgram_average(2, 1, 3.0), "2-gram": averages.kgram_average(3, 2, 5.0, local=4.0),
    "flip-flop": state_space.flip_flop(), "parity": state_space.parity(),
    "key head": transformers.key_head(1.5), "short key head": transformers.key_head(-2.0, 9), "uniform": transformers.uniform_head(),
    "counter": transformers.majority(), "blurred counter": transformers.majority(7), "windowed counter": transformers.majority(20, window=4, n_ctx=9),
    "dyck": cascades.compile_cascade(cascades.counted_brackets([("a", "b")], LETTERS)),
    "shuffle": cascades.compile_cascade(cascades.counted_brackets([("a", "b"), ("c", "d")], (*LETTERS, "d"))),
    "blocks": cascades.compile_cascade(cascades.equal_blocks("abc", LETTERS)),
    "prefix": cascades.compile_cascade(cascades.prefix_expressions({"a": 0, "b": 1, "c": 2}, LETTERS)),
    "twice": cascades.compile_cascade(cascades.contains_twice("a", "bc", LETTERS)),
    "never three": cascades.compile_cascade(cascades.never_three("a", "bc", LETTERS)),
    "last of two": cascades.compile_cascade(cascades.last_of_two("a", "c", LETTERS)),
    "depth two": cascades.compile_cascade(cascades.depth_two("a", "b", LETTERS)),
    "stack": cascades.compile_cascade(cascades.bounded_stack(2, 2)), "stack of three kinds": cascades.compile_cascade(cascades.bounded_stack(3, 1)),
}  # fmt: skip


def test_weights_and_answers_of_hand_made_models(held: Held) -> None:
    found = {}
    for name, model in MADE.items():
        weights = torch.cat([value.double().flatten() for value in model.state_dict().values()])
        x = torch.randint(1, model.cfg.d_vocab, (3, 8), generator=torch.Generator().manual_seed(4))
        x[:, 0] = 0
        with torch.no_grad():
            answers = model.double()(x)
        changed = [
            key
            for key, value in model.cfg.model_dump(mode="json").items()
            if isinstance(value, int) and not isinstance(value, bool)
        ]
        sizes = [getattr(model.cfg, key, 0) for key in changed if key != "n_heads"]
        found[name] = [digest(weights), digest(answers), [int(size) for size in sizes if isinstance(size, int)]]
        model.float()
    held(found)


@pytest.mark.parametrize(("made", "stateful", "latches"), [
    (cascades.counted_brackets([("a", "b")], LETTERS), 2, 1), (cascades.equal_blocks("abc", LETTERS), 2, 3),
    (cascades.last_of_two("a", "b", LETTERS), 1, 1), (cascades.bounded_stack(4, 2), 2, 4), (cascades.bounded_stack(1, 2), 2, 2),
])  # fmt: skip
def test_states_that_cascades_hold(made: cascades.Cascade, stateful: int, latches: int) -> None:
    assert (made.stateful, made.latches) == (stateful, latches)
