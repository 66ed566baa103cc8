"""Refusals of training with several conditions, each condition by itself; and what two runs differ in, setting by setting."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
from torch import nn

from workbench.models import ModelConfig
from workbench.models.architectures import make_config
from workbench.models.positions import id_sampler
from workbench.runs import Run, RunError
from workbench.tasks import make_task
from workbench.tasks.counting.majority import Majority
from workbench.training import compare_configs
from workbench.training.compare_configs import _first_difference, refuse_another, settings_problems
from workbench.training.config import RunConfig, TrainingConfig
from workbench.training.curriculum import FewLong, Uniform, curriculum
from workbench.training.errors import TrainingError
from workbench.training.id_schedule import IdSchedule, check_id_schedule
from workbench.training.regularizers import REGULARIZERS
from workbench.training.resume import State, load_state, save_state
from workbench.training.starting_weights import Start, StartingWeights
from workbench.training.task_schedule import VISITED, TaskSchedule, check_schedules
from workbench.training.trainer import Trainer

MODEL = {"d_vocab": 3, "d_vocab_out": 2, "n_layers": 1, "d_model": 4, "n_heads": 1, "n_ctx": 24}


def config(**training: Any) -> RunConfig:
    """A small run, as a setting."""
    task = make_task("majority")
    model = ModelConfig(**{**MODEL, "d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out})
    law = TrainingConfig(
        **{"steps": 4, "batch_size": 2, "curriculum": {"law": "uniform", "low": 2, "high": 5}, **training}
    )
    return RunConfig(task=task, model=model, training=law)


# ---- what a run.json states ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("model", "training", "named"), [
    ({}, {}, []), ({"n_layers": "x"}, {}, ["model"]), ({}, {"steps": 0}, ["training"]),
    ({"n_layers": "x"}, {"steps": 0}, ["model", "training"]), ({"n_layers": "x"}, {"steps": 0, "adopted": {}}, ["model"]),
    ({}, {"steps": 0, "adopted": {}}, []), ({}, {"steps": 0, "compiled": {}}, []), ({}, {"steps": 0, "pretrained": {}}, []),
    ({"n_layers": "x"}, {"steps": 0, "answers": {}}, []), ({"architecture": "none"}, {}, ["model"]),
])  # fmt: skip
def test_settings_that_this_version_does_not_take(
    model: dict[str, Any], training: dict[str, Any], named: list[str], tmp_path: Path
) -> None:
    content = config().as_json()
    content = {**content, "model": {**content["model"], **model}, "training": {**content["training"], **training}}
    found = settings_problems(Run(tmp_path, "r", content))
    assert [one.removeprefix(f"{tmp_path / 'run.json'}: ").partition(":")[0] for one in found] == named
    assert all("\n" not in one for one in found)


@pytest.mark.parametrize(("held", "wanted", "says"), [
    ({"a": 1}, {"a": 1}, ""), ({"a": 1}, {"a": 2}, ": task.a is 1 there, but 2 was requested"),
    ({"a": 1, "z": 1}, {"a": 1, "b": 3, "z": 2}, ": task.z is 1 there, but 2 was requested"),
    ({"a": 1, "y": 5, "z": 1}, {"a": 1, "z": 2}, ": task.z is 1 there, but 2 was requested"),
    ({"a": 1}, {"a": 1, "b": 3}, ": task.b is not set there, but 3 was requested"),
    ({"a": 1, "y": 5}, {"a": 1}, ": task.y is 5 there, but not set was requested"),
])  # fmt: skip
def test_the_first_setting_in_which_two_runs_differ(held: dict[str, Any], wanted: dict[str, Any], says: str) -> None:
    """One that both of them state comes before one that a single one does."""
    assert _first_difference("task", {"task": held}, {"task": wanted}) == says


CODE = SimpleNamespace(file="own.py", cls="Own", sha256="1" * 64)


@pytest.mark.parametrize(("held", "given", "batch", "says"), [
    (CODE, SimpleNamespace(file="own.py", cls="Own", sha256="2" * 64), 2, r"own\.py"),
    (CODE, SimpleNamespace(file="own.py", cls="Other", sha256="2" * 64), 2, "differs"),
    (SimpleNamespace(file="own.py", cls="Own", sha256=""), CODE, 2, "differs"),
    (CODE, None, 2, "differs"), (None, CODE, 2, "differs"),
    (CODE, SimpleNamespace(file="own.py", cls="Own", sha256="2" * 64), 3, "training"),
])  # fmt: skip
def test_another_state_of_the_same_code_is_told_from_another_task(
    held: Any, given: Any, batch: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = config()
    content = config(batch_size=batch).as_json()
    content["task"] = {**content["task"], "name": "reverse"}
    monkeypatch.setattr(compare_configs, "code_of", lambda spec: held if spec["name"] == "reverse" else given)
    with pytest.raises(RunError, match=says):
        refuse_another(Run(tmp_path, "r", {**content, "id": "another"}), wanted)


def test_a_run_with_a_shard_does_not_give_way(tmp_path: Path) -> None:
    run = Run(tmp_path, "r", {**config(batch_size=3).as_json(), "id": "another"})
    assert compare_configs.gives_way(run, config())
    (tmp_path / "measurements" / "m").mkdir(parents=True)
    (tmp_path / "measurements" / "m" / "00000000-k.parquet").touch()
    assert not compare_configs.gives_way(run, config())


# ---- laws of lengths ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("given", "says"), [
    (5, "curriculum"), ({"law": 3}, "curriculum"), ({"law": ["uniform"]}, "unknown curriculum"),
    ({"law": "mixture", "low": 1, "high": 9, "weights": [1], "components": 5}, "components"),
    ({"law": "mixture", "weights": [1], "high": 9, "components": [{"low": 1, "high": 9}]}, "setting"),
    ({"law": "mixture", "low": 2, "high": 9, "weights": [1], "components": [{"low": 1}]}, "bounds"),
    ({"law": "mixture", "low": 2, "high": 9, "weights": [1, -0.5], "components": [{}, {}]}, "weight"),
    ({"law": "uniform", "low": 5, "high": 4}, "length 5"),
    ({"law": "few_long", "low": 2, "high": 9, "short": 9}, "shortest training length, 2, and below"),
    ({"law": "few_long", "low": 2, "high": 9, "short": 1}, "short must be"),
    ({"law": "growing", "low": 2, "high": 9, "start": 1, "over": 3}, "training length, from 2 to 9"),
    ({"law": "growing", "low": 2, "high": 9, "start": 10, "over": 3}, "start must be a training length, from 2 to 9"),
])  # fmt: skip
def test_laws_that_cannot_be(given: Any, says: str) -> None:
    with pytest.raises(TrainingError, match=says):
        curriculum(given)


def test_laws_at_their_bounds() -> None:
    for fields in (
        {"law": "uniform", "low": 5, "high": 5},
        {"law": "few_long", "low": 2, "high": 9, "short": 8},
        {"law": "few_long", "low": 2, "high": 9, "short": 2},
        {"law": "growing", "low": 2, "high": 9, "start": 2, "over": 1},
        {"law": "growing", "low": 2, "high": 9, "start": 9, "over": 1},
        {"low": 1, "high": 1},
    ):
        assert curriculum(fields).low == fields["low"]
    own = Uniform(low=3, high=4)
    assert curriculum(own) is own
    made = curriculum({"law": "mixture", "low": 3, "high": 9, "weights": [1, 2], "components": [own, {"law": "fixed"}]})
    assert (
        made.describe()
        == "0.333 of the batches with lengths uniform on 3 to 4; 0.667 of the batches with every batch at length 9"
    )
    assert made.possible(make_task("majority"), 3) == [3, 9], "majority has odd lengths alone"


def test_few_long_ones_are_those_below_the_share(monkeypatch: pytest.MonkeyPatch) -> None:
    law, task = FewLong(low=3, high=9, short=3, share=0.25), make_task("majority")
    for drawn, length in ((0.0, 9), (0.2499, 9), (0.25, 3), (0.9, 3)):
        monkeypatch.setattr(torch, "rand", lambda *_, drawn=drawn, **__: torch.tensor(drawn, dtype=torch.float64))
        assert law.length(task, 0, torch.Generator()) == length


# ---- schedules --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "number"),
    [(1, True), (0.5, True), (True, False), (False, False), ("1", False), (None, False), ([1], False)],
)
def test_what_can_be_interpolated(value: Any, number: bool) -> None:
    if number:
        assert visited((value,), 1, "linear")
        return
    with pytest.raises(TrainingError, match="cannot be linear, as some of its values are not numbers"):
        visited((value,), 1, "linear")


@pytest.mark.parametrize(("values", "own", "change", "tried"), [
    ((2, 4), 3, "switch", [2, 4]), ((2, 4), 3, "linear", [2, 3, 4]), ((0.5, 1), 2, "linear", [0.5, 1]), ((1, 3), 2.5, "linear", [1, 3]),
    ((5,), 3, "linear", [3, 4, 5]),
])  # fmt: skip
def test_values_that_a_schedule_visits(values: tuple[Any, ...], own: Any, change: Any, tried: list[Any]) -> None:
    assert visited(values, own, change) == tried


def test_every_whole_number_between_the_knots_is_tried_and_not_too_many() -> None:
    """A linear change visits what lies between the knots, from either side."""
    assert visited((3,), 6, "linear") == visited((6,), 3, "linear") == [3, 4, 5, 6]
    assert len(visited((1,), 1 + VISITED, "linear")) == 1 + VISITED
    with pytest.raises(TrainingError, match="visits"):
        visited((1,), 2 + VISITED, "linear")


class Visiting(Majority):
    """A majority with a parameter that does nothing; the class remembers the values that tasks are made with."""

    tried: ClassVar[list[Any]] = []
    p: Any = 0

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self.tried.append(self.p)


def visited(values: tuple[Any, ...], own: Any, change: Any) -> list[Any]:
    """The values that are tried before a training with this schedule."""
    task = Visiting(p=own)
    Visiting.tried.clear()
    check_schedules(task, [TaskSchedule(parameter="p", values=values, over=5, change=change)], 2, 3)
    return [*Visiting.tried]


@pytest.mark.parametrize(("values", "own", "fits"), [
    (["arange"], "coupled", True), (["arange"], "predicted", False), (["predicted"], "coupled", False), (["coupled", "predicted"], "coupled", False),
])  # fmt: skip
def test_ids_that_the_model_says_have_no_schedule(values: list[str], own: str, fits: bool) -> None:
    task = make_task("addition")
    model = ModelConfig(**{**MODEL, "d_vocab": task.d_vocab, "n_ctx": 60, "ids": own})
    schedule = IdSchedule(values=values, over=3)
    assert model.ids == id_sampler(own)
    if fits:
        check_id_schedule(task, model, schedule, 9)
        return
    with pytest.raises(TrainingError, match="ids"):
        check_id_schedule(task, model, schedule, 9)


def test_samplers_that_are_no_list_are_refused() -> None:
    with pytest.raises(ValueError, match="values"):
        IdSchedule(values="arange", over=3)


def test_a_coefficient_of_0_is_one() -> None:
    cfg = ModelConfig(**MODEL, positions="learned")
    REGULARIZERS["positional"].check(cfg, 0.0)
    with pytest.raises(TrainingError, match=r"-0\.001"):
        REGULARIZERS["positional"].check(cfg, -0.001)
    REGULARIZERS["attention_entropy"].check(cfg, -1.0)
    assert [REGULARIZERS[name].hooks(ModelConfig(**{**MODEL, "n_layers": 2})) for name in REGULARIZERS] == [
        [], ["blocks.0.attn.hook_pattern", "blocks.1.attn.hook_pattern"],
    ]  # fmt: skip


# ---- what is started and continued from ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("held", "wanted", "rows"), [
    ("abc", "abc", [0, 1, 2]), ("aab", "aab", [0, 1, 2]), ("abc", "cab", [2, 0, 1]), ("abc", "b", [1]), ("abc", "bb", [1, 1]),
    ("abc", "ad", "have no token 'd'; choose a task whose tokens are among theirs: a, b, c$"), ("aab", "ab", "have two tokens of the same name; .*: a, a, b$"),
    ("aab", "x", "have no token 'x'"), ("abcdefghijkl", "z", "theirs: a, .*, k, l$"), ("abcdefghijklm", "z", r"theirs: a, .*, k, l \.\.$"),
])  # fmt: skip
def test_rows_by_name(held: str, wanted: str, rows: list[int] | str) -> None:
    there, here = Named(tokens=tuple(held)), Named(tokens=tuple(wanted))
    if isinstance(rows, str):
        with pytest.raises(TrainingError, match=rows):
            carried_rows(there, here, len(held))
    else:
        assert carried_rows(there, here, len(held)) == (rows, [0, 1])


class Named(Majority):
    """A task with tokens and answers of any names."""

    tokens: tuple[str, ...] = ("a",)
    answers: tuple[str, ...] | None = None
    count: int = 2

    @property
    def tokens_names(self) -> tuple[str, ...]:
        return self.tokens

    @property
    def output_names(self) -> tuple[str, ...] | None:
        return self.answers

    @property
    def d_vocab_out(self) -> int:
        return self.count


def carried_rows(held: Named, wanted: Named, tokens: int) -> tuple[list[int], list[int]]:
    """The rows of the embedding, and of the unembedding, that a task's tokens and answers have in another's weights."""
    cfg = ModelConfig(**MODEL)
    tensors = {
        "embed.W_E": torch.arange(tokens)[:, None],
        "unembed.W_U": torch.arange(held.d_vocab_out)[None],
        "unembed.b_U": torch.arange(held.d_vocab_out),
    }
    given = StartingWeights(Start(run="r", step=0, sha256="a"), held, cfg.model_dump(mode="json"), tensors)
    made = given.initial_weights(wanted, cfg)
    assert torch.equal(made["unembed.W_U"][0], made["unembed.b_U"])
    return made["embed.W_E"][:, 0].tolist(), made["unembed.b_U"].tolist()


def test_answers_without_names_are_as_many_and_of_one_kind() -> None:
    numbers, more, named = Named(count=1), Named(count=3), Named(answers=("x", "y", "z"), count=3)
    for one in (numbers, more, named):
        assert carried_rows(one, one, 1) == ([0], list(range(one.d_vocab_out)))
    for held, wanted in (
        (numbers, more),
        (more, numbers),
        (named, numbers),
        (numbers, named),
        (named, more),
        (more, named),
    ):
        with pytest.raises(TrainingError, match="their outputs differ"):
            carried_rows(held, wanted, 1)


def test_weights_of_another_architecture_and_of_another_library(tmp_path: Path) -> None:
    task, cfg = make_task("majority"), ModelConfig(**MODEL)
    given = StartingWeights(Start(run="r", step=0, sha256="a"), task, cfg.model_dump(mode="json"), {})
    given._refuse_another_model(cfg)
    given._refuse_another_model(cfg.model_copy(update={"d_vocab": 9, "initializer_range": 0.5}))
    sizes = {name: MODEL[name] for name in ("d_vocab", "d_vocab_out", "n_layers", "d_model", "n_ctx")}
    other = make_config({"architecture": "ssm", "positions": "none", "gates": "signed", **sizes})
    for wrong, says in (
        (other, "of another architecture"),
        (ModelConfig(**{**MODEL, "n_heads": 2}), "model.d_head|model.n_heads"),
    ):
        with pytest.raises(TrainingError, match=says):
            given._refuse_another_model(wrong)
    with pytest.raises(TrainingError, match="pretrained"):
        StartingWeights.of(Run(tmp_path, "r", {"training": {"pretrained": {}}}), 0)


def test_what_continues_a_run_is_of_that_run(tmp_path: Path) -> None:
    def made(seed: int) -> tuple[nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(seed)
        model = nn.Linear(2, 3)
        return model, torch.optim.AdamW(model.parameters())

    model, optimizer = made(0)
    assert load_state(tmp_path, "own", model, optimizer) is None
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    save_state(tmp_path, "own", model, optimizer, State(step=3, seen=[[0, 4]], streak=[2], scores={"loss": 0.5}))
    again, other = made(1)
    assert load_state(tmp_path, "own", again, other) == State(step=3, seen=[[0, 4]], streak=[2], scores={"loss": 0.5})
    for (name, old), new in zip(model.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(old, new), name
        assert {slot: value.tolist() for slot, value in optimizer.state[old].items()} == {
            slot: value.tolist() for slot, value in other.state[new].items()
        }
    with pytest.raises(RunError, match="belongs to another run"):
        load_state(tmp_path, "other", again, other)


def test_a_step_is_logged_once_with_its_latest_scores(tmp_path: Path) -> None:
    trainer = Trainer(config(device="cuda"), tmp_path, device="cpu")
    assert trainer.device == "cpu", "the device that is asked for goes before that of the config"
    trainer.state = State()
    for step, loss in ((0, 0.5), (2, 0.4), (2, 0.3), (3, 0.2)):
        trainer.state.scores = {"loss": loss}
        trainer._log(step)
    assert [(line["step"], line["loss"]) for line in trainer.state.log] == [(0, 0.5), (2, 0.3), (3, 0.2)]
    assert "run" not in trainer.state.log[0]


def test_weights_that_are_not_finite_are_refused_at_their_step(tmp_path: Path) -> None:
    trainer = Trainer(config(), tmp_path)
    trainer.model = nn.Linear(2, 2)
    trainer._refuse_infinite(3)
    with torch.no_grad():
        trainer.model.bias[1] = torch.inf
    with pytest.raises(RunError, match="step 3"):
        trainer._refuse_infinite(3)
