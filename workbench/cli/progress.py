"""Progress of training and measuring: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from workbench.storage import bounded
from workbench.storage.bounded import read_bytes
from workbench.storage.seal import json_object
from workbench.table.layout import checkpoint_steps

LINE_EVERY_S = 10.0


class Rate(ProgressColumn):
    """The speed of the work in units per second, from which the time left is estimated."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Any) -> Text:
        return Text(f"{task.speed:,.1f} {self.unit}/s" if task.speed else "", style="dim")


class Bar:
    """One progress bar with a description and the time left. Without a terminal, it prints a line now and then."""

    def __init__(self, total: int, title: str, unit: str) -> None:
        self.total, self.title, self.unit = total, title, unit
        self.console = Console(stderr=True)
        self.live = self.console.is_terminal
        self.start = self.said = time.monotonic()
        self.first: int | None = None
        self.ended = False
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
            Rate(unit),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self.progress = Progress(*columns, console=self.console, disable=not self.live)
        self.task = self.progress.add_task(title, total=total, note="")

    def __enter__(self) -> Any:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.progress.stop()

    def update(self, done: int, note: str, total: int | None = None) -> None:
        """Show that ``done`` units are complete; ``total`` changes the total number of units."""
        if total is not None:
            self.total = total
            self.progress.update(self.task, total=total)
        self.first = done if self.first is None else self.first
        if self.live:
            self.progress.update(self.task, completed=done, note=note)
            return
        now = time.monotonic()
        ended = done >= self.total and not self.ended
        if ended or (not self.ended and now - self.said >= LINE_EVERY_S):
            self.said, self.ended = now, ended
            rate = (done - self.first) / max(now - self.start, 1e-9)
            left = f", {(self.total - done) / rate:,.0f} s left" if rate and done < self.total else ""
            print(f"{self.title}: {done:,}/{self.total:,} {self.unit}s{left}  {note}", file=sys.stderr, flush=True)


class TrainingProgress(Bar):
    """Loss and accuracy of the latest training batch, and accuracy at N and 2 N at the last checkpoint."""

    def __init__(self, steps: int, name: str) -> None:
        super().__init__(steps, name, "step")

    def __call__(self, step: int, scores: dict[str, float | None]) -> None:
        parts = []
        loss, accuracy = scores.get("loss"), scores.get("accuracy")
        if loss is not None and accuracy is not None:
            parts.append(f"batch: loss {loss:.3f}, accuracy {accuracy:.3f}")
        at = [(name, scores.get(key)) for key, name in (("accuracy_in", "N"), ("accuracy_out", "2N"))]
        tested = [f"{value:.3f} at {name}" for name, value in at if value is not None]
        if tested:
            parts.append(f"checkpoint: accuracy {', '.join(tested)}")
        self.update(step, " · ".join(parts))


@contextlib.contextmanager
def following(
    bar: Bar, folders: Mapping[str, Path], ended: Mapping[str, int], first_steps: Mapping[str, int] | None = None
) -> Iterator[None]:
    """Move a bar along while other processes train, by the files they leave.

    Args:
        bar: counts steps.
        folders: the runs' folders by name.
        ended: steps to count for the runs that have ended, filled in by the caller as they do.
        first_steps: the step from which on the steps of a run count, by name. It is 0 for the other runs. A fork has
            the checkpoints of another run before it.
    """
    over = threading.Event()
    first = {**dict.fromkeys(folders, 0), **(first_steps or {})}
    reached = dict.fromkeys(folders, 0)

    def watch() -> None:
        while not over.wait(0.5):
            for name, folder in folders.items():
                reached[name] = ended[name] if name in ended else max(0, steps_done(folder) - first[name])
            running = [f"{name} {first[name] + n:,}" for name, n in reached.items() if n and name not in ended]
            bar.update(sum(reached.values()), " \u00b7 ".join(running))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def steps_done(folder: Path) -> int:
    """Return how many steps of a run are trained, from its checkpoints and the end of its log."""
    reached = checkpoint_steps(folder)
    # Between a checkpoint and the next line there is no tail to read.
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        lines = read_bytes(folder / "live.jsonl", bounded.LIVE).splitlines()
        reached += [int(json_object(line)["step"]) for line in lines[-1:]]
    return max(reached, default=0)
