"""Work on folders in which something is damaged: the rest is done, the damage is named, the exit status tells."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.campaign.corruptions import Sound, rows_of, shard
from tests.campaign.forked import lengthlens
from tests.campaign.kills import MEASURE, REFUSED, STEPS, TRAIN

LAST = f"a/steps/{STEPS:08d}"


@dataclass(frozen=True)
class Damaged:
    """One damage and the work done in spite of it.

    Attributes:
        what: the work and the damage, in a few words.
        files: what is damaged, below the folder of runs; the last byte of each is lost.
        check: does the work and says what is wrong with its outcome, or "".
    """

    what: str
    files: tuple[str, ...]
    check: Callable[[Damaged, Sound, Path], str]


def damaged(root: Path) -> Iterator[Damaged]:
    """All of them, for runs that :func:`tests.campaign.corruptions.make_runs` made."""
    for file in ("a/run.json", f"{LAST}/model.safetensors", f"{LAST}/meta.json", "a/steps/00000000/model.safetensors"):
        yield Damaged(f"measuring, {file[2:]}", (file,), _measures_the_rest)
    for file in (shard(root, "a", "behaviour", 0), shard(root, "a", "probes.summary", STEPS), "a/table.parquet"):
        yield Damaged(f"measuring again, {Path(file).parent.name}", (file,), _makes_it_again)
    for file in ("c/resume.safetensors", "c/steps/00000012/meta.json", "c/steps/00000000/model.safetensors"):
        yield Damaged(f"training on, {file[2:]}", (file,), _refuses_to_train)
    yield Damaged("training on, live.jsonl", ("c/live.jsonl",), _trains_on)


def judge(case: Damaged, whole: Sound, root: Path, folder: Path) -> str:
    """Damage a copy of the runs and do the work; what is wrong with its outcome, or ""."""
    copy = folder / "runs"
    shutil.copytree(root, copy)
    for file in case.files:
        data = (copy / file).read_bytes()
        (copy / file).write_bytes(data[:-1])
    return case.check(case, whole, copy)


def _measure(case: Damaged, root: Path, status: int) -> str:
    """Measure ``a`` and ``b``; what is wrong with how it ended, or ""."""
    for name in "cd":
        shutil.rmtree(root / name, ignore_errors=True)
    ended = lengthlens(["measure", root, *MEASURE], root)
    said = "".join(ended.said.split("\n"))
    silent = [file for file in case.files if status and not _named(file, root, said)]
    if ended.status != status or silent:
        return f"status {ended.status}, not named: {silent}: {ended.said}"
    return ""


def _named(file: str, root: Path, said: str) -> bool:
    return str(root / file) in said or ("/steps/" in file and str((root / file).parent) in said)


def _measures_the_rest(case: Damaged, whole: Sound, root: Path) -> str:
    for run in "ab":
        shutil.rmtree(root / run / "measurements")
        (root / run / "table.parquet").unlink()
    wrong = _measure(case, root, status=1)
    missing = len(whole.rows["b"] - rows_of(root / "b")[0])
    return wrong or (f"{missing} rows of the sound run are missing" if missing else "")


def _makes_it_again(case: Damaged, whole: Sound, root: Path) -> str:
    wrong = _measure(case, root, status=1) or _measure(case, root, status=0)
    return wrong or ("" if rows_of(root / "a")[0] == whole.rows["a"] else "the rows differ from the undamaged ones")


def _train(root: Path) -> tuple[int, str]:
    ended = lengthlens([*TRAIN, "--out", root / "c", "--set", "seeds.data=2"], root / "c")
    return ended.status, ended.said


def _refuses_to_train(case: Damaged, whole: Sound, root: Path) -> str:
    status, said = _train(root)
    good = status == REFUSED and _named(case.files[0], root, "".join(said.split("\n")))
    return "" if good else f"status {status}: {said}"


def _trains_on(case: Damaged, whole: Sound, root: Path) -> str:
    status, said = _train(root)
    return "" if status == 0 and not (root / case.files[0]).exists() else f"status {status}: {said}"
