"""Figures of two commits beside each other, from the history.

    python -m benchmarks.compare BEFORE [AFTER]

The latest figure of each commit counts; AFTER is the last commit in the history, unless it is named. How many rows a
dashboard was timed over is left out of the names.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping

from benchmarks.run import HISTORY

Figure = tuple[str, str]
"""What was timed, and against what."""


def figures(commit: str, history: str) -> dict[Figure, float]:
    """The latest figures of a commit.

    Raises:
        SystemExit: where the history has none.
    """
    entries = [json.loads(line) for line in history.splitlines()]
    own = [entry for entry in entries if entry["commit"] == commit]
    if not own:
        known = ", ".join(dict.fromkeys(entry["commit"] for entry in entries))
        raise SystemExit(f"the history has no figures of the commit {commit}; it has those of {known}")
    found = {(one["what"], one["against"]): one["value"] for entry in own for one in entry["figures"]}
    return {(re.sub(r", [\d.]+ million rows", "", what), against): value for (what, against), value in found.items()}


def markdown(before: Mapping[Figure, float], after: Mapping[Figure, float]) -> str:
    """A table of the figures that both have, with their ratio."""
    lines = ["| what | figure | before | after | after / before |", "|---|---|---|---|---|"]
    for (what, against), value in after.items():
        if (what, against) in before:
            was = before[what, against]
            lines.append(f"| {what} | {against} | {was:.3g} | {value:.3g} | {value / was:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("before")
    parser.add_argument("after", nargs="?")
    options = parser.parse_args()
    history = HISTORY.read_text(encoding="utf-8")
    last = json.loads(history.splitlines()[-1])["commit"]
    print(markdown(figures(options.before, history), figures(options.after or last, history)))


if __name__ == "__main__":
    main()
