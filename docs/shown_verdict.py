"""The sample in README.md and docs/verdict.md: what ``lengthlens info`` prints of a run, up to its tables.

``python docs/shown_verdict.py`` writes both again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "verdict.md")
RUN = "checkpoints/gallery/flip_flop_rotary_s0"
BEGIN, END = "```text\n", "```\n"


def sample() -> str:
    """The verdict and what stands below it, as printed in a terminal of 80 columns."""
    command = [sys.executable, "-m", "workbench.cli.main", "show", RUN]
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    lines = [line.rstrip() for line in printed.splitlines()]
    _head, verdict, *_tables = "\n".join(lines).split("\n\n")
    return verdict + "\n"


def written(text: str) -> str:
    """The page with its sample made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + sample() + END + after


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(written(page.read_text()))
