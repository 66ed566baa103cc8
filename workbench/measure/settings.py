"""Settings of measurements: the types of their fields, and the error for any other value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, ValidationError, WrapValidator

from workbench.core.errors import LensError, quoted_value
from workbench.core.limits import DRAWN
from workbench.core.suggest import near_names


@dataclass
class MeasurementError(LensError, ValueError):
    """Raised for a measurement, setting or option that does not exist; the message suggests the nearest name."""

    message: str
    near: tuple[str, ...] = field(default_factory=tuple)

    def __str__(self) -> str:
        hint = f"; did you mean {' or '.join(self.near)}?" if self.near else ""
        return self.message + hint


def _within(low: int, high: int) -> AfterValidator:
    def check(value: int) -> int:
        if not low <= value <= high:
            raise ValueError(f"must be a whole number from {low:,} to {high:,}, not {quoted_value(value)}")
        return value

    return AfterValidator(check)


def _that(holds: Callable[[float], bool], what: str) -> AfterValidator:
    def check(value: float) -> float:
        if not holds(value):
            raise ValueError(f"{what}, not {quoted_value(value)}")
        return value

    return AfterValidator(check)


def _as_given(value: Any, check: Callable[[Any], float]) -> float:
    """Return a number with its type unchanged, because 1 and 1.0 are two settings to a stored row."""
    check(value)
    if isinstance(value, int) and abs(value) > DRAWN:
        raise ValueError(f"must be at most {DRAWN:,}, not {quoted_value(value)}")
    return value  # type: ignore[no-any-return]


Count = Annotated[int, _within(1, DRAWN)]
"""A number of things, at least 1."""
Seed = Annotated[int, _within(0, (1 << 63) - 1)]
Real = Annotated[float, WrapValidator(_as_given)]
"""Any finite number; a whole number stays whole."""
Positive = Annotated[Real, _that(lambda x: x > 0, "must be above 0")]
NotNegative = Annotated[Real, _that(lambda x: x >= 0, "must not be negative")]
Share = Annotated[Real, _that(lambda x: 0 < x < 1, "must lie between 0 and 1")]
LargerPart = Annotated[Real, _that(lambda x: 0.5 < x < 1, "must lie between 1/2 and 1")]
"""A share above 1/2."""
Counts = Annotated[Sequence[Count], AfterValidator(tuple)]
Reals = Annotated[Sequence[Real], AfterValidator(tuple)]
Factors = Annotated[Sequence[Positive], AfterValidator(tuple)]
"""Multiples of N, the longest trained length."""
Layers = Annotated[Sequence[int], AfterValidator(tuple)]
"""Layer indices; -1 = the embedding."""


def refusal(measurement: str, settings: Sequence[str], error: ValidationError) -> MeasurementError:
    """Return the error for the first invalid setting of a measurement. Unknown settings come before invalid values."""
    errors = error.errors(include_url=False)
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    place = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        its = ", ".join(settings) or "none"
        return MeasurementError(
            f"{measurement} has no setting {quoted_value(place)} (it has: {its})", near_names(place, settings)
        )
    if first["type"] == "missing":
        return MeasurementError(f"{measurement} needs a value of its setting {place}")
    if first["type"] == "value_error":  # a rule with its own message
        rule = first["ctx"]["error"]
        return MeasurementError(f"{measurement}.{place} {rule}" if place else f"{measurement}: {rule}")
    said = str(first["msg"])
    return MeasurementError(f"{measurement}.{place}: {said[0].lower()}{said[1:]}, not {quoted_value(first['input'])}")
