"""Measurements of other packages: a broken one is named and passed over, a module is as good as its class."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from workbench.measure import known_measurements, registry
from workbench.measure.known_measurements import BUILT_IN, refuse_unknown, unknown_measurement
from workbench.measure.measurement import Measurement, Quantity
from workbench.measure.registry import broken_plugins, choose, make_measurement, measurements
from workbench.measure.settings import Count, MeasurementError, Reals


def offering(name: str) -> type[Measurement]:
    class Offered(Measurement):
        title = "Offered"
        quantities = (Quantity("x", "", ""),)

        width: Count = 2
        weights: Reals = (1.0,)

        def hooks(self, cfg):
            return []

        def observe(self, law, length, batch, cache):
            return None

        def finish(self, study):
            return []

    Offered.name = name
    return Offered


def unsaid() -> type[Measurement]:
    whole = offering("theirs.unsaid")

    class Unsaid(Measurement):
        name = "theirs.unsaid"
        title = "Unsaid"
        hooks, observe, finish = whole.hooks, whole.observe, whole.finish

    return Unsaid


def needing() -> type[Measurement]:
    class Ill(offering("theirs.ill")):  # type: ignore[misc]
        height: Count

    return Ill


Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install(name="module:attribute", ...)`` announces plug-ins; a module ``plugged`` is there to hold them."""
    module = ModuleType("plugged")
    module.MEASUREMENT = offering("theirs.module")  # type: ignore[attr-defined]
    module.Good = offering("theirs.good")  # type: ignore[attr-defined]
    module.Twin = offering("theirs.good")  # type: ignore[attr-defined]
    module.Ours = offering("behaviour")  # type: ignore[attr-defined]
    module.Number = 3  # type: ignore[attr-defined]
    module.Empty = type("Empty", (), {})  # type: ignore[attr-defined]
    module.Half = type("Half", (Measurement,), {"hooks": lambda self, cfg: []})  # type: ignore[attr-defined]
    module.Unsaid = unsaid()  # type: ignore[attr-defined]
    module.Ill = needing()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "plugged", module)

    def announce(**places: str) -> None:
        entries = [EntryPoint(name, value, registry.GROUP) for name, value in places.items()]
        monkeypatch.setattr(registry, "entry_points", lambda group: entries)
        registry._plug_ins.cache_clear()

    yield announce
    registry._plug_ins.cache_clear()


def test_a_module_that_has_a_measurement_is_taken(install: Install) -> None:
    install(one="plugged", two="plugged:Good")
    assert measurements()["theirs.module"] is sys.modules["plugged"].MEASUREMENT
    assert measurements()["theirs.good"] is sys.modules["plugged"].Good
    assert broken_plugins() == ()


@pytest.mark.parametrize(("place", "why"), [
    ("plugged_missing", "No module named"),
    ("plugged:Missing", "AttributeError"),
    ("plugged:Number", "3 is not a class"),
    ("plugged:Empty", "Empty is not a workbench.measure.Measurement: derive it from that class"),
    ("plugged:Half", "Half does not implement finish, observe"),
    ("plugged:Unsaid", "Unsaid does not state its quantities"),
    ("plugged:Ill", "theirs.ill needs a value of its setting height"),
    ("sys", "the module sys has no MEASUREMENT"),
    ("plugged:Ours", "a built-in measurement is called behaviour"),
])  # fmt: skip
def test_a_broken_plug_in_is_named_and_passed_over(install: Install, place: str, why: str) -> None:
    install()
    before = dict(measurements())
    install(odd=place, good="plugged:Good")
    assert {*measurements()} == {*before, "theirs.good"}
    assert measurements()["behaviour"] is before["behaviour"]
    (sentence,) = broken_plugins()
    assert place in sentence
    assert why in sentence
    with pytest.raises(MeasurementError, match="passed over"):
        make_measurement("odd")


def test_two_plug_ins_of_one_name_are_both_passed_over(install: Install) -> None:
    install(one="plugged:Good", two="plugged:Twin", three="plugged")
    assert "theirs.good" not in measurements()
    assert "theirs.module" in measurements()
    (sentence,) = broken_plugins()
    assert "plugged:Good and plugged:Twin" in sentence


def test_a_plan_says_which_plug_ins_are_broken(install: Install, make_run) -> None:
    from workbench.measure.request import MeasureRequest
    from workbench.measure.running.plan import plan
    from workbench.models.handmade.transformers import majority
    from workbench.tasks import make_task

    run = make_run(majority(), make_task("majority"), 9)
    install(odd="plugged_missing")
    assert "plugged_missing" in plan(MeasureRequest([run.path], only=["behaviour"])).notices[0]


