"""Finding measurements: those built in, and those that other packages announce."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from workbench.measure.measurement import Measurement, MeasurementError

PACKAGES = ("workbench.measure", "probes", "circuits")
GROUP = "lengthlens.measurements"


@cache
def measurements() -> dict[str, type[Measurement]]:
    """All known measurement classes by name, built-in ones first.

    Raises:
        MeasurementError: if two offer the same name.
    """
    classes: list[Any] = []
    for package in PACKAGES:
        root = importlib.import_module(package)
        for info in pkgutil.iter_modules(root.__path__, f"{package}."):
            if not info.name.endswith("__main__"):
                classes.append(getattr(importlib.import_module(info.name), "MEASUREMENT", None))
    classes += [entry.load() for entry in entry_points(group=GROUP)]
    found: dict[str, type[Measurement]] = {}
    for cls in filter(None, classes):
        name = cls().spec.name
        if found.setdefault(name, cls) is not cls:
            raise MeasurementError(f"two installed measurements are called {name}")
    return found


def make_measurement(name: str, settings: dict[str, Any] | None = None) -> Measurement:
    """A measurement with settings.

    Raises:
        MeasurementError: for an unknown name or setting, with the nearest ones.
    """
    known = measurements()
    if name not in known:
        near = tuple(get_close_matches(name, known, n=2, cutoff=0.3))
        raise MeasurementError(f"unknown measurement {name!r} (known: {', '.join(known)})", near)
    allowed = known[name]().spec.settings
    for setting in settings or {}:
        if setting not in allowed:
            near = tuple(get_close_matches(setting, allowed, n=2, cutoff=0.3))
            raise MeasurementError(f"{name} has no setting {setting!r} (it has: {', '.join(allowed)})", near)
    try:
        return known[name](**(settings or {}))
    except (TypeError, ValueError) as error:
        raise MeasurementError(f"{name}: {error}") from None


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
