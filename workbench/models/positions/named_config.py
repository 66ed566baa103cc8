"""The common base of encodings and id samplers: frozen configs in a registry, stated by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from workbench.core.errors import quoted_value
from workbench.core.former_names import OverridableFormerNames
from workbench.core.registry import Registry
from workbench.models.errors import PositionError

S = TypeVar("S", bound="Scheme")


class Scheme(OverridableFormerNames, BaseModel):
    """A registered object with a name and parameters, such as a position encoding."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str


def object_from_name(registry: Registry[type[S]], value: object) -> S:
    """Return a registered object from its name, from ``{"name": ..., **parameters}``, or from the object itself.

    Raises:
        PositionError: for an unknown name, with the nearest ones; for a parameter that does not exist or fit; or for a
            value that is neither a name nor a mapping.
    """
    if isinstance(value, Scheme):
        return value  # type: ignore[return-value]  # mypy narrows to Scheme, the caller knows which
    kind = registry.kind
    if not isinstance(value, str | Mapping):
        raise PositionError(
            f"{kind} must be a name, or a mapping with a name and parameters, not {quoted_value(value)}"
        )
    fields: dict[str, Any] = {"name": value} if isinstance(value, str) else {str(k): v for k, v in value.items()}
    name = fields.get("name")
    found = registry.find(name)
    try:
        return found(**fields)
    except ValidationError as error:
        raise PositionError(f"{kind} {name}: {_problem(found, error)}") from None


def _problem(scheme: type[Scheme], error: ValidationError) -> str:
    """The first problem of a validation report as one clause."""
    first = error.errors()[0]
    where, message = ".".join(str(part) for part in first["loc"]), str(first["msg"])
    if first["type"] == "extra_forbidden":
        parameters = [name for name in scheme.model_fields if name != "name"]
        return f"no parameter {where!r}; it has {', '.join(parameters) or 'none'}"
    if first["type"] == "value_error":
        return message.removeprefix("Value error, ")
    return f"{where}={quoted_value(first['input'])}: {message[0].lower()}{message[1:]}"


def refuse_negative(ids: Tensor) -> None:
    """Refuse negative position ids, which would index a table from its end.

    Raises:
        PositionError: naming the smallest id.
    """
    if ids.numel() and (low := int(ids.min())) < 0:
        raise PositionError(f"position ids start at 0, but one is {low}; shift all of them by {-low} or more")
