"""Train the determinacy study, and print when the length behaviour of each cell is decided.

``python docs/determinacy_study.py --minutes 60`` trains what docs/determinacy.parquet lacks and stores each block when
it ends. The same command continues. ``--print`` only prints the table.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from workbench.claims.determinacy.families import determinacy_by_step
from workbench.claims.determinacy.study import StudyTable, planned_cells, run_study

ROWS = Path(__file__).parent, "determinacy.parquet"


def lines(table: StudyTable) -> list[str]:
    """The table of determinacy, as lines of Markdown."""
    found = ["| cell | schedule | fork at step | determinacy | p of no correlation | families | label |"]
    found.append("|---|---|---|---|---|---|---|")
    for cell in planned_cells():
        for step, result in determinacy_by_step(table.rows, cell).items():
            value = f"{result.value:.2f} [{result.low:.2f}, {result.high:.2f}]"
            cells = (cell.name, cell.schedule, step, value, f"{result.p:.4f}", result.families, result.label)
            found.append(f"| {' | '.join(map(str, cells))} |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the determinacy study, and print its table.")
    parser.add_argument("--minutes", type=float, default=60, help="begin no block after this many minutes; default 60")
    parser.add_argument("--print", action="store_true", help="train nothing")
    arguments = parser.parse_args()
    table = StudyTable.read(*ROWS)
    if not arguments.print:
        run_study(table, planned_cells(), lambda line: print(line, flush=True), time.time() + 60 * arguments.minutes)
    print("\n".join(lines(table)))


if __name__ == "__main__":
    main()
