"""Finding measurements: those built in, and those that other packages announce."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

from workbench.core.errors import shown
from workbench.core.registry import entry_points
from workbench.measure.known_measurements import BUILT_IN, GROUP, unknown
from workbench.measure.measurement import Measurement
from workbench.measure.settings import MeasurementError
from workbench.tasks.base import EVALUATION_LAWS


@dataclass(frozen=True)
class FoundMeasurements:
    """The measurements of this installation.

    Attributes:
        classes: by name, built-in ones first.
        broken: one sentence for each plug-in that is passed over.
    """

    classes: dict[str, type[Measurement]]
    broken: tuple[str, ...]


def measurements() -> dict[str, type[Measurement]]:
    """All known measurement classes by name, built-in ones first. Plug-ins that are :func:`broken` are left out."""
    return _found().classes


def broken() -> tuple[str, ...]:
    """One sentence for each plug-in that announces a measurement and cannot be used, naming it."""
    return _found().broken


@cache
def _found() -> FoundMeasurements:
    classes = {name: _built_in(name) for name in BUILT_IN}
    announced: dict[str, list[tuple[EntryPoint, type[Measurement]]]] = {}
    broken = []
    for entry in dict.fromkeys(entry_points(GROUP)):
        try:
            cls = _plugged_in(entry)
            announced.setdefault(cls.name, []).append((entry, cls))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises, the other measurements are there
            said = str(error) if isinstance(error, MeasurementError) else f"{type(error).__name__}: {error}"
            broken.append(f"the plug-in {entry.name} ({entry.value}) is passed over: {said}")
    for name, offers in announced.items():
        places = " and ".join(entry.value for entry, _ in offers)
        if name in classes:
            broken.append(f"the plug-in {places} is passed over: a built-in measurement is called {name}")
        elif len({cls for _, cls in offers}) > 1:
            broken.append(f"the plug-ins {places} are passed over: both call a measurement {name}; uninstall one")
        else:
            classes[name] = offers[0][1]
    return FoundMeasurements(classes, tuple(broken))


@cache
def _built_in(name: str) -> type[Measurement]:
    found: type[Measurement] = EntryPoint(name, BUILT_IN[name], GROUP).load()
    return found


def _plugged_in(entry: EntryPoint) -> type[Measurement]:
    """The class that an entry point announces, itself or as the ``MEASUREMENT`` of its module.

    Raises:
        MeasurementError: for anything else. Whatever the plug-in itself raises is passed on.
    """
    found = entry.load()
    if isinstance(found, ModuleType):
        if not hasattr(found, "MEASUREMENT"):
            raise MeasurementError(f"the module {found.__name__} has no MEASUREMENT")
        found = found.MEASUREMENT
    if not isinstance(found, type):
        raise MeasurementError(f"{shown(found)} is no class")
    if not issubclass(found, Measurement):
        raise MeasurementError(f"{found.__name__} is no workbench.measure.Measurement: derive it from that class")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise MeasurementError(f"{found.__name__} does not implement {missing}")
    unsaid = [part for part in ("name", "title", "quantities") if not hasattr(found, part)]
    if unsaid:
        raise MeasurementError(f"{found.__name__} does not say its {unsaid[0]}")
    found()  # with settings that all have defaults
    return found


def make_measurement(name: str, settings: Mapping[str, Any] | None = None) -> Measurement:
    """A measurement with settings.

    Raises:
        MeasurementError: for an unknown name or setting, with the nearest ones, or a value that it cannot have.
    """
    made = _class(name)(**(settings or {}))
    for law in made.spec.laws:
        if law not in EVALUATION_LAWS:
            raise MeasurementError(
                f"{name}: there is no law {shown(law)}; the laws are {' and '.join(EVALUATION_LAWS)}"
            )
    return made


def _class(name: str) -> type[Measurement]:
    if name in BUILT_IN:  # without looking for what other packages announce
        return _built_in(name)
    known = measurements()
    if name not in known:
        passed = "".join(f"; {sentence}" for sentence in broken())
        raise unknown(name, known, passed)
    return known[name]


def choose(only: Sequence[str] | None) -> list[str]:
    """Names asked for; a trailing dot asks for a family (``probes.``), None for all: both without those on request.

    Raises:
        MeasurementError: for a name or family that does not exist.
    """
    known = measurements()
    if only is None:
        return [name for name, cls in known.items() if not cls.on_request]
    chosen: list[str] = []
    for name in only:
        family = [k for k, cls in known.items() if name.endswith(".") and k.startswith(name) and not cls.on_request]
        if not family:
            make_measurement(name)
            family = [name]
        chosen += [k for k in family if k not in chosen]
    return chosen
