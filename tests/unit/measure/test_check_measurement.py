"""The kit for measurements: all built in pass it, found by the registry; what does not keep to it is told what and how.

What the built in ones find in the trials is held, in double precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from torch import Tensor

from tests.support.circuits.copying_in_context import LENGTHS, copying, model_by_hand
from tests.support.held import Held
from tests.support.measure.held_rows import held_rows
from workbench.diagnosis.bench.needle_models import TRAINED, NeedleNumbers, WrittenBit
from workbench.measure import Measurement, Quantity, testing
from workbench.measure.registry import measurements
from workbench.measure.rows import missing_row, share_row
from workbench.measure.settings import Count
from workbench.measure.testing import (
    _ROUNDING,
    SEEDS,
    CheckError,
    Trial,
    TrialSubject,
    _problem,
    check_measurement,
    complete,
    declaration,
    deterministic,
    subjects,
    with_intervals,
)
from workbench.table.schema import Row, row
from workbench.tasks import make_task


def in_a_prompt() -> list[TrialSubject]:
    """A model by hand that is given its task in its prompt."""
    return [TrialSubject(model_by_hand(), copying(), LENGTHS[-1], LENGTHS)]


FURTHER: dict[str, Callable[[], list[TrialSubject]]] = {
    "behaviour.in_context": in_a_prompt,
    "circuits.in_context": in_a_prompt,
    "circuits.in_context_rows": in_a_prompt,
    "probes.in_context": in_a_prompt,
    "behaviour": lambda: [
        TrialSubject.of(make_task("majority")),
        TrialSubject.of(make_task("parity_scratchpad", jump=2), n_ctx=256, ids="predicted"),
        TrialSubject.of(make_task("aa_star")),
    ],
    "bound": lambda: [
        TrialSubject.of(make_task("majority"), n_layers=1, positions="none", normalization_type=None, log_scaling="all")
    ],
    "diagnosis": lambda: [
        TrialSubject(NeedleNumbers(row_scores=8.0).build(), WrittenBit(), TRAINED, (8, 16, TRAINED, 4 * TRAINED))
    ],
    "probes.summary": lambda: [TrialSubject.of(make_task("majority")), TrialSubject.of(make_task("mod_p_mean"))],
}
"""Where quantities have rows only for some tasks: those."""


def doubled(subject: TrialSubject) -> TrialSubject:
    """The same in double precision."""
    untrained = None if subject.untrained is None else subject.untrained.double()
    return replace(subject, model=subject.model.double(), untrained=untrained)


@pytest.mark.parametrize("name", measurements())
def test_every_measurement_keeps_to_what_measurements_promise(
    name: str, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls, found = measurements()[name], []

    def kept(*given: Any, **options: Any) -> Any:
        result = testing_run(*given, **options)
        if options["seed"] == SEEDS[0]:
            found.append(result)
        return result

    testing_run = testing.run
    monkeypatch.setattr(testing, "run", kept)
    settings = {"resamples": 20} if "resamples" in cls.model_fields else {}
    on = [doubled(one) for one in (FURTHER[name]() if name in FURTHER else subjects())]
    check_measurement(cls, settings, on, sequences=160 if name.startswith("probes.") else 32)
    held([held_rows(one.rows) for one in found[::2]])  # of each subject the first run; the second is held to it


class Whole(Measurement):
    """The share of strings whose last token is the likeliest: keeps to everything."""

    name = "theirs.whole"
    title = "Whole"
    version = 1
    quantities = (Quantity("share", "share of strings", "share", 0, 1, controls=("half",)),)
    laws = ("matched",)

    window: Count = 4

    kept: ClassVar[list[Any]] = []
    _seen: dict[int, Tensor]

    def model_post_init(self, context: Any) -> None:
        self._seen = {}

    def hooks(self, cfg: Any) -> list[str]:
        return []

    def observe(self, law: str, length: int, batch: Any, cache: Any) -> None:
        self._seen[length] = cache["logits"][:, -1].argmax(-1) == batch.targets[:, -1]

    def finish(self, study: Any) -> list[Row]:
        return [made for n, hits in self._seen.items() for made in self.rows(study, n, np.asarray(hits))]

    def rows(self, study: Any, length: int, hits: np.ndarray) -> list[Row]:
        place = {"quantity": "share", "law": "matched", "length": length}
        return [share_row(hits, "no string", **place), share_row(hits[::2], "no string", control="half", **place)]


def broken(**parts: Any) -> type[Measurement]:
    return type("Broken", (Whole,), {"__module__": __name__, **parts})


def without(*names: str) -> Callable[..., list[Row]]:
    def rows(self: Any, study: Any, length: int, hits: np.ndarray) -> list[Row]:
        return [{**r, **dict.fromkeys(names)} for r in Whole.rows(self, study, length, hits)]

    return rows


def setting(**fields: Any) -> Callable[..., list[Row]]:
    def rows(self: Any, study: Any, length: int, hits: np.ndarray) -> list[Row]:
        return [{**r, **fields} for r in Whole.rows(self, study, length, hits)]

    return rows


def of_an_own_generator(self: Any, study: Any, length: int, hits: np.ndarray) -> list[Row]:
    return Whole.rows(self, study, length, np.random.default_rng().random(len(hits)) < 0.5)


def remembered(self: Any, study: Any, length: int, hits: np.ndarray) -> list[Row]:
    Whole.kept.append(hits)
    return Whole.rows(self, study, length, np.concatenate([hits, *Whole.kept]))


def of_no_string(self: Any, study: Any, length: int, hits: np.ndarray) -> list[Row]:
    return Whole.rows(self, study, length, np.arange(32) % 3 > 0)


def undeclared(self: Any, study: Any, length: int, hits: np.ndarray) -> list[Row]:
    return [*Whole.rows(self, study, length, hits), row(quantity="other", value=1.0, law="matched")]


def no_control(self: Any, study: Any, length: int, hits: np.ndarray) -> list[Row]:
    return Whole.rows(self, study, length, hits)[:1]


def nothing(self: Any, study: Any) -> list[Row]:
    return []


def unsaid(self: Any, study: Any) -> list[Row]:
    return [{**missing_row("undefined", "", quantity="share", law="matched"), "control": c} for c in ("", "half")]


SHARE = Quantity("share", "share of strings", "share", 0, 1, controls=("half",))
ANYTHING = {"__annotations__": {"anything": "Any"}, "anything": 3}


def test_a_measurement_that_keeps_to_everything_passes() -> None:
    check_measurement(Whole, on=subjects()[:1], sequences=32)


@pytest.mark.parametrize(("parts", "said"), [
    ({"name": "Not A Name"}, "declaration: the name 'Not A Name' should be lower-case words"),
    ({"title": ""}, "declaration: it does not say its title: set the class variable title"),
    ({"version": 0}, "declaration: the version 0 should be a whole number from 1"),
    ({"laws": ("training",)}, "declaration: there is no law 'training': laws are matched and challenge"),
    ({"quantities": (SHARE, SHARE)}, "declaration: the quantity share is declared twice"),
    ({"quantities": (Quantity("share", "", "share"),)}, "declaration: share needs a definition and a unit"),
    ({"quantities": (Quantity("share", "x", "x", 1, 0),)}, "declaration: share lies between 1 and 0"),
    (ANYTHING, "settings: anything takes anything: give the field a type"),
    ({"rows": of_an_own_generator}, "determinism: two runs with one seed differ"),
    ({"rows": remembered}, "determinism: two runs with one seed differ"),
    ({"rows": of_no_string}, "determinism: another seed gives the same rows, though they have intervals"),
    ({"finish": nothing}, "quantities: share is declared and has no row"),
    ({"rows": undeclared}, "quantities: rows hold other, which is not declared: add a Quantity"),
    ({"rows": no_control}, "quantities: share declares the control half, which has no row"),
    ({"rows": setting(control="other")}, "quantities: rows of share hold the control 'other', which is not declared"),
    ({"rows": setting(value=float("nan"))}, "rows: share on kgram_retrieval is NaN: give the row a status"),
    ({"rows": setting(value=1.5, high=2.0)}, "rows: share on kgram_retrieval is 1.5, above 1, which it declares"),
    ({"rows": setting(value=-0.5, low=-1.0)}, "rows: share on kgram_retrieval is -0.5, below 0, which it declares"),
    ({"rows": setting(low=0.9, high=0.1)}, "and its interval goes from 0.9 to 0.1"),
    ({"rows": setting(status="fine")}, "rows: share on kgram_retrieval has the status 'fine'"),
    ({"rows": setting(value=None)}, "has no value and the status ok: say undefined, censored or not_applicable"),
    ({"finish": unsaid}, "rows: share on kgram_retrieval has no value and no note: say in one clause why"),
    ({"rows": setting(length=77)}, "is at length 77, which was not asked for"),
    ({"rows": setting(layer=9)}, "is at layer 9, which the model does not have"),
    ({"rows": setting(value="half")}, "rows: rows do not fit the table"),
    ({"rows": without("low", "high")}, "intervals: share has values without an interval: give low and high"),
    ({"rows": setting(low=None, high=None, note="as it is")}, "intervals: share never has an interval"),
    ({"quantities": (Quantity("share", "x", "share", 0, 1, controls=("half",), interval=False),)},
     "intervals: share declares interval=False, and has intervals"),
    ({"needs": "scan"}, r"trial: no model that it is tried on fits (it is about the scan"),
])  # fmt: skip
def test_what_does_not_keep_to_them_is_told_which_check_and_the_way_out(parts: dict[str, Any], said: str) -> None:
    Whole.kept.clear()
    with pytest.raises(CheckError) as caught:
        check_measurement(broken(**parts), on=subjects()[:1], sequences=32)
    assert said in str(caught.value)


def test_settings_that_are_stored_as_others_are_told() -> None:
    class Doubling(Whole):
        def model_post_init(self, context: Any) -> None:
            super().model_post_init(context)
            object.__setattr__(self, "window", self.window * 2)

    with pytest.raises(CheckError, match="settings"):
        check_measurement(Doubling, on=subjects()[:1])


SHARE_OF_TOKENS = Quantity("q", "x", "share", 0, 1)


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
    found = _problem(row(quantity="q", **fields), SHARE_OF_TOKENS, SUBJECT)
    assert said in found
    assert bool(found) == bool(said)
    label = _problem(row(quantity="q", status="ok", value=1.0), replace(SHARE_OF_TOKENS, unit="label"), SUBJECT)
    assert label.startswith("is a label and has none")


@pytest.mark.parametrize(("parts", "said"), [
    ({}, ""), ({"version": 1}, ""), ({"version": 2}, ""), ({"version": 0}, "the version 0"), ({"version": 1.5}, "the version 1.5"),
    ({"name": "a"}, ""), ({"name": "a1_b.c2"}, ""), ({"name": "1a"}, "the name '1a'"), ({"name": "a."}, "the name 'a.'"), ({"name": "a..b"}, "the name"),
    ({"name": "aB"}, "the name"), ({"name": ""}, "does not say its name"), ({"quantities": ()}, "does not say its quantities"),
    ({"laws": ()}, ""), ({"laws": ("challenge", "x")}, "no law 'x'"), ({"quantities": (SHARE_OF_TOKENS, replace(SHARE_OF_TOKENS, name="r"))}, ""),
    ({"quantities": (SHARE_OF_TOKENS, replace(SHARE_OF_TOKENS, low=None))}, "the quantity q is declared twice"),
    ({"quantities": (replace(SHARE_OF_TOKENS, definition=""),)}, "q needs a definition and a unit"), ({"quantities": (replace(SHARE_OF_TOKENS, unit=""),)}, "q needs a definition"),
    ({"quantities": (replace(SHARE_OF_TOKENS, low=1),)}, "low must be below high"), ({"quantities": (replace(SHARE_OF_TOKENS, low=None),)}, ""),
    ({"quantities": (replace(SHARE_OF_TOKENS, high=None, low=3),)}, ""), ({"quantities": (replace(SHARE_OF_TOKENS, where="x: y"),)}, "of no formula"),
    ({"quantities": (replace(SHARE_OF_TOKENS, where="x: y", formula="x"),)}, ""), ({"quantities": (replace(SHARE_OF_TOKENS, formula="x"),)}, ""),
])  # fmt: skip
def test_what_a_measurement_says_of_itself(parts: dict[str, Any], said: str) -> None:
    whole = {"name": "m", "title": "M", "quantities": (SHARE_OF_TOKENS,), "version": 1, "laws": ("matched",), **parts}
    found = [*declaration(SimpleNamespace(**whole))]  # type: ignore[arg-type]
    assert len(found) == bool(said)
    assert said in "".join(found)


def trial(rows: list[dict[str, Any]], quantity: Quantity = SHARE_OF_TOKENS, **seeds: list[dict[str, Any]]) -> Trial:
    made, again, other = (
        [row(**{"quantity": "q", **fields}) for fields in some]
        for some in (rows, seeds.get("again", rows), seeds.get("other", rows))
    )
    subject = replace(SUBJECT, task=SimpleNamespace(name="task"))  # type: ignore[arg-type]
    return Trial(SimpleNamespace(quantities=(quantity,)), subject, made, again, other)  # type: ignore[arg-type]


WIDE, BARE = {"value": 0.5, "low": 0.4, "high": 0.6}, {"value": 0.5}


EXACT = replace(SHARE_OF_TOKENS, interval=False)


@pytest.mark.parametrize(("quantity", "rows", "said"), [
    (SHARE_OF_TOKENS, [{**WIDE, "law": "matched"}], ""), (SHARE_OF_TOKENS, [{**WIDE, "n": 9}], ""), (SHARE_OF_TOKENS, [{**BARE, "law": "matched"}], "has values without an interval"),
    (SHARE_OF_TOKENS, [{**BARE, "n": 9}], "has values without an interval"), (SHARE_OF_TOKENS, [{**BARE, "n": 1, "law": "matched"}], ""),
    (SHARE_OF_TOKENS, [{**BARE, "n": 9, "low": 0.4}], "without an interval"), (SHARE_OF_TOKENS, [{**BARE, "n": 9, "high": 0.6}], "without an interval"),
    (SHARE_OF_TOKENS, [{**WIDE, "n": 9}, {**BARE, "n": 9}], "without an interval"), (SHARE_OF_TOKENS, [{**WIDE, "n": 9}, {**BARE, "n": 9, "note": "why"}], ""),
    (SHARE_OF_TOKENS, [{**BARE, "n": 9, "note": "why"}], "never has an interval"), (SHARE_OF_TOKENS, [BARE], "is of weights alone"), (SHARE_OF_TOKENS, [{**BARE, "note": "x"}], ""),
    (SHARE_OF_TOKENS, [WIDE], ""), (SHARE_OF_TOKENS, [{"status": "undefined", "note": "x", "n": 9}], ""), (SHARE_OF_TOKENS, [], ""), (SHARE_OF_TOKENS, [BARE, {**WIDE, "n": 9}], ""),
    (SHARE_OF_TOKENS, [{**BARE, "n": 9, "note": "x"}, {**BARE, "n": 9}], "without an interval"),
    (EXACT, [{**BARE, "n": 9}], ""), (EXACT, [BARE], ""), (EXACT, [{**WIDE, "n": 9}], "declares interval=False, and has intervals"),
    (EXACT, [WIDE], ""), (EXACT, [{**BARE, "n": 9, "low": 0.5, "high": 0.5}], ""), (EXACT, [{**WIDE, "n": 1}], ""),
])  # fmt: skip
def test_values_that_have_intervals(quantity: Quantity, rows: list[dict[str, Any]], said: str) -> None:
    found = [*with_intervals([trial(rows, quantity)])]
    assert len(found) == bool(said)
    assert said in "".join(found)


HALF = replace(SHARE_OF_TOKENS, controls=("half",))


NOT_HERE = {"status": "not_applicable", "note": "x"}


@pytest.mark.parametrize(("quantity", "rows", "said"), [
    (SHARE_OF_TOKENS, [BARE], ""), (SHARE_OF_TOKENS, [NOT_HERE], ""), (SHARE_OF_TOKENS, [], "q is declared and has no row"), (SHARE_OF_TOKENS, [BARE, {**BARE, "quantity": "r"}], "rows hold r"),
    (HALF, [BARE, {**BARE, "control": "half"}], ""), (HALF, [BARE], "declares the control half"), (HALF, [NOT_HERE], ""), (HALF, [NOT_HERE, BARE], "declares the control half"),
    (SHARE_OF_TOKENS, [BARE, {**BARE, "control": "half"}], "hold the control 'half'"), (HALF, [BARE, {**BARE, "control": "half"}, {**BARE, "control": "x"}], "hold the control 'x'"),
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
