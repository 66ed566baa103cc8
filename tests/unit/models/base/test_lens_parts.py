"""Our models are TransformerLens's modules without its whole package, which opens as soon as it is asked for."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.support.models.lens_parts import SLOW, printed, same_classes
from tests.support.places import ROOT
from workbench.models.base import lens_parts

NEVER = "{'torch._dynamo', 'sympy'}"
FITTING = "{'scipy.stats', 'sklearn.linear_model'}"


def test_training_and_measuring_import_nothing_slow_that_they_do_not_need(tmp_path: Path) -> None:
    code = f"""
import json, sys
from typer.testing import CliRunner
from workbench.cli.main import app
run, found = sys.argv[1], []
fitted = ["measure", run, "--executor", "serial", "--only", "probes.summary", "--steps", "last", "--sequences", "16"]
for words in (
    ["--help"],
    ["train", "majority", "--lengths", "1-8", "--d-model", "8", "--set", "training.steps=1", "--out", run],
    ["measure", run, "--executor", "serial", "--only", "behaviour", "--only", "circuits.positional",
     "--steps", "last", "--sequences", "16"],
    ["show", run],
    ["predict", "majority", "--positions", "relative"],
    fitted,
):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.output, done.exception)
    # Those of statistics and classifiers are needed where one is fitted, which is measured last.
    found += [(words[0], name) for name in ({SLOW} | {NEVER}) & set(sys.modules)]
    found += [(words[0], name) for name in {FITTING} & set(sys.modules) if words != fitted]
print(json.dumps(found))
"""
    assert printed(code, str(tmp_path / "run")) == []


def test_classes_are_the_same_where_ours_come_first() -> None:
    same_classes("ours first")


def test_nothing_stands_in_for_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing TransformerLens then raises ImportError, which names the package."""
    for name in lens_parts.UNOPENED:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(lens_parts, "find_spec", lambda name: None)
    lens_parts.place_unopened()
    assert lens_parts.PACKAGE not in sys.modules


def test_one_file_imports_transformer_lens() -> None:
    """But for the conversions to it and the comparison with it."""
    own = {
        str(file.relative_to(ROOT))
        for room in ("workbench", "circuits", "probes")
        for file in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "transformer_lens")
        or (isinstance(node, ast.Import) and any(a.name.split(".")[0] == "transformer_lens" for a in node.names))
    }
    assert own == {
        f"workbench/models/{name}.py"
        for name in (
            "base/lens_parts",
            "interop/upstream_lens",
            "interop/conformance",
            "interop/bridge",
            "interop/bridge_module",
        )
    }
