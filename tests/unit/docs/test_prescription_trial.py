"""Who is tried with which change, how children are compared, and that the page says what its rows say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.places import ROOT
from tests.support.scripts import script
from workbench.cli.sweeping.sweep_cells import config_of

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def trial() -> ModuleType:
    return [script(name) for name in ("other_machines_table", "diagnosis_runs", "prescription_trial")][-1]


def line(run: str, entry: str, site: str = "selection") -> dict[str, Any]:
    task = run.split("-")[0]
    return {"run": run, "task": task, "entry": entry, "site": site, "trial": "first", "length": 64}


def config(seed: int = 0) -> dict[str, Any]:
    model = {"ids": {"name": "arange"}, "log_scaling": "none", "n_ctx": 512}
    training = {"trained_length": 32, "regularizers": {}, "curriculum": {"law": "uniform", "low": 1, "high": 32}}
    return {"model": model, "training": training, "seeds": {"init": seed}}


def test_parents_take_turns_over_configurations_and_no_entry_has_more_than_half(trial: ModuleType) -> None:
    lines = [line(f"{task}-rotary-seed{seed}", "position") for task in "abc" for seed in range(3)]
    lines += [line("d-none-seed0", "keys"), line("d-none-seed1", "keys"), line("e-none-seed0", "not explained")]
    lines += [line("f-none-seed0", "steps")]  # no change is suggested for these
    configs = {one["run"]: config() for one in lines}
    chosen = [one["run"] for one in trial.parents(lines, configs, most=6)]
    assert sorted(chosen) == ["a-rotary-seed0", "b-rotary-seed0", "d-none-seed0", "d-none-seed1"]
    alone = trial.parents(lines[:9], configs, most=4)
    assert [one["run"] for one in alone] == ["a-rotary-seed0", "b-rotary-seed0"], "half of what can be tried at most"


def test_the_other_change_is_never_the_prescribed_one_and_the_same_recipe_has_a_new_seed(trial: ModuleType) -> None:
    others = set()
    for number in range(20):
        made = trial.arms(line(f"a-{number}", "position"), config(2))
        own, seed = made["prescribed"]
        assert (own.options["ids"], seed) == ("pose", 2)
        assert made["other"][0].about != own.about
        others.add(made["other"][0].about)
        assert (made["same"][0].about, made["same"][1]) == ("", 102)
    assert len(others) == 2, "scores scaled by log n, and few long strings"


def child(parent: str, arm: str, value: float | None, fits: bool = True, task: str = "a") -> dict[str, Any]:
    scores = dict.fromkeys(["matched_1", "matched_2", "matched_4", "challenge_1", "challenge_2", "challenge_4"], value)
    facts = {"configuration": parent.rpartition("-")[0], "task": task, "entry": "position", "site": "selection"}
    return {"parent": parent, "arm": arm, "fits": fits, "change": "none", "seconds": 1.0, **facts, **scores}


def test_differences_are_over_parents_in_which_both_fit_and_resample_configurations(trial: ModuleType) -> None:
    lines = [
        child("a-0", "prescribed", 0.9), child("a-0", "same", 0.5),
        child("a-1", "prescribed", 0.8), child("a-1", "same", 0.6),
        child("b-0", "prescribed", 0.7), child("b-0", "same", 0.7),
        child("c-0", "prescribed", 0.9), child("c-0", "same", 0.1, fits=False),
        child("d-0", "prescribed", None), child("d-0", "same", 0.1),
    ]  # fmt: skip
    mean, low, high, count = trial.compared(lines, "same", "matched_4")
    assert (mean, count) == (pytest.approx((0.4 + 0.2 + 0.0) / 3), 3)
    assert (low, high) == (pytest.approx(0.0), pytest.approx(0.3)), "both draws of one configuration: b alone, a alone"
    assert trial.compared(lines, "other", "matched_4") is None
    assert trial.compared(lines[:4], "same", "matched_4") is None, "seeds of one configuration are one"
    told = trial.comparison(lines)
    assert "5 parents of 1 tasks" in told
    assert "the same recipe, another seed: 4 of 5" in told
    assert "| the same recipe, another seed | matched | 4 N | +0.20 [0.00, +0.30] | 3 |" in told
    assert "no result yet" in told
    unnamed = [{**child("e-0", arm, 0.9), "entry": ""} for arm in ("prescribed", "same")]
    assert trial.compared([*lines, *unnamed], "same", "matched_4") == (mean, low, high, count), "no cause is named"
    said = trial.comparison([*lines, *unnamed])
    assert "5 parents of 1 tasks" in said
    assert "1 more parents are listed but not compared" in said
    assert "| e-0 | none | same |" in trial.every_child(unnamed)


def test_a_child_is_trained_with_the_change_and_judged_at_the_parents_lengths(
    trial: ModuleType, tmp_path: Path
) -> None:
    found = trial.children(tmp_path, [line("flip_flop-rotary-seed1", "position")], None)
    assert [one.facts["arm"] for one in found] == ["prescribed", "other", "same"]
    made = {one.facts["arm"]: config_of(one.cell).as_json() for one in found}
    assert {arm: one["seeds"]["init"] for arm, one in made.items()} == {"prescribed": 1, "other": 1, "same": 101}
    assert made["prescribed"]["model"]["ids"]["name"] == "pose"
    assert made["same"]["model"] == {
        **made["prescribed"]["model"],
        **{k: made["same"]["model"][k] for k in ("ids", "n_ctx")},
    }
    assert {one["training"]["steps"] for one in made.values()} == {1000}
    short = replace(found[0].cell, settings={**found[0].cell.settings, "steps": 2})
    row = trial.judged(replace(found[0], cell=short))
    assert not row["fits"]
    assert all(0 <= row[name] <= 1 for name in trial.SCORES)
    trial.store(tmp_path / "rows.parquet", [row])
    assert trial.stored(tmp_path / "rows.parquet")[0]["parent"] == "flip_flop-rotary-seed1"


def test_the_pages_say_what_the_rows_say(trial: ModuleType, tmp_path: Path) -> None:
    lines, names = trial.stored(trial.ROWS), ("diagnosis.md", "diagnosis_tables.md")
    for name in names:
        (tmp_path / name).write_text((DOCS / name).read_text())
    trial.write_tables(tmp_path / names[0], {name: table(lines) for name, table in trial.TABLES.items()})
    for name in names:
        assert (tmp_path / name).read_text() == (DOCS / name).read_text()
