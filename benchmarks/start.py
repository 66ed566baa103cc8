"""Starting the command: ``lengthlens --help``.

python -m benchmarks.start
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.tools.table import Line


def measure(rounds: int = 9) -> list[Line]:
    command = [sys.executable, "-c", "from workbench.cli.main import main; main()", "--help"]
    found = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        found.append(time.perf_counter() - start)
    return [Line("lengthlens --help", "seconds", statistics.median(found[1:]), 0.5, at_most=True)]


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
