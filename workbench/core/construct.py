"""Builds a frozen config from plain data, and raises one clear sentence for values that do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from workbench.core.errors import LensError, quoted_value
from workbench.core.suggest import nearest

_TYPES = ("int", "float", "str", "bool")
_WANTED = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "string_type": "a text",
}
"""pydantic's name of an error -> what the setting takes, in words."""
Made = TypeVar("Made", bound=BaseModel)


def construct(cls: type[Made], values: Mapping[str, Any], what: str, error: type[LensError]) -> Made:
    """Make an instance of ``cls`` from plain data, or raise ``error`` with a sentence on the first invalid field.

    Args:
        cls: the config.
        values: its fields.
        what: how the sentence calls the thing, e.g. ``curriculum growing``.
        error: what is raised.

    Raises:
        error: naming the first field that is unknown, missing or impossible.
    """
    if not isinstance(values, Mapping):
        raise error(f"{what} takes a mapping of settings to values, not {quoted_value(values)}")
    try:
        return cls(**{str(name): value for name, value in values.items()})
    except ValidationError as report:
        raise error(_sentence(cls, report, what)) from None


def _is_field(part: str) -> bool:
    return part.isidentifier() and part not in _TYPES


def _sentence(cls: type[BaseModel], report: ValidationError, what: str) -> str:
    # An unknown name first: what it was meant to be may be what is missing.
    first = min(report.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    # Of several types that a value may have, pydantic names the one it speaks of, in a form of its own.
    place = [str(part) for i, part in enumerate(first["loc"]) if i == 0 or isinstance(part, int) or _is_field(part)]
    if first["type"] == "extra_forbidden" and len(place) == 1:
        return f"{what} has no setting {quoted_value(place[0])}; {nearest(place[0], cls.model_fields)}"
    if first["type"] == "missing":
        return f"{what} needs the setting {'.'.join(place)}"
    if place and (wanted := _WANTED.get(first["type"])):
        return f"{what}: {'.'.join(place)} takes {wanted}, not {quoted_value(first['input'])}"
    said = str(first["msg"]).removeprefix("Value error, ")
    return f"{what}: {'.'.join(place)}: {said}, not {quoted_value(first['input'])}" if place else f"{what}: {said}"
