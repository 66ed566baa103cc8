"""Every tensor that a model's code makes names its device: else it lands wherever tensors are made by default."""

from __future__ import annotations

import ast

import pytest

from tests.support.places import ROOT

FACTORIES = {
    "arange", "as_tensor", "asarray", "bernoulli", "complex", "empty", "eye", "full", "linspace", "logspace", "normal", "ones",
    "rand", "randint", "randn", "randperm", "scalar_tensor", "tensor", "tril_indices", "triu_indices", "zeros",
}  # fmt: skip
COMPUTING = [
    *(ROOT / "workbench" / "models").glob("base/*.py"),
    *(ROOT / "workbench" / "models").glob("transformer/*.py"),
    *(ROOT / "workbench" / "models").glob("ssm/*.py"),
    *(ROOT / "workbench" / "models").glob("rnn/*.py"),
    *(ROOT / "workbench" / "models").glob("positions/*.py"),
    ROOT / "workbench" / "models" / "interop" / "hugging_face" / "adapter.py",
    ROOT / "workbench" / "training" / "trainer.py",
    ROOT / "workbench" / "training" / "regularizers.py",
    ROOT / "workbench" / "tasks" / "base.py",
]
"""What a device is given to compute."""
HERE = {
    "id_samplers.py": "ids are drawn with the batch, on the processor, and moved with it",
    "tie_sets.py": "a statistic of scores, summed on the processor",
    "lens_interface.py": "TransformerLens's conveniences, for a model in a notebook",
}
"""Files of which that is no part."""
BEFORE = ("__init__", "initialize", "shared_parameters", "attention_parameters", "check_upstream_buffers")
"""Functions that make or read in parameters, which move with their model."""


def unplaced(source: str) -> list[tuple[str, int]]:
    """Function and line of every factory call without a device; not of parameters."""
    found, tree = [], ast.parse(source)
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "torch"]
    names = {f"torch.{one}" for one in FACTORIES} | {part.name for node in imported for part in node.names} & FACTORIES
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        if function.name in BEFORE:
            continue
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            if ast.unparse(call.func) in names and "device" not in {part.arg for part in call.keywords}:
                found.append((function.name, call.lineno))
    return found


@pytest.mark.parametrize("path", [path for path in COMPUTING if path.name not in HERE], ids=lambda path: path.name)
def test_every_tensor_made_by_a_model_names_its_device(path) -> None:
    assert unplaced(path.read_text(encoding="utf-8")) == []


def test_the_lint_sees_what_it_looks_for() -> None:
    source = "def f(x):\n    a = torch.arange(3, device=x.device)\n    return torch.zeros(3) + a\n"
    assert unplaced(source) == [("f", 3)]
    assert unplaced("from torch import zeros, Tensor\ndef f():\n    return zeros(3)\n") == [("f", 3)]
    assert {path.name for path in COMPUTING} >= {*HERE, "attention.py", "rotary.py", "scan.py"}
