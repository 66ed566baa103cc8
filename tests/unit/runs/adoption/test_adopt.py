"""Foreign checkpoints become a run with the same outputs, or one sentence says why not."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from tests.support.held import Held, digest
from tests.support.runs.adopt import (
    CONFIG,
    TASK,
    foreign,
    own,
    take,
    theirs,  # noqa: F401 - fixtures
)
from workbench.cli.errors import UsageError
from workbench.cli.main import app
from workbench.models.handmade.transformers import majority
from workbench.models.transformer.config import ModelConfig
from workbench.runs import RunError
from workbench.runs.adoption.checkpoint_files import checkpoint_files, read_weights
from workbench.runs.adoption.store_foreign import config_of
from workbench.runs.integrity import run_problems
from workbench.tasks import make_task


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
    with pytest.raises(RunError, match="--out"):
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
    ({"d_model": 32}, r"config\.json"),
    ({"n_ctx": 48}, r"config\.json"),
    ({"gated_mlp": True}, "gated_mlp"),
    ({"normalization_type": "LNPre"}, "LayerNorms"),
    ({"act_fn": "solu"}, "act_fn"),
])  # fmt: skip
def test_a_config_that_does_not_fit_is_refused(tmp_path: Path, config: dict[str, Any], sentence: str) -> None:
    source = foreign(tmp_path / "theirs", {"model_1.pt": own()}, {**CONFIG, **config})
    with pytest.raises(RunError, match=sentence):
        take(source, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_weights_whose_layer_norms_are_gone_are_refused(tmp_path: Path) -> None:
    source = foreign(tmp_path / "theirs", {"model_1.pt": own(normalization_type=None)})
    with pytest.raises(RunError, match=r"model_1\.pt"):
        take(source, tmp_path / "run")


def test_a_model_of_another_vocabulary_is_refused(tmp_path: Path) -> None:
    source = foreign(tmp_path / "theirs", {"model_1.pt": own(d_vocab=7)}, {**CONFIG, "d_vocab": 7})
    with pytest.raises(RunError, match="7 tokens"):
        take(source, tmp_path / "run")


def reordered(model: Any, tokens: list[int], outputs: list[int] | None = None) -> dict[str, torch.Tensor]:
    """The weights of a model whose vocabulary has another order: its token ``tokens[i]`` is our token i."""
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    rows = torch.randn(max(tokens) + 1, model.cfg.d_model, generator=torch.Generator().manual_seed(1))
    rows[tokens] = weights["embed.W_E"]
    weights["embed.W_E"] = rows
    if outputs is not None:
        for name in ("unembed.W_U", "unembed.b_U"):
            wide = torch.zeros(*weights[name].shape[:-1], len(rows))
            wide[..., outputs] = weights[name]
            weights[name] = wide
    return weights


@pytest.mark.parametrize(("tokens", "stated"), [
    ([2, 0, 1], {"tokens": (2, 0, 1)}), ([2, 0, 1], {"bos": 2}), ([4, 6, 1], {"tokens": (4, 6, 1)}),
    ([5, 0, 1], {"bos": 5}),
])  # fmt: skip
@pytest.mark.parametrize("over_tokens", [False, True])
def test_a_model_with_another_vocabulary_order_is_taken_in(
    tmp_path: Path, tokens: list[int], stated: dict[str, Any], over_tokens: bool
) -> None:
    """Majority's tokens are <bos>, 0 and 1; its answers are called like the last two."""
    models = {step: own(step) for step in (1, 2)}
    source = tmp_path / "theirs"
    source.mkdir()
    for step, model in models.items():
        torch.save(reordered(model, tokens, tokens[1:] if over_tokens else None), source / f"model_{step}.pt")
    fields = {"positions": "learned", "act_fn": "relu"}
    run = take(source, tmp_path / "run", stated=fields, **stated)
    x = TASK.sample(4, 9, torch.Generator().manual_seed(0)).tokens
    with torch.no_grad():
        for step, model in models.items():
            assert torch.equal(run.load(step)(x), model(x))
    assert run.config["training"]["tokens"] == tokens
    assert take(source, tmp_path / "run", stated=fields, **stated).id == run.id, "the same call goes on"


@pytest.mark.parametrize(("stated", "sentence"), [
    ({"tokens": (0, 1)}, "--tokens"),
    ({"tokens": (0, 1, 1)}, "--tokens"),
    ({"tokens": (0, 1, 3)}, "--tokens"),
    ({"bos": 3}, "--bos"),
])  # fmt: skip
def test_tokens_that_the_model_or_the_task_does_not_have_are_refused(
    tmp_path: Path, stated: dict[str, Any], sentence: str
) -> None:
    source = foreign(tmp_path / "theirs", {"model_1.pt": own()})
    with pytest.raises(RunError, match=sentence):
        take(source, tmp_path / "run", **stated)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("lengths", "sequences"), [("1-9", "all 512 sequences"), ("1-21", "256 sequences")])
