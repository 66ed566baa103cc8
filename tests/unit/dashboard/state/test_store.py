"""The store re-reads what changed, keeps what did not, and names what it cannot read."""

from __future__ import annotations

import json
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.dashboard import fakes
from workbench.dashboard import router
from workbench.dashboard.app import create_app
from workbench.dashboard.pages import runs as runs_page
from workbench.dashboard.pages.runs import lines
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state import store as store_module
from workbench.dashboard.state.filters import Filters
from workbench.dashboard.state.request_gate import taking_turns
from workbench.dashboard.state.store import Store
from workbench.storage.seal import sealed_json


@pytest.fixture
def root(small_root: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(small_root, tmp_path / "runs"))


def test_runs_are_read_as_data(root: Path) -> None:
    run = Store([root]).runs()["majority-nope-s0"]
    assert (run.task, run.question) == ("majority", "Are there more 1s than 0s?")
    assert (run.trained, run.n_layers, run.n_heads) == (50, 2, 4)
    assert run.steps == (0, 100, 1000, 1500, 3000)
    assert run.lengths == fakes.LENGTHS
    assert run.positions == "no positions"
    assert run.measurement_names == {"behaviour", "probes.summary", "probes.position", "circuits.hardmax"}
    assert set(run.frame["run"]) == {"majority-nope-s0"}


def test_a_run_without_rows_is_there_with_an_empty_frame(root: Path) -> None:
    run = Store([root]).runs()["majority-learned-s0"]
    assert len(run.frame) == 0
    assert run.lengths == ()
    assert "quantity" in run.frame


def test_names_are_paths_below_the_root(root: Path, tmp_path: Path) -> None:
    (root / "sweep").mkdir()
    shutil.move(root / "majority-nope-s0", root / "sweep" / "majority-nope-s0")
    assert "sweep/majority-nope-s0" in Store([root]).runs()


def test_nothing_new_keeps_the_very_same_rows(root: Path) -> None:
    store = Store([root], patience=0)
    before, version = store.runs(), store.refresh()
    assert store.refresh() == version
    assert all(store.runs()[name] is view for name, view in before.items())


def test_new_rows_change_that_run_and_no_other(root: Path) -> None:
    store = Store([root], patience=0)
    before, version = store.runs(), store.refresh()
    fakes.write_rows(root / "majority-learned-s0", fakes.all_rows(fakes.UNMEASURED, (0, 3000)))
    assert store.refresh() != version
    after = store.runs()
    assert after["majority-learned-s0"].measurement_names
    assert after["majority-nope-s0"] is before["majority-nope-s0"]


def test_a_new_checkpoint_is_seen(root: Path) -> None:
    store = Store([root], patience=0)
    version = store.version("majority-nope-s0")
    shutil.copytree(root / "majority-nope-s0/steps/00003000", root / "majority-nope-s0/steps/00004000")
    assert store.version("majority-nope-s0") != version
    assert store.runs()["majority-nope-s0"].steps[-1] == 4000


def test_runs_come_and_go(root: Path) -> None:
    store = Store([root], patience=0)
    shutil.rmtree(root / "flip_flop-rotary-s0")
    assert "flip_flop-rotary-s0" not in store.runs()
    assert store.run("flip_flop-rotary-s0") is None
    assert store.version("flip_flop-rotary-s0") == ("", "")


def test_a_training_run_is_live_for_some_seconds(root: Path) -> None:
    store = Store([root], patience=0)
    assert not store.runs()["majority-nope-s0"].live
    (root / "majority-nope-s0" / "live.jsonl").write_text("{}\n")
    assert store.runs()["majority-nope-s0"].live


def test_a_damaged_run_is_named_and_hides_no_other(root: Path) -> None:
    (root / "flip_flop-rotary-s0" / "run.json").write_text("{")
    store = Store([root])
    assert "majority-nope-s0" in store.runs()
    assert len(store.problems) == 1
    assert "flip_flop-rotary-s0" in store.problems[0]


