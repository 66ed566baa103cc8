"""Settings, rows and lengths exactly at what is allowed, and beside it."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from probes.conditional import ConditionalProbes
from probes.residual_stream import Resampled
from workbench.core.limits import DRAWN
from workbench.measure import study as studies
from workbench.measure.gradient_alignment import Dynamics, ceiling, cosines, gram
from workbench.measure.measurement import Quantity, Spec
from workbench.measure.running.applicable import not_applicable
from workbench.measure.running.plan import refuse_layers
from workbench.measure.settings import (
    Count,
    Factors,
    LargerPart,
    MeasurementError,
    NotNegative,
    Positive,
    Real,
    Seed,
    Share,
)
from workbench.measure.study import CheckpointStudy
from workbench.measure.testing import (
    _ROUNDING,
    Trial,
    TrialSubject,
    _problem,
    complete,
    declaration,
    deterministic,
    with_intervals,
)
from workbench.measure.training_length_bound import _bounded, _part
from workbench.table.schema import row
from workbench.theory.limit_transformers.bounds import Bound

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


@pytest.mark.parametrize(("layers", "allowed"), [([-1], True), ([1], True), ([2], False), ([-2], False), (None, True)])
def test_layers_that_a_model_has(layers: list[int] | None, allowed: bool) -> None:
    spec = Spec("probes.x", 1, "X", {"layers": layers}, ())
    if allowed:
        refuse_layers(spec, "run", 2)
        return
    with pytest.raises(MeasurementError, match=rf"layer {layers and layers[0]}, which run lacks: it has -1, .* to 1"):
        refuse_layers(spec, "run", 2)


# ---- rows that a kit finds wrong -----------------------------------------------------------------
SHARE = Quantity("q", "x", "share", 0, 1)
SUBJECT = TrialSubject(SimpleNamespace(cfg=SimpleNamespace(n_layers=2)), None, 8, (4, 8))  # type: ignore[arg-type]


@pytest.mark.parametrize(("fields", "said"), [
    ({"value": 0.5, "low": 0.4, "high": 0.6}, ""),
    ({"value": 1 + _ROUNDING / 2}, ""), ({"value": 1 + 3 * _ROUNDING}, "above 1"),
    ({"value": -_ROUNDING / 2}, ""), ({"value": -3 * _ROUNDING}, "below 0"),
    ({"value": 0.5, "low": 0.5 + _ROUNDING / 4, "high": 0.5}, ""),
    ({"value": 0.5, "low": 0.7, "high": 0.6}, "its interval goes"),
    ({"value": 0.5, "low": 0.6, "high": 0.7}, ""), ({"value": 0.45, "low": 0.6, "high": 0.7}, "its interval goes"),
    ({"value": 0.5, "low": 0.3, "high": 0.4}, ""), ({"value": 0.55, "low": 0.3, "high": 0.4}, "its interval goes"),
    ({"status": "censored", "low": 7.0, "note": "x"}, ""), ({"status": "ok"}, "has no value and the status ok"),
    ({"status": "sampled"}, "has no value and the status sampled"), ({"status": "undefined"}, "no value and no note"),
    ({"status": "undefined", "note": "why"}, ""), ({"value": 0.5, "length": 8}, ""),
    ({"value": 0.5, "length": 9}, "at length 9"), ({"status": "undefined", "note": "x", "length": 9}, ""),
    ({"value": 0.5, "layer": -1}, ""), ({"value": 0.5, "layer": 1}, ""), ({"value": 0.5, "layer": 2}, "at layer 2"),
    ({"value": 0.5, "layer": -2}, "at layer -2"), ({"value": 0.5, "n": 0}, ""), ({"value": 0.5, "n": -1}, "n = -1"),
])  # fmt: skip
def test_rows_at_what_they_must_keep_to(fields: dict[str, Any], said: str) -> None:
    found = _problem(row(quantity="q", **fields), SHARE, SUBJECT)
    assert said in found
    assert bool(found) == bool(said)
    label = _problem(row(quantity="q", status="ok", value=1.0), replace(SHARE, unit="label"), SUBJECT)
    assert label.startswith("is a label and has none")


@pytest.mark.parametrize(("parts", "said"), [
    ({}, ""), ({"version": 1}, ""), ({"version": 2}, ""), ({"version": 0}, "the version 0"), ({"version": 1.5}, "the version 1.5"),
    ({"name": "a"}, ""), ({"name": "a1_b.c2"}, ""), ({"name": "1a"}, "the name '1a'"), ({"name": "a."}, "the name 'a.'"), ({"name": "a..b"}, "the name"),
    ({"name": "aB"}, "the name"), ({"name": ""}, "does not say its name"), ({"quantities": ()}, "does not say its quantities"),
    ({"laws": ()}, ""), ({"laws": ("challenge", "x")}, "no law 'x'"), ({"quantities": (SHARE, replace(SHARE, name="r"))}, ""),
    ({"quantities": (SHARE, replace(SHARE, low=None))}, "the quantity q is declared twice"),
    ({"quantities": (replace(SHARE, definition=""),)}, "q needs a definition and a unit"), ({"quantities": (replace(SHARE, unit=""),)}, "q needs a definition"),
    ({"quantities": (replace(SHARE, low=1),)}, "low must be below high"), ({"quantities": (replace(SHARE, low=None),)}, ""),
    ({"quantities": (replace(SHARE, high=None, low=3),)}, ""), ({"quantities": (replace(SHARE, where="x: y"),)}, "of no formula"),
    ({"quantities": (replace(SHARE, where="x: y", formula="x"),)}, ""), ({"quantities": (replace(SHARE, formula="x"),)}, ""),
])  # fmt: skip
def test_what_a_measurement_says_of_itself(parts: dict[str, Any], said: str) -> None:
    whole = {"name": "m", "title": "M", "quantities": (SHARE,), "version": 1, "laws": ("matched",), **parts}
    found = [*declaration(SimpleNamespace(**whole))]  # type: ignore[arg-type]
    assert len(found) == bool(said)
    assert said in "".join(found)


def trial(rows: list[dict[str, Any]], quantity: Quantity = SHARE, **seeds: list[dict[str, Any]]) -> Trial:
    made, again, other = (
        [row(**{"quantity": "q", **fields}) for fields in some]
        for some in (rows, seeds.get("again", rows), seeds.get("other", rows))
    )
    subject = replace(SUBJECT, task=SimpleNamespace(name="task"))  # type: ignore[arg-type]
    return Trial(SimpleNamespace(quantities=(quantity,)), subject, made, again, other)  # type: ignore[arg-type]


WIDE, BARE = {"value": 0.5, "low": 0.4, "high": 0.6}, {"value": 0.5}
EXACT = replace(SHARE, interval=False)


@pytest.mark.parametrize(("quantity", "rows", "said"), [
    (SHARE, [{**WIDE, "law": "matched"}], ""), (SHARE, [{**WIDE, "n": 9}], ""), (SHARE, [{**BARE, "law": "matched"}], "has values without an interval"),
    (SHARE, [{**BARE, "n": 9}], "has values without an interval"), (SHARE, [{**BARE, "n": 1, "law": "matched"}], ""),
    (SHARE, [{**BARE, "n": 9, "low": 0.4}], "without an interval"), (SHARE, [{**BARE, "n": 9, "high": 0.6}], "without an interval"),
    (SHARE, [{**WIDE, "n": 9}, {**BARE, "n": 9}], "without an interval"), (SHARE, [{**WIDE, "n": 9}, {**BARE, "n": 9, "note": "why"}], ""),
    (SHARE, [{**BARE, "n": 9, "note": "why"}], "never has an interval"), (SHARE, [BARE], "is of weights alone"), (SHARE, [{**BARE, "note": "x"}], ""),
    (SHARE, [WIDE], ""), (SHARE, [{"status": "undefined", "note": "x", "n": 9}], ""), (SHARE, [], ""), (SHARE, [BARE, {**WIDE, "n": 9}], ""),
    (SHARE, [{**BARE, "n": 9, "note": "x"}, {**BARE, "n": 9}], "without an interval"),
    (EXACT, [{**BARE, "n": 9}], ""), (EXACT, [BARE], ""), (EXACT, [{**WIDE, "n": 9}], "declares interval=False, and has intervals"),
    (EXACT, [WIDE], ""), (EXACT, [{**BARE, "n": 9, "low": 0.5, "high": 0.5}], ""), (EXACT, [{**WIDE, "n": 1}], ""),
])  # fmt: skip
def test_values_that_have_intervals(quantity: Quantity, rows: list[dict[str, Any]], said: str) -> None:
    found = [*with_intervals([trial(rows, quantity)])]
    assert len(found) == bool(said)
    assert said in "".join(found)


HALF = replace(SHARE, controls=("half",))
NOT_HERE = {"status": "not_applicable", "note": "x"}


@pytest.mark.parametrize(("quantity", "rows", "said"), [
    (SHARE, [BARE], ""), (SHARE, [NOT_HERE], ""), (SHARE, [], "q is declared and has no row"), (SHARE, [BARE, {**BARE, "quantity": "r"}], "rows hold r"),
    (HALF, [BARE, {**BARE, "control": "half"}], ""), (HALF, [BARE], "declares the control half"), (HALF, [NOT_HERE], ""), (HALF, [NOT_HERE, BARE], "declares the control half"),
    (SHARE, [BARE, {**BARE, "control": "half"}], "hold the control 'half'"), (HALF, [BARE, {**BARE, "control": "half"}, {**BARE, "control": "x"}], "hold the control 'x'"),
])  # fmt: skip
def test_quantities_and_controls_that_are_declared(quantity: Quantity, rows: list[dict[str, Any]], said: str) -> None:
    found = [*complete([trial(rows, quantity)])]
    assert len(found) == bool(said)
    assert said in "".join(found)
    assert [*complete([])] == []


OTHER = {**WIDE, "value": 0.45}


@pytest.mark.parametrize(("trials", "said"), [
    ([trial([WIDE], other=[OTHER])], ""), ([trial([BARE])], ""), ([trial([WIDE])], "another seed gives the same rows"),
    ([trial([WIDE]), trial([WIDE], other=[OTHER])], ""), ([trial([WIDE]), trial([BARE], other=[{"value": 0.4}])], "another seed gives"),
    ([trial([WIDE], other=[{**WIDE, "setting": "seed 1"}])], "another seed gives"), ([], ""), ([trial([{**BARE, "low": 0.5, "high": 0.5}])], ""),
    ([trial([BARE], again=[{"value": 0.4}])], "two runs with one seed differ on task (q.value is 0.5 and 0.4)"),
    ([trial([BARE], again=[BARE, BARE])], "(1 and 2 rows)"),
])  # fmt: skip
def test_rows_that_the_seed_decides(trials: list[Trial], said: str) -> None:
    found = [*deterministic(trials)]
    assert len(found) == bool(said)
    assert said in "".join(found)


def test_what_does_not_apply_has_a_row_for_each_law() -> None:
    spec = Spec("x", 1, "X", {}, (SHARE, replace(SHARE, name="r")), ("matched", "challenge"))
    made = [(r["quantity"], r["law"], r["status"], r["note"]) for r in not_applicable(spec, "why")]
    assert made == [(q, law, "not_applicable", "why") for law in ("matched", "challenge") for q in ("q", "r")]
    assert [r["law"] for r in not_applicable(replace(spec, laws=()), "why")] == ["", ""]


# ---- gradients -----------------------------------------------------------------------------------
def test_a_cosine_is_lost_where_its_interval_has_no_end() -> None:
    made = Dynamics(batches=4)
    values = np.linspace(0, 1, 201)
    for lost, status in ((5, "ok"), (6, "undefined")):
        some = values.copy()
        some[-lost:] = np.nan
        assert made._row(some, 3, 8, 4, mode="corrected")["status"] == status
    first = values.copy()
    first[0] = np.nan
    raw = made._row(first, 3, 8, 4, mode="raw")
    assert (raw["status"], raw["note"], raw["n"], raw["target"]) == ("undefined", "a gradient is zero", 12, "4")
    assert made._row(first, 3, 8, 4, mode="corrected")["note"] == "a gradient is not above its noise"


def test_cosines_of_halves_by_hand() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 7)).astype(np.float32)
    grams = gram([a, b])
    assert grams.shape == (2, 4, 2, 4)
    assert grams[0, 1, 1, 2] == pytest.approx(float(a[1] @ b[2]), rel=1e-5)
    aa, bb, ab = (np.array([[[x[h] @ y[k] for k in (0, 1)] for h in (0, 1)]]) for x, y in ((a, a), (b, b), (a, b)))
    found = cosines(np.abs(aa), np.abs(bb), ab)
    raw = np.mean([[ab[0, h, k] / np.sqrt(aa[0, h, h] * bb[0, k, k]) for k in (0, 1)] for h in (0, 1)])
    assert found["raw"][0] == pytest.approx(raw, rel=1e-5)
    assert found["corrected"][0] == pytest.approx(ab.mean() / np.sqrt(abs(aa[0, 0, 1] * bb[0, 0, 1])), rel=1e-5)
    none = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    assert np.isnan(cosines(none, np.abs(bb), ab)["corrected"]).all()
    assert np.isnan(cosines(np.abs(aa), none, ab)["corrected"]).all()
    assert ceiling(np.array([[[4.0, 3.0], [3.0, 9.0]]])).tolist() == [0.5]
    assert gram([]).shape == (0, 0, 0, 0)


# ---- bounds by theorem ---------------------------------------------------------------------------
def test_rows_of_bounds_that_no_float_holds() -> None:
    assert [(r["value"], r["status"], r["note"]) for r in (_part("gap", 2), _part("gap", math.inf), _part("gap", -math.inf))] == [
        (2.0, "ok", ""), (None, "undefined", "all scores always tie, so there is no gap"),
        (None, "undefined", "attention does not reach the output"),
    ]  # fmt: skip

    def told(log10: float) -> list[Any]:
        bound = SimpleNamespace(theorem="t", log10=log10, value=10**log10 if log10 < 308 else math.inf)
        found: Bound = bound  # type: ignore[assignment]
        return [(r["quantity"], r["value"], r["note"]) for r in _bounded(found, "n")]

    assert told(2.0) == [("training_length_bound", 100.0, "n"), ("training_length_bound_log10", 2.0, "n")]
    assert told(400.0) == [
        ("training_length_bound", None, "10^400, larger than any float"), ("training_length_bound_log10", 400.0, "n"),
    ]  # fmt: skip
    assert told(math.inf) == [("training_length_bound", None, "no finite length")]


def test_what_is_kept_between_checkpoints_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "_MEMO", {})
    monkeypatch.setattr(studies, "_MEMO_SIZE", 2)
    study: Any = SimpleNamespace(
        _run=SimpleNamespace(path="p", id="i"), grid=0, _sequences=1, _evaluation=SimpleNamespace(seed=0)
    )
    made: list[int] = []

    def kept(key: int) -> int:
        return CheckpointStudy.memo(study, (key,), lambda: made.append(key) or key)

    assert [kept(key) for key in (1, 2, 1, 3, 2, 3, 1)] == [1, 2, 1, 3, 2, 3, 1]
    assert made == [1, 2, 3, 1]
    assert len(studies._MEMO) == 2
