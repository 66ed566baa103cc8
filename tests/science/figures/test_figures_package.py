"""The package: lazy names, no torch."""

from __future__ import annotations

import subprocess
import sys


def test_drawing_imports_no_torch() -> None:
    code = (
        "import sys; import workbench.figures as f; [getattr(f, n) for n in f.__all__]; "
        "sys.exit(int(any(m in sys.modules for m in ('torch', 'transformer_lens', 'dash'))))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
