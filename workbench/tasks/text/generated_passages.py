"""Text that the project writes itself, the same bytes on every machine: passages with a cast, a topic and facts.

Files that come with Python or with other packages differ from version to version. A generated passage refers back to
its beginning. Names are invented for it and repeated letter by letter, and each thing keeps its colour: a few bytes far
back determine both. Its topic decides which words are frequent; many bytes each carry a little information about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random

PASSAGES = 4096
"""Number of passages: about two megabytes."""
CAST, SENTENCES = 3, (8, 16)
ON_TOPIC = 0.85
"""Share of the things that are of the passage's topic."""

ONSETS = ("b", "br", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "z")
VOWELS = ("a", "e", "i", "o", "u", "ai", "ou")
CODAS = ("l", "m", "n", "r", "s", "th", "x")
COLOURS = ("amber", "black", "copper", "golden", "green", "grey", "ivory", "purple", "red", "silver", "white", "yellow")
TOPICS: Mapping[str, Sequence[str]] = {
    "harbour": ("anchor", "boat", "crane", "deck", "ferry", "lantern", "net", "oar", "rope", "sail"),
    "kitchen": ("bowl", "bread", "cup", "dish", "kettle", "knife", "ladle", "oven", "spoon", "table"),
    "garden": ("apple", "basket", "fence", "flower", "hedge", "ladder", "pear", "rake", "spade", "tree"),
    "library": ("atlas", "book", "chair", "desk", "ink", "letter", "map", "page", "pen", "shelf"),
    "workshop": ("bench", "chisel", "drill", "hammer", "nail", "plank", "saw", "screw", "vice", "wheel"),
    "station": ("bag", "bell", "clock", "coat", "engine", "gate", "signal", "ticket", "track", "train"),
}
DEEDS = ("carried", "cleaned", "dropped", "found", "hid", "kept", "lost", "mended", "painted", "showed", "sold", "took")
ADVERBS = ("again", "at last", "at noon", "in the evening", "later", "once more", "quietly", "that day")
TEMPLATES = (
    "{a} {did} the {x}.",
    "{a} gave the {x} to {b}.",
    "{adverb}, {a} {did} the {x}.",
    "The {x} of {a} lay beside the {y}.",
    "{a} and {b} {did} the {x} in the {place}.",
    '"Where is the {x}?" asked {a}.',
    "{b} told {a} about the {x}.",
    "Nobody but {a} {did} the {x}.",
)


def _chosen(random: Random, items: Sequence[str]) -> str:
    # Only random() is promised to stay the same from one version of Python to the next.
    return items[int(random.random() * len(items))]


def _name(random: Random) -> str:
    syllables = 2 + (random.random() < 0.4)
    spelled = "".join(_chosen(random, ONSETS) + _chosen(random, VOWELS) for _ in range(syllables))
    return (spelled + _chosen(random, CODAS)).capitalize()


def passage(number: int) -> str:
    """Return the passage with a number."""
    random = Random(f"passage {number}")
    topic = _chosen(random, tuple(TOPICS))
    cast = [_name(random) for _ in range(CAST)]
    colour = {thing: _chosen(random, COLOURS) for things in TOPICS.values() for thing in things}

    def thing() -> str:
        other = _chosen(random, tuple(TOPICS))
        noun = _chosen(random, TOPICS[topic if random.random() < ON_TOPIC else other])
        return f"{colour[noun]} {noun}"

    def sentence() -> str:
        first = int(random.random() * CAST)
        second = (first + 1 + int(random.random() * (CAST - 1))) % CAST
        words = {"a": cast[first], "b": cast[second], "x": thing(), "y": thing(), "place": topic}
        words |= {"did": _chosen(random, DEEDS), "adverb": _chosen(random, ADVERBS).capitalize()}
        return _chosen(random, TEMPLATES).format(**words)

    least, most = SENTENCES
    count = least + int(random.random() * (most - least + 1))
    return " ".join(sentence() for _ in range(count)) + "\n\n"


@cache
def passages() -> Mapping[str, bytes]:
    """Return every passage by its name, in order."""
    return {f"passage {number}": passage(number).encode() for number in range(PASSAGES)}