def test_a_model_that_is_not_above_chance_gets_a_hint(tmp_path: Path, lengths: str, sequences: str) -> None:
    """With its two symbols exchanged, a counter is always wrong; with them put right, it is always right."""
    model = majority()
    source = tmp_path / "theirs"
    source.mkdir()
    torch.save(reordered(model, [0, 2, 1]), source / "model_5.pt")
    cfg = model.cfg
    stated = {
        "model.positions": "none", "model.act_fn": cfg.act_fn, "model.attn_only": cfg.attn_only,
        "model.normalization_type": cfg.normalization_type, "model.n_ctx": cfg.n_ctx,
    }  # fmt: skip
    settings = [word for name, value in stated.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    words = ["adopt", str(source), "--task", "majority", "--lengths", lengths, *settings]
    plain = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "plain")])
    assert plain.exit_code == 0, plain.output
    assert f"step 5 has accuracy 0.00 on {sequences}; chance is 0.50." in plain.output
    assert "--tokens or --bos" in plain.output.replace("\n", " ")
    righted = CliRunner().invoke(app, [*words, "--tokens", "0,2,1", "--out", str(tmp_path / "righted")])
    assert righted.exit_code == 0, righted.output
    assert "chance" not in righted.output
    both = CliRunner().invoke(app, [*words, "--tokens", "0,2,1", "--bos", "0"])
    assert isinstance(both.exception, UsageError)


@pytest.mark.parametrize(("name", "value", "sentence"), [
    ("embed.W_E", torch.zeros(3), r"embed\.W_E"),
    ("embed.W_E", torch.zeros(()), r"embed\.W_E"),
    ("blocks.0.attn.W_Q", torch.zeros(2, 16), r"blocks\.0\.attn\.W_Q"),
    ("unembed.W_U", torch.zeros(0, 2), r"unembed\.W_U"),
    ("blocks.0.mlp.W_in", torch.zeros(16), r"blocks\.0\.mlp\.W_in"),
    ("pos_embed.W_pos", torch.zeros(24, 16, 1), r"pos_embed\.W_pos"),
    ("blocks.1.ln1.w", torch.zeros(16, 1), r"blocks\.1\.ln1\.w"),
    ("embed.W_E", torch.zeros(3, 16, device="meta"), "device"),
    ("embed.W_E", torch.quantize_per_tensor(torch.zeros(3, 16), 0.1, 0, torch.qint8), "is quantized"),
    ("embed.W_E", torch.zeros(3, 16).to_sparse(), "sparse_coo"),
    ("embed.W_E", torch.zeros(3, 16, dtype=torch.complex64), "is complex"),
    ("embed.W_E", torch.zeros(1, 1).expand(10**9, 10**6), "repeats"),
    ("blocks.10000000.attn.W_Q", torch.zeros(1), "n_layers"),
    ("blocks.4000.attn.W_Q", torch.zeros(1), "config"),
    ("blocks.x.attn.W_Q", torch.zeros(1), r"blocks\.x\.attn\.W_Q"),
    (7, torch.zeros(1), "state"),
])  # fmt: skip
def test_tensors_of_another_kind_get_a_sentence(tmp_path: Path, name: Any, value: torch.Tensor, sentence: str) -> None:
    source = foreign(tmp_path / "theirs", {"model_1.pt": own()}, config=None)
    weights = torch.load(source / "model_1.pt", weights_only=True)
    torch.save({**weights, name: value}, source / "model_1.pt")
    stated = {"positions": "learned", "act_fn": "relu"}
    with pytest.raises(RunError, match=sentence):
        take(source, tmp_path / "run", stated=stated)
    assert not (tmp_path / "run").exists()


def test_a_compressed_archive_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "m_1.pt"
    torch.save({"embed.W_E": torch.zeros(100)}, path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(RunError, match=r"m_1\.pt"):
        read_weights(path)


def test_one_bad_file_among_many_is_named_before_anything_is_written(tmp_path: Path) -> None:
    source = foreign(tmp_path / "theirs", {f"model_{step}.pt": own(step) for step in (1, 2, 3)})
    weights = torch.load(source / "model_2.pt", weights_only=True)
    weights["blocks.1.attn.W_Q"][0, 0, 0] = float("nan")
    torch.save(weights, source / "model_2.pt")
    with pytest.raises(RunError, match=r"blocks\.1\.attn\.W_Q"):
        take(source, tmp_path / "run")
    torch.save({k: v for k, v in weights.items() if k != "unembed.b_U"}, source / "model_2.pt")
    with pytest.raises(RunError, match=r"unembed\.b_U"):
        take(source, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert take(source, tmp_path / "run", files="model_[13].pt").steps == [1, 3]


# ---- files ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("names", "sentence"), [
    ([], "checkpoint"),
    (["final.pt"], "name"),
    (["model_5.pt", "step-005.safetensors"], "step 5"),
])  # fmt: skip
def test_files_without_one_step_each_are_refused(tmp_path: Path, names: list[str], sentence: str) -> None:
    for name in names:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(RunError, match=sentence):
        checkpoint_files(tmp_path)
    with pytest.raises(RunError, match="folder"):
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
    with pytest.raises(RunError, match="objects"):
        read_weights(tmp_path / "m_1.pt")
    assert not (tmp_path / "made").exists()


