"""All benchmarks in one table, with their bounds; keeps history.

    python -m benchmarks.run [--only step,store] [--page]

Every figure is a ratio to a peer or a limit, measured side by side; absolute times are notes. History goes to
``benchmarks/history.jsonl``, one line per run; ``--page`` renews the table in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from benchmarks.tools.table import Line, markdown, show

ROOT = Path(__file__).resolve().parent.parent
HISTORY = ROOT / "benchmarks" / "history.jsonl"
#: Each module has ``measure() -> list[Line]``; the quick and important ones come first.
PARTS = (
    "start", "step", "stacked", "measurements.attention", "measurements.circuits", "scan", "batches", "store",
    "listing", "dashboard", "measurements.observing", "measurements.measuring", "measurements.pretrained",
    "measurements.probes", "crasp", "deciders", "cluster",
)  # fmt: skip
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


def machine() -> str:
    """The processor, its cores and the versions that decide: what a figure hangs on."""
    import torch

    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        models = [x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name")]
        name = models[0].partition(":")[2].strip() if models else name
    return f"{name}, {os.cpu_count()} cores, one thread, torch {torch.__version__}"


def commit() -> str:
    """The commit that is measured, or "" outside a repository."""
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT)
    return done.stdout.strip()


def keep(lines: Sequence[Line]) -> None:
    """Append the figures to the history."""
    entry = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "figures": [{k: v for k, v in asdict(line).items() if v not in ("", None, False)} for line in lines],
    }
    with open(HISTORY, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def renew_page(lines: Sequence[Line]) -> None:
    """Put the table between its marks in docs/benchmarks.md."""
    page = ROOT / "docs" / "benchmarks.md"
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise SystemExit(f"docs/benchmarks.md has no marks {BEGIN} and {END} for the table")
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    page.write_text(f"{head}{BEGIN}\n{machine()}\n\n{markdown(lines)}\n{END}{tail}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--only", help=f"comma-separated parts of {', '.join(name.rpartition('.')[2] for name in PARTS)}"
    )
    parser.add_argument("--page", action="store_true", help="renew the table in docs/benchmarks.md")
    options = parser.parse_args()
    parts = {name.rpartition(".")[2]: name for name in PARTS}
    chosen = options.only.split(",") if options.only else list(parts)
    for name in chosen:
        if name not in parts:
            parser.error(f"unknown part {name!r}; there are {', '.join(parts)}")
    lines: list[Line] = []
    broken: list[str] = []
    for name in chosen:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            lines += import_module(f"benchmarks.{parts[name]}").measure()
        except Exception:  # noqa: BLE001 - what the others measured, for many minutes, is kept
            traceback.print_exc()
            broken.append(name)
    print(machine())
    show(lines)
    keep(lines)
    if broken:
        raise SystemExit(f"could not measure {', '.join(broken)}: see above")
    if options.page:
        renew_page(lines)


if __name__ == "__main__":
    main()
