"""Foreign checkpoints become a run with the same outputs, or one sentence says why not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from workbench.cli.main import main
from workbench.measure.running.plan import execute, plan
from workbench.models import HookedTransformer, ModelConfig
from workbench.runs import Run, RunError
from workbench.runs.adoption.adopt import Foreign, adopt
from workbench.runs.adoption.checkpoint_files import checkpoint_files, read_weights
from workbench.runs.integrity import run_problems
from workbench.table import Table
from workbench.tasks import make_task

TASK = make_task("majority")
SIZES = {"d_vocab": 3, "d_vocab_out": 2, "n_layers": 2, "d_model": 16, "n_heads": 2, "n_ctx": 24, "d_mlp": 20}
CONFIG = {
    **SIZES, "d_head": 8, "act_fn": "relu", "normalization_type": "LN",
    "positional_embedding_type": "standard", "attn_only": False, "dtype": "torch.float32", "device": "cpu",
}  # fmt: skip


def own(seed: int = 0, **changes: Any) -> HookedTransformer:
    return HookedTransformer(ModelConfig(**{**SIZES, "positions": "learned", "act_fn": "relu", **changes}), seed=seed)


def foreign(folder: Path, models: dict[str, HookedTransformer], config: dict[str, Any] | None = CONFIG) -> Path:
    """A folder as another program would leave it: weights with buffers among them, and a config."""
    folder.mkdir()
    for name, model in models.items():
        weights = {k: v.detach() for k, v in model.state_dict().items()}
        weights |= {"blocks.0.attn.mask": torch.ones(2, 2), "blocks.0.attn.IGNORE": torch.tensor(-1e5)}
        (folder / name).parent.mkdir(exist_ok=True)
        save_file(weights, folder / name) if name.endswith("safetensors") else torch.save(weights, folder / name)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def take(source: Path, out: Path, **fields: Any) -> Run:
    return adopt(Foreign(**{"source": source, "task": TASK, "lengths": (1, 9), **fields}), out)


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


# ---- the real thing ---------------------------------------------------------------------------------
THEIRS = """
import json, sys, torch
from pathlib import Path
from safetensors.torch import load_file, save_file
from transformer_lens import HookedTransformer, HookedTransformerConfig
root = Path(sys.argv[1])
tokens = load_file(root / "tokens.tensor")["tokens"]
for kind in ("standard", "rotary", "alibi"):
    folder, expected = root / kind, {}
    folder.mkdir()
    for step in (0, 300):
        torch.manual_seed(step)
        cfg = HookedTransformerConfig(
            n_layers=2, d_model=16, n_ctx=40, d_head=8, n_heads=2, d_vocab=3, d_vocab_out=2, act_fn="gelu",
            positional_embedding_type=kind, device="cpu")
        model = HookedTransformer(cfg)
        for p in model.parameters():
            p.data += 0.1 * torch.randn(p.shape)
        weights = {k: v.contiguous() for k, v in model.state_dict().items()}
        save_file(weights, folder / f"step_{step}.safetensors") if step else torch.save(weights, folder / "step_0.pt")
        with torch.no_grad():
            expected[str(step)] = model(tokens)
    plain = {k: str(v) if k == "dtype" else v for k, v in cfg.to_dict().items()}
    (folder / "config.json").write_text(json.dumps(plain))
    save_file(expected, folder / "logits.expected")
    model.process_weights_()
    torch.save(model.state_dict(), folder / "folded_1.pth")
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory, upstream: dict[str, str]) -> Path:
    """Folders of checkpoints, configs and logits that TransformerLens 3.9.0 wrote."""
    root = tmp_path_factory.mktemp("theirs")
    save_file({"tokens": TASK.sample(4, 39, torch.Generator().manual_seed(0)).tokens}, root / "tokens.tensor")
    words = [sys.executable, "-c", THEIRS, str(root)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=500, env=upstream)
    assert done.returncode == 0, done.stderr
    return root


@pytest.mark.conformance
@pytest.mark.parametrize("kind", ["standard", "rotary", "alibi"])
def test_models_of_transformer_lens_come_in_with_equal_logits(
    theirs: Path, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def command(files: str, out: Path) -> tuple[object, str, str]:
        words = [str(theirs / kind), "--task", "majority", "--lengths", "1-39", "--files", files, "--out", str(out)]
        monkeypatch.setattr(sys, "argv", ["lengthlens", "adopt", *words])
        with pytest.raises(SystemExit) as left:
            main()
        return left.value.code, *capsys.readouterr()

    code, _, said = command("folded_1.pth", tmp_path / "folded")
    assert code == 2
    assert "folded_1.pth: it holds no LayerNorm weights; its LayerNorms were folded into the weights" in said
    code, said, _ = command("step_*", tmp_path / "run")
    assert code == 0
    assert "2 checkpoints, last at step 300" in said
    assert "Its tokens must be those of majority: 0 <bos>, 1 0, 2 1." in said
    run, expected = Run.open(tmp_path / "run"), load_file(theirs / kind / "logits.expected")
    tokens = load_file(theirs / "tokens.tensor")["tokens"]
    for step in (0, 300):
        with torch.no_grad():
            assert (run.load(step)(tokens) - expected[str(step)]).abs().max() < 1e-5
    assert run.config["model"]["positions"]["name"] == {"standard": "learned"}.get(kind, kind)


@pytest.mark.science
def test_an_adopted_run_is_measured_like_any_other(tmp_path: Path) -> None:
    run = take(foreign(tmp_path / "theirs", {"model_5.pt": own()}), tmp_path / "run")
    assert execute(plan([run.path], only=["behaviour"], sequences=32), "serial") == []
    table = Table.load(run.path)
    assert table.problems == []
    unseen = table.frame(quantity="accuracy").set_index("length")["status"]
    assert set(unseen[unseen.index > 9]) == {"unseen_position"}
    assert set(unseen[unseen.index <= 9]) == {"ok"}
