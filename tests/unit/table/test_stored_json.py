"""What run.json and meta.json may say: each thing that cannot be is named with its place; what is absent stays so."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import GALLERY
from tests.support.table.making import CONFIG, RunMaker
from workbench.runs.errors import RunError
from workbench.runs.run import Run, find_runs, run_id
from workbench.storage.seal import SealError, sealed_json
from workbench.table import Table
from workbench.table.stored_json import DEEPEST, StoredError, check_meta, check_run, check_spec, check_spec_text


def changed(place: str, value: Any) -> dict[str, Any]:
    content = copy.deepcopy(CONFIG)
    *path, last = place.split(".")
    inner = content
    for part in path:
        inner = inner.setdefault(part, {})
    inner[last] = value
    return content


NONE = {
    "model.n_heads": ["2x", 10**18, -1, 2.0, True, None, [2]],
    "model.n_layers": [0, "2", 1001],
    "model.positions": [None, 3, {}, {"name": 4}, [], ""],
    "model.ids": [None, ["arange"], {"kind": "arange"}],
    "model.d_mlp": [-1, "wide", [1, -1]],
    "model.n_ctx": [0, 10**9],
    "training": [None, 7, []],
    "training.steps": [-1, "many", 1e3, 10**13],
    "training.trained_length": [0, -5, 10**8, "50"],
    "training.batch_size": [-1, 0, "64"],
    "training.learning_rate": [0, -1e-3, "fast", float("nan"), float("inf")],
    "training.betas": [[0.9], [0.9, 1.0], "0.9"],
    "training.curriculum": [[], 3, {"low": 0}, {"high": "x"}],
    "seeds": [1, None, {}, {"evaluation": -1, "probe": 0}, {"evaluation": 0, "probe": 1 << 63}],
    "facts": [None, [], {"question": 3}],
    "task": [None, "majority", {}],
    "task.name": [3, "", None],
    "task.parameters": [None, [1]],
    "task.source": ["file.py", 3, []],
    "id": ["", 7, "x" * 65, "a/b"],
    "versions": [{"torch": 2}],
    "created": [2026],
}


@pytest.mark.parametrize(("place", "value"), [(place, value) for place, values in NONE.items() for value in values])
def test_what_no_run_can_be_is_named_with_its_place(place: str, value: Any) -> None:
    with pytest.raises(StoredError) as said:
        check_run(changed(place, value))
    assert place.split(".")[-1] in str(said.value) or "number" in str(said.value)


def test_one_such_run_harms_itself_alone(tmp_path: Path) -> None:
    RunMaker(tmp_path / "good")
    every = [(place, value) for place, values in NONE.items() for value in values if value == value]
    for number, (place, value) in enumerate(every):
        RunMaker(tmp_path / f"bad{number}", changed(place, value))
    problems: list[str] = []
    assert [run.name for run in find_runs(tmp_path, problems)] == ["good"]
    assert len(problems) == len(every)
    table = Table.load(tmp_path)
    assert table.runs()["run"].tolist() == ["good"]
    assert len(table.problems) == len(every)


def test_all_heads_together_are_counted() -> None:
    assert check_run(changed("model", {**CONFIG["model"], "n_layers": 200, "n_heads": 100}))
    with pytest.raises(StoredError, match="20,100 heads"):
        check_run(changed("model", {**CONFIG["model"], "n_layers": 201, "n_heads": 100}))


def test_what_is_legitimately_absent_or_more_is_let_be() -> None:
    adopted = {
        "adopted": {"model_1.pt": "0" * 64},
        "steps": 0,
        "curriculum": {"low": 1, "high": 9},
        "trained_length": 9,
    }
    compiled = {"compiled": {"program": "majority", "first_keys": None}, "steps": 1, "trained_length": 31}
    for training in (adopted, compiled):
        content = {**CONFIG, "training": training, "seeds": {"evaluation": 0, "probe": 0}}
        assert check_run(content) == content
    source = {"name": "Own", "parameters": {}, "source": {"file": "/tmp/own.py", "class": "Own", "sha256": "0" * 64}}
    ssm = {**CONFIG["model"], "architecture": "ssm", "n_heads": 0, "gates": "signed", "d_mlp": [2, 2]}
    content = {**CONFIG, "task": source, "model": ssm, "of_a_later_version": {"a": [1, None]}}
    assert check_run(content) is content, "nothing is filled in or turned into another type"
    with pytest.raises(StoredError, match="gates"):
        check_run({**CONFIG, "model": {**CONFIG["model"], "architecture": "ssm"}})


def test_numbers_texts_and_nesting_that_cannot_be_stored_are_refused() -> None:
    nested: Any = 1
    for _ in range(40):
        nested = [nested]
    for value, said in ((10**30, "too large"), (float("inf"), "inf"), ("\ud800", "not UTF-8"), (nested, "nested")):
        with pytest.raises(StoredError, match=said):
            check_run(changed("task.parameters.p", value))


@pytest.mark.parametrize("change", [
    {"step": "100"}, {"step": -1}, {"step": True}, {"sha256": None}, {"sha256": "no/hash"}, {"run": 3},
    {"trained_ids": [[0]]}, {"trained_ids": [[0, "9"]]}, {"trained_ids": [[-1, 2]]}, {"trained_ids": [[0, 10**12]]},
    {"ended": 7}, {"log_sha256": 5},
])  # fmt: skip
def test_what_no_checkpoint_can_be_is_named(change: dict[str, Any], tmp_path: Path) -> None:
    meta = {"run": CONFIG["id"], "step": 100, "sha256": "aa", "trained_ids": [[0, 50]]}
    assert check_meta(meta) is meta
    (place,) = change
    with pytest.raises(StoredError, match=place):
        check_meta(meta | change)
    run = RunMaker(tmp_path / "run")
    run.checkpoint(100)
    (run.path / "steps" / "00000100" / "meta.json").write_bytes(sealed_json(meta | change))
    with pytest.raises(RunError, match=r"meta\.json"):
        Run.open(run.path).meta(100)


def test_a_stored_spec_is_refused_however_often_it_is_read() -> None:
    for _ in range(2):
        check_spec_text('{"version": 2}')
        with pytest.raises(StoredError, match="version"):
            check_spec_text('{"version": "2"}')
        with pytest.raises(SealError, match="JSON"):
            check_spec_text("[]")


def test_a_spec_is_a_measurements() -> None:
    assert check_spec({}) == {}
    for spec, said in (({"version": "2"}, "version"), ({"quantities": [{}]}, "name"), ({"quantities": "all"}, "quan")):
        with pytest.raises(StoredError, match=said):
            check_spec(spec)


def test_the_gallerys_runs_open_and_have_the_ids_of_what_they_say() -> None:
    problems: list[str] = []
    runs = find_runs(GALLERY, problems)
    assert problems == []
    assert len(runs) == 12
    for run in runs:
        stored = json.loads((run.path / "run.json").read_bytes())
        assert run.config == {name: value for name, value in stored.items() if name != "seal"}
        assert run_id(run.config) == run.id == stored["id"]
        for step in run.steps:
            assert run.meta(step)["run"] == run.id


# ---- exactly at what is allowed ---------------------------------------------------------------------
@pytest.mark.parametrize(("place", "last", "beyond"), [
    ("model.n_layers", 1000, 1001), ("model.n_heads", 1000, 1001), ("model.n_heads", 0, -1), ("model.d_model", 10**8, 10**8 + 1), ("model.d_model", 1, 0), ("model.d_head", 1 << 24, (1 << 24) + 1), ("model.d_mlp", [0, 1 << 24], [(1 << 24) + 1]),
    ("model.initializer_range", 0.0, -0.1), ("training.steps", 10**12, 10**12 + 1), ("training.steps", 0, -1), ("training.trained_length", 10**7, 10**7 + 1), ("training.trained_length", 1, 0), ("training.momentum", 0.0, 1.0),
    ("training.clip", 0.0, -0.5), ("training.learning_rate", 1e-300, 0.0), ("training.betas", [0.0, 0.99], [0.1, 0.2, 0.3]), ("training.threads", 10_000, 10_001), ("training.threads", 1, 0), ("seeds.init", (1 << 63) - 1, 1 << 63),
    ("seeds.data", 0, -1), ("task.name", "x" * 5000, "x" * 5001), ("model.ids", "x" * 1000, "x" * 1001), ("id", "x" * 64, "x" * 65), ("rows_only", "x", ""),
])  # fmt: skip
def test_the_last_that_a_run_may_say_and_the_first_that_it_may_not(place: str, last: Any, beyond: Any) -> None:
    content = changed(place, last)
    if place == "model.n_layers":
        content["model"]["n_heads"] = 1
    assert check_run(content) is content
    with pytest.raises(StoredError):
        check_run(changed(place, beyond))


def test_heads_of_all_layers_and_nesting_of_all_levels() -> None:
    content = changed("model.n_layers", 1000)
    content["model"]["n_heads"] = 20
    check_run(content)
    content["model"]["n_heads"] = 21
    with pytest.raises(StoredError, match="21,000 heads"):
        check_run(content)

    def nested(depth: int) -> dict[str, Any]:
        return {"name": "m", "more": [] if depth == 1 else nested(depth - 1)}

    check_spec(nested(DEEPEST - 1))
    with pytest.raises(StoredError, match=f"{DEEPEST}"):
        check_spec(nested(DEEPEST))
    for number, fits in ((2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False)):
        if fits:
            check_spec({"x": number})
        else:
            with pytest.raises(StoredError, match="too large"):
                check_spec({"x": number})
    for value, says in ((float("inf"), "a number that is not finite, inf"), ("\ud800", "not UTF-8")):
        with pytest.raises(StoredError, match=says):
            check_spec({"x": [{"y": value}]})
    with pytest.raises(StoredError, match="not UTF-8"):
        check_spec({"\ud800": 1})


@pytest.mark.parametrize(("change", "says"), [
    ({}, ""), ({"step": 10**16 - 1}, ""), ({"step": 10**16}, "step"), ({"step": -1}, "step"), ({"sha256": "a" * 64}, ""), ({"sha256": "a" * 65}, "sha256"), ({"trained_ids": [[0, 10**9]]}, ""), ({"trained_ids": [[0, 10**9 + 1]]}, "trained_ids"),
    ({"trained_ids": [[0]]}, "trained_ids"), ({"trained_ids": [[0, 1, 2]]}, "trained_ids"), ({"trained_ids": None}, ""), ({"run": "x/y"}, "run"), ({"ended": 3}, "ended"),
])  # fmt: skip
def test_what_a_checkpoint_may_say(change: dict[str, Any], says: str) -> None:
    content = {"step": 3, "sha256": "", **change}
    if says:
        with pytest.raises(StoredError, match=says):
            check_meta(content)
    else:
        assert check_meta(content) is content


def test_sentences_about_stored_values() -> None:
    for place, value, sentence in (
        ("model.n_heads", "2x", "model.n_heads: input should be a valid integer, not '2x'"),
        ("seeds", {}, "seeds.evaluation is missing"),
        (
            "task.name",
            "x" * 5001,
            f"task.name: string should have at most 5000 characters, not {ascii('x' * 49)[:-1]}...",
        ),
    ):
        with pytest.raises(StoredError) as said:
            check_run(changed(place, value))
        assert str(said.value) == sentence
