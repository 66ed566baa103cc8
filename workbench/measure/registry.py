"""Finding measurements by name: the built-in ones, and those of other packages."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

from workbench.core.errors import quoted_value
from workbench.core.failures import isolate_errors
from workbench.core.registry import entry_points
from workbench.measure.known_measurements import BUILT_IN, GROUP, unknown_measurement
from workbench.measure.measurement import Measurement
from workbench.measure.settings import MeasurementError
from workbench.tasks.base import EVALUATION_LAWS


@dataclass(frozen=True)
class PlugIns:
    """The measurements that other packages announce.

    Attributes:
        classes: by name, in the order of their entry points.
        broken: one sentence for each plug-in that cannot be used.
    """

    classes: dict[str, type[Measurement]]
    broken: tuple[str, ...]


def measurements(family: str = "") -> dict[str, type[Measurement]]:
    """Return measurement classes by name, built-in ones first. Plug-ins listed by :func:`broken_plugins` are left out.

    Args:
        family: the beginning of their names, e.g. ``probes.``; no other built-in measurement is imported. "" = all.
    """
    built_in = {name: _built_in(name) for name in BUILT_IN if name.startswith(family)}
    return built_in | {name: cls for name, cls in _plug_ins().classes.items() if name.startswith(family)}


def broken_plugins() -> tuple[str, ...]:
    """Return one sentence for each plug-in that announces a measurement but cannot be used."""
    return _plug_ins().broken


@cache
def _plug_ins() -> PlugIns:
    announced: dict[str, list[tuple[EntryPoint, type[Measurement]]]] = {}
    classes: dict[str, type[Measurement]] = {}
    broken: list[str] = []
    for entry in dict.fromkeys(entry_points(GROUP)):
        problems: list[str] = []
        with isolate_errors(problems.append, "", foreign=True, exits=True):
            cls = _plugged_in(entry)
            announced.setdefault(cls.name, []).append((entry, cls))
        broken += [f"the plug-in {entry.name} ({entry.value}) is passed over: {problem}" for problem in problems]
    for name, offers in announced.items():
        places = " and ".join(entry.value for entry, _ in offers)
        if name in BUILT_IN:
            broken.append(f"the plug-in {places} is passed over: a built-in measurement is called {name}")
        elif len({cls for _, cls in offers}) > 1:
            broken.append(f"the plug-ins {places} are passed over: both call a measurement {name}; uninstall one")
        else:
            classes[name] = offers[0][1]
    return PlugIns(classes, tuple(broken))


@cache
def _built_in(name: str) -> type[Measurement]:
    found: type[Measurement] = EntryPoint(name, BUILT_IN[name], GROUP).load()
    return found


def _plugged_in(entry: EntryPoint) -> type[Measurement]:
    """Return the class that an entry point announces, directly or as the ``MEASUREMENT`` of its module.

    Raises:
        MeasurementError: for anything else. Errors of the plug-in itself are passed on.
    """
    plugin = entry.load()
    if isinstance(plugin, ModuleType):
        if not hasattr(plugin, "MEASUREMENT"):
            raise MeasurementError(f"the module {plugin.__name__} has no MEASUREMENT")
        plugin = plugin.MEASUREMENT
    if not isinstance(plugin, type):
        raise MeasurementError(f"{quoted_value(plugin)} is not a class")
    if not issubclass(plugin, Measurement):
        raise MeasurementError(f"{plugin.__name__} is not a workbench.measure.Measurement: derive it from that class")
    if inspect.isabstract(plugin):
        missing = ", ".join(sorted(plugin.__abstractmethods__))
        raise MeasurementError(f"{plugin.__name__} does not implement {missing}")
    unsaid = [part for part in ("name", "title", "quantities") if not hasattr(plugin, part)]
    if unsaid:
        raise MeasurementError(f"{plugin.__name__} does not state its {unsaid[0]}")
    plugin()  # with settings that all have defaults
    return plugin


def make_measurement(name: str, settings: Mapping[str, Any] | None = None) -> Measurement:
    """Return a measurement with settings. No other built-in measurement is imported.

    Raises:
        MeasurementError: for an unknown name or setting, with the nearest ones, or an invalid value.
    """
    measurement = measurement_class(name)(**(settings or {}))
    for law in measurement.spec.laws:
        if law not in EVALUATION_LAWS:
            raise MeasurementError(
                f"{name}: there is no test set {quoted_value(law)}; the test sets are {' and '.join(EVALUATION_LAWS)}"
            )
    return measurement


def measurement_class(name: str) -> type[Measurement]:
    """Return the class of a measurement. No other built-in measurement is imported.

    Raises:
        MeasurementError: for an unknown name, with the nearest ones.
    """
    if name in BUILT_IN:  # without looking for what other packages announce
        return _built_in(name)
    classes = _plug_ins().classes
    if name not in classes:
        raise unknown_measurement(
            name, {**BUILT_IN, **classes}, "".join(f"; {sentence}" for sentence in broken_plugins())
        )
    return classes[name]


def choose(only: Sequence[str] | None) -> list[str]:
    """Return the names of the requested measurements, each once.

    Args:
        only: names, or families with a trailing dot (``probes.``); None = all. Families and None leave out the
            measurements that run on request only.

    Raises:
        MeasurementError: for a name or family that does not exist.
    """
    chosen: list[str] = []
    for name in [""] if only is None else only:
        family: list[str] = []
        if only is None or name.endswith("."):
            family = [member for member, cls in measurements(name).items() if not cls.on_request]
        if not family:
            make_measurement(name)
            family = [name]
        chosen += [member for member in family if member not in chosen]
    return chosen
