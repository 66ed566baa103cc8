"""A measurement's fields are its settings: frozen, checked before anything is built, and stored as they were given."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from probes.conditional import ConditionalProbes
from probes.residual_stream import Resampled
from workbench.core.canonical import canonical
from workbench.core.limits import DRAWN
from workbench.measure.gradient_alignment import Dynamics
from workbench.measure.measurement import Measurement, Quantity
from workbench.measure.settings import (
    Count,
    Counts,
    Factors,
    LargerPart,
    MeasurementError,
    NotNegative,
    Positive,
    Real,
    Seed,
    Share,
)


class Wide(Measurement):
    """One setting of each kind."""

    name = "theirs.wide"
    title = "Wide"
    quantities = (Quantity("width", "how wide", "tokens", 1),)
    laws = ("challenge",)
    sequences = 32
    needs = "attention"

    window: Count = 16
    seed: Seed = 0
    gain: Real = 1.0
    bits: NotNegative = 0
    share: Share = 0.5
    offsets: Counts = (1,)
    factors: Factors = (1, 4)

    def hooks(self, cfg: Any) -> list[str]:
        return []

    def observe(self, law: str, length: int, batch: Any, cache: Any) -> None:
        """Nothing."""

    def finish(self, study: Any) -> list[Any]:
        return []


def test_the_spec_follows_from_the_class_and_its_fields() -> None:
    spec = Wide(window=4).spec
    assert (spec.name, spec.version, spec.title, spec.laws) == ("theirs.wide", 1, "Wide", ("challenge",))
    assert (spec.sequences, spec.needs, spec.deepens) == (32, "attention", False)
    assert spec.quantities == Wide.quantities
    assert spec.settings == {
        "window": 4, "seed": 0, "gain": 1.0, "bits": 0, "share": 0.5, "offsets": [1], "factors": [1, 4],
    }  # fmt: skip
    assert Wide(**spec.settings) == Wide(window=4)


def test_a_number_is_stored_as_it_was_given() -> None:
    """A stored row says 1 or 1.0, and is found again by what it says."""
    assert canonical(Wide(gain=2, factors=[1, 2.5]).spec.settings) == canonical(
        {"window": 16, "seed": 0, "gain": 2, "bits": 0, "share": 0.5, "offsets": [1], "factors": [1, 2.5]}
    )
    assert '"gain":2.0' in canonical(Wide(gain=2.0).spec.settings)


def test_settings_do_not_change_once_made() -> None:
    made = Wide(factors=[1, 2])
    with pytest.raises(ValidationError, match="frozen"):
        made.window = 3  # type: ignore[misc]
    assert made.factors == (1, 2)
    assert {made: "as a key"}[Wide(factors=(1, 2))]


@pytest.mark.parametrize(("settings", "said"), [
    ({"windows": 3}, "theirs.wide has no setting 'windows' (it has: window, seed, gain, bits, share, offsets, factors); "
                     "did you mean window"),
    ({"window": "x", "nonsense": 1}, "has no setting 'nonsense'"),
    ({"window": 0}, "theirs.wide.window must be a whole number from 1 to 1,000,000, not 0"),
    ({"window": DRAWN + 1}, "from 1 to 1,000,000, not 1000001"),
    ({"window": 2.0}, "theirs.wide.window: input should be a valid integer, not 2.0"),
    ({"window": True}, "input should be a valid integer, not True"),
    ({"seed": -1}, "theirs.wide.seed must be a whole number from 0 to"),
    ({"gain": float("nan")}, "theirs.wide.gain: input should be a finite number, not nan"),
    ({"gain": "1"}, "input should be a valid number, not '1'"),
    ({"gain": 10**20}, "theirs.wide.gain must be at most 1,000,000"),
    ({"bits": -0.5}, "theirs.wide.bits must not be negative, not -0.5"),
    ({"share": 1}, "theirs.wide.share must lie between 0 and 1, not 1"),
    ({"offsets": [1, 0]}, "theirs.wide.offsets must be a whole number from 1 to"),
    ({"offsets": "12"}, "theirs.wide.offsets: 'str' instances are not allowed as a Sequence value, not '12'"),
    ({"factors": [0.0]}, "theirs.wide.factors must be above 0, not 0.0"),
    ({"factors": 4}, "theirs.wide.factors: input should be"),
])  # fmt: skip
def test_what_cannot_be_is_refused_in_one_sentence_that_names_it(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(MeasurementError) as caught:
        Wide(**settings)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


EPS = 1e-12


class Every(BaseModel):
    """A field of each type of setting."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    count: Count = 1
    seed: Seed = 0
    real: Real = 0.0
    positive: Positive = 1.0
    not_negative: NotNegative = 0.0
    share: Share = 0.5
    larger: LargerPart = 0.6
    factors: Factors = (1,)
    resamples: Resampled = 2


@pytest.mark.parametrize(("field", "taken", "refused"), [
    ("count", [1, DRAWN], [0, -1, DRAWN + 1, 1.0, True]),
    ("seed", [0, (1 << 63) - 1], [-1, 1 << 63]),
    ("real", [-DRAWN, DRAWN, 1e300], [DRAWN + 1, -DRAWN - 1, math.inf, math.nan, "1"]),
    ("positive", [EPS, 1], [0, 0.0, -EPS]),
    ("not_negative", [0, 0.0, EPS], [-EPS, -1]),
    ("share", [EPS, 1 - EPS], [0, 1, 0.0, 1.0, -EPS, 1 + EPS]),
    ("larger", [0.5 + EPS, 1 - EPS], [0.5, 1, 1.0, 0.4]),
    ("factors", [[EPS], [1, 2]], [[0], [1, -1]]),
    ("resamples", [2, DRAWN], [1, 0]),
])  # fmt: skip
def test_settings_at_their_bounds(field: str, taken: list[Any], refused: list[Any]) -> None:
    for value in taken:
        found = getattr(Every(**{field: value}), field)
        assert found == (tuple(value) if isinstance(value, list) else value)
        assert isinstance(value, list) or type(found) is type(value), "1 and 1.0 are two settings"
    for value in refused:
        with pytest.raises(ValidationError):
            Every(**{field: value})


@pytest.mark.parametrize(("make", "taken", "refused"), [
    (lambda n: Dynamics(batches=n), [4, 6], [2, 3, 5]),
    (lambda n: ConditionalProbes(positions=n), [2, 3], [1]),
])  # fmt: skip
def test_settings_with_rules_of_their_own(make: Any, taken: list[int], refused: list[int]) -> None:
    for value in taken:
        assert value in make(value).settings.values()
    for value in refused:
        with pytest.raises(MeasurementError, match=r"at least"):
            make(value)
