"""Whatever is found by name stands in the registry of its kind: a class without its line is told here."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType

import pytest

from workbench.core.registry import Registry
from workbench.dashboard import pages
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.pages.base import Page
from workbench.measure.known_measurements import BUILT_IN
from workbench.measure.measurement import Measurement
from workbench.models import positions
from workbench.models.positions.encoding import Encoding
from workbench.models.positions.id_samplers import IdSampler
from workbench.models.positions.registry import ENCODINGS, ID_SAMPLERS
from workbench.tasks.base import Task
from workbench.tasks.known_tasks import TASKS

UNNAMED = {
    "workbench.tasks.presented.presented_task:Presented",
    "workbench.tasks.testing.template_task:TemplateTask",
}
"""Tasks that nobody trains on by name: a task in a prompt, and what ``lengthlens new task`` writes."""


def modules_of(*packages: str) -> Iterator[ModuleType]:
    """All modules of packages, imported."""
    for name in packages:
        package = import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.endswith("__main__"):
                yield import_module(found.name)


def classes_of(kind: type, *packages: str) -> Iterator[type]:
    """The classes of a kind that the modules of packages define."""
    for module in modules_of(*packages):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, kind) and value.__module__ == module.__name__:
                yield value


def own_name(cls: type) -> str:
    """The name that a class gives itself; "" for a base that leaves it to others."""
    field = getattr(cls, "model_fields", {}).get("name")
    name = field.default if field is not None else vars(cls).get("name")
    return name if isinstance(name, str) else ""


@pytest.mark.parametrize(("kind", "registry"), [(Encoding, ENCODINGS), (IdSampler, ID_SAMPLERS)])
def test_every_encoding_and_id_sampler_is_registered(kind: type, registry: Registry[type]) -> None:
    named = {cls for cls in classes_of(kind, positions.__name__) if own_name(cls)}
    assert named == set(registry.values())


def test_every_measurement_is_registered() -> None:
    families = ("workbench.measure", "workbench.diagnosis", "probes", "circuits")
    places = {f"{cls.__module__}:{cls.__name__}" for cls in classes_of(Measurement, *families) if own_name(cls)}
    assert places == set(BUILT_IN.values())


def test_every_task_is_registered() -> None:
    known = set(TASKS.values())
    classes = classes_of(Task, "workbench.tasks")
    forgotten = [cls for cls in classes if own_name(cls) and not inspect.isabstract(cls) and cls not in known]
    assert {f"{cls.__module__}:{cls.__name__}" for cls in forgotten} == UNNAMED


def test_every_page_is_listed() -> None:
    made: Mapping[str, object] = {
        module.__name__: getattr(module, "PAGE", None) for module in modules_of(pages.__name__)
    }
    assert {page.path for page in made.values() if isinstance(page, Page)} == {page.path for page in PAGES}
