# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # An induction head forms
#
# A two-layer transformer learns to answer what followed the last token when it occurred before. The mechanism that the
# literature expects has two parts: a *previous-token head* writes into each token what stood before it, and a
# *matching head* above it finds the key whose predecessor is the query, and copies what stands there (Olsson et al.
# 2022). Here both are watched forming, and the circuit is then proven by what its ablation destroys.
#
# The run is the one of the sweep `retrieval`; it is trained here if it is not there yet, in less than a minute.

# %%
import os
from pathlib import Path

import pandas as pd
import torch

from circuits import ablation_statistics, head_statistics, interchange_statistics
from workbench.cli.sweeping.shipped_sweeps import find_sweep
from workbench.cli.sweeping.sweep_cells import config_of
from workbench.cli.sweeping.sweep_file import read_sweep
from workbench.figures import causes
from workbench.training.trainer import Trainer

torch.set_num_threads(1)
root = Path(os.environ.get("LENGTHLENS_RUNS", "../checkpoints"))
cell = read_sweep(find_sweep(Path("retrieval"))).cells[0]
config = config_of(cell)
if "LENGTHLENS_STEPS" in os.environ:
    training = config.training.model_copy(update={"steps": int(os.environ["LENGTHLENS_STEPS"])})
    config = config.model_copy(update={"training": training})
run = Trainer(config, root / "retrieval" / cell.name).run()
task, n = run.task, run.trained_length
print(run.steps)

# %% [markdown]
# ## What each head attends to, over training
#
# Scores are corrected for chance: uniform attention scores 0. The strings are the task's own, at the longest trained
# length.

# %%
frames = []
for step in run.steps:
    found = head_statistics(run.load(step), task, trained=n, lengths=[n], sequences=64)
    frames.append(found.frame().assign(step=step))
rows = pd.concat(frames)
causes(rows, "circuits.heads", "previous_token", mode="task", layer=0)

# %%
causes(rows, "circuits.heads", "answer_token", mode="task", layer=1)

# %% [markdown]
# On repeats after random lags the matching heads are induction heads; on repeats of one lag a head that always looks
# equally far back would pass too.

# %%
causes(rows, "circuits.heads", "induction", mode="repeats", layer=1)

# %% [markdown]
# ## The proof
#
# Without the matching heads, or without the previous-token heads below them, accuracy falls to near chance (1/6).
# Without all other heads together nothing is lost. Cutting the induction edges alone, query to key, does the same.

# %%
model = run.load(run.steps[-1])
ablated = ablation_statistics(model, task, trained=n, lengths=[n], factors=[1], sequences=128).frame()
sets = ablated[ablated["quantity"].eq("ablated_accuracy") & ablated["layer"].isna()]
sets[["target", "mode", "value", "low", "high", "status", "note"]]

# %% [markdown]
# ## Where the answer arrives
#
# The last query's row is taken from a string with another answer, at every site in turn. Where the donor's answer is
# given, it has arrived; ends of the profile say nothing by themselves (before the first attention nothing can have
# arrived, and where no attention follows the output is the donor's own).

# %%
profile = interchange_statistics(model, task, trained=n, lengths=[n, 2 * n], factors=[2])
profile.figure("interchange_accuracy", length=2 * n)
