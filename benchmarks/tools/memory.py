"""Peak memory of one piece of work, in a process of its own (Linux)."""

from __future__ import annotations

import subprocess
import sys


def peak_mib(setup: str, work: str) -> float:
    """Peak memory that ``work`` adds to a process that has done ``setup``, in MiB.

    Args:
        setup: Python that imports everything, builds what is needed and, where the first use of a thing
            allocates for good, uses it once.
        work: what is measured.
    """
    code = (
        "import re, torch\n"
        "torch.set_num_threads(1)\n"
        f"{setup}\n"
        "kib = lambda key: int(re.search(key + r':\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"  # forget the peak so far
        "before = kib('VmRSS')\n"
        f"{work}\n"
        "print((kib('VmHWM') - before) / 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])
