"""Finding measurements: those built in, and those that other packages announce."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from workbench.core.errors import shown
from workbench.core.limits import DRAWN
from workbench.core.suggest import near_names
from workbench.measure.measurement import Measurement, MeasurementError
from workbench.tasks.base import EVALUATION_LAWS

PACKAGES = ("workbench.measure", "probes", "circuits")
GROUP = "lengthlens.measurements"


@dataclass(frozen=True)
class Found:
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
def _found() -> Found:
    classes = {cls().spec.name: cls for cls in _built_in()}
    announced: dict[str, list[tuple[EntryPoint, type[Measurement]]]] = {}
    broken = []
    for entry in dict.fromkeys(entry_points(group=GROUP)):
        try:
            cls = _plugged_in(entry)
            announced.setdefault(cls().spec.name, []).append((entry, cls))
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
    return Found(classes, tuple(broken))


def _built_in() -> Iterator[Any]:
    for package in PACKAGES:
        root = importlib.import_module(package)
        for info in pkgutil.iter_modules(root.__path__, f"{package}."):
            if not info.name.endswith("__main__"):
                cls = getattr(importlib.import_module(info.name), "MEASUREMENT", None)
                if cls is not None:
                    yield cls


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
    made = found()
    if not isinstance(made, Measurement) or not isinstance(getattr(made.spec, "name", None), str):
        raise MeasurementError(f"{found.__name__} has not what a measurement has: spec, hooks, observe and finish")
    return found


def make_measurement(name: str, settings: dict[str, Any] | None = None) -> Measurement:
    """A measurement with settings.

    Raises:
        MeasurementError: for an unknown name or setting, with the nearest ones, or a value of a wrong type.
    """
    known = measurements()
    if name not in known:
        passed = "".join(f"; {sentence}" for sentence in broken())
        raise MeasurementError(
            f"unknown measurement {shown(name)} (known: {', '.join(known)}){passed}", near_names(name, known)
        )
    allowed = known[name]().spec.settings
    types = _types(known[name])
    for setting, value in (settings or {}).items():
        if setting not in allowed:
            its = ", ".join(allowed) or "none"
            raise MeasurementError(
                f"{name} has no setting {shown(setting)} (it has: {its})", near_names(setting, allowed)
            )
        if setting in types:
            _refuse_type(f"{name}.{setting}", types[setting], value, allowed[setting])
    try:
        made = known[name](**(settings or {}))
    except (TypeError, ValueError) as error:
        raise MeasurementError(f"{name}: {error}") from None
    for law in made.spec.laws:
        if law not in EVALUATION_LAWS:
            raise MeasurementError(
                f"{name}: there is no law {shown(law)}; the laws are {' and '.join(EVALUATION_LAWS)}"
            )
    return made


@cache
def _types(cls: type[Measurement]) -> dict[str, TypeAdapter[Any]]:
    """What each setting of a measurement may be, as its constructor says; without those that it does not say."""
    try:
        hints = get_type_hints(cls.__init__)
    except (NameError, TypeError):  # of a plug-in, whose own affair its annotations are
        return {}
    names = inspect.signature(cls.__init__).parameters
    strict = ConfigDict(strict=True, allow_inf_nan=False)
    return {name: TypeAdapter(hints[name], config=strict) for name in names if name in hints and name != "return"}


def _refuse_type(what: str, adapter: TypeAdapter[Any], value: Any, default: Any) -> None:
    """Refuse a value of another type than the setting's; the value itself is not changed."""
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        said = str(error.errors()[0]["msg"])
        raise MeasurementError(f"{what}: {said[0].lower()}{said[1:]}, not {shown(value)}") from None
    if isinstance(value, int) and not isinstance(value, bool):
        # Whole numbers are all counts here, but for seeds.
        low, high = (0, (1 << 63) - 1) if what.endswith(".seed") else (1, DRAWN)
        if not low <= value <= high and (isinstance(default, int) or value > DRAWN):
            raise MeasurementError(f"{what} must be a whole number from {low} to {high:,}, not {shown(value)}")


def choose(only: Sequence[str] | None) -> list[str]:
    """Names asked for; a trailing dot asks for a whole family (``probes.``); None = all.

    Raises:
        MeasurementError: for a name or family that does not exist.
    """
    known = measurements()
    if only is None:
        return list(known)
    chosen: list[str] = []
    for name in only:
        family = [k for k in known if name.endswith(".") and k.startswith(name)]
        if not family:
            make_measurement(name)
            family = [name]
        chosen += [k for k in family if k not in chosen]
    return chosen
