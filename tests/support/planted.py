"""What tests of several tiers share. A KeyError planted in LengthLens's own code, in a task file or in a plug-in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.places import ROOT

LINE = 7
"""The line that raises, in every file that is planted."""
OURS = "circuits/hardmax/planted.py"
"""The file that :func:`of_ours` pretends to be in."""
DEFECT = f"a defect in LengthLens at {OURS}:{LINE} (KeyError: 'planted'); please report it"
TASK = """import os
from workbench.tasks.counting.majority import Majority
class Mine(Majority):
    name = "mine"
    def draw_strings(self, *given):
        if "PLANTED" in os.environ:
            raise KeyError("planted")
        return super().draw_strings(*given)
"""
PLUG_IN = """from workbench.measure import Measurement, Quantity
class Theirs(Measurement):
    name = "theirs"
    title = "Theirs"
    laws, quantities = ("matched",), (Quantity("theirs", "nothing", "one"),)
    def observe(self, law, length, batch, cache):
        raise KeyError("planted")
    def finish(self, study):
        return []
    def hooks(self, cfg):
        return []
"""


def of_ours() -> Callable[..., Any]:
    """A function that raises KeyError in a file of LengthLens."""
    scope: dict[str, Any] = {"__name__": "circuits.hardmax.planted"}
    source = "\n" * (LINE - 2) + "def planted(*given, **more):\n    raise KeyError('planted')\n"
    exec(compile(source, str(ROOT / OURS), "exec"), scope)
    function: Callable[..., Any] = scope["planted"]
    return function


def install_plug_in(folder: Path, source: str = PLUG_IN) -> Path:
    """A distribution in a folder of ``site-packages`` that announces a measurement ``theirs``; returns its file."""
    place = folder / "site-packages"
    described = place / "theirs-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[lengthlens.measurements]\ntheirs = their_measurement:Theirs\n")
    file = place / "their_measurement.py"
    file.write_text(source)
    return file
