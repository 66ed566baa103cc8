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
# After this tutorial you can watch an induction circuit form over training, and test it by ablation.
#
# A two-layer transformer learns to answer with the token that followed the last token at its earlier occurrence. The
# literature expects a mechanism of two parts (Olsson et al. 2022). A *previous-token head* writes into each token
# what preceded it. A *matching head* in a later layer finds the key whose predecessor is the query, and copies that
# key's token. Here we watch both form, and then test the circuit by ablation.
#
# The run belongs to the sweep `retrieval`. If it does not exist yet, this page trains it in less than a minute.

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
# Scores are corrected for chance, so that uniform attention scores 0. The sequences are those of the task, at the
# longest trained length.

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
# On repeats after random lags, the matching heads are induction heads. On repeats with a fixed lag, a head that
# always looks back equally far would score just as high.

# %%
causes(rows, "circuits.heads", "induction", mode="repeats", layer=1)

# %% [markdown]
# ## The test
#
# Without the matching heads, or without the previous-token heads below them, accuracy falls to near chance (1/6).
# Without all other heads together, accuracy does not drop. Cutting only the induction edges, from query to key, has
# the same effect as ablating the matching heads.

# %%
model = run.load(run.steps[-1])
ablated = ablation_statistics(model, task, trained=n, lengths=[n], factors=[1], sequences=128).frame()
sets = ablated[ablated["quantity"].eq("ablated_accuracy") & ablated["layer"].isna()]
sets[["target", "mode", "value", "low", "high", "status", "note"]]

# %% [markdown]
# ## Where the answer arrives
#
# We replace the residual stream of the last query by that of a sequence with another answer (the *donor*), at one
# point of the network at a time. Where the model gives the donor's answer, the answer has arrived. The two ends of
# the profile carry no information. Before the first attention layer nothing can have arrived. Where no attention
# follows, the output is always the donor's.

# %%
profile = interchange_statistics(model, task, trained=n, lengths=[n, 2 * n], factors=[2])
profile.figure("interchange_accuracy", length=2 * n)
