"""``timing.json``: time and memory of a run's training, for planning other runs. It is never part of a result.

The file is separate from the run's results, because two trainings of one run have equal checkpoints and unequal times.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from workbench.storage import bounded
from workbench.storage.atomic import write_atomic
from workbench.storage.bounded import read_bytes
from workbench.storage.seal import SealError, open_json, sealed_json

NAME = "timing.json"


@dataclass(frozen=True)
class Timing:
    """Time and memory of the training so far.

    Attributes:
        updates: updates that were timed. Updates that were repeated after an interruption count again, with their time.
        seconds: wall-clock seconds of one process with one thread, checkpoints and scores included, imports not.
        peak_bytes: the largest memory use of a training process.
    """

    updates: int = 0
    seconds: float = 0.0
    peak_bytes: int = 0


def read_timing(folder: Path) -> Timing | None:
    """The timing of a run; None if there is none, as in runs of older versions.

    Raises:
        SealError: if the file is damaged.
        OSError: if it cannot be read.
    """
    try:
        data = read_bytes(Path(folder) / NAME, bounded.META_JSON)
    except FileNotFoundError:
        return None
    content = open_json(data)
    updates, seconds, peak = (content.get(name) for name in ("updates", "seconds", "peak_bytes"))
    if not (isinstance(updates, int) and isinstance(peak, int) and isinstance(seconds, float | int)):
        raise SealError(f"it contains no time: {json.dumps(content)[:100]}")
    if updates < 0 or peak < 0 or not 0 <= seconds < math.inf:
        raise SealError(f"it contains a time that is not possible: {json.dumps(content)[:100]}")
    return Timing(updates, float(seconds), peak)


class Stopwatch:
    """Times the training that begins now, and adds the time to that in the run's folder.

    Args:
        folder: the run's.
        step: the update from which training continues.
    """

    def __init__(self, folder: Path, step: int) -> None:
        self.folder, self.step, self.begun = folder, step, time.monotonic()
        try:
            self.before = read_timing(folder) or Timing()
        except (SealError, OSError):  # `lengthlens check` names it; a time is not worth an end
            self.before = Timing()

    def note(self, step: int) -> None:
        """Store that training has reached ``step``. Raises StorageError if it cannot be written."""
        if step == self.step:
            return
        now = Timing(
            self.before.updates + step - self.step,
            self.before.seconds + time.monotonic() - self.begun,
            max(self.before.peak_bytes, peak_bytes()),
        )
        write_atomic(self.folder, NAME, sealed_json(asdict(now)))


def peak_bytes() -> int:
    """The largest memory use of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else 1024 * int(peak)