def test_a_run_whose_configuration_lacks_a_field_is_named(root: Path) -> None:
    file = root / "flip_flop-rotary-s0" / "run.json"
    config = json.loads(file.read_text())
    del config["training"]["trained_length"]
    file.write_bytes(sealed_json(config))
    store = Store([root])
    assert "majority-nope-s0" in store.runs()
    assert "trained_length" in store.problems[0]


def test_a_missing_folder_is_empty_until_it_appears(tmp_path: Path) -> None:
    store = Store([tmp_path / "later"], patience=0)
    assert store.runs() == {}
    fakes.write_run(tmp_path / "later", fakes.UNMEASURED, (0,))
    assert list(store.runs()) == ["majority-learned-s0"]


def test_memo_makes_once_per_state_of_the_run(root: Path) -> None:
    store = Store([root], patience=0)
    made: list[int] = []
    for _ in range(2):
        store.runs()["majority-nope-s0"].memo("key", lambda: made.append(1))
    assert len(made) == 1
    time.sleep(0.01)
    (root / "majority-nope-s0" / "run.json").touch()
    store.runs()["majority-nope-s0"].memo("key", lambda: made.append(1))
    assert len(made) == 2


def test_many_threads_see_one_state(root: Path) -> None:
    store = Store([root], patience=0)
    seen: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: seen.append(tuple(store.runs()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 1
    assert len(seen) == 8


def test_a_slow_disk_stops_nobody(root: Path, monkeypatch) -> None:
    """One request has the disk looked at, which does not answer; the other computes meanwhile, in the one turn."""
    store = Store([root])
    before = store.runs()
    seen, ended, blocked, answered = [], threading.Event(), threading.Event(), threading.Event()
    plain = store_module.walk

    def stuck(folder: Path) -> Any:
        seen.append(folder)
        blocked.set()
        assert ended.wait(60)
        return plain(folder)

    monkeypatch.setattr(store_module, "walk", stuck)
    monkeypatch.setattr(store_module, "LATER", 60.0)
    monkeypatch.setattr(store, "_looked", -1e9)

    def application(environ: dict[str, Any], _: Any) -> list[bytes]:
        return [store.refresh().encode()] if environ["asks"] == "poll" else [b"drawn"]

    served = taking_turns(application)
    polls = threading.Thread(target=lambda: (served({"asks": "poll"}, None), answered.set()))
    polls.start()
    assert blocked.wait(60)
    assert served({"asks": "page"}, None) == [b"drawn"], "the turn is free while the disk is waited for"
    assert store.runs() == before
    assert not answered.is_set()
    fakes.write_run(root, replace(fakes.UNMEASURED, name="new"), (0,))
    ended.set()
    polls.join(60)
    assert answered.is_set()
    assert seen == [root]
    assert "new" in store.runs(), "a poll that waited knows what was seen"


def test_until_a_slow_disk_has_answered_that_is_said(root: Path, monkeypatch) -> None:
    answer = threading.Event()
    plain = store_module.walk
    monkeypatch.setattr(store_module, "walk", lambda folder: answer.wait(60) and plain(folder))
    monkeypatch.setattr(store_module, "FIRST", 0.05)
    store = Store([root])
    assert store.runs() == {}
    assert "is still being read" in store.problems[0]
    answer.set()
    monkeypatch.setattr(store_module, "FIRST", 60.0)
    store.refresh(force=True)
    assert "majority-nope-s0" in store.runs()
    assert store.problems == []


def test_of_a_folder_that_takes_long_what_has_been_read_is_shown_and_the_rest_said(root: Path, monkeypatch) -> None:
    """The last of three runs is not read until the test says so; its link is followed all the same."""
    last, wait = "majority-nope-s0", threading.Event()
    plain = store_module.read_run

    def slow(folder: Path, columns: Any) -> Any:
        assert folder.name != last or threading.current_thread() is threading.main_thread() or wait.wait(60)
        return plain(folder, columns)

    monkeypatch.setattr(store_module, "read_run", slow)
    monkeypatch.setattr(store_module, "SHOWN_AFTER", 0.0)
    answers = Context(Store([root]), Worker())
    while len(answers.store.runs()) < 1:
        pass
    progress = answers.store.progress
    assert progress is not None
    assert progress.of == 3
    said = json.dumps(lines(answers, Filters())["problems"], default=lambda part: part.to_plotly_json())
    assert "of 3 runs have been loaded so far" in said
    _, status, _ = router.poll(answers, None)
    assert "of 3 runs read" in status
    assert answers.store.run(last) is not None
    *_, here = router.page(answers, "/sweep", "")
    assert here["waits"]
    wait.set()
    answers.store.refresh(force=True)
    assert answers.store.progress is None
    assert lines(answers, Filters())["problems"] == []
    assert last in answers.store.runs()
    answers.close()


def test_whatever_one_run_raises_the_others_are_shown(root: Path, monkeypatch) -> None:
    plain = store_module.make_brief

    def odd(reading: Any, rows: Any, names: Any, trained: int) -> Any:
        if reading.rows["run"].unique().to_pylist() == ["flip_flop-rotary-s0"]:
            raise AssertionError("of no kind that anybody expects")
        return plain(reading, rows, names, trained)

    monkeypatch.setattr(store_module, "READ", (*store_module.READ, "run"))
    monkeypatch.setattr(store_module, "make_brief", odd)
    store = Store([root])
    assert set(store.runs()) == {"majority-nope-s0", "majority-learned-s0"}
    (said,) = store.problems
    assert "flip_flop-rotary-s0 cannot be shown: AssertionError: of no kind that anybody expects (at " in said


def test_a_run_whose_rows_make_no_line_keeps_its_line_and_says_so(root: Path, monkeypatch) -> None:
    answers = Context(Store([root]), Worker())
    plain = runs_page.summarise

    def odd(run: Any) -> Any:
        if run.name == "flip_flop-rotary-s0" and run.brief.rows:
            raise KeyError("nothing")
        return plain(run)

    monkeypatch.setattr(runs_page, "summarise", odd)
    rows = {row["name"]: row for row in lines(answers, Filters())["rows"]}
    assert rows["majority-nope-s0"]["verdict"] == "scale-robust"
    assert rows["flip_flop-rotary-s0"]["verdict"] == "not measured"
    question = rows["flip_flop-rotary-s0"]["question"]
    assert question.startswith(f"its line cannot be drawn: KeyError: 'nothing' (at {__file__}:")
    answers.close()


@pytest.mark.parametrize(("place", "value"), [("n_heads", "2x"), ("n_heads", 10**18), ("ids", {"name": "no_such"})])
def test_a_run_that_no_model_can_be_of_leaves_the_runs_page_to_the_others(root: Path, place: str, value: Any) -> None:
    file = root / "flip_flop-rotary-s0" / "run.json"
    config = json.loads(file.read_text())
    file.write_bytes(sealed_json({**config, "model": {**config["model"], place: value}}))
    answers = Context(Store([root]), Worker())
    content, _, here = router.page(answers, "/", "", "")
    assert here["title"].startswith("Runs")
    assert "majority-nope-s0" in json.dumps(content, default=lambda part: part.to_plotly_json())
    assert len(lines(answers, Filters())["rows"]) == (3 if place == "ids" else 2), (
        "an unknown law of ids is shown as such"
    )
    answers.close()


def test_an_export_of_rows_that_are_not_what_a_panel_shows_is_said(root: Path, monkeypatch) -> None:
    def odd(*_: Any) -> Any:
        return int(float("nan"))

    monkeypatch.setattr("workbench.dashboard.downloads.answer", odd)
    app = create_app(root)
    found = app.server.test_client().get("/data/accuracy-length.csv?run=majority-nope-s0")
    app.server.extensions["lengthlens"].close()
    assert found.status_code == 500
    assert found.text.startswith("The data of accuracy-length: ValueError: cannot convert float NaN to integer (at ")
