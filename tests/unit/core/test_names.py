"""Names that several packages share stand in one module, and no text is a constant of the same name in two."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import get_args

import workbench.training.curriculum as curricula
from tests.support.places import ROOT
from workbench.core.names import CELLS, CURRICULA, GATES, RECURRENT_NETWORKS, STATE_SPACE_MODELS
from workbench.models.rnn.config import RNNConfig
from workbench.models.ssm.config import SSMConfig

UNRELATED = {
    ("END", "<eos>"): "tokens of two families of tasks",
    ("SEP", "<sep>"): "a token of tasks, and one of programs",
    ("NONE", "none"): "an answer of a task, and the name of an encoding",
    ("TOKENS", "tokens"): "a control, and a target",
    ("LENGTH", "length"): "a mode of code drift, and a part of the cursor",
    ("STEP", "step"): "a mode of code drift, and a part of the cursor",
}
"""Constants of one name and text that mean different things."""


def texts() -> Iterator[tuple[str, str, str]]:
    """Module, name and text of every constant of a module."""
    for package in ("workbench", "probes", "circuits"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "claims" in path.parts:  # each suite states its paper's own words
                continue
            for node in ast.parse(path.read_text()).body:
                if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name | ast.Tuple):
                    continue
                target, value = node.targets[0], node.value
                pairs = (
                    zip(target.elts, value.elts, strict=False)
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                    else [(target, value)]
                )
                for name, text in pairs:
                    if (
                        isinstance(name, ast.Name)
                        and name.id.isupper()
                        and isinstance(text, ast.Constant)
                        and isinstance(text.value, str)
                    ):
                        yield path.relative_to(ROOT).as_posix(), name.id, text.value


def test_no_text_is_a_constant_of_the_same_name_in_two_modules() -> None:
    places = defaultdict(list)
    for module, name, text in texts():
        places[name, text].append(module)
    twice = {key: modules for key, modules in places.items() if len(modules) > 1 and key not in UNRELATED}
    assert twice == {}


def test_every_curriculum_has_its_class() -> None:
    classes = {
        one for one in vars(curricula).values() if isinstance(one, type) and issubclass(one, curricula.Curriculum)
    }
    assert {*curricula.CURRICULA.values()} == classes - {curricula.Curriculum}
    assert list(curricula.CURRICULA) == list(CURRICULA)


def test_the_gates_are_those_of_the_configuration() -> None:
    assert get_args(SSMConfig.model_fields["gates"].annotation) == GATES
    assert [f"ssm-{gates}" for gates in GATES] == list(STATE_SPACE_MODELS)


def test_the_cells_are_those_of_the_configuration() -> None:
    assert get_args(RNNConfig.model_fields["cell"].annotation) == CELLS
    assert [f"rnn-{cell}" for cell in CELLS] == list(RECURRENT_NETWORKS)


def test_the_help_of_train_names_every_curriculum_without_torch() -> None:
    code = (
        "import sys, contextlib\n"
        "from typer.testing import CliRunner\n"
        "from workbench.cli.main import app\n"
        "print(CliRunner().invoke(app, ['train', '--help'], env={'COLUMNS': '400'}).output)\n"
        "assert not {'torch', 'transformer_lens'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in (*CURRICULA, *GATES))
