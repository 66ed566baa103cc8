"""Foreign checkpoints become a run with the same outputs, or one sentence says why not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.runs.adopt import (
    CONFIG,
    TASK,
    foreign,
    own,
    take,
    theirs,  # noqa: F401 - fixtures
)
from workbench.runs import RunError
from workbench.runs.adoption.checkpoint_files import checkpoint_files, read_weights
from workbench.runs.integrity import run_problems


def test_every_checkpoint_comes_in_under_its_step(tmp_path: Path) -> None:
    models = {"model_0.pt": own(0), "model_200.safetensors": own(1), "late-1000/model.pt": own(2)}
    run = take(foreign(tmp_path / "theirs", models), tmp_path / "run")
    assert run.steps == [0, 200, 1000]
    x = TASK.sample(4, 9, torch.Generator().manual_seed(0)).tokens
    with torch.no_grad():
        for step, model in zip(run.steps, models.values(), strict=True):
            assert torch.equal(run.load(step)(x), model(x))
    assert run.trained_length == 9
    assert run.finished
    assert run.meta(200)["trained_ids"] == [[0, 9]]
    assert run.meta(1000)["source"] == "late-1000/model.pt"
    assert run_problems(run) == []
    assert "learning_rate" not in run.config["training"], "what nobody knows is left out"


def test_the_same_call_continues_and_another_is_refused(tmp_path: Path) -> None:
    source = foreign(tmp_path / "theirs", {"model_1.pt": own(0), "model_2.pt": own(1)})
    run = take(source, tmp_path / "run")
    before = run.meta(1)
    for file in run.step_path(2).iterdir():
        file.unlink()
    run.step_path(2).rmdir()
    again = take(source, tmp_path / "run")
    assert again.steps == [1, 2]
    assert again.meta(1) == before
    with pytest.raises(RunError, match="holds another run; choose another --out"):
        take(source, tmp_path / "run", lengths=(1, 7))


def test_without_a_config_what_shapes_do_not_tell_is_asked_for(tmp_path: Path) -> None:
    source = foreign(tmp_path / "theirs", {"model_1.pt": own(normalization_type=None)}, config=None)
    stated: dict[str, Any] = {}
    for name, question, answer in (
        ("positions", "which positions does it read", "learned"),
        ("act_fn", "which activation do its MLPs have", "relu"),
        ("normalization_type", "either it has none .* or its LayerNorms were folded", None),
    ):
        with pytest.raises(RunError, match=question):
            take(source, tmp_path / "run", stated=stated)
        stated[name] = answer
    assert not (tmp_path / "run").exists(), "nothing is written before everything is known"
    run = take(source, tmp_path / "run", stated=stated)
    assert run.load(1).cfg == own(normalization_type=None).cfg


@pytest.mark.parametrize(("config", "sentence"), [
    ({"d_model": 32}, "config.json says d_model = 32, but in .*model_1.pt it is 16"),
    ({"n_ctx": 48}, "config.json says n_ctx = 48, but in .*model_1.pt it is 24"),
    ({"gated_mlp": True}, "gated_mlp = True, which our model does not have"),
    ({"normalization_type": "LNPre"}, "LayerNorms were folded into the weights"),
    ({"act_fn": "solu"}, "no model can be made of it: act_fn: "),
])  # fmt: skip
def test_a_config_that_does_not_fit_is_refused(tmp_path: Path, config: dict[str, Any], sentence: str) -> None:
    source = foreign(tmp_path / "theirs", {"model_1.pt": own()}, {**CONFIG, **config})
    with pytest.raises(RunError, match=sentence):
        take(source, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_weights_whose_layer_norms_are_gone_are_refused(tmp_path: Path) -> None:
    source = foreign(tmp_path / "theirs", {"model_1.pt": own(normalization_type=None)})
    with pytest.raises(RunError, match=r"model_1\.pt: it holds no LayerNorm weights; its LayerNorms were folded"):
        take(source, tmp_path / "run")


def test_a_model_of_another_vocabulary_is_refused(tmp_path: Path) -> None:
    source = foreign(tmp_path / "theirs", {"model_1.pt": own(d_vocab=7)}, {**CONFIG, "d_vocab": 7})
    with pytest.raises(RunError, match="7 tokens and 2 outputs, but majority 3 and 2"):
        take(source, tmp_path / "run")


def test_one_bad_file_among_many_is_named_before_anything_is_written(tmp_path: Path) -> None:
    source = foreign(tmp_path / "theirs", {f"model_{step}.pt": own(step) for step in (1, 2, 3)})
    weights = torch.load(source / "model_2.pt", weights_only=True)
    weights["blocks.1.attn.W_Q"][0, 0, 0] = float("nan")
    torch.save(weights, source / "model_2.pt")
    with pytest.raises(RunError, match=r"model_2\.pt holds values that are not finite in tensor blocks\.1\.attn\.W_Q"):
        take(source, tmp_path / "run")
    torch.save({k: v for k, v in weights.items() if k != "unembed.b_U"}, source / "model_2.pt")
    with pytest.raises(RunError, match=r"model_2\.pt is damaged or foreign: tensor unembed\.b_U is missing"):
        take(source, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert take(source, tmp_path / "run", files="model_[13].pt").steps == [1, 3]


# ---- files ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("names", "sentence"), [
    ([], "holds no checkpoint file"),
    (["final.pt"], "its name holds no step"),
    (["model_5.pt", "step-005.safetensors"], "are both of step 5"),
])  # fmt: skip
def test_files_without_one_step_each_are_refused(tmp_path: Path, names: list[str], sentence: str) -> None:
    for name in names:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(RunError, match=sentence):
        checkpoint_files(tmp_path)
    with pytest.raises(RunError, match="there is no folder"):
        checkpoint_files(tmp_path / "nowhere")


def test_steps_are_the_last_number_of_the_nearest_name(tmp_path: Path) -> None:
    for name in ("gpt2_small_100.pt", "run7/checkpoint-0020/model.pt", "run7/checkpoint-0020/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert [step for step, _ in checkpoint_files(tmp_path)] == [20, 100]


class Bomb:
    """Unpickling this would make a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def test_no_code_in_a_file_is_run(tmp_path: Path) -> None:
    torch.save({"embed.W_E": torch.zeros(1), "more": Bomb(tmp_path / "made")}, tmp_path / "m_1.pt")
    with pytest.raises(RunError, match="holds objects whose code is not run here; save its weights by themselves"):
        read_weights(tmp_path / "m_1.pt")
    assert not (tmp_path / "made").exists()


