"""Answers to a challenge: one JSON object per line, checked line by line."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from workbench.core.errors import quoted_value
from workbench.core.suggest import nearest
from workbench.diagnosis.challenge.errors import ChallengeError
from workbench.diagnosis.challenge.truth import CAUSES, LOCATIONS, NONE
from workbench.measure.edits.interventions.all_interventions import DIAGNOSED
from workbench.storage.atomic import write_named
from workbench.storage.bounded import UnreadableError, read_bytes

LARGEST = 4 << 20
"""Maximum size of an answer file, in bytes."""
FIELDS = ("model", "cause", "location", "intervention")
EXAMPLE = '{"model": "m01", "cause": "position", "location": "selection", "intervention": "P.int"}'
PAIR = " and "
"""Joins the names of two interventions."""


class Answer(BaseModel):
    """The answer of a method for one model.

    Attributes:
        model: name of the model.
        cause: the cause, one of ``CAUSES``.
        location: the location, one of ``LOCATIONS``.
        intervention: name of an intervention, two names joined by " and ", or ``none``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    model: str
    cause: str
    location: str = NONE
    intervention: str = NONE


def read_answers(path: Path, models: Collection[str]) -> dict[str, Answer]:
    """Return the answers of a file by model, one for each of ``models``.

    Raises:
        ChallengeError: for a file that cannot be read, a line that does not fit, or a model without an answer. The
            message names the line.
    """
    try:
        text = read_bytes(path, LARGEST).decode()
    except FileNotFoundError:
        raise ChallengeError(
            f"there is no file {path} with answers; write one JSON object per line: {EXAMPLE}"
        ) from None
    except (UnreadableError, OSError, UnicodeDecodeError) as error:
        raise ChallengeError(f"{path} cannot be read as answers ({error}); write lines like {EXAMPLE}") from None
    answers: dict[str, Answer] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        answer = _answer(line, f"{path}, line {number}", models)
        if answer.model in answers:
            raise ChallengeError(f"{path}, line {number}: {answer.model} already has an answer in line "
                                 f"{lines[answer.model]}; keep one of the two lines")  # fmt: skip
        answers[answer.model], lines[answer.model] = answer, number
    missing = [name for name in models if name not in answers]
    if missing:
        rest = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ChallengeError(f'{path} ends without an answer for {missing[0]}{rest}; add a line per model, with the '
                             f'cause "{NONE}" where the method names none')  # fmt: skip
    return {name: answers[name] for name in models}


def _answer(line: str, place: str, models: Collection[str]) -> Answer:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise ChallengeError(f"{place}: it is not a JSON object; write {EXAMPLE}")
    unknown = [name for name in content if name not in FIELDS]
    if unknown:
        raise ChallengeError(
            f"{place}: there is no field {quoted_value(unknown[0])}; the fields are {', '.join(FIELDS)}"
        )
    for field in FIELDS[:2]:
        if field not in content:
            raise ChallengeError(f"{place}: the field {field} is missing; write {EXAMPLE}")
    for field, value in content.items():
        if not isinstance(value, str):
            raise ChallengeError(
                f"{place}: the field {field} is {quoted_value(value)}, which is not text; write {EXAMPLE}"
            )
    answer = Answer(**content)
    _refuse_unknown(place, "model", answer.model, models)
    _refuse_unknown(place, "cause", answer.cause, CAUSES)
    _refuse_unknown(place, "location", answer.location, LOCATIONS)
    _refuse_intervention(place, answer.intervention)
    return answer


def _refuse_unknown(place: str, field: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise ChallengeError(f"{place}: there is no {field} {quoted_value(value)}; {nearest(value, list(known))}")


def _refuse_intervention(place: str, intervention: str) -> None:
    parts = [] if intervention == NONE else intervention.split(PAIR)
    if len(parts) > 2:
        raise ChallengeError(f"{place}: {len(parts)} interventions are named; name one or two")
    for part in parts:
        if all(entry.match(part) is None for entry in DIAGNOSED):
            known = [entry.name for entry in DIAGNOSED]
            raise ChallengeError(f"{place}: there is no intervention {quoted_value(part)}; {nearest(part, known)}")


def write_answers(path: Path, answers: Iterable[Answer]) -> None:
    """Write answers, one per line."""
    lines: list[dict[str, Any]] = [answer.model_dump() for answer in answers]
    write_named(path, "".join(json.dumps(line) + "\n" for line in lines).encode())
