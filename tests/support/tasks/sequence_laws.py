"""What tests of several tiers share. The laws inputs of sequence tasks are drawn from, and the floors under them, by enumeration."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations, product

import torch

from workbench.tasks.sequences.addition import DIFFER
from workbench.tasks.sequences.copying import STAY

MANY = 20_000


def drawn(task, length, law, generator, window=None, many=MANY):
    """The inputs of a batch as strings of token names."""
    batch = task.sample(many, length, generator, law, window)
    names = task.tokens_names
    return [tuple(names[t] for t in row) for row in batch.tokens[:, 1 : batch.prompt - 1].tolist()]


# ---- laws by enumeration: {input: probability} -------------------------------------------------------
def uniform(inputs):
    return dict.fromkeys(inputs, 1 / len(inputs))


def sticky(letters, n):
    change = (1 - STAY) / (len(letters) - 1)
    law = {}
    for x in product(letters, repeat=n):
        steps = [STAY if a == b else change for a, b in pairwise(x)]
        law[x] = torch.tensor([1 / len(letters), *steps], dtype=torch.float64).prod().item()
    return law


def numbers(digits):
    return ["0", "1"] if digits == 1 else [format(n, "b") for n in range(2 ** (digits - 1), 2**digits)]


def added(a, b):
    return (*a, "+", *b)


def far_carries(n):
    law = {}
    for a in numbers(n):
        for b in numbers(n):
            differ = sum(p != q for p, q in zip(a[1:], b[1:], strict=True))
            law[added(a, b)] = 2.0 ** (1 - n) * DIFFER**differ * (1 - DIFFER) ** (n - 1 - differ)
    return law


def huang(length):
    """Sequences of this length, each first operand's length equally likely given the length of ``a+b=``."""
    law = Counter()
    for shown in range(4, length):
        for first in range(1, shown - 2):
            pairs = list(product(numbers(first), numbers(shown - 2 - first)))
            for a, b in pairs:
                if shown + len(bin(int(a, 2) + int(b, 2))) - 2 == length:
                    law[added(a, b)] += 1 / (shown - 3) / len(pairs)
    total = sum(law.values())
    return {x: p / total for x, p in law.items()}


CASES = [
    ("uf", {"symbols": 5}, 5, ("training", "challenge"), uniform(list(permutations("abcde", 2)))),
    ("ub", {"symbols": 3}, 7, ("matched",), uniform(list(permutations("abc", 3)))),
    ("sort", {"symbols": 5}, 7, ("training", "challenge"), uniform(list(permutations("abcde", 3)))),
    ("nf", {"symbols": 3}, 7, ("training", "matched"), uniform(list(product("abc", repeat=3)))),
    ("nf", {"symbols": 3}, 9, ("challenge",), sticky("abc", 4)),
    ("reverse", {}, 11, ("challenge",), sticky("ab", 5)),
    ("odds_first", {}, 11, ("challenge",), sticky("ab", 5)),
    ("duplicate_string", {}, 10, ("matched",), uniform(list(product("ab", repeat=3)))),
    ("duplicate_string", {}, 10, ("challenge",), sticky("ab", 3)),
    ("parity_scratchpad", {"jump": 2}, 7, ("training", "matched", "challenge"), uniform(list(product("01", repeat=4)))),
    ("addition", {}, 12, ("matched",), uniform([added(a, b) for a in numbers(3) for b in numbers(3)])),
    ("addition", {}, 15, ("challenge",), far_carries(4)),
]