def test_wrapped_half_and_double_precision(tmp_path: Path) -> None:
    weights = {"a": torch.tensor([1.5, 2.25], dtype=torch.bfloat16), "mask": torch.ones(2, dtype=torch.bool)}
    torch.save({"model_state_dict": weights, "step": 3, "optimizer": {}}, tmp_path / "m_1.pt")
    found = read_weights(tmp_path / "m_1.pt")
    assert found["a"].dtype == torch.float32
    assert found["a"].tolist() == [1.5, 2.25]
    torch.save({"a": torch.zeros(1, dtype=torch.float64)}, tmp_path / "m_2.pt")
    with pytest.raises(RunError, match="float32"):
        read_weights(tmp_path / "m_2.pt")


@pytest.mark.parametrize("name", ["m_1.pt", "m_1.safetensors"])
def test_what_is_no_checkpoint_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for data in (b"", b"hello", os.urandom(500)):
        path.write_bytes(data)
        with pytest.raises(
            RunError,
            match=rf"{name} (is damaged or not a checkpoint|is damaged, or contains objects other than tensors)",
        ):
            read_weights(path)
    torch.save([1, 2], tmp_path / "m_2.pt")
    with pytest.raises(RunError, match="model_state_dict"):
        read_weights(tmp_path / "m_2.pt")


@pytest.mark.parametrize(("name", "step"), [
    ("model_500.pt", 500), ("checkpoint-12/model.safetensors", 12), ("run-3/step7/model.pt", 7), ("v2_step0010.pt", 10), ("a/b/model.pt", None), ("9/model_1.0.pt", 0), ("5/x/model.pt", 5),
])  # fmt: skip
def test_steps_in_names_of_files(name: str, step: int | None, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    if step is None:
        with pytest.raises(RunError, match="its name contains no step"):
            checkpoint_files(tmp_path)
    else:
        assert checkpoint_files(tmp_path) == [(step, path)]


@pytest.mark.parametrize(("content", "found"), [
    ({"a": torch.zeros(2)}, {"a": torch.float32}), ({"state_dict": {"a": torch.zeros(2).half()}, "epoch": 3}, {"a": torch.float32}), ({"model": {"a": torch.zeros(2).bfloat16(), "b": torch.zeros(2, dtype=torch.long)}}, {"a": torch.float32, "b": torch.int64}),
    ({"model": torch.zeros(1)}, {"model": torch.float32}), ({"a": torch.zeros(2).double()}, "tensor a is float64"), ({}, "contains no state dict"), ({"a": 3}, "contains no state dict"), ([torch.zeros(1)], "contains no state dict"), ({"model_state": {}}, "contains no state dict"),
])  # fmt: skip
def test_state_dicts_as_training_scripts_leave_them(
    content: Any, found: dict[str, torch.dtype] | str, tmp_path: Path
) -> None:
    torch.save(content, tmp_path / "model_1.pt")
    if isinstance(found, str):
        with pytest.raises(RunError, match=found):
            read_weights(tmp_path / "model_1.pt")
    else:
        assert {name: value.dtype for name, value in read_weights(tmp_path / "model_1.pt").items()} == found


def test_what_an_adopted_run_says(tmp_path: Path, held: Held) -> None:
    run = take(foreign(tmp_path / "theirs", {"model_0.pt": own(0), "model_200.safetensors": own(1)}), tmp_path / "run")
    config = {name: run.config[name] for name in ("task", "model", "training", "seeds", "facts", "format")}
    config["training"] = {**config["training"], "adopted": sorted(config["training"]["adopted"])}
    metas = [
        {name: value for name, value in run.meta(step).items() if "sha256" not in name and name != "run"}
        for step in run.steps
    ]
    held([config, metas, digest(torch.cat([value.flatten() for value in run.load(200).state_dict().values()]))])
    shifted = ModelConfig(d_vocab=3, n_layers=1, d_model=4, n_heads=1, n_ctx=30, ids="random_offset")
    assert run.meta(0)["trained_ids"] == [[0, 9]]
    offset = take(tmp_path / "theirs", tmp_path / "offset", stated={"ids": "random_offset"})
    assert offset.meta(0)["trained_ids"] == [[0, 23]]
    stated = config_of(make_task("dyck_1"), shifted, (3, 9), {"steps": 5, "compiled": {}}, "as stated")
    assert (stated["training"]["trained_length"], stated["training"]["curriculum"]) == (8, {"low": 3, "high": 9})
    assert stated["facts"]["lengths"] == "lengths from 3 to 9, as stated"
    assert stated["seeds"] == {"evaluation": 0, "probe": 0}
