"""Sweep files: which cells they describe, what they are called, and what is wrong with a wrong one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import workbench
from tests.support.places import ROOT
from workbench.cli.commands.sweep import save_views
from workbench.cli.commands.sweep import sweep as list_sweeps
from workbench.cli.errors import UsageError
from workbench.cli.options import DEFAULTS
from workbench.cli.sweeping.shipped_sweeps import about, find_sweep, shipped_sweeps
from workbench.cli.sweeping.sweep_file import Sweep, read_sweep
from workbench.dashboard.state.series_rows import REACH_SERIES
from workbench.runs.saved_views import LONGEST_NAME, read_views, save_view


def read(folder: Path, text: str) -> Sweep:
    file = folder / "sweep.yaml"
    file.write_text(text)
    return read_sweep(file)


def names(sweep: Sweep) -> list[str]:
    return [cell.name for cell in sweep.cells]


def test_a_grid_is_the_product_of_its_axes_and_names_what_varies(tmp_path: Path) -> None:
    sweep = read(
        tmp_path, "base: {task: parity, steps: 5}\ngrid: {positions: [none, rotary], seed: [0, 1], layers: [2]}"
    )
    assert names(sweep) == ["none-seed0", "none-seed1", "rotary-seed0", "rotary-seed1"]
    cell = sweep.cells[2]
    assert dict(cell.settings) == {"task": "parity", "steps": 5, "positions": "rotary", "seed": 0, "layers": 2}
    assert dict(cell.varying) == {"positions": "rotary", "seed": 0}
    assert (cell.request.task, sweep.out, sweep.measure) == ("parity", None, None)


def test_an_axis_of_its_own_sets_several_keys_at_once(tmp_path: Path) -> None:
    text = """
base: {task: parity, positions: none}
grid:
  scheme:
    - {name: ape, positions: learned, ids: random_offset, n_ctx: 99}
    - {positions: {name: rotary, base: 100000}}
  training.curriculum: [{law: fixed}, {law: growing, start: 2, over: 5}]
"""
    sweep = read(tmp_path, text)
    assert names(sweep) == [
        "ape-fixed", "ape-growing_start2_over5", "rotary_base100000-fixed", "rotary_base100000-growing_start2_over5",
    ]  # fmt: skip
    assert sweep.cells[0].request.options == {"positions": "learned", "ids": "random_offset", "n_ctx": 99}
    assert sweep.cells[3].request.options["positions"] == {"name": "rotary", "base": 100000}
    assert sweep.cells[3].request.settings == [(["training", "curriculum"], {"law": "growing", "start": 2, "over": 5})]


def test_several_grids_add_up_and_an_axis_that_one_lacks_varies(tmp_path: Path) -> None:
    text = """
base: {lengths: 1-9}
grid:
  - {task: [mod_p_mean], task.p: [2, 3]}
  - {task: [majority]}
