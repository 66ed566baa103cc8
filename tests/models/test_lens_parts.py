"""Our models are TransformerLens's modules without its whole package, which opens as soon as it is asked for."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SLOW = "{'transformers', 'datasets', 'transformer_lens.evals'}"


def printed(code: str, *arguments: str) -> Any:
    """What a process of its own prints as JSON."""
    words = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_training_and_measuring_import_no_transformers(tmp_path: Path) -> None:
    code = f"""
import json, sys
from typer.testing import CliRunner
from workbench.cli.main import app
run, found = sys.argv[1], []
for words in (
    ["--help"],
    ["train", "majority", "--lengths", "1-8", "--d-model", "8", "--set", "training.steps=1", "--out", run],
    ["measure", run, "--executor", "serial", "--only", "behaviour", "--only", "circuits.positional",
     "--only", "probes.summary", "--steps", "last", "--sequences", "16"],
    ["predict", "majority", "--positions", "relative"],
    ["show", run],
):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.output, done.exception)
    found += [(words[0], name) for name in {SLOW} & set(sys.modules)]
print(json.dumps(found))
"""
    assert printed(code, str(tmp_path / "run")) == []


PLACE = """
import json, sys
import torch
{first}
from workbench.models import HookedTransformer, ModelConfig
model = HookedTransformer(ModelConfig(d_vocab=3, n_layers=1, d_model=8, n_heads=2, n_ctx=8))
logits, cache = model.run_with_cache(torch.zeros(1, 4, dtype=torch.long))
before = sorted({SLOW} & set(sys.modules))
{second}
import transformer_lens
from transformer_lens.hook_points import HookPoint
print(json.dumps({{
    "before": before,
    "root": isinstance(model, transformer_lens.HookedRootModule),
    "hook": isinstance(model.hook_embed, HookPoint),
    "cache": isinstance(cache, transformer_lens.ActivationCache),
    "factored": isinstance(model.QK, transformer_lens.FactoredMatrix),
    "heads": list(cache.stack_head_results().shape),
    "opened": sorted({SLOW} & set(sys.modules)),
    "types": sorted({{type(sys.modules[name]).__name__ for name in list(sys.modules) if name.startswith("transformer_lens")}}),
}}))
"""
ORDERS = {
    "ours first": ("", ""),
    "theirs first": ("import transformer_lens; transformer_lens.patching", ""),
    "a module of theirs in between": ("", "from transformer_lens import patching"),
    "a class of theirs in between": ("", "from transformer_lens import HookedRootModule as R; assert isinstance(R, type)"),
    "a package of theirs in between": ("", "import transformer_lens.utilities as u; u.get_act_name('q', 0)"),
    "everything in between": ("", "from transformer_lens import *"),
}  # fmt: skip


@pytest.mark.parametrize(
    "order", [name if name == "ours first" else pytest.param(name, marks=pytest.mark.science) for name in ORDERS]
)
def test_classes_are_the_same_whoever_comes_first(order: str) -> None:
    first, second = ORDERS[order]
    found = printed(PLACE.format(first=first, second=second, SLOW=SLOW))
    assert found.pop("before") == ([] if not first else ["datasets", "transformer_lens.evals", "transformers"])
    assert found == {
        "root": True, "hook": True, "cache": True, "factored": True, "heads": [2, 1, 4, 8],
        "opened": ["datasets", "transformer_lens.evals", "transformers"], "types": ["module"],
    }  # fmt: skip


NAMES = """
import json, sys
{first}
import transformer_lens
transformer_lens.patching, transformer_lens.supported_models
from transformer_lens.conversion_utils import TensorConversionSet
def said(value):
    return f"{{getattr(value, '__module__', '')}}.{{getattr(value, '__qualname__', getattr(value, '__name__', type(value)))}}"
places = ("transformer_lens", "transformer_lens.utilities", "transformer_lens.conversion_utils")
own = {{name: {{k: said(v) for k, v in vars(sys.modules[name]).items() if not k.startswith("__")}} for name in places}}
print(json.dumps(own))
"""


@pytest.mark.science
def test_an_opened_package_has_what_a_plain_import_gives() -> None:
    plain = printed(NAMES.format(first=""))
    opened = printed(NAMES.format(first="import workbench.models.transformer.model"))
    for place, names in plain.items():
        # Modules that our parts read, and a plain import of TransformerLens has no need of, may stand there as well.
        extra = opened[place].keys() - names.keys()
        assert extra <= {"matrix", "lm_utils"}, extra
        assert {k: v for k, v in opened[place].items() if k in names} == names, place
        assert len(names) >= 2


@pytest.mark.science
def test_what_is_gone_is_told_as_by_the_package_itself() -> None:
    code = """
import json
import workbench.models.transformer.model
try:
    from transformer_lens import HookedEncoderDecoder
    said = ""
except ImportError as error:
    said = str(error)
import transformer_lens
print(json.dumps([said, hasattr(transformer_lens, "no_such_thing"), transformer_lens.__name__]))
"""
    said, known, name = printed(code)
    assert "TransformerBridge" in said
    assert (known, name) == (False, "transformer_lens")


def test_one_file_imports_transformer_lens() -> None:
    """But for the conversion to it and the comparison with it."""
    own = {
        str(file.relative_to(ROOT))
        for room in ("workbench", "circuits", "probes")
        for file in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "transformer_lens")
        or (isinstance(node, ast.Import) and any(a.name.split(".")[0] == "transformer_lens" for a in node.names))
    }
    assert own == {
        f"workbench/models/{name}.py" for name in ("base/lens_parts", "interop/upstream_lens", "interop/conformance")
    }
