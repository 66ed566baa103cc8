"""From the command line to the arithmetic of a head: how deep ``lengthlens measure RUN --only circuits.hardmax`` calls,
and how many modules it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.support.limits import HANGS_S
from tests.support.places import ROOT
from workbench.measure.known_measurements import BUILT_IN
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task

ONLY = "circuits.hardmax"
PACKAGES = ("lengthlens", "workbench", "probes", "circuits")
MOST_FRAMES = 20
MOST_MODULES = 170

# The arithmetic of a head looks up masses of sorted attention rows: `at_rank` looks at who called it.
MEASURE = """
import json, sys
from pathlib import Path
import lengthlens
from circuits.attention import row_statistics

at_rank, stacks = row_statistics.at_rank, []

def spy(*arguments):
    frame, stack = sys._getframe(1), []
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to({root!r}) and path.relative_to({root!r}).parts[0] in {packages!r}:
            stack.append(f"{{path.relative_to({root!r})}} {{frame.f_code.co_name}}")
        frame = frame.f_back
    stacks.append(stack[::-1])
    return at_rank(*arguments)

row_statistics.at_rank = spy
sys.argv = ["lengthlens", "measure", sys.argv[1], "--only", {only!r}, "--executor", "serial", "--sequences", "16"]
try:
    lengthlens.main()
except SystemExit as left:
    assert not left.code, left.code
modules = sorted(name for name in sys.modules if name.partition(".")[0] in {packages!r})
margins = [stack for stack in stacks if stack[-1].endswith(" margin")]
print(json.dumps({{"modules": modules, "stack": max(margins, key=len)}}))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The project's modules and frames in a process that measures one measurement of a run."""
    from workbench.runs import Run
    from workbench.runs.checkpoints import write_checkpoint, write_config
    from workbench.runs.weights import weights_bytes
    from workbench.training.config import RunConfig, Seeds, TrainingConfig

    model, folder = majority(), tmp_path_factory.mktemp("short_path") / "majority"
    training = TrainingConfig(steps=100, curriculum={"law": "uniform", "low": 1, "high": 9})
    config = RunConfig(task=make_task("majority"), model=model.cfg, training=training, seeds=Seeds())
    write_config(folder, config.as_json())
    write_checkpoint(Run.open(folder), 100, weights_bytes(model), [[0, 9]])
    code = MEASURE.format(only=ONLY, packages=PACKAGES, root=str(ROOT))
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 checkpoint measured" in done.stdout
    return json.loads(done.stdout.splitlines()[-1])


def test_a_named_measurement_imports_no_other(path: dict[str, Any]) -> None:
    addresses = {name: address.partition(":")[0] for name, address in BUILT_IN.items()}
    assert [name for name, module in addresses.items() if module in path["modules"]] == [ONLY]


def test_few_modules_are_imported(path: dict[str, Any]) -> None:
    assert len(path["modules"]) <= MOST_MODULES, path["modules"]


def test_few_calls_lie_between_the_command_and_the_margin_of_a_head(path: dict[str, Any]) -> None:
    assert path["stack"][0].endswith(" main"), path["stack"]
    assert len(path["stack"]) <= MOST_FRAMES, "\n".join(path["stack"])
