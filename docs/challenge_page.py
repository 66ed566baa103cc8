"""The page of the open challenge from its stored answers; ``--run FOLDER`` makes the answers of our methods again.

``python -m docs.challenge_page`` prints the page. ``make challenge`` makes the answers and writes the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from workbench.diagnosis.challenge.answer_file import write_answers
from workbench.diagnosis.challenge.challenge_folder import FILE, open_challenge
from workbench.diagnosis.challenge.evidence import TOOLS
from workbench.diagnosis.challenge.leaderboard import ANSWERS, ENTRIES, TRUTH, page, stored_entries
from workbench.diagnosis.challenge.make_challenge import make_challenge
from workbench.diagnosis.challenge.methods import DIAGNOSIS_METHOD, METHODS, RANDOM, answer_challenge
from workbench.diagnosis.challenge.truth import read_truth
from workbench.storage.atomic import write_named

STORED = Path(__file__).parent / "challenge"
SPLITS = {"public": (1, None), "tuning": (2, None)}
"""Name of a split -> its seed and number of models; None = one of each kind."""
ABOUT = {
    DIAGNOSIS_METHOD: "`lengthlens diagnose` with its default settings. It does not use the tuning split: its "
    "rules were written with the first half of the diagnosis bench",
    RANDOM: "labels of the tuning split, drawn at random",
    **{name: tool.about for name, tool in TOOLS.items()},
}


def main() -> None:
    """Parse arguments, make the answers where this is wanted, print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, help="make both splits in this folder, and let every method answer")
    folder = parser.parse_args().run
    if folder is not None:
        answer_all(folder)
    truth, entries = stored_entries(STORED)
    print(page(truth, entries), end="")


def answer_all(folder: Path) -> None:
    """Make the splits and the answers that are missing; store the list and the truth of the public split."""
    truths = {name: folder / f"{name}-truth.json" for name in SPLITS}
    for name, (seed, models) in SPLITS.items():
        if not (folder / name).exists():
            make_challenge(seed, folder / name, truths[name], models, _count)
    public, tuning = (open_challenge(folder / name) for name in SPLITS)
    tuning_truth = read_truth(truths["tuning"])
    write_named(STORED / TRUTH, truths["public"].read_bytes())
    write_named(STORED / FILE, (folder / "public" / FILE).read_bytes())
    facts: dict[str, dict[str, Any]] = json.loads((STORED / ENTRIES).read_text()) if (STORED / ENTRIES).exists() else {}
    for method in METHODS:
        if method in facts:
            continue
        print(method, file=sys.stderr)
        answered = answer_challenge(method, public, tuning, tuning_truth, on_model=_count)
        write_answers(STORED / ANSWERS / f"{method.replace(' ', '_')}.jsonl", answered.answers)
        facts[method] = {
            "about": ABOUT[method],
            "passes": sum(answered.passes) / len(answered.passes),
            "most_passes": max(answered.passes),
            "neighbours": dict(answered.neighbours),
        }
        write_named(STORED / ENTRIES, (json.dumps(facts, indent=1) + "\n").encode())


def _count(done: int, total: int) -> None:
    print(f"{done} of {total} models", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
