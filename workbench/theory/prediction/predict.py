"""What theory predicts for a task and a position encoding, by which theorem, and where it is silent.

Two classes are at stake. Transformers without positions are held against C-RASP[empty], those with learned
positions trained at random offsets, and limit transformers, against C-RASP[periodic, local] (Huang et al.,
arXiv 2410.02140); what programs may read of each encoding, it says itself. Regular languages are decided; other
maps are looked up in :mod:`workbench.theory.prediction.known_maps`.

*guaranteed* is a theorem's word, on the theorem's terms: an idealised learner that takes the simplest
transformer fitting all lengths up to n/2, at every offset, is right up to n once n is large. It is no
statement about gradient descent. *not expressible* means outside the class. *open* means that no theorem
covers the case; *not decided* that a decision procedure ended without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from workbench.core.names import STATE_SPACE_MODELS
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.base import Task, TaskError
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.zoo import ZOO
from workbench.theory.errors import TheoryError
from workbench.theory.prediction.known_maps import COMMUNICATION, KnownMap, MapClaim, Verdict
from workbench.theory.prediction.notes import NOTES, Note, regular_notes
from workbench.theory.prediction.reported_results import Reported, reported, reported_of_state_spaces
from workbench.theory.prediction.rules import EMPTY, POSITIONAL, Positions, of_languages, of_program, stated
from workbench.theory.prediction.state_space_claims import NOT_LEARNT, state_space_claim
from workbench.theory.prediction.task_names import Witness, base_of, entry_of, program_of, resolve
from workbench.theory.regular.deciders import CONVENTIONS, Certificate, Convention
from workbench.theory.regular.monoid import is_aperiodic, syntactic_monoid
from workbench.theory.regular.synthesis import synthesise

__all__ = ["Positions", "Prediction", "one_line", "predict", "predict_regex"]

LEARNER = "the theorem's learner takes the simplest transformer that fits lengths up to n/2; it is not gradient descent"

READINGS: dict[Convention, str] = {
    "last_position": "where acceptance may read the last symbol",
    "neutral_symbol": "where acceptance may not read the last symbol, as in the class of arXiv 2608.13433",
}
"""The two conventions, in words."""


@dataclass(frozen=True)
class Prediction:
    """What theory says about one map and one position encoding.

    Attributes:
        subject: the task's key, or the regular expression.
        positions: in words; of a state-space model, which it is.
        verdict: guaranteed, expressible, not expressible, open or not decided.
        language_class: the class it was held against; "" where no theorem covers the positions.
        theorem: by which theorem, with its paper; "none" where there is none.
        program: a program that witnesses it, by its name in the zoo or in a line; "" without one.
        period: the modulus of the residues that it reads; 1 = none.
        locality: the largest offset that it reads.
        reason: one sentence.
        derived: whether the step from the theorem to this map was made here, not in the paper.
        assumptions: under which this holds, and caveats.
        reported: published accuracies for the same task and positions.
        other_reading: the verdict of the other convention of acceptance and why, in a sentence, for a map without
            positions on which the two differ; "" elsewhere.
        notes: remarks of other theories.
        languages: of a guaranteed regular map, the language of each answer.
        witness: the program called :attr:`program`; None where that is empty, or a line that is none to run.
    """

    subject: str
    positions: str
    verdict: Verdict
    language_class: str
    theorem: str
    program: str
    period: int
    locality: int
    reason: str
    derived: bool
    assumptions: tuple[str, ...]
    other_reading: str = ""
    reported: tuple[Reported, ...] = ()
    notes: tuple[Note, ...] = ()
    languages: tuple[Automaton, ...] = field(default=(), repr=False, compare=False)
    witness: Program | None = field(default=None, repr=False, compare=False)

    def programs(self) -> list[Program]:
        """The programs that witness a guarantee: the known one, or one per answer written from the potentials.

        Empty where the verdict is another, or the program is only described.
        """
        if self.verdict != "guaranteed":
            return []
        if self.witness is not None:
            return [self.witness]
        return [synthesise(language, Certificate(self.period, self.locality)) for language in self.languages]

    @property
    def model(self) -> str:
        """What the prediction is for, in words."""
        return self.positions if self.positions in STATE_SPACE_MODELS.values() else f"positions {self.positions}"

    @property
    def line(self) -> str:
        """The prediction in one line."""
        why = f"program {self.program}" if self.program else self.reason
        return f"{self.verdict}: {why}" + (f" ({self.theorem})" if self.theorem != "none" else "")


def predict(
    subject: str | Task,
    positions: Positions | str = "none",
    convention: Convention = "last_position",
    /,
    **parameters: Any,
) -> Prediction:
    """Predict for a task, given as an object, or by the name and parameters of one in the house or the literature.

    Args:
        subject: e.g. ``majority``, ``tomita_4``, ``D_12``, ``unique copy``, ``my_task.py:MyTask``, or a task.
        positions: an encoding, or its name; for a state-space model a name of
            :data:`workbench.core.names.STATE_SPACE_MODELS`.
        convention: how acceptance of a regular language may read the last symbol.
        parameters: of the task, where it is given by name.

    Example:

        >>> predict("parity", "learned").verdict
        'not expressible'
        >>> predict("parity", "ssm-nonnegative").verdict, predict("parity", "ssm-signed").verdict
        ('not expressible', 'expressible')

    Raises:
        TheoryError: for a name that nothing is known about, with the nearest ones, or unknown positions.
        TaskError: for a parameter that the task does not have.
    """
    key, task = resolve(subject, parameters)
    if isinstance(positions, str) and positions in STATE_SPACE_MODELS:
        found = None if task is None else task.automaton()
        return _of_state_space(key, None if found is None else found.languages, positions)
    at = Positions.named(positions) if isinstance(positions, str) else positions
    # What is claimed of a map goes before deciding it: some automata are large and their map is well known.
    found = None if task is None or entry_of(key, task) is not None else task.automaton()
    said = stated(_entry(key, task, found, at, convention), at)
    languages = tuple(found.languages()) if found is not None and said.verdict == "guaranteed" else ()
    notes = (*NOTES.get(base_of(key), ()), *(() if found is None else _star_free_note(found.languages())))
    other = "" if found is None else _other_reading(said, found.languages, at, convention)
    own = None if task is None else program_of(key, task)
    return _prediction(key, at, said, languages, reported(key, at.name), notes, other, own)


def predict_regex(
    expression: str,
    positions: Positions | str = "none",
    convention: Convention = "last_position",
    alphabet: str | None = None,
) -> Prediction:
    """Predict for membership in the language of a regular expression.

    Example:

        >>> predict_regex("(a|b)*bb(a|b)*", "none").verdict, predict_regex("(a|b)*bb(a|b)*", "learned").verdict
        ('not expressible', 'guaranteed')
        >>> predict_regex("(a|b)*b").verdict, predict_regex("(a|b)*b", convention="neutral_symbol").verdict
        ('guaranteed', 'not expressible')

    Raises:
        TaskError: for an invalid expression.
        TheoryError: for unknown positions.
    """
    if isinstance(positions, str) and positions in STATE_SPACE_MODELS:
        only = Automaton.from_regex(expression, alphabet)
        return _of_state_space(expression, lambda: (only,), positions)
    at = Positions.named(positions) if isinstance(positions, str) else positions
    languages = (Automaton.from_regex(expression, alphabet),)
    said = stated(of_languages(lambda: languages, at, convention), at)
    other = _other_reading(said, lambda: languages, at, convention)
    return _prediction(expression, at, said, languages, (), _star_free_note(languages), other)


def one_line(task_name: str, positions: Positions | str = "none") -> str:
    """The prediction for a task by name in one line, for lists; says so where there is none."""
    try:
        return predict(task_name, positions).line
    except (TheoryError, TaskError) as error:
        return f"no prediction: {error}"


def _of_state_space(subject: str, languages: Callable[[], Iterable[Automaton]] | None, gates: str) -> Prediction:
    """What theory says of a state-space model; no word on learning, and no program."""
    said = state_space_claim(subject, languages, gates)
    assumptions = [said.note] if said.note else []
    return Prediction(
        subject=subject,
        positions=STATE_SPACE_MODELS[gates],
        verdict=said.verdict,
        language_class="",
        theorem=said.theorem,
        program="",
        period=1,
        locality=0,
        reason=said.reason,
        derived=said.derived,
        assumptions=(*assumptions, *([NOT_LEARNT] if said.verdict == "expressible" else [])),
        reported=reported_of_state_spaces(subject) if gates == "ssm-nonnegative" else (),
    )


def _entry(key: str, task: Task | None, found: Automaton | None, at: Positions, convention: Convention) -> KnownMap:
    """What is known: as looked up, else decided where it is regular, else of a program where there is one."""
    case, listed = program_of(key, task), entry_of(key, task)
    if listed is not None:
        return listed
    if found is not None:
        decided = of_languages(found.languages, at, convention)
        # Programs accept at the last position, and may read it.
        return of_program(case, decided.without) if case and convention == "last_position" else decided
    if case is not None:
        return of_program(case)
    unknown = MapClaim("open", "none", "no claim about this map is known, and no automaton is stated for this task")
    return KnownMap(unknown, unknown)


def _other_reading(
    said: MapClaim, languages: Callable[[], Iterable[Automaton]], at: Positions, convention: Convention
) -> str:
    """What the other convention of acceptance comes to, where that is another verdict."""
    if not at.blind:
        return ""
    other = next(one for one in CONVENTIONS if one != convention)
    claim = of_languages(languages, at, other).without
    return "" if claim.verdict == said.verdict else f"{READINGS[other]}: {claim.verdict}; {claim.reason}"


def _star_free_note(languages: Iterable[Automaton]) -> tuple[Note, ...]:
    """What it means that a language is star-free or not; nothing is said of maps of several answers."""
    first = list(islice(languages, 2))
    if len(first) != 1:
        return ()
    monoid = syntactic_monoid(first[0])
    return () if monoid is None else regular_notes(is_aperiodic(monoid))


def _prediction(
    subject: str,
    at: Positions,
    said: MapClaim,
    languages: tuple[Automaton, ...],
    published: tuple[Reported, ...],
    notes: tuple[Note, ...],
    other_reading: str,
    own: Witness | None = None,
) -> Prediction:
    name = said.program if said.verdict == "guaranteed" else ""
    witness = ZOO[name].program if name in ZOO else own.program if own is not None and own.name == name else None
    held_against = "" if at.reach is None else EMPTY if at.blind else POSITIONAL
    assumptions = [said.note] if said.note else []
    if said.verdict == "guaranteed":
        assumptions.append(LEARNER)
    elif said.verdict == "not expressible" and said.theorem != COMMUNICATION:
        assumptions.append(
            f"outside {held_against}; whether it holds all that such limit transformers compute is open, so this is no "
            "proof about transformers"
        )
    return Prediction(
        subject=subject,
        positions=str(at),
        verdict=said.verdict,
        language_class=held_against,
        theorem=said.theorem,
        program=name,
        period=said.period,
        locality=said.locality,
        reason=said.reason,
        derived=said.derived,
        assumptions=tuple(assumptions),
        other_reading=other_reading,
        reported=published,
        notes=notes,
        languages=languages,
        witness=witness,
    )