"""
    sweep = read(tmp_path, text)
    assert names(sweep) == ["mod_p_mean-p2", "mod_p_mean-p3", "majority"]
    assert sweep.cells[1].request.settings == [(["task", "p"], 3)]


def test_without_a_grid_there_is_one_run(tmp_path: Path) -> None:
    assert names(read(tmp_path, "base: {task: parity}")) == ["run"]


@pytest.mark.parametrize("key", DEFAULTS)
def test_every_option_of_train_is_a_key(tmp_path: Path, key: str) -> None:
    sweep = read(tmp_path, f"base: {{task: parity}}\ngrid: {{{key}: [{DEFAULTS[key]!r}]}}")
    assert sweep.cells[0].request.options == {key: DEFAULTS[key]}


@pytest.mark.parametrize(("text", "sentence"), [
    ("base: {task: parity}\ngird: {seed: [0]}", "no key 'gird'; did you mean grid"),
    ("base: {task: parity, stpes: 5}", "base: there is no setting 'stpes'; did you mean steps"),
    ("base: {task: parity}\ngrid: {postions: [none, learned]}", "no setting 'postions'; did you mean positions"),
    ("base: {task: parity}\ngrid: {scheme: [{postions: none}]}", "grid: scheme: there is no setting 'postions'"),
    ("base: {task: parity, modle.act_fn: relu}", "no setting 'modle.act_fn'"),
    ("base: {task: parity}\ngrid: {seed: []}", "seed takes a list of values"),
    ("base: {task: parity}\ngrid: {seed: 3}", "seed takes a list of values, e.g. [1, 2], not 3"),
    ("grid: {seed: [1]}", "no task"),
    ("base: {task: parity}\ngrid: {seed: [1, 1]}", "two cells are called 'run'"),
    ("base: {task: parity}\ngrid: {seed: [1, 2], other: [{seed: 3}]}", "other sets seed, which another axis sets as well"),
    ("base: {task: parity, task: majority}", "the key 'task' is given twice"),
    ("base: {task: parity\ngrid", "is not valid YAML: while parsing a flow mapping in sweep.yaml, line 1"),
    ("- 1", "must be a mapping"),
    ("base: {task: parity}\nmeasure: {onyl: [behaviour]}", "did you mean only"),
    ("base: {task: parity}\nmeasure: {only: behaviour}", "measure: only takes a list"),
    ("base: {task: parity}\nmeasure: {steps: lst}", "measure: steps takes a list or last"),
    ("base: {task: parity}\nmeasure: {lengths: [true]}", "measure: lengths takes a list"),
    ("base: {task: parity}\nviews: [/sweep]", "views must be a mapping"),
    ("base: {task: parity}\nviews: {mine: 'http://x.org'}", "views: the link 'http://x.org' is not a page of the dash"),
    ("base: {task: parity}\nviews: {mine: 3}", "views: the link 3 is not a page"),
])  # fmt: skip
def test_a_wrong_file_is_told_by_file_and_key(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, text)
    assert sentence in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / "sweep.yaml"))
    assert "\n" not in str(refused.value)


def test_values_that_yaml_reads_as_something_else_stay_what_they_are(tmp_path: Path) -> None:
    """none is a word to YAML and to us; 1-9 is no number; no is false, and so no scheme."""
    sweep = read(
        tmp_path, "base: {task: parity, lengths: 1-9, positions: none, measure: 3}".replace(", measure: 3", "")
    )
    assert sweep.cells[0].request.options == {"lengths": "1-9", "positions": "none"}


# ---- sweeps by name ----------------------------------------------------------------------------------
def test_a_sweep_is_found_by_its_name_and_a_file_of_that_path_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = shipped_sweeps()
    assert {"gallery", "plateau"} <= set(known)
    (tmp_path / "gallery").mkdir()  # a folder is no sweep
    for name, file in known.items():
        assert find_sweep(Path(name)) == file
    (tmp_path / "plateau").write_text("base: {task: parity}")
    assert find_sweep(Path("plateau")) == Path("plateau")
    (tmp_path / "study.yaml").write_text("base: {task: parity}")
    for wrong, hint in {"galery.yaml": "gallery", "stduy.yaml": "study.yaml"}.items():
        with pytest.raises(UsageError, match=f"{wrong}.*{hint}"):
            find_sweep(Path(wrong))
    with pytest.raises(UsageError, match="gallery"):
        find_sweep(Path("galery"))


@pytest.mark.parametrize("file", shipped_sweeps().values(), ids=shipped_sweeps())
def test_a_sweep_that_ships_can_be_read_and_says_in_its_first_line_what_it_is_about(file: Path) -> None:
    sweep = read_sweep(file)
    assert sweep.out == Path("checkpoints") / file.stem
    assert about(file)[-1] in ".?"
    assert len(about(file)) > 40


def test_the_views_of_a_sweep_are_saved_once(tmp_path: Path) -> None:
    sweep = read(tmp_path, "base: {task: parity}\nviews: {by  task: '/sweep?x=task.name', first: /runs}")
    assert list(sweep.views) == ["by task", "first"], "a name has single spaces, as the dashboard saves it"
    save_view(tmp_path, "first", "/theory")
    assert save_views(sweep.views, tmp_path) == save_views(sweep.views, tmp_path) == []
    saved = {view.name: view.link for view in read_views(tmp_path)[0]}
    assert saved == {"by task": "/sweep?x=task.name", "first": "/theory"}, "a view of that name stays"


def test_a_view_that_cannot_be_saved_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "views").symlink_to(tmp_path)
    (problem,) = save_views({"mine": "/sweep"}, tmp_path)
    assert problem.startswith("the view mine was not saved: ")


@pytest.mark.parametrize("name", ["positions_and_share", "positions_and_decay"])
def test_the_saved_views_of_shipped_sweeps_show_reach(name: str) -> None:
    """Each link names the series of reach, and two settings that differ between the cells of the sweep."""
    sweep = read_sweep(shipped_sweeps()[name])
    ((title, link),) = sweep.views.items()
    assert len(title) <= LONGEST_NAME
    query = parse_qs(urlsplit(link).query)
    assert query["quantity"] == ["|".join(REACH_SERIES)]
    assert query["x"] == ["model.positions.name"]
    (setting,) = query["y"]
    section, _, field = setting.rpartition(".")
    values = {cell.settings.get(setting, cell.settings.get(section, {}).get(field)) for cell in sweep.cells}
    assert len(values) == {"positions_and_share": 5, "positions_and_decay": 6}[name]


@pytest.mark.parametrize("folder", ["/", "/tmp"])
def test_out_is_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    (tmp_path / "studies").mkdir()
    file = tmp_path / "studies" / "study.yaml"
    file.write_text("{out: runs, base: {task: parity}}")
    monkeypatch.chdir(tmp_path)
    assert read_sweep(Path("studies/study.yaml")).out == Path("studies/runs")
    monkeypatch.chdir(folder)
    assert read_sweep(file).out == tmp_path / "studies" / "runs"
    file.write_text("{out: /elsewhere/runs, base: {task: parity}}")
    assert read_sweep(file).out == Path("/elsewhere/runs")


def test_the_list_and_no_sweep_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    list_sweeps(list_=True)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(shipped_sweeps())
    assert all(line.endswith(about(file)) for line, file in zip(lines, shipped_sweeps().values(), strict=True))
    with pytest.raises(UsageError, match=r"FILE\.yaml"):
        list_sweeps()


def test_the_sweeps_that_ship_are_data_of_the_package() -> None:
    """So that an installed copy has them as well."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["workbench"]
    root = Path(str(workbench.__file__)).parent
    assert {file for pattern in patterns for file in root.glob(pattern)} >= set(shipped_sweeps().values())
