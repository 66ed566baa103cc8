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
# # When does a head become a hardmax?
#
# After this tutorial you can measure how close each head is to hard attention, over training and over prefix length.
#
# `circuits.hardmax_statistics` measures any model on any batches. Here we measure the heads of one run at every
# checkpoint. The sequences have the longest trained length, and four times that length. The distance to the nearest
# hardmax needs no tolerance. A distance of 0 means that attention is uniform over a set of keys and zero elsewhere.

# %%
import os
from pathlib import Path

import pandas as pd
import torch

from circuits import hardmax_statistics
from workbench.runs import find_runs
from workbench.tasks.random_generator import generator

torch.set_num_threads(1)
root = Path(os.environ.get("LENGTHLENS_RUNS", "../checkpoints/demo"))
runs = {run.name: run for run in find_runs(root)}
run = runs.get("majority-nope") or next(iter(runs.values()))
print(run.name, run.steps)

# %% [markdown]
# We draw batches once, from the matched test set (distributed as in training). Every checkpoint gets the same
# sequences.

# %%
task, trained = run.task, run.trained_length
lengths = [task.next_length(trained * f) for f in (0.25, 1, 4)]
batches = [task.sample(64, n, generator("notebook", n), "matched") for n in lengths]

# %%
frames = []
for step in run.steps:
    result = hardmax_statistics(run.load(step), batches, trained=trained, step=step)
    frames.append(result.frame())
rows = pd.concat(frames)
last = rows[(rows["quantity"] == "hardmax_distance") & (rows["step"] == run.steps[-1])]
last.pivot_table(index=["layer", "head"], columns="length", values="value").round(3)

# %% [markdown]
# The distance over training, with one line per head. The dashboard draws the same figure with the same function.

# %%
from workbench.figures import head_over_training

head_over_training(rows, length=lengths[-1], layer=0, head=0, trained=trained)

# %% [markdown]
# The distance over prefix length at the last checkpoint, directly from the result:

# %%
result.figure(layer=0, head=0)
