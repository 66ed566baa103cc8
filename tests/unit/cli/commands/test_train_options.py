"""Options of ``train``: the user's, the task's suggestion, the general default, in this order; help that lists all."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import ClassVar

import pytest
from typer.testing import CliRunner

from workbench.cli.commands.demo import RUNS, config_of
from workbench.cli.commands.train import train
from workbench.cli.early_refusal import refuse_early
from workbench.cli.errors import UsageError
from workbench.cli.main import app
from workbench.cli.options import DEFAULTS, TRAIN_OPTIONS, TrainOption, assignments, resolve_options, seed_list
from workbench.cli.run_config import build
from workbench.cli.train_command import command_line, options_of
from workbench.cli.train_request import TrainRequest
from workbench.models.positions import ENCODINGS, ID_SAMPLERS
from workbench.runs import Run
from workbench.tasks import registry
from workbench.tasks.counting.majority import Majority
from workbench.training.curriculum import CURRICULA
from workbench.training.errors import TrainingError


def test_the_order_of_precedence() -> None:
    found = resolve_options({"steps": 7, "layers": None}, {"steps": 5, "layers": 3}, "x")
    assert (found["steps"], found["layers"], found["heads"]) == (7, 3, DEFAULTS["heads"])


def test_a_suggestion_that_is_no_option_is_told() -> None:
    with pytest.raises(UsageError, match=r"'stpes'.*steps"):
        resolve_options({}, {"stpes": 3}, "x")


def test_what_built_in_tasks_suggest_are_options_and_make_a_run() -> None:
    for name in registry.task_names():
        cls = registry.find_task(name)
        if not any(field.is_required() for field in cls.model_fields.values()):
            config = build(TrainRequest(name, {}))
            for key in ("steps", "batch_size", "learning_rate"):
                assert getattr(config.training, key) == cls.suggested.get(key, DEFAULTS[key])


class Suggesting(Majority):
    name: ClassVar[str] = "suggesting"
    suggested: ClassVar = {"positions": "rotary", "lengths": "1-5", "heads": 2}


@pytest.fixture
def suggesting(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(registry.TASKS._things, "suggesting", Suggesting)
    return "suggesting"


def test_a_task_s_suggestions_shape_its_run_and_the_user_s_options_win(suggesting: str) -> None:
    config = build(TrainRequest(suggesting, {"heads": 1}))
    assert config.model.positions.name == "rotary"
    assert config.training.trained_length == 5
    assert config.model.n_heads == 1
    assert build(TrainRequest(suggesting, {"positions": "none", "lengths": "1-9"})).training.trained_length == 9


@pytest.mark.parametrize(("positions", "setting", "field", "value"), [
    ("rotary", "model.positions.base=1e5", "base", 1e5),
    ("limit", "model.positions.period=3", "period", 3),
    ("sinusoidal", "model.positions.scale=0.5", "scale", 0.5),
])  # fmt: skip
def test_parameters_of_a_scheme_by_set(positions: str, setting: str, field: str, value: float) -> None:
    config = build(TrainRequest("majority", {"positions": positions}, assignments([setting])))
    assert getattr(config.model.positions, field) == value


def test_parameters_of_a_curriculum_by_set() -> None:
    settings = assignments(
        ["training.curriculum.start=3", "training.curriculum.over=10", "training.curriculum.growth=exponential"]
    )
    law = build(TrainRequest("majority", {"curriculum": "growing", "lengths": "1-9"}, settings)).training.curriculum
    assert (law.law, law.low, law.high, law.start, law.over, law.growth) == ("growing", 1, 9, 3, 10, "exponential")


def test_regularizers_and_early_stop_by_set() -> None:
    settings = assignments(
        ["training.regularizers.positional=1e-4", "training.early_stop.every=50", "training.optimizer=sgd"]
    )
    law = build(TrainRequest("majority", {"positions": "learned"}, settings)).training
    assert law.regularizers == {"positional": 1e-4}
    assert law.early_stop.every == 50
    assert law.optimizer == "sgd"


@pytest.mark.parametrize(("options", "setting", "sentence"), [
    ({"curriculum": "growing"}, "training.steps=5", "curriculum growing needs the setting start"),
    ({}, "training.weight_decy=1", "training has no setting 'weight_decy'; did you mean weight_decay"),
    ({}, "training.early_stop.evry=5", "training: early_stop.evry"),
    ({}, "training.optimizer=adam", "training: optimizer"),
    ({}, "training.steps=0", "training: steps: Input should be greater than or equal to 1, not 0"),
    ({}, "seeds.inti=1", "did you mean init"),
])  # fmt: skip
def test_what_does_not_fit_is_one_sentence(options: dict, setting: str, sentence: str) -> None:
    with pytest.raises(TrainingError) as refused:
        build(TrainRequest("majority", options, assignments([setting])))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_help_names_every_scheme_law_and_default() -> None:
    shown = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "400", "TERM": "dumb"}).output
    for name in (*ENCODINGS, *ID_SAMPLERS, *CURRICULA):
        assert name in shown
    for value in DEFAULTS.values():
        assert f"({value})" in shown


def test_every_option_that_is_stored_is_a_parameter_of_the_command() -> None:
    parameters = list(signature(train).parameters)
    assert [name for name in parameters if name in TRAIN_OPTIONS] == list(TRAIN_OPTIONS)
    assert set(parameters) - set(TRAIN_OPTIONS) == {
        "task",
        "out",
        "start",
        "set_",
        "device",
        "dtype",
        "seeds",
        "max_length",
        "resume",
        "name",
        "dry_run",
    }


def test_a_new_option_is_one_entry_besides_the_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stored with the run, refused early, and stands in the command line of that run."""
    monkeypatch.setitem(TRAIN_OPTIONS, "decay", TrainOption(0.25, ("training.weight_decay",), plain=True))
    monkeypatch.setitem(DEFAULTS, "decay", 0.25)
    assert build(TrainRequest("majority")).training.weight_decay == 0.25
    run = build(TrainRequest("majority", {"decay": 0.5})).as_json()
    assert options_of(run)["decay"] == 0.5
    assert "--decay 0.5" in command_line("majority", options_of(run), {}, "out")
    with pytest.raises(TrainingError, match="weight_decay"):
        refuse_early(TrainRequest("majority", {"decay": "much"}))


