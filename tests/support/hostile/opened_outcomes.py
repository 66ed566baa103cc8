"""What tests of several tiers share. Hostile folders, prompts and tensors: each ends in a sentence, and harms nothing."""

from __future__ import annotations

import hashlib
import resource
import shutil
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.campaign.forked import Ended, start, warm
from tests.support.hostile.effort import DEFECT
from tests.support.hostile.opened_folders import MARKER, OUTSIDE, OpenedCase

LIMIT_S = 60.0
IMPORTED = (
    "transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto", "transformers.masking_utils",
    "transformers.tokenization_utils_tokenizers", "workbench.runs.adoption.open_pretrained",
    "workbench.runs.adoption.adopt", "workbench.measure.in_context.behind_an_api", "workbench.cli.commands.in_context.open",
    *(f"transformers.models.{name}.modeling_{name}" for name in ("llama", "gpt2", "gemma2", "gpt_neox")),
)  # fmt: skip


def warm_for_opening() -> None:
    """Import here what every command that opens a model would import there."""
    warm()
    for name in IMPORTED:
        import_module(name)


def open_words(folder: Path, out: Path) -> list[object]:
    """A command line that opens a sound folder within a second."""
    return ["open", folder, "--task", "copy", "--lengths", "4,8", "--set", "task.symbols=12", "--out", out]


def contents(folder: Path) -> dict[str, str]:
    """SHA-256 by name of what lies below a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def tried_opening(root: Path, templates: dict[str, Path], case: OpenedCase) -> tuple[Ended, list[str]]:
    """How ``lengthlens open`` ended on a hostile folder, and what is wrong with that, a sentence each."""
    shutil.rmtree(root, ignore_errors=True)
    (root / OUTSIDE).mkdir(parents=True)
    folder, out = root / "hostile", root / "run"
    shutil.copytree(templates[case.family], folder)
    case.apply(folder)
    before = contents(root / OUTSIDE)
    ended = start(open_words(folder, out), root).end(kill_after=LIMIT_S)
    problems = [*sentence_problems(ended, LIMIT_S), *harm(root, before)]
    if case.opens is not None and case.opens != (ended.status == 0):
        problems.append(f"ended with status {ended.status}")
    if ended.status != 0 and out.exists():
        problems.append("a run was left behind")
    return ended, [f"{case.label}: {problem}" for problem in problems]


def harm(root: Path, before: dict[str, str]) -> list[str]:
    """What a folder did beside itself."""
    found = ["code was executed"] if (root / MARKER).exists() else []
    return found + (["a file outside was changed"] if contents(root / OUTSIDE) != before else [])


def sentence_problems(ended: Ended, limit_s: float) -> list[str]:
    """What is wrong with how a command ended: a traceback, a hang, a status, or more or less than one sentence."""
    if ended.seconds >= limit_s:
        return [f"hang: {ended.seconds:.0f} s"]
    if any(mark in ended.said for mark in ("Traceback (most recent call last)", "panicked at", DEFECT)):
        return [f"traceback: {ended.said.strip().splitlines()[-1][:200]}"]
    if ended.status not in (0, 2):
        return [f"status {ended.status}: {ended.said[-300:]}"]
    lines = [line for line in ended.said.splitlines() if line.strip()]
    if ended.status == 2 and not (len(lines) == 1 and lines[0].startswith("error: ") and len(lines[0]) < 1500):
        return [f"no one sentence: {' | '.join(lines)[:500]}"]
    return []


def peak_of_commands() -> float:
    """GiB of the largest command that has ended so far."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**30


def summary(name: str, seconds: Sequence[float], problems: Sequence[str]) -> str:
    """A line about many inputs: how many, how long, and what was wrong."""
    kinds = {
        kind: sum(f": {kind}" in problem for problem in problems) for kind in ("traceback", "hang", "code", "no one")
    }
    return (
        f"{len(seconds)} {name} in {sum(seconds):.0f} s ({max(seconds):.1f} s at most): {kinds['traceback']} tracebacks, "
        f"{kinds['hang']} hangs, {kinds['code']} executions, {kinds['no one']} without one sentence, "
        f"{len(problems)} wrong in all; at most {peak_of_commands():.1f} GiB"
    )


def tried_answers(
    root: Path, sound: Path, label: str, apply: Callable[[Path], None], taken: bool | None
) -> tuple[Ended, list[str]]:
    """How ``lengthlens answers`` ended on a hostile pair of files, and what is wrong with that, a sentence each."""
    files = [root / "hostile" / name for name in ("prompts.jsonl", "answers.jsonl")]
    return _tried(root, sound, label, apply, taken, ["answers", *files, "--model", "m"])


def tried_adopting(
    root: Path, sound: Path, label: str, apply: Callable[[Path], None], taken: bool | None
) -> tuple[Ended, list[str]]:
    """How ``lengthlens adopt`` ended on a hostile folder of checkpoints, and what is wrong with that, a sentence each."""
    words = ["adopt", root / "hostile", "--task", "majority", "--lengths", "1-9"]
    return _tried(root, sound, label, apply, taken, words)


def _tried(
    root: Path, sound: Path, label: str, apply: Callable[[Path], None], taken: bool | None, words: list[Any]
) -> tuple[Ended, list[str]]:
    shutil.rmtree(root, ignore_errors=True)
    (root / OUTSIDE).mkdir(parents=True)
    folder, out = root / "hostile", root / "run"
    shutil.copytree(sound, folder)
    apply(folder)
    ended = start([*words, "--out", out], root).end(kill_after=LIMIT_S)
    problems = [*sentence_problems(ended, LIMIT_S), *harm(root, {})]
    if taken is not None and taken != (ended.status == 0):
        problems.append(f"ended with status {ended.status}")
    if ended.status != 0 and out.exists():
        problems.append("a run was left behind")
    return ended, [f"{label}: {problem}" for problem in problems]
