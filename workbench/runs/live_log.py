"""``live.jsonl``: the log since the last checkpoint, for watching a run. Resuming does not read it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.storage import bounded
from workbench.storage.below import remove_file, write_in_place
from workbench.storage.bounded import require_regular
from workbench.storage.errors import storing
from workbench.storage.seal import sealed_json

NAME = "live.jsonl"


class Live:
    """The file: one sealed JSON object per line with ``step``, the scores and ``time`` (seconds since 1970)."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / NAME

    def restart(self, lines: Sequence[Mapping[str, Any]] = ()) -> None:
        """Replace the content with these lines. Raises StorageError if it cannot be written."""
        with storing(self.path.parent):
            if os.path.lexists(self.path):
                require_regular(self.path, bounded.LIVE)  # a pipe would be waited for
            write_in_place(self.folder, NAME, b"".join(map(_sealed, lines)))

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a line. Raises StorageError if it cannot be written."""
        # Not kept open: a full disk would be reported a second time, without its name, when it is closed.
        write_in_place(self.folder, NAME, _sealed(line), append=True)

    def remove(self) -> None:
        """Remove the file, if it exists."""
        remove_file(self.folder, NAME)


def _sealed(line: Mapping[str, Any]) -> bytes:
    return sealed_json({**line, "time": time.time()})
