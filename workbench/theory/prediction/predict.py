"""Predicts what theory states for a task and a position encoding, with the theorem if there is one.

There are two classes. Transformers without positions are compared with C-RASP[empty]. Those with learned positions
trained at random offsets, and limit transformers, are compared with C-RASP[periodic, local] (Huang et al., arXiv
2410.02140). Each encoding states what programs may read of it. Regular languages are decided; other maps are looked up
in :mod:`workbench.theory.prediction.known_maps`.

*guaranteed* quotes a theorem with its assumptions. An idealised learner takes the simplest transformer that fits all
lengths up to n/2, at every offset; it is right up to n once n is large. That is not a statement about gradient descent.
*not expressible* means outside the class. *open* means that no theorem covers the case. *not decided* means that a
decision procedure ended without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from workbench.core.names import RECURRENT_NETWORKS, WITHOUT_POSITIONS
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.base import Task, TaskError
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.zoo import ZOO
from workbench.theory.errors import TheoryError
from workbench.theory.prediction.known_maps import COMMUNICATION, KnownMap, MapClaim, Verdict
from workbench.theory.prediction.notes import NOTES, Note, length_complexity_note, regular_notes
from workbench.theory.prediction.recurrent_network_claims import recurrent_network_claim
from workbench.theory.prediction.reported_results import Reported, published_results, reported_of_state_spaces
from workbench.theory.prediction.rules import EMPTY, POSITIONAL, Positions, claim_at, of_languages, of_program
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
    """What theory predicts for one task and one position encoding.

    Attributes:
        subject: the task's key, or the regular expression.
        positions: in words; for a state-space model, its name.
        verdict: guaranteed, expressible, not expressible, open or not decided.
        language_class: the class that the map is compared with; "" if no theorem covers the positions.
        theorem: the theorem and its paper; "none" if there is none.
        program: a program that proves the verdict, by its name in the zoo or in a line; "" without one.
        period: the modulus of the residues that it reads; 1 = none.
        locality: the largest offset that it reads.
        reason: one sentence.
        derived: whether the step from the theorem to this map was made here, not in the paper.
        assumptions: assumptions and caveats.
        reported: published accuracies for the same task and positions.
        other_reading: the verdict of the other convention of acceptance and its reason, in a sentence, for a map
            without positions on which the two differ; "" elsewhere.
        notes: remarks of other theories.
        languages: of a guaranteed regular map, the language of each answer.
        witness: the program of the field ``program``; None if that is empty, or only a description.
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
        """Return the programs that prove a guarantee: the known one, or one per answer written from the potentials.

        The list is empty for other verdicts, and if the program is only described.
        """
        if self.verdict != "guaranteed":
            return []
        if self.witness is not None:
            return [self.witness]
        return [synthesise(language, Certificate(self.period, self.locality)) for language in self.languages]

    @property
    def model(self) -> str:
        """The model that the prediction is about, in words."""
        return self.positions if self.positions in WITHOUT_POSITIONS.values() else f"positions {self.positions}"

    @property
    def line(self) -> str:
        """Return the prediction as one line of text."""
        why = f"program {self.program}" if self.program else self.reason
        return f"{self.verdict}: {why}" + (f" ({self.theorem})" if self.theorem != "none" else "")


def predict(
    subject: str | Task,
    positions: Positions | str = "none",
    convention: Convention = "last_position",
    /,
    **parameters: Any,
) -> Prediction:
    """Predict for a task, given as an object or by a name of LengthLens or of the literature.

    Args:
        subject: e.g. ``majority``, ``tomita_4``, ``D_12``, ``unique copy``, ``my_task.py:MyTask``, or a task.
        positions: an encoding, or its name; for a model without positions a name of
            :data:`workbench.core.names.WITHOUT_POSITIONS`.
        convention: how acceptance of a regular language may read the last symbol.
        parameters: the parameters of the task, if it is given by name.

    Example:

        >>> predict("parity", "learned").verdict
        'not expressible'
        >>> predict("parity", "ssm-nonnegative").verdict, predict("parity", "ssm-signed").verdict
        ('not expressible', 'expressible')

    Raises:
        TheoryError: for an unknown name, with the nearest ones, or unknown positions.
        TaskError: for a parameter that the task does not have.
    """
    key, task = resolve(subject, parameters)
    if isinstance(positions, str) and positions in WITHOUT_POSITIONS:
        automaton = None if task is None else task.automaton()
        return _without_positions(key, None if automaton is None else automaton.languages, positions)
    at = Positions.from_name(positions) if isinstance(positions, str) else positions
    # A listed claim is used instead of a decision: some automata are large, and their map is well known.
    automaton = None if task is None or entry_of(key, task) is not None else task.automaton()
    claim = claim_at(_entry(key, task, automaton, at, convention), at)
    languages = tuple(automaton.languages()) if automaton is not None and claim.verdict == "guaranteed" else ()
    notes = (*NOTES.get(base_of(key), ()), *(() if automaton is None else _language_notes(automaton.languages())))
    other = "" if automaton is None else _other_reading(claim, automaton.languages, at, convention)
    witness = None if task is None else program_of(key, task)
    return _prediction(key, at, claim, languages, published_results(key, at.name), notes, other, witness)


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
    if isinstance(positions, str) and positions in WITHOUT_POSITIONS:
        only = Automaton.from_regex(expression, alphabet)
        return _without_positions(expression, lambda: (only,), positions)
    at = Positions.from_name(positions) if isinstance(positions, str) else positions
    languages = (Automaton.from_regex(expression, alphabet),)
    claim = claim_at(of_languages(lambda: languages, at, convention), at)
    other = _other_reading(claim, lambda: languages, at, convention)
    return _prediction(expression, at, claim, languages, (), _language_notes(languages), other)


