"""Public functions and methods have names that state what they return or do: no bare participle and no pronoun."""

from __future__ import annotations

import ast

import pytest

from tests.support.scripts import script

plain_names = script("plain_names")
AVOID = plain_names.names_to_avoid()


def names(text: str) -> list[tuple[str, str]]:
    tree = ast.parse(text)
    found = [*plain_names.public_names(tree, "a.py", AVOID), *plain_names.long_lived_locals(tree, "a.py", AVOID)]
    return [(finding.kind, finding.name) for finding in found]


def test_no_public_function_is_a_bare_participle_or_pronoun() -> None:
    found = [finding for finding in plain_names.findings() if finding.kind == "function"]
    assert not found, "\n".join(["name them by a verb or a noun (docs/words.toml, names):", *map(str, found)])


def test_no_other_public_method_is_a_bare_participle_or_pronoun() -> None:
    found = [finding for finding in plain_names.findings() if finding.kind == "method"]
    others = [finding for finding in found if finding.name not in AVOID.left]
    assert not others, "\n".join(["name them by a verb or a noun (docs/words.toml, names):", *map(str, others)])
    assert AVOID.left == {finding.name for finding in found}, "take renamed methods off the list in docs/words.toml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def shown(x): ...", [("function", "shown")]),
        ("async def one(): ...", [("function", "one")]),
        ("if True:\n    def cached(): ...", [("function", "cached")]),
        ("class A:\n    @classmethod\n    def asked(cls): ...", [("method", "A.asked")]),
        ("class A:\n    @property\n    def stored(self) -> str: ...", [("method", "A.stored")]),
        ("class Drawn: ...", [("class", "Drawn")]),
    ],
)
def test_a_bare_participle_or_pronoun_is_found(text: str, expected: list[tuple[str, str]]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "def shown_value(x): ...",
        "def _shown(x): ...",
        "def embed(x): ...",
        "def red(x): ...",
        "def f():\n    def told(): ...\n    return told",
        "class A:\n    @property\n    def finished(self) -> bool: ...",
    ],
    ids=["two words", "private", "verb", "short word", "inner function", "true or false"],
)
def test_other_names_are_not_found(text: str) -> None:
    assert names(text) == []


def test_a_local_is_long_lived_by_the_lines_between_its_mentions() -> None:
    def function(lines: int) -> str:
        return "def f(x):\n    found = x\n" + "    x += 1\n" * lines + "    return found\n"

    assert names(function(plain_names.LONG_LIVED - 1)) == []
    assert names(function(plain_names.LONG_LIVED)) == [("local", "found")]
    assert names("def f(own):\n" + "    print(1)\n" * 20 + "    return own\n") == [("local", "own")]
    assert names("def f():\n    print(own)\n" + "    print(1)\n" * 20 + "    return own\n") == [], "a global name"


def test_a_word_stands_in_one_list() -> None:
    for words in (AVOID.participles, AVOID.usual, AVOID.pronouns):
        assert all(word.isascii() and word.islower() for word in words)
    assert not AVOID.participles & AVOID.pronouns
    assert not AVOID.usual & (AVOID.participles | AVOID.pronouns)
