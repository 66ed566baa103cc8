"""The kit for measurements: all built in pass it, found by the registry; what does not keep to it is told what and how.

What the built in ones find in the trials is held, in double precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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
from workbench.measure.testing import CheckError, TrialSubject, check_measurement, subjects
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
        found.append(testing_run(*given, **options))
        return found[-1]

    testing_run = testing.run
    monkeypatch.setattr(testing, "run", kept)
    settings = {"resamples": 20} if "resamples" in cls.model_fields else {}
    on = [doubled(one) for one in (FURTHER[name]() if name in FURTHER else subjects())]
    check_measurement(cls, settings, on, sequences=160 if name.startswith("probes.") else 32)
    held([held_rows(one.rows) for one in found[::3]])  # of each subject the first seed; the others are held to it


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

    with pytest.raises(CheckError, match=r"settings: made again of its stored settings .* it has others"):
        check_measurement(Doubling, on=subjects()[:1])
