"""Every sentence by which the command line refuses something names the thing and the way out."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT
from workbench.cli import early_refusal
from workbench.cli.early_refusal import refuse_early, settings_of_part
from workbench.cli.options import ONLY
from workbench.cli.train_request import TrainRequest
from workbench.core.construct import construct
from workbench.core.declared_fields import plain_fields
from workbench.core.errors import LensError
from workbench.core.names import CELLS, CURRICULA, GATES
from workbench.models.rnn.config import RNNConfig
from workbench.models.ssm.config import SSMConfig
from workbench.models.transformer.config import ModelConfig
from workbench.training import curriculum
from workbench.training.config import Seeds, TrainingConfig
from workbench.training.errors import TrainingError

WAY_OUT = re.compile(
    r"takes |must be |e\.g\. |\bgive|choose|leave |nearest\(|lengthlens |write |\bname |correct |save |remove |reduce |make |vary |"
    r"pip install |drop |known|starts? with |train it |put |at most |measured: | or --| or \w+, not |\{' or '\.join|\bof\b.*only"
)
"""Words by which a sentence says what to do, what is allowed, or what is known."""
PASSED_ON = ("{error}", "{file}: {line}")
"""Sentences that only say where another one, with its own way out, applies."""


def sentences() -> list[tuple[str, str]]:
    """Where each error of the command line is raised, and its sentence with expressions in braces."""
    found = []
    for file in sorted((ROOT / "workbench" / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                name = ast.unparse(node.exc.func)
                if (name.endswith("Error") or name == "error") and "." not in name:
                    found.append((f"{file.name}:{node.lineno}", written(node.exc.args[0])))
    return found


def written(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(written(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return str(node.value) if isinstance(node, ast.Constant) else f"{{{ast.unparse(node)}}}"


def test_every_sentence_names_the_thing_and_the_way_out() -> None:
    said = sentences()
    assert len(said) > 70
    assert [one for one in said if not ("{" in one[1] or "--" in one[1] or "FILE" in one[1] or "base" in one[1])] == []
    own = [one for one in said if not any(mark in one[1] for mark in PASSED_ON)]
    assert [one for one in own if not WAY_OUT.search(one[1])] == []


def test_what_is_read_before_torch_is_loaded_is_what_the_configs_say() -> None:
    assert list(curriculum.CURRICULA) == list(CURRICULA)
    assert SSMConfig.model_fields["gates"].annotation.__args__ == GATES  # type: ignore[union-attr]
    assert settings_of_part("training") == list(TrainingConfig.model_fields)
    assert settings_of_part("seeds") == list(Seeds.model_fields)
    assert RNNConfig.model_fields["cell"].annotation.__args__ == CELLS  # type: ignore[union-attr]
    fields = {*ModelConfig.model_fields, *SSMConfig.model_fields, *RNNConfig.model_fields} - {"no_heads"}
    assert set(settings_of_part("model")) == fields | {"architecture"}


@pytest.mark.parametrize(
    ("task", "options", "settings", "sentence"),
    [
        ("majorty", {}, [], "unknown task 'majorty'; did you mean majority"),
        ("nowhere.py:Mine", {}, [], "there is no file nowhere.py; lengthlens new task nowhere writes"),
        ("majority", {"positions": "rotery"}, [], "unknown position scheme 'rotery'; did you mean rotary?"),
        ("majority", {"ids": "arrange"}, [], "unknown id sampler 'arrange'; did you mean arange"),
        ("majority", {"curriculum": "fix"}, [], "unknown curriculum 'fix'"),
        ("majority", {"lengths": "9-3"}, [], "--lengths 9-3: the shortest length exceeds the longest; write 3-9"),
        ("majority", {}, [(["nope", "x"], 1)], "--set nope.x: settings start with task., model., training., seeds."),
        ("majority", {}, [(["training", "warmip"], 1)], "training has no setting 'warmip'; did you mean warmup?"),
        ("majority", {}, [(["model", "n_head"], 1)], "model has no setting 'n_head'; did you mean n_heads"),
        (
            "majority",
            {},
            [(["training", "batch_size"], -1)],
            "training: batch_size: Input should be greater than or eq",
        ),
        ("majority", {}, [(["model", "d_mlp"], "x")], "model: d_mlp takes a whole number"),
        (
            "majority",
            {"architecture": "ssm"},
            [(["model", "gates"], "x")],
            "model: gates: Input should be 'nonnegative'",
        ),
        ("majority", {}, [(["training", "rate_law"], "cos")], "unknown learning-rate schedule 'cos'"),
    ],
)
def test_a_mistyped_name_is_refused_at_once(task: str, options: dict, settings: list, sentence: str) -> None:
    with pytest.raises(LensError) as caught:
        refuse_early(TrainRequest(task, options, settings))
    assert str(caught.value).startswith(sentence)


MODEL = {"d_vocab": 4, "n_layers": 2, "d_model": 8, "n_ctx": 16}
WHOLE = {
    "training": (TrainingConfig, {}),
    "seeds": (Seeds, {}),
    "transformer": (ModelConfig, {**MODEL, "n_heads": 2}),
    "ssm": (SSMConfig, MODEL),
    "rnn": (RNNConfig, MODEL),
}
NO_VALUES = (-1, 0, 0.5, "x", [1], {"a": 1}, True, 1e30, float("inf"), float("nan"), 10**20, "adamw", [0.1, "y"])


def _refused(cls: type, values: dict, part: str) -> str:
    try:
        construct(cls, values, part, TrainingError)
    except TrainingError as refusal:
        return str(refusal)
    return ""


@pytest.mark.parametrize("part", WHOLE)
def test_a_value_refused_early_is_refused_by_the_config_in_the_same_words(part: str) -> None:
    cls, given = WHOLE[part]
    plain = early_refusal._plain(*(("model", part) if part in ONLY else (part, "")))
    both = [
        (early, _refused(cls, {**given, name: value}, part))
        for name in plain.model_fields
        for value in NO_VALUES
        if (early := _refused(plain, {name: value}, part))
    ]
    assert len(both) > 3 * len(plain.model_fields)
    assert [early for early, _ in both] == [late for _, late in both]


def test_most_settings_are_plain() -> None:
    names = {kind: set(plain_fields(*place).model_fields) for kind, place in early_refusal._CONFIGS.items()}
    assert names["seeds"] == set(Seeds.model_fields)
    assert set(TrainingConfig.model_fields) - names["training"] == {
        "regularizers", "curriculum", "task_schedule", "id_schedule", "start", "fork", "early_stop",
        "checkpoints", "carried_states",
    }  # fmt: skip
    assert {"d_model", "n_ctx", "n_layers", "normalization_type"} <= names["architecture"]
    assert {"n_heads", "d_head", "d_mlp", "act_fn", "attn_only", "attention"} <= names["transformer"]
    assert {"d_state", "gates", "time_invariant"} <= names["ssm"]
    assert {"cell", "nonlinearity", "d_hidden", "residual", "initial_state", "initial_gain"} <= names["rnn"]


def test_refusing_loads_nothing_that_takes_seconds() -> None:
    """The modules that it imports, and what those import, down to the ground: read, not run."""
    seen: set[str] = set()
    todo = [Path(str(early_refusal.__file__))]
    while todo:
        file = todo.pop()
        for node in ast.parse(file.read_text()).body:  # what stands at the top alone is imported at once
            if isinstance(node, ast.ImportFrom | ast.Import):
                for name in [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]:
                    inner = ROOT.joinpath(*name.split(".")).with_suffix(".py")
                    if name not in seen and inner.exists():
                        todo.append(inner)
                    seen.add(name)
    heavy = {"torch", "transformer_lens", "scipy", "pandas", "pyarrow", "numpy", "sklearn"}
    assert not {name.partition(".")[0] for name in seen} & heavy
    assert "workbench.tasks.known_tasks" in seen


EARLY = {
    "predict majority --positions nonne": "unknown position scheme 'nonne'; did you mean none?",
    "predict majority --ids offset": "unknown id sampler 'offset'; did you mean random_offset",
    "predict majority --architecture ssx": "--architecture takes transformer, ssm-nonnegative, ssm-signed, rnn-elman or rnn-gru, not 'ssx'",
    "predict majority --architecture ssm-signed --ids arange": "a state-space model has no position encoding; leave out",
    "predict nowhere.py:Mine": "there is no file nowhere.py; lengthlens new task nowhere writes",
    "compile nowhere.crasp --task majority": "there is no file nowhere.crasp; write a program with",
    "compile lead.crasp --task majorty": "unknown task 'majorty'; did you mean majority",
    "compile majority --lengths 9-3": "--lengths 9-3: the shortest length exceeds the longest; write 3-9",
    "measure . --steps lst": "--steps takes whole numbers separated by commas, e.g. 100,200, or last, not 'lst'",
    "train majority --set training.warmip=1": "training has no setting 'warmip'; did you mean warmup?",
    "train majority --set model.d_mlp=x": "model: d_mlp takes a whole number, not 'x'",
    "sweep many.yaml": "many.yaml: every cell: training: steps takes a whole number, not 'many'",
}


def test_command_lines_are_refused_before_torch_is_loaded(tmp_path: Path) -> None:
    """In a process of its own: what is loaded counts, not what time it takes."""
    script = """
import sys
from workbench.cli.errors import exit_status
from workbench.cli.main import app
for line in sys.stdin.read().splitlines():
    sys.argv = ["lengthlens", *line.split()]
    try:
        code = exit_status(app)
    except SystemExit as left:
        code = left.code
    print(code, "torch" in sys.modules)
"""
    (tmp_path / "many.yaml").write_text("{out: runs, base: {task: majority, steps: many}, grid: {seed: [0, 1]}}")
    asked = {"input": "\n".join(EARLY), "cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, **asked)
    assert done.stdout.splitlines() == ["2 False"] * len(EARLY), done.stderr
    for said, wanted in zip(done.stderr.splitlines(), EARLY.values(), strict=True):
        assert said.startswith(f"error: {wanted}")
