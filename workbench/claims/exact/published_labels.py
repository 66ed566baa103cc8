"""Published expressivity labels against what the deciders find, and what labels say about published accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from workbench.claims.claim import Row
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.registry import task_names
from workbench.theory.crasp.evaluator import accepts, every_string
from workbench.theory.prediction.predict import predict
from workbench.theory.prediction.reported_results import HUANG, labelled, reported
from workbench.theory.prediction.task_names import resolve
from workbench.theory.regular.deciders import CONVENTIONS, find_certificate, in_crasp
from workbench.theory.regular.exclusion import exclude, stable_semigroup
from workbench.theory.regular.monoid import syntactic_monoid
from workbench.theory.regular.synthesis import synthesise

REGULAR = (
    "bounded_dyck_2", "bounded_dyck_3", "bounded_dyck_4", "bounded_dyck_12", "tomita_1", "tomita_2", "tomita_3",
    "tomita_4", "tomita_5", "tomita_6", "tomita_7", "blocks_abcde", "abd_bc", "zero_two", "aa_star", "aaaa_star",
    "abab_star",
)  # fmt: skip
"""The 17 regular languages of Huang et al."""
RETRIEVED = {
    "nr_last, over 3 letters": "(a|b|c)*(aa|ba(a|c)*b|ca(a|b)*c)",
    "nl_last, over 3 letters": "(a|b|c)*(aa(b|c)*a|ab(a|c)*b|ac(a|b)*c)",
}
"""Strings at whose end the answer to the last letter is a: what follows (precedes) its last earlier occurrence."""
PERIODS = tuple(range(1, 13))
LOCALITIES = tuple(range(7))
STRINGS = 20_000
"""A program is checked on all strings of each length of which there are at most so many."""
RIGHT = 75.0
"""Published accuracy in percent in the first bin beyond, from which a model counts as right there."""
AC0 = {
    "majority": False, "interleaved_majority": False, "most_frequent": False, "sort": True, "uf": True, "nf": True,
    "parity": False, "addition": True, "dyck_1": False, "boolean_3": False, "boolean_5": False,
    "shuffle_dyck_2": False, "anbn": True, "anbncn": True, "anbncndn": True,
}  # fmt: skip
"""Membership in AC0 of what is not regular; the first eight as Huang et al. label them, the others as is well known."""
DOT_DEPTH = {
    "bounded_dyck_2": 2, "bounded_dyck_3": 3, "bounded_dyck_4": 4, "bounded_dyck_12": 12, "tomita_1": 1, "tomita_2": 1,
    "tomita_4": 1, "tomita_7": 1, "blocks_abcde": 1, "abd_bc": 1, "zero_two": 2,
}  # fmt: skip
"""Dot-depth of the star-free ones; the others have none."""


def labels_without_positions() -> list[Row]:
    """Per regular language and convention: does the exact decider say what the label says?"""
    labels = {key: label for key, at, label, source in labelled() if at == "none" and source == HUANG}
    rows = []
    for key in REGULAR:
        for convention in CONVENTIONS:
            said = in_crasp(_language(key), convention).decision == "yes"
            rows.append(
                Row("decided in", f"{key}, {convention.replace('_', ' ')}", float(said), expected=float(labels[key]))
            )
    return rows


def all_labels() -> list[Row]:
    """Every published label, regular or not: is the prediction the label's?"""
    rows = []
    for key, at, label, source in labelled():
        said = predict(key, at).verdict
        found = {"guaranteed": 1.0, "not expressible": 0.0}.get(said, 0.5)
        rows.append(Row("predicted expressible", f"{key}, {at}, {source}", found, expected=float(label)))
    return rows


def certificates() -> list[Row]:
    """Languages labelled expressible with positions: a certificate, and its program against the automaton."""
    rows = []
    for key in (key for key in REGULAR if _labelled_in(key)):
        language = _language(key)
        found = find_certificate(language, PERIODS, LOCALITIES)
        rows.append(Row("certified", key, float(found is not None)))
        if found is not None:
            program = synthesise(language, found)
            wrong = strings = length = 0
            while (letters := len(language.alphabet)) ** (length + 1) <= STRINGS and length < 24:
                length += 1
                every = every_string(letters, length)
                wrong += int((accepts(program, every) != _members(language, every)).sum())
                strings += len(every)
            rows.append(Row("mismatches of its program", f"{key}, period {found.period}, locality {found.locality}",
                            float(wrong), n=strings))  # fmt: skip
    return rows


def no_certificates() -> list[Row]:
    """Languages labelled not expressible with positions: none is certified; and whether that is proven."""
    outside = {key: _language(key) for key in REGULAR if not _labelled_in(key)} | {"parity": _language("parity")}
    return _outside(outside | {"(a|b|e)*ae*": Automaton.from_regex("(a|b|e)*ae*")})