@pytest.mark.parametrize("name", RUNS)
def test_every_run_of_the_demo_can_be_made(name: str) -> None:
    config = config_of(name)
    assert (config.task.name, config.model.kind) == (RUNS[name]["task"], "transformer")
    assert config.training.steps == RUNS[name]["options"]["steps"]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("0-4", [0, 1, 2, 3, 4]), ("0,1,2", [0, 1, 2]), ("3", [0, 1, 2]), ("7-7", [7]), ("5, 2", [5, 2])],
)
def test_several_seeds_are_a_range_a_list_or_a_number(text: str, seeds: list[int]) -> None:
    assert seed_list(text) == seeds


@pytest.mark.parametrize("text", ["", "0", "4-0", "1,1", "a", "0-9999999", "-1", "1,,2", "1.5"])
def test_other_seeds_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--seeds"):
        seed_list(text)


def test_seeds_exclude_seed() -> None:
    with pytest.raises(UsageError, match="--seed "):
        seed_list("3", seed=1)
    with pytest.raises(UsageError, match="--set seeds"):
        seed_list("3", settings=[(["seeds", "init"], 1)])


def test_one_command_trains_several_seeds(tmp_path: Path) -> None:
    """Each run is the one that --seed trains."""
    words = ["train", "parity", "--lengths", "1-4", "--steps", "2", "--layers", "1", "--d-model", "8", "--heads", "1"]
    done = CliRunner().invoke(app, [*words, "--lr", "0.01", "--bs", "4", "--seeds", "2", "--out", str(tmp_path / "p")])
    assert done.exit_code == 0, f"{done.output}{done.exception!r}"
    runs = [Run.open(tmp_path / f"p-s{seed}") for seed in (0, 1)]
    assert [run.config["seeds"]["init"] for run in runs] == [0, 1]
    assert {(run.config["training"]["learning_rate"], run.config["training"]["batch_size"]) for run in runs} == {
        (0.01, 4)
    }
    assert f"Next: lengthlens measure {tmp_path}/p-s0 {tmp_path}/p-s1" in done.output
    CliRunner().invoke(app, [*words, "--lr", "0.01", "--bs", "4", "--seed", "1", "--out", str(tmp_path / "one")])
    one = Run.open(tmp_path / "one")
    assert (one.id, one.meta(2)["sha256"]) == (runs[1].id, runs[1].meta(2)["sha256"])
