"""circuits.hardmax under biases, log scaling and attention that is no softmax: closed forms, and what does not apply."""

from __future__ import annotations

import subprocess
import sys

from tests.support.limits import HANGS_S


# ---- memory -----------------------------------------------------------------------------------------
def test_a_long_prefix_under_a_bias_fits_into_memory() -> None:
    """16,384 keys in a process of its own; one matrix of all scores alone would hold 1 GiB, and 2 GiB the lags."""
    code = """
import resource, torch
torch.set_num_threads(1)
from circuits import hardmax_statistics
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks import make_task
limit = {"name": "limit", "period": 4, "locality": 8}
model = HookedTransformer(ModelConfig(
    d_vocab=3, d_vocab_out=2, n_layers=1, d_model=16, n_heads=1, n_ctx=64, positions=limit, log_scaling="all"))
batch = make_task("majority").sample(1, 16383, torch.Generator().manual_seed(0), "matched")
assert len(hardmax_statistics(model, batch, trained=50).rows)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1.5 * 2**20, "KiB at the peak"
