"""What the worker is asked for by name exists, and no other file of the dashboard names it."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from workbench.dashboard.server import worker_addresses

ADDRESSES = {name: value for name, value in vars(worker_addresses).items() if name.isupper()}
ARGUMENTS = {
    "MEASURE_RUN": {"run_path", "only", "state", "deepen_at"},
    "LOOK_AT_SEQUENCE": {"run_path", "step", "sequence", "layer", "head", "query", "edits"},
    "LOOK_AT_ALL_HEADS": {"run_path", "step", "sequence", "progress"},
    "READ_SEQUENCE": {"run_path", "step", "sequence", "edits"},
    "FIND_WRONG_STRINGS": {"run_path", "step", "length", "law", "repair"},
    "DESCRIBE": {"task", "parameters", "positions", "ids", "source", "architecture", "model", "training"},
    "DESCRIBE_ALL": {"subjects"},
    "PUBLISHED_CLAIMS": {"subjects"},
    "DECIDED_FOR_RUN": {"config", "steps"},
}
"""Some of what the dashboard hands over."""


@pytest.mark.parametrize("name", ADDRESSES)
def test_every_address_is_that_of_a_function_with_these_arguments(name: str) -> None:
    module, _, attribute = ADDRESSES[name].partition(":")
    function = getattr(import_module(module), attribute)
    assert inspect.isfunction(function)
    assert set(inspect.signature(function).parameters) >= ARGUMENTS[name]


def test_addresses_stand_in_one_file() -> None:
    folder = Path(worker_addresses.__file__).parent
    address = re.compile(r"[\"'](?:workbench|circuits|probes)\.[\w.]+:\w+[\"']")
    found = {file.name for file in folder.rglob("*.py") if address.search(file.read_text())}
    assert found == {"worker_addresses.py"}
    assert all(address.fullmatch(repr(value)) for value in ADDRESSES.values())
    assert len(ADDRESSES) == len(set(ADDRESSES.values())) == len(ARGUMENTS)


def test_no_lower_room_loads_modules_by_name() -> None:
    """A name could be one of a room above."""
    root = Path(worker_addresses.__file__).parents[3]
    rooms = ("measure", "models", "theory", "runs", "training")
    files = (file for room in rooms for file in (root / "workbench" / room).rglob("*.py"))
    loading = {file for file in files if "import_module" in file.read_text()}
    own = {"lens_parts.py"}  # modules within TransformerLens
    assert {file.name for file in loading} == own
