"""The executor ``dask`` on real processes: whoever is killed, the rest goes on, and the bits are those of one process."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign.forked import lengthlens, start
from tests.campaign.taken_workers import SWEEP, differing, sweep_taking, warm_all, words
from tests.support.jobs.cluster import Cluster, ForkedCluster, cluster_of
from tests.support.jobs.executors import gone, needs_proc
from tests.support.places import ROOT
from workbench.jobs.choose import make_executor
from workbench.jobs.cluster import Dask
from workbench.jobs.cluster_workers import ClusterError
from workbench.jobs.executors import Failure


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Used by the first tests, before this process has clients and their threads."""
    warm_all()
    with cluster_of(tmp_path_factory.mktemp("forked"), workers=2, kind=ForkedCluster) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_of(tmp_path_factory.mktemp("cluster"), workers=2) as cluster:
        yield cluster


def test_workers_killed_in_training_and_measuring_cost_nothing(forked: Cluster, tmp_path: Path) -> None:
    """In forked workers: the campaign of this kind, `python -m tests.campaign.taken_workers`, kills many more."""
    file, whole, root = tmp_path / "study.yaml", tmp_path / "whole", tmp_path / "runs"
    file.write_text(SWEEP.replace("seed: [0, 1]", "seed: [0]"))
    assert lengthlens(words(file, whole, "serial"), whole).status == 0
    taken = sweep_taking(forked, file, root, random.Random(0), deaths=2, pause=(0.1, 0.6))
    assert not taken.wrong
    assert (taken.training, taken.measuring) == (1, 1)
    assert differing(root, whole) == ""
    assert not list(root.glob(".*"))


@needs_proc
def test_a_command_that_is_interrupted_has_running_items_save(forked: Cluster, tmp_path: Path) -> None:
    file, root = tmp_path / "study.yaml", tmp_path / "runs"
    file.write_text(
        "base: {task: majority, lengths: 1-9, layers: 1, d_model: 8, heads: 2, steps: 100000}\ngrid: {seed: [0, 1]}"
    )
    child = start(words(file, root, f"dask={forked.address}"), root)
    until = time.monotonic() + 60
    while len(list(root.glob("*/live.jsonl"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(child.pid, signal.SIGINT)
    ended = child.end()
    assert ended.status == 130, ended.said
    assert "run the same command to resume" in ended.said
    assert len(list(root.glob("*/resume.safetensors"))) == 2
    assert not list(root.glob("*/lock"))
    assert not list(root.glob(".*"))


@needs_proc
def test_a_poisonous_item_is_tried_again_alone_and_then_fails_by_name(cluster: Cluster, tmp_path: Path) -> None:
    """One item kills its own process, another the whole worker; both are named, and all others are done."""

    def work(name: str) -> str:
        busy = tmp_path / f"busy-{os.getpid()}-{name}"
        busy.touch()
        with open(tmp_path / f"tried-{name}", "a") as file:
            file.write("".join(sorted(p.name.rpartition("-")[2] for p in tmp_path.glob("busy-*"))) + "\n")
        time.sleep(0.05)
        busy.unlink()
        if name == "x":
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "y":
            os.kill(os.getppid(), signal.SIGKILL)
        if name == "e":
            raise ValueError("e is not allowed")
        return name.upper()

    names, seen = list("axbyced"), list[int]()

    def replace(index: int, outcome: object) -> None:
        seen.append(index)
        for worker in [w for w in cluster.workers if w.poll() is not None]:
            cluster.kill(worker)
            cluster.worker()

    results = Dask(cluster.address, [tmp_path]).map(work, names, on_done=replace)
    found = dict(zip(names, results, strict=True))
    assert [found[n] for n in "abcd"] == list("ABCD")
    assert sorted(seen) == list(range(len(names)))
    for name in "xy":
        failure = found[name]
        assert isinstance(failure, Failure)
        assert failure.job == name
        assert "lost twice, the second time with nothing else on it" in failure.error
        assert len((tmp_path / f"tried-{name}").read_text().splitlines()) == 2
    failure = found["e"]
    assert isinstance(failure, Failure)
    assert failure.error.startswith(f"ValueError: e is not allowed (at {__file__}:")
    assert "in work" in failure.traceback
    for worker in [w for w in cluster.workers if w.poll() is not None]:
        cluster.kill(worker)
    while len(cluster.workers) < 2:
        cluster.worker()
    assert not list(tmp_path.glob(".*"))


def test_workers_that_cannot_be_used_are_named_before_any_work(cluster: Cluster, tmp_path: Path) -> None:
    """One has another version of the package, one does not see the data."""
    other = tmp_path / "other"
    for package in ("workbench", "probes", "circuits"):
        ignored = shutil.ignore_patterns("__pycache__", "assets", "*.md")
        shutil.copytree(ROOT / package, other / package, ignore=ignored)
    with open(other / "workbench" / "jobs" / "share.py", "a") as file:
        file.write("# changed\n")
    data = tmp_path / "data"
    data.mkdir()
    blind = tmp_path / "blind.py"
    blind.write_text(
        "import builtins\n\ndef open(path, *a, plain=builtins.open, **k):\n"
        f"    if str(path).startswith({str(data)!r}):\n        raise FileNotFoundError(path)\n"
        "    return plain(path, *a, **k)\nbuiltins.open = open\n"
    )
    for package, preload, said in (
        (other, None, r"has lengthlens \S+ \(source \w+\), and here it is .*: install the same on both"),
        (ROOT, blind, f"does not see the folder {data} as it is here: put the data where all machines see it"),
    ):
        worker = cluster.worker(package, preload)
        try:
            sentence = refusal(Dask(cluster.address, [data]), worker)
            assert re.search(said, sentence)
            assert cluster.address in sentence
        finally:
            cluster.kill(worker)
    assert not list(data.iterdir())


def refusal(executor: Dask, worker: subprocess.Popen[str]) -> str:
    """What the executor says once a worker has come to its cluster that cannot be used."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert worker.poll() is None
        try:
            executor.map(str, [1])
        except ClusterError as error:
            return str(error)
    return "nothing was said"


@needs_proc
def test_a_scheduler_that_is_lost_ends_the_command_and_what_it_had_begun(tmp_path: Path) -> None:
    """Its address is named, no worker is waited for, and no child goes on."""

    def work(item: int) -> int:
        if item:
            (tmp_path / f"pid-{os.getpid()}").touch()
            time.sleep(3600)
        while not list(tmp_path.glob("pid-*")):  # it ends once the other one runs: the second worker may come later
            time.sleep(0.02)
        return item

    with cluster_of(tmp_path, workers=2) as own:

        def lose(index: int, outcome: object) -> None:
            own.kill(own.scheduler)

        with pytest.raises(ClusterError, match="does not answer any more; finished work is kept") as raised:
            Dask(own.address, [tmp_path]).map(work, [0, 1, 1], on_done=lose)
        assert own.address in str(raised.value)
        assert gone([int(p.name.removeprefix("pid-")) for p in tmp_path.glob("pid-*")])


def test_no_worker_for_too_long_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster_of(tmp_path) as empty:
        with pytest.raises(ClusterError, match="scheduler") as raised:
            Dask(empty.address, patience=0.5).map(str, [1])
        assert empty.address in str(raised.value)
        monkeypatch.setattr("workbench.jobs.cluster_workers.CONNECT_S", 0.5)
        empty.kill(empty.scheduler)
        with pytest.raises(ClusterError, match=f"{empty.address}"):
            make_executor(f"dask={empty.address}").check()