@pytest.mark.parametrize(("name", "setting", "value", "said"), [
    ("behaviour", "resamples", "x", "input should be a valid integer"),
    ("behaviour", "resamples", True, "input should be a valid integer"),
    ("behaviour", "resamples", 0, "from 1 to 1,000,000"),
    ("behaviour", "resamples", 10**20, "from 1 to 1,000,000"),
    ("circuits.hardmax", "delta", float("nan"), "finite"),
    ("circuits.hardmax", "delta", [1.0], "input should be a valid number"),
    ("circuits.hardmax", "share", 0.5, "must lie between 1/2 and 1, not 0.5"),
    ("circuits.hardmax", "share", 1, "must lie between 1/2 and 1, not 1"),
    ("circuits.heads", "definition", "x", "input should be 'same' or 'before'"),
    ("circuits.ablation", "modes", ["x"], "input should be 'zero', 'mean' or 'resample'"),
    ("circuits.swaps", "factors", [float("inf")], "finite"),
    ("probes.summary", "layers", "0", "not allowed as a Sequence"),
    ("probes.summary", "law", "x", "there is no test set 'x'; the test sets are matched and challenge"),
    ("probes.position", "seed", -1, "from 0 to"),
])  # fmt: skip
def test_a_setting_of_a_wrong_type_is_refused(name: str, setting: str, value: object, said: str) -> None:
    with pytest.raises(MeasurementError, match=r".") as caught:
        make_measurement(name, {setting: value})
    assert said in str(caught.value)


def test_every_setting_has_a_type_and_its_default_fits() -> None:
    settings = [(name, setting) for name, cls in measurements().items() for setting in cls().spec.settings]
    assert len(settings) > 40
    for name, setting in settings:
        cls = measurements()[name]
        make_measurement(name, {setting: cls().spec.settings[setting]})


def test_what_is_on_request_is_made_where_it_is_named_alone():
    assert measurements()["diagnosis"].on_request
    assert "diagnosis" not in choose(None)
    assert choose(["diagnosis"]) == ["diagnosis"]
    assert {*choose(None)} == {name for name, cls in measurements().items() if not cls.on_request}
    assert "circuits.connections" not in choose(["circuits."]), "a family names none of its members"
    assert choose(["circuits.connections"]) == ["circuits.connections"]
    assert len(choose(None)) >= 20


def test_shares_and_probabilities_are_bounded_by_what_they_are() -> None:
    """A bound that is off by a little would let wrong rows pass, or refuse right ones."""
    every = [(name, one) for name, made in measurements().items() for one in made.quantities]
    assert len(every) > 100
    for name, one in every:
        if one.unit in ("share", "probability"):
            assert one.low in (0, -1, None), (name, one.name, one.low)
            assert one.high in (1, None), (name, one.name, one.high)
        if one.low is not None and one.high is not None:
            assert one.low < one.high, (name, one.name)


# ---- names and families ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("names", "refused"), [
    ([], ""), (["behaviour"], ""), (["probes."], ""), (["behaviour."], ""), (["circuits.", "bound", "probes.drift"], ""),
    (["probes"], "probes"), (["probe."], "probe."), (["probes.drift."], "probes.drift."), (["behav"], "behav"), (["zzz."], "zzz."), (["bound", "zzz"], "zzz"),
    (["probes.", "diagnosi"], "diagnosi"),
])  # fmt: skip
def test_names_and_families_that_are_known(monkeypatch: pytest.MonkeyPatch, names: list[str], refused: str) -> None:
    monkeypatch.setattr(known_measurements, "entry_points", lambda group: [])
    if refused:
        with pytest.raises(MeasurementError, match=f"{refused}"):
            refuse_unknown(names)
    else:
        refuse_unknown(names)
    monkeypatch.setattr(known_measurements, "entry_points", lambda group: ["one"] * (group == registry.GROUP))
    refuse_unknown(names)  # what others announce may be called so


def test_a_name_is_told_what_it_is_near_or_a_few_of_those_there_are() -> None:
    near = unknown_measurement("behavior", BUILT_IN)
    assert near.near[0] == "behaviour"
    assert near.message == "unknown measurement 'behavior'"
    assert unknown_measurement("behavior", BUILT_IN, "; more").message == "unknown measurement 'behavior'; more"
    far = unknown_measurement("zzz", dict.fromkeys("abcdef"), "; more")
    assert str(far) == "unknown measurement 'zzz'; there are a, b, c, d and 2 more; more"


@pytest.mark.parametrize(("asked", "chosen"), [
    ([], []), (["bound", "bound"], ["bound"]), (["probes.drift", "bound"], ["probes.drift", "bound"]), (["behaviour."], ["behaviour.in_context", "behaviour.invariance"]),
    (["behaviour.copies", "behaviour."], ["behaviour.copies", "behaviour.in_context", "behaviour.invariance"]),
    (["behaviour.invariance", "behaviour."], ["behaviour.invariance", "behaviour.in_context"]), (["diagnosis."], None), (["behav"], None), (["beh."], None),
])  # fmt: skip
def test_measurements_that_are_asked_for(asked: list[str], chosen: list[str] | None) -> None:
    if chosen is None:
        with pytest.raises(MeasurementError, match="unknown measurement"):
            choose(asked)
    else:
        assert choose(asked) == chosen
