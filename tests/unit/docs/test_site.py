"""The documentation site: its list of pages is whole, its glossary is the specs, its API pages show every face."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.support.places import ROOT
from tests.support.scripts import script
from workbench.core.thresholds import ROBUST
from workbench.measure.known_measurements import BUILT_IN
from workbench.measure.registry import make_measurement

DOCS = ROOT / "docs"
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text())


def listed(nav: list[Any] | str) -> Iterator[str]:
    """The files that a navigation names."""
    if isinstance(nav, str):
        yield nav
        return
    for entry in nav:
        for part in entry.values() if isinstance(entry, dict) else (entry,):
            yield from listed(part)


def test_every_page_is_listed_once() -> None:
    pages = {str(file.relative_to(DOCS)) for file in DOCS.rglob("*.md")} | {"glossary.md", "cli.md", "tasks.md"}
    made = re.findall(r"\]\(\.\./notebooks/(\w+)\.py\)", (DOCS / "tutorials.md").read_text())
    pages |= {f"tutorials/{name}.md" for name in made}
    assert sorted(listed(SITE["nav"])) == sorted(pages)


def test_no_page_asks_the_network() -> None:
    """Fonts come with the site; what is searched is an index of its own."""
    assert SITE["theme"]["font"] is False
    assert "search" in SITE["plugins"]
    linked = [*SITE.get("extra_css", ()), *SITE.get("extra_javascript", ())]
    linked += re.findall(r"url\(([^)]*)\)", (DOCS / "site" / "site.css").read_text())
    assert [address for address in linked if "//" in address] == []


def test_the_glossary_is_the_specs() -> None:
    text = script("glossary_page").glossary()
    sections = {
        name: body
        for body in text.split("\n## ")[1:]
        if (name := "".join(re.findall(r"^`([^`]+)` · version", body, re.M)))
    }
    assert list(sections) == list(BUILT_IN)
    for name, body in sections.items():
        spec = make_measurement(name).spec
        assert f"version {spec.version} " in body
        assert re.findall(r"^### .*\n\n`(\w+)`", body, re.M) == [quantity.name for quantity in spec.quantities]
    assert f"at least {ROBUST:g} at every tested length" in text
    assert "p<sub>(1)</sub>" in text
    assert not re.search(r"(?<!\\)[_^]\{", text)


@pytest.mark.parametrize(
    "face", ["workbench.tasks", "workbench.models", "workbench.runs", "workbench.table", "workbench.measure", "probes", "circuits"]
)  # fmt: skip
def test_an_api_page_shows_all_that_a_face_offers(face: str) -> None:
    module = importlib.import_module(face)
    offered = {name: getattr(module, name) for name in module.__all__}
    ours = {name: thing for name, thing in offered.items() if getattr(thing, "__module__", "builtins") != "builtins"}
    made = {name: thing for name, thing in ours.items() if inspect.isclass(thing) or inspect.isfunction(thing)}
    shown = re.findall(r"^::: (\S+)$", (DOCS / "api" / f"{face.rsplit('.', 1)[-1]}.md").read_text(), re.M)
    assert {f"{thing.__module__}.{thing.__qualname__}" for thing in made.values()} <= set(shown)
    for name in shown:
        home, _, own = name.rpartition(".")
        assert hasattr(importlib.import_module(home), own), name


def test_an_old_address_leads_to_a_page_that_is_there(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    hooks = script("site_hooks", DOCS / "site")
    hooks.on_post_build({"site_dir": str(tmp_path)})
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(hooks.MOVED)
    for old, new in hooks.MOVED.items():
        assert not (DOCS / f"{old}.md").exists()
        assert (DOCS / f"{new}.md").exists()
        assert f'"{new}.html" + location.hash' in (tmp_path / f"{old}.html").read_text()


def test_a_light_picture_gets_its_dark_one() -> None:
    pytest.importorskip("mkdocs")
    hooks = script("site_hooks", DOCS / "site")
    file = SimpleNamespace(src_uri="index.md")
    page = hooks.on_page_markdown("![A](pictures/run-light.png)", SimpleNamespace(file=file), None, None)
    assert page == "![A](pictures/run-light.png#only-light)![A](pictures/run-dark.png#only-dark)"
    shown = {
        name for file in DOCS.rglob("*.md") for name in re.findall(r"pictures/([\w-]+)-light\.png", file.read_text())
    }
    assert {name for name in shown if not (DOCS / "pictures" / f"{name}-dark.png").exists()} == set()