def test_wrapped_half_and_double_precision(tmp_path: Path) -> None:
    weights = {"a": torch.tensor([1.5, 2.25], dtype=torch.bfloat16), "mask": torch.ones(2, dtype=torch.bool)}
    torch.save({"model_state_dict": weights, "step": 3, "optimizer": {}}, tmp_path / "m_1.pt")
    found = read_weights(tmp_path / "m_1.pt")
    assert found["a"].dtype == torch.float32
    assert found["a"].tolist() == [1.5, 2.25]
    torch.save({"a": torch.zeros(1, dtype=torch.float64)}, tmp_path / "m_2.pt")
    with pytest.raises(RunError, match="tensor a is float64; models here are float32"):
        read_weights(tmp_path / "m_2.pt")


@pytest.mark.parametrize("name", ["m_1.pt", "m_1.safetensors"])
def test_what_is_no_checkpoint_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for data in (b"", b"hello", os.urandom(500)):
        path.write_bytes(data)
        with pytest.raises(RunError, match=rf"{name} (is damaged or no checkpoint|cannot be read as tensors alone)"):
            read_weights(path)
    torch.save([1, 2], tmp_path / "m_2.pt")
    with pytest.raises(RunError, match="holds no state dict, nor one under state_dict, model_state_dict"):
        read_weights(tmp_path / "m_2.pt")
