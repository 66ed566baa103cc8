"""Labels of expressivity and accuracies that three papers report, as data for comparison.

- Huang et al. 2024 (arXiv 2410.02140): appendix tables and published result files;
- Jobanputra et al. 2025 (arXiv 2505.21785): tasks trained from scratch;
- Sarrof et al. 2024 (arXiv 2405.17394): state-space models. Their bins beyond contain also the short strings of
  star-free languages.

Accuracies are shares of strings all of whose answers are right, on trained lengths and on one or two bins beyond. They
depend on the papers' own models, data and selection (runs that fit, best configuration). Compare with them; do not take
them as ground truth. The label is whether the authors claim that the task is in the class of their theorem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HUANG = "Huang et al., arXiv 2410.02140"
JOBANPUTRA = "Jobanputra et al., arXiv 2505.21785"
SARROF = "Sarrof, Veitsman, Hahn, arXiv 2405.17394"


@dataclass(frozen=True)
class Reported:
    """One published result on a task.

    Attributes:
        positions: ``none`` or ``learned`` (absolute, with a random offset in training), or ``rotary``; for state-space
            models ``ssm-nonnegative``.
        expressible: the authors' label; None if they give none.
        accuracy: in percent, on trained lengths, then on one or two bins beyond.
        source: the paper.
        asked: the query, in words.
        ask: the query as a value of the task's option ``ask``; "" if the task has no such option.
    """

    positions: str
    expressible: bool | None
    accuracy: tuple[float, ...]
    source: str
    asked: str = ""
    ask: str = ""

    @property
    def where(self) -> str:
        """The lengths of the accuracies, in words."""
        beyond = {1: "one range", 2: "two ranges"}[len(self.accuracy) - 1]
        return f"on trained lengths and on {beyond} of longer lengths"


_Bins = tuple[float, float, float]
_ALL: _Bins = (100, 100, 100)

_HUANG: Mapping[str, tuple[bool, _Bins, bool, _Bins]] = {
    "majority": (True, _ALL, True, _ALL),
    "interleaved_majority": (True, (100, 96.8, 84.7), False, (96.2, 68.8, 39.5)),
    "most_frequent": (True, (100, 99.6, 97.8), True, (100, 99.9, 98.5)),
    "sort": (True, (100, 100, 99.4), True, (100, 99.8, 80.6)),
    "uf": (True, (100, 99.9, 98.7), False, (100, 18, 0)),
    "nf": (False, (100, 25.6, 0), False, (100, 28, 0)),
    "parity": (False, (100, 83.0, 62.1), False, (97.5, 74.5, 63.3)),
    "addition": (False, (99.7, 26.8, 0), False, (99.5, 27.7, 0)),
    "bounded_dyck_2": (True, _ALL, True, _ALL),
    "bounded_dyck_3": (True, _ALL, True, _ALL),
    "bounded_dyck_4": (True, _ALL, True, _ALL),
    "bounded_dyck_12": (True, _ALL, True, _ALL),
    "tomita_1": (True, _ALL, True, _ALL),
    "tomita_2": (True, _ALL, True, _ALL),
    "tomita_3": (False, (60.45, 7.7, 0), False, (21.1, 0, 0)),
    "tomita_4": (True, (100, 85.4, 84.4), False, (100, 16.45, 0)),
    "tomita_5": (False, (54.4, 0, 0), False, (7.1, 0, 0)),
    "tomita_6": (False, (59.6, 0, 0), False, (2.4, 0, 0)),
    "tomita_7": (True, (100, 94.2, 93.2), True, (100, 87.5, 76.2)),
    "blocks_abcde": (True, _ALL, True, _ALL),
    "abd_bc": (True, (100, 99.8, 98.5), True, (100, 99.8, 98.5)),
    "zero_two": (False, (99.7, 24.4, 1.2), False, (18.2, 11.2, 0)),
    "aa_star": (True, _ALL, False, (100, 0, 0)),
    "aaaa_star": (True, (100, 92.3, 86.7), False, (100, 0, 0)),
    "abab_star": (True, (100, 89.4, 82.3), False, (100, 0, 0)),
    "dyck_1": (True, _ALL, True, _ALL),
    "boolean_3": (True, _ALL, True, _ALL),
    "boolean_5": (True, (100, 75.3, 72.1), True, (100, 75.3, 72.1)),
    "shuffle_dyck_2": (True, (85.9, 82.2, 50.4), True, (81.2, 79.8, 42.7)),
    "anbn": (True, (100, 99.4, 92.3), True, _ALL),
    "anbncn": (True, (100, 91.2, 87.4), True, _ALL),
    "anbncndn": (True, (100, 86.4, 75.2), True, _ALL),
}

ANSWER = "only the answer, after the string"
NEXT = "the symbols that may come next, at every position"
MEMBER = "whether each prefix is in the language"
EACH = "an answer at every position"
TOKEN = "the next symbol, at every position"

_LABELS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("majority", "interleaved_majority", "most_frequent", "sort"), (ANSWER, "")),
    **dict.fromkeys(("uf", "nf", "parity", "addition"), (ANSWER, "")),
    **dict.fromkeys(("tomita_1", "tomita_2", "tomita_4", "tomita_7", "abd_bc"), (NEXT, "next")),
    **dict.fromkeys(("bounded_dyck_2", "bounded_dyck_3", "bounded_dyck_4", "bounded_dyck_12"), (NEXT, "next")),
    **dict.fromkeys(("dyck_1", "boolean_3", "boolean_5", "shuffle_dyck_2"), (NEXT, "next")),
    **dict.fromkeys(("anbn", "anbncn", "anbncndn"), (NEXT, "next")),
    **dict.fromkeys(("tomita_3", "tomita_5", "tomita_6", "zero_two"), (MEMBER, "member")),
    **dict.fromkeys(("aa_star", "aaaa_star", "abab_star"), (MEMBER, "member")),
    "blocks_abcde": (TOKEN, "next"),
}
"""The query of each task in the first paper."""

_JOBANPUTRA: Mapping[str, tuple[bool, _Bins, _Bins]] = {
    "uf": (True, (100, 99.45, 97), (100, 99.45, 99)),
    "ub": (True, (100, 99, 97.24), (100, 99, 99)),
    "ur": (True, (100, 99.15, 99), _ALL),
    "ul": (True, (100, 99, 99), _ALL),
    "nr_first": (True, (100, 100, 99.95), _ALL),
    "nl_first": (True, (100, 100, 99), (100, 100, 99)),
    "nr_last": (False, (100, 86.05, 46.85), (100, 45, 34)),
    "nl_last": (False, (100, 77, 47.2), (100, 32, 34)),
    "nf": (False, (100, 46.75, 12.86), (100, 13, 0)),
    "nb": (False, (99.95, 26.8, 5.12), (99.95, 5, 0)),
}

_SARROF: Mapping[str, tuple[bool, tuple[tuple[float, ...], ...]]] = {
    **dict.fromkeys(("tomita_1", "tomita_2", "tomita_7", "blocks_abcde", "abd_bc"), (True, ((100, 100),) * 3)),
    **dict.fromkeys(("tomita_4", "zero_two"), (True, ((100, 100),) * 3)),
    **dict.fromkeys(("bounded_dyck_2", "bounded_dyck_3", "bounded_dyck_4"), (True, ((100, 100),) * 3)),
    "bounded_dyck_12": (True, ((93.65, 93.35), (99.9, 95.55), (99.99, 99.85))),
    "parity": (False, ((26.95, 0), (80.05, 4.15), (91.15, 16.7))),
    "aa_star": (False, ((2.1, 0), (2.1, 0), (4.2, 0))),
    "aaaa_star": (False, ((0, 0), (0, 0), (4, 0))),
    "abab_star": (False, ((0, 0), (0, 0), (0, 0))),
    "tomita_3": (False, ((25.99, 12.49), (36.88, 17.05), (60.85, 29.37))),
    "tomita_5": (False, ((15.94, 0), (34.5, 0), (38.4, 0))),
    "tomita_6": (False, ((7.2, 0), (37.8, 0), (54.56, 0.04))),
    "dyck_1": (True, ((100, 62.6, 13.91), (100, 49.1, 9.5), (100, 53.95, 10))),
    "shuffle_dyck_2": (True, ((100, 49.5, 2.3), (100, 61.5, 8.2), (100, 65.5, 9.7))),
    "shuffle_dyck_4": (True, ((100, 44.4, 4.3), (100, 63.8, 7.2), (100, 56.2, 7.8))),
    "shuffle_dyck_6": (True, ((100, 39.4, 3.4), (100, 61.2, 6.75), (100, 59.6, 9.85))),
    "boolean_3": (True, ((99.75, 65.7, 7.05), (99.95, 47.25, 2.3), (100, 73.45, 8.6))),
    "boolean_5": (True, ((99.9, 30.05, 7.6), (100, 80.2, 14.9), (99.25, 60.7, 6.25))),
    "anbn": (True, ((100, 4.1, 0), (100, 9.4, 0), (100, 21.3, 0))),
    "anbncn": (True, ((100, 0, 0), (100, 7.6, 0), (100, 5.1, 0))),
    "anbncndn": (True, ((100, 4.76, 0), (100, 0, 0), (100, 0, 0))),
}
"""Whether a language is expressible with nonnegative gates; accuracies of Mamba with one, two and three layers."""


def reported_of_state_spaces(key: str) -> tuple[Reported, ...]:
    """Return published results of state-space models with nonnegative gates, one for each number of layers."""
    if key not in _SARROF:
        return ()
    label, by_layers = _SARROF[key]
    return tuple(
        Reported("ssm-nonnegative", label, bins, SARROF, f"{EACH}; Mamba with {layers} layer{'s' * (layers > 1)}")
        for layers, bins in enumerate(by_layers, start=1)
    )


def labelled_state_spaces() -> list[tuple[str, bool]]:
    """Return every label of the state-space paper: (key, expressible with nonnegative gates)."""
    return [(key, label) for key, (label, _) in _SARROF.items()]


def published_results(key: str, positions: str) -> tuple[Reported, ...]:
    """Return published results for a task (by its key, e.g. ``tomita_4``) under a position encoding."""
    results = []
    if key in _HUANG:
        label, learned, label_none, none = _HUANG[key]
        query = _LABELS[key]
        results.append(Reported("learned", label, learned, HUANG, *query))
        results.append(Reported("none", label_none, none, HUANG, *query))
    if key in _JOBANPUTRA:
        label, learned, rotary = _JOBANPUTRA[key]
        results.append(Reported("learned", label, learned, JOBANPUTRA, ANSWER))
        results.append(Reported("rotary", None, rotary, JOBANPUTRA, ANSWER))
    return tuple(r for r in results if r.positions == positions)


def published_labels() -> list[tuple[str, str, bool, str]]:
    """Return every published label: (key, positions, expressible, source)."""
    keys = dict.fromkeys([*_HUANG, *_JOBANPUTRA])
    rows = [(key, r) for key in keys for p in ("none", "learned") for r in published_results(key, p)]
    return [(key, r.positions, r.expressible, r.source) for key, r in rows if r.expressible is not None]