def one_line(task_name: str, positions: Positions | str = "none") -> str:
    """Return the prediction for a task by name in one line, for lists, or a line that there is none."""
    try:
        return predict(task_name, positions).line
    except (TheoryError, TaskError) as error:
        return f"no prediction: {error}"


def _without_positions(subject: str, languages: Callable[[], Iterable[Automaton]] | None, model: str) -> Prediction:
    """Predict for a model without positions.

    The prediction is about expressivity, not learning, and has no program.
    """
    if model in RECURRENT_NETWORKS:
        claim = recurrent_network_claim(regular=languages is not None)
    else:
        claim = state_space_claim(subject, languages, model)
    assumptions = [claim.note] if claim.note else []
    return Prediction(
        subject=subject,
        positions=WITHOUT_POSITIONS[model],
        verdict=claim.verdict,
        language_class="",
        theorem=claim.theorem,
        program="",
        period=1,
        locality=0,
        reason=claim.reason,
        derived=claim.derived,
        assumptions=(*assumptions, *([NOT_LEARNT] if claim.verdict == "expressible" else [])),
        reported=reported_of_state_spaces(subject) if model == "ssm-nonnegative" else (),
    )


def _entry(key: str, task: Task | None, automaton: Automaton | None, at: Positions, convention: Convention) -> KnownMap:
    """Return the claims about a map: as listed, else decided if it is regular, else of a program if there is one."""
    case, listed = program_of(key, task), entry_of(key, task)
    if listed is not None:
        return listed
    if automaton is not None:
        decided = of_languages(automaton.languages, at, convention)
        # Programs accept at the last position, and may read it.
        return of_program(case, decided.without) if case and convention == "last_position" else decided
    if case is not None:
        return of_program(case)
    unknown = MapClaim("open", "none", "no claim about this map is known, and no automaton is stated for this task")
    return KnownMap(unknown, unknown)


def _other_reading(
    chosen: MapClaim, languages: Callable[[], Iterable[Automaton]], at: Positions, convention: Convention
) -> str:
    """Return the verdict of the other convention of acceptance in a clause, if it differs; else ""."""
    if not at.blind:
        return ""
    other = next(one for one in CONVENTIONS if one != convention)
    claim = of_languages(languages, at, other).without
    return "" if claim.verdict == chosen.verdict else f"{READINGS[other]}: {claim.verdict}; {claim.reason}"


def _language_notes(languages: Iterable[Automaton]) -> tuple[Note, ...]:
    """Return what the size of the automaton and star-freeness imply for a language; no notes for maps of several
    answers.
    """
    first = list(islice(languages, 2))
    if len(first) != 1:
        return ()
    monoid = syntactic_monoid(first[0])
    star_free = () if monoid is None else regular_notes(is_aperiodic(monoid))
    return (length_complexity_note(len(first[0].minimal())), *star_free)


def _prediction(
    subject: str,
    at: Positions,
    claim: MapClaim,
    languages: tuple[Automaton, ...],
    published: tuple[Reported, ...],
    notes: tuple[Note, ...],
    other_reading: str,
    stated_witness: Witness | None = None,
) -> Prediction:
    name = claim.program if claim.verdict == "guaranteed" else ""
    own = stated_witness.program if stated_witness is not None and stated_witness.name == name else None
    witness = ZOO[name].program if name in ZOO else own
    language_class = "" if at.reach is None else EMPTY if at.blind else POSITIONAL
    assumptions = [claim.note] if claim.note else []
    if claim.verdict == "guaranteed":
        assumptions.append(LEARNER)
    elif claim.verdict == "not expressible" and claim.theorem != COMMUNICATION:
        assumptions.append(
            f"outside {language_class}; it is open whether this class contains everything that such limit transformers "
            "compute, so this is not a proof about transformers"
        )
    return Prediction(
        subject=subject,
        positions=str(at),
        verdict=claim.verdict,
        language_class=language_class,
        theorem=claim.theorem,
        program=name,
        period=claim.period,
        locality=claim.locality,
        reason=claim.reason,
        derived=claim.derived,
        assumptions=tuple(assumptions),
        other_reading=other_reading,
        reported=published,
        notes=notes,
        languages=languages,
        witness=witness,
    )