def last_occurrences() -> list[Row]:
    """Finding the last occurrence, and flip-flop, as automata: none is certified; and whether that is proven."""
    languages = {name: Automaton.from_regex(text) for name, text in RETRIEVED.items()}
    flip_flop = resolve("flip_flop", {})[1]
    assert flip_flop is not None
    states = flip_flop.automaton()
    assert states is not None
    named = {f"flip_flop, answer {at}": language for at, language in enumerate(states.languages())}
    return _outside(languages | named)


def label_powers() -> list[Row]:
    """How well each label orders the published accuracies in the first bin beyond: areas under the curve.

    32 maps x 2 encodings; star-freeness and dot-depth are about the 17 regular ones.
    """
    cases = [(key, at, label) for key, at, label, source in labelled() if source == HUANG]
    right = np.array(
        [next(r for r in reported(key, at) if r.source == HUANG).accuracy[1] >= RIGHT for key, at, _ in cases]
    )
    regular = np.array([key in REGULAR for key, _, _ in cases])
    keys = [key for key, _, _ in cases]
    label = np.array([said for _, _, said in cases])
    in_ac0 = np.array([AC0[key] if key in AC0 else _quasi_aperiodic(_language(key)) for key in keys])
    free = np.array([key in DOT_DEPTH for key in keys])
    depth = np.array([-float(DOT_DEPTH.get(key, 99)) for key in keys])
    everywhere = np.ones(len(cases), dtype=bool)
    found = {
        "in C-RASP, as labelled": (label, everywhere),
        "in AC0": (in_ac0, everywhere),
        "in C-RASP, regular languages alone": (label, regular),
        "star-free, regular languages": (free, regular),
        "low dot-depth, regular languages": (depth, regular),
    }
    rows = [Row("AUC", name, area(score[of], right[of]), n=int(of.sum())) for name, (score, of) in found.items()]
    by = {row.item: row.value for row in rows}
    ours = [replace(row, quantity="AUC of the label") for row in rows if row.item.startswith("in C-RASP")]
    others = [replace(row, quantity="AUC of another label") for row in rows if not row.item.startswith("in C-RASP")]
    regular_lead = {
        name: by["in C-RASP, regular languages alone"] - by[f"{name}, regular languages"]
        for name in ("star-free", "low dot-depth")
    }
    return [
        *ours,
        *others,
        Row("lead over in AC0", "all maps", by["in C-RASP, as labelled"] - by["in AC0"]),
        *(Row(f"lead over {name}", "regular languages", lead) for name, lead in regular_lead.items()),
    ]


def inclusion() -> list[Row]:
    """Maps that are guaranteed without positions and not with them: all tasks of the house and all published maps."""
    rows = []
    for key in dict.fromkeys([*task_names(), *(key for key, *_ in labelled())]):
        without, with_positions = predict(key, "none").verdict, predict(key, "learned").verdict
        lost = without == "guaranteed" and with_positions != "guaranteed"
        rows.append(Row("guarantee lost", key, float(lost)))
    return rows


def area(scores: Sequence[float] | np.ndarray, right: np.ndarray) -> float:
    """Area under the curve of scores for a yes: the chance that a yes scores above a no, ties counted half."""
    yes = int(right.sum())
    ranks = rankdata(np.asarray(scores, dtype=np.float64))
    return float((ranks[right].sum() - yes * (yes + 1) / 2) / (yes * (len(right) - yes)))


def _outside(languages: dict[str, Automaton]) -> list[Row]:
    rows = []
    for name, language in languages.items():
        rows.append(Row("certified", name, float(find_certificate(language, PERIODS, LOCALITIES) is not None)))
        rows.append(Row("proven outside", name, float(exclude(language) is not None)))
    return rows


def _language(key: str) -> Automaton:
    task = resolve(key, {})[1]
    found = None if task is None else task.automaton()
    assert found is not None, key
    return next(iter(found.languages()))


def _labelled_in(key: str) -> bool:
    return next(r.expressible for r in reported(key, "learned") if r.source == HUANG) is True


def _members(language: Automaton, strings: np.ndarray) -> np.ndarray:
    state = np.full(len(strings), language.start)
    for at in range(strings.shape[1]):
        state = language.table[state, strings[:, at] - 1]
    return np.isin(state, sorted(language.accepting))


def _quasi_aperiodic(language: Automaton) -> bool:
    """In AC0, for a regular language: no group among words of one length (Barrington et al. 1992)."""
    monoid = syntactic_monoid(language)
    assert monoid is not None
    for x in stable_semigroup(monoid).tolist():
        power = monoid.elements[x]
        for _ in range(len(power)):
            power = monoid.elements[x][power]
        if not np.array_equal(monoid.elements[x][power], power):
            return False
    return True
