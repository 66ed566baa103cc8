"""A small part of the campaign of kills and damages; all of it is ``make campaign``."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.support.limits import HANGS_S
from tests.support.places import ROOT


def test_whatever_is_killed_goes_on_and_whatever_is_damaged_is_found() -> None:
    words = [
        sys.executable,
        "-m",
        "tests.campaign.campaign",
        "--kill-every",
        "15",
        "--damage-every",
        "10",
        "--workers",
        "2",
        "--sequences",
        "32",
        # Of each way in which rows come about one: read-outs, patterns, fitted probes, repaired models, all steps together.
        "--only",
        "behaviour",
        "circuits.hardmax",
        "circuits.ablation",
        "probes.summary",
        "dynamics",
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stdout + done.stderr
    counted = {line: int(count) for line, count in re.findall(r"^(\w.*?) +(\d+) +0$", done.stdout, re.MULTILINE)}
    for line in (
        "training: SIGKILL",
        "training: SIGTERM",
        "training: disk full",
        "measuring: SIGKILL",
        "damage: bit flipped",
    ):
        assert counted[line] > 0, done.stdout
    assert counted["all"] == sum(count for line, count in counted.items() if line != "all")
