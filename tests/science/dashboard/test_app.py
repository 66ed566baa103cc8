"""The app as a whole, without a browser: no torch, nothing from elsewhere, tokens, exports, the door."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.places import ROOT


def test_the_process_of_the_dashboard_has_no_torch(small_root: Path) -> None:
    code = (
        "import sys, app\n"
        "from pathlib import Path\n"
        "from workbench.dashboard import router\n"
        "from workbench.dashboard.app import create_app\n"
        f"made = create_app(Path({str(small_root)!r}))\n"
        "answers = made.server.extensions['lengthlens']\n"
        "router.page(answers, '/', ''); router.page(answers, '/run', '?run=majority-nope-s0')\n"
        "print([name for name in ('torch', 'transformer_lens') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
