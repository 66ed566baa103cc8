"""What tests of several tiers share. Regular languages as tasks: labels against two oracles, lengths, floors, and what is refused."""

from __future__ import annotations

from itertools import groupby

import torch

from workbench.tasks.regular.regular_task import RegularTask


def runs(word: str) -> list[tuple[str, int]]:
    return [(symbol, len(list(run))) for symbol, run in groupby(word)]


def keys(word: str) -> str:
    return "".join(symbol for symbol, _ in runs(word))


def odd_then_odd(word: str) -> bool:
    pairs = zip(runs(word), runs(word)[1:], strict=False)
    return any(a == "1" and b == "0" and m % 2 and n % 2 for (a, m), (b, n) in pairs)


def depths(word: str) -> list[int]:
    return [word[:end].count("a") - word[:end].count("b") for end in range(len(word) + 1)]


def balanced(word: str, deepest: int) -> bool:
    return min(depths(word)) >= 0 and max(depths(word)) <= deepest and depths(word)[-1] == 0


# name, parameters, alphabet, what the language is in plain Python, length up to which all strings are tried, period
LANGUAGES = [
    ("tomita", {"n": 1}, "01", lambda w: "0" not in w, 8, 1),
    ("tomita", {"n": 2}, "01", lambda w: w == "10" * (len(w) // 2), 8, 2),
    ("tomita", {"n": 3}, "01", lambda w: not odd_then_odd(w), 9, 1),
    ("tomita", {"n": 4}, "01", lambda w: "000" not in w, 8, 1),
    ("tomita", {"n": 5}, "01", lambda w: w.count("0") % 2 == w.count("1") % 2 == 0, 8, 2),
    ("tomita", {"n": 6}, "01", lambda w: (w.count("0") - w.count("1")) % 3 == 0, 8, 1),
    ("tomita", {"n": 7}, "01", lambda w: keys(w) in "0101", 8, 1),
    ("bounded_dyck", {"n": 1}, "ab", lambda w: balanced(w, 1), 8, 2),
    ("bounded_dyck", {"n": 2}, "ab", lambda w: balanced(w, 2), 8, 2),
    ("bounded_dyck", {"n": 3}, "ab", lambda w: balanced(w, 3), 8, 2),
    ("bounded_dyck", {"n": 4}, "ab", lambda w: balanced(w, 4), 9, 2),
    ("bounded_dyck", {"n": 12}, "ab", lambda w: balanced(w, 12), 8, 2),
    ("aa_star", {}, "a", lambda w: len(w) % 2 == 0, 12, 2),
    ("aaaa_star", {}, "a", lambda w: len(w) % 4 == 0, 12, 4),
    ("abab_star", {}, "ab", lambda w: w == "abab" * (len(w) // 4), 8, 4),
    ("blocks_abcde", {}, "abcde", lambda w: keys(w) == "abcde", 4, 1),
    ("abd_bc", {}, "abcd", lambda w: w.count("d") == 1 and "c" not in w.split("d")[0] and "a" not in w.split("d")[1], 5, 1),
    ("zero_two", {}, "012", lambda w: w.rstrip("2").endswith("0"), 6, 1),
    ("last_nonneutral_a", {}, "abe", lambda w: w.rstrip("e").endswith("a"), 6, 1),
    ("alternating_blocks", {"k": 1}, "ab", lambda w: keys(w) == "a", 7, 1),
    ("alternating_blocks", {"k": 4}, "ab", lambda w: keys(w) == "abab", 8, 1),
    ("regular", {"regex": "(a|b)*bb(a|b)*"}, "ab", lambda w: "bb" in w, 8, 1),
    ("regular", {"regex": "(ab|ba)*", "alphabet": "ba"}, "ba", lambda w: len(w) % 2 == 0 and all(
        w[i] != w[i + 1] for i in range(0, len(w), 2)), 8, 2),
]  # fmt: skip
IDS = [
    f"{name}{parameters or ''}, {len(alphabet) ** length} strings"
    for name, parameters, alphabet, _, length, _ in LANGUAGES
]


def asked(task: RegularTask, strings: torch.Tensor) -> list[list[int | None]]:
    """The labels, None where nothing is asked; BOS left out."""
    batch = task.label(strings)
    found = zip(batch.targets[:, 1:].tolist(), batch.mask[:, 1:].tolist(), strict=True)
    return [[t if m else None for t, m in zip(target, mask, strict=True)] for target, mask in found]
