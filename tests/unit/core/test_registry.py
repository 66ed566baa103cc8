"""One registry: objects, addresses and entry points by name, and a sentence for whatever is wrong."""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench.core import registry, suggest
from workbench.core.errors import LensError
from workbench.core.registry import Registry


class ToolError(LensError):
    pass


class Tool:
    pass


class Hammer(Tool):
    pass


def a_tool(name: str, found: object, place: str) -> type[Tool]:
    if isinstance(found, type) and issubclass(found, Tool):
        return found
    raise ToolError(f"{name} ({place}) is no tool")


@pytest.fixture
def announce(monkeypatch: pytest.MonkeyPatch):
    def these(*entries: tuple[str, str]) -> None:
        found = [EntryPoint(name=name, value=value, group="some.tools") for name, value in entries]
        monkeypatch.setattr(registry, "entry_points", lambda group: found if group == "some.tools" else [])

    these()
    return these


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "some_tools.py").write_text(
        "from tests_of_registry import Tool\nclass Saw(Tool): pass\nclass File(Tool): pass\nNAIL = 1\n"
    )
    (tmp_path / "broken_tools.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "tests_of_registry", sys.modules[__name__])
    return "some_tools"


def tools(**things: type[Tool] | str) -> Registry[type[Tool]]:
    return Registry("tool", ToolError, things, group="some.tools", check=a_tool)


def test_objects_addresses_and_announcements_are_found_by_name(announce, module) -> None:
    announce(("file", f"{module}:File"))
    known = tools(hammer=Hammer, saw=f"{module}:Saw")
    assert list(known) == ["hammer", "saw", "file"]
    assert len(known) == 3
    assert "some_tools" not in sys.modules  # listing imports nothing
    assert known.find("hammer") is known["hammer"] is Hammer
    assert [cls.__name__ for cls in known.values()] == ["Hammer", "Saw", "File"]
    known.add("mallet", Hammer)
    known.add("mallet", Hammer)
    assert "mallet" in known
    assert known.get("rasp") is None
    with pytest.raises(KeyError):
        known["rasp"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("hamer", "unknown tool 'hamer'; did you mean hammer?"),
        ("x", "unknown tool 'x'; known: hammer, saw, broken, gone, nail"),
        (["saw"], "unknown tool ['saw']; known: hammer, saw, broken, gone, nail"),
        ("nail", "nail (some_tools:NAIL) is no tool"),
        (
            "gone",
            "the tool 'gone' (some_tools:Gone) could not be imported: AttributeError: module 'some_tools' has no attribute 'Gone'",
        ),
        (
            "broken",
            "the tool 'broken' (broken_tools) could not be imported: ZeroDivisionError: division by zero (at "
            "FOLDER/broken_tools.py:1)",
        ),
        (
            "saw",
            "the tool name 'saw' is taken more than once, by some_tools:Saw and some_tools:File; uninstall one of the "
            "packages",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(announce, module, tmp_path, name, sentence) -> None:
    announce(
        ("nail", f"{module}:NAIL"), ("gone", f"{module}:Gone"), ("saw", f"{module}:File"), ("broken", "broken_tools")
    )
    with pytest.raises(ToolError) as caught:
        tools(hammer=Hammer, saw=f"{module}:Saw").find(name)
    assert str(caught.value) == sentence.replace("FOLDER", str(tmp_path))


def test_what_is_announced_twice_alike_is_one(announce, module) -> None:
    announce(("saw", f"{module}:Saw"), ("saw", f"{module}:Saw"))
    assert tools(saw=f"{module}:Saw").find("saw").__name__ == tools().find("saw").__name__ == "Saw"


def test_a_name_is_given_once() -> None:
    known = tools(hammer=Hammer)
    with pytest.raises(ToolError, match="'hammer'"):
        known.add("hammer", Tool)


def test_near_names_are_told_and_long_ones_not_compared() -> None:
    assert suggest.near_names("paritty", ["majority", "parity"]) == ("parity", "majority")
    assert suggest.near_names("a" * 101, ["a" * 101]) == ()
    assert suggest.near_names(3, ["3"]) == ()
    assert suggest.nearest("parity", []) == "known: none"


def test_a_thing_registers_itself_by_its_own_name() -> None:
    known: Registry[type[Tool]] = Registry("tool", ToolError, name_of=lambda cls: cls.__name__.lower())
    assert known.register(Hammer) is known.find("hammer") is Hammer
    with pytest.raises(ToolError, match="is taken already"):
        known.register(type("Hammer", (Tool,), {}))


def test_what_is_installed_meanwhile_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert registry.entry_points("some.tools") == ()
    installed = tmp_path / "some-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[some.tools]\nsaw = some_tools:Saw\n")
    os.utime(tmp_path, ns=(1, 1))  # as a later moment than that of the question before, however coarse the clock
    assert [entry.name for entry in registry.entry_points("some.tools")] == ["saw"]


def test_entry_points_of_another_kind_are_taken_as_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package importlib_metadata gives its own to whoever asks, once any other package has imported it."""
    foreign = SimpleNamespace(name="saw", value="some_tools:Saw", group="other.tools")
    monkeypatch.setattr(registry.metadata, "entry_points", lambda group: [foreign, foreign])
    assert registry.entry_points("other.tools") == (EntryPoint("saw", "some_tools:Saw", "other.tools"),)
