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
# After this tutorial you can measure how close each attention head is to hard attention, over training and over
# prefix length.
#
# A *hardmax* attends uniformly to a set of keys and not at all to the others. For each head we compute the distance
# of its attention weights to the nearest hardmax. A distance of 0 means that the head is a hardmax. The function
# `circuits.hardmax_statistics` computes it for any model and any batches. Here we measure the heads of one model at
# every checkpoint, on sequences of a quarter of the longest trained length, of this length, and of four times this
# length.

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
# We draw the sequences once, from the *matched* test set, whose sequences are distributed as in training. Every
# checkpoint gets the same sequences.

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
# The next figure shows the distance over training, with one line per head. The dashboard draws the same figure with
# the same function.

# %%
from workbench.figures import head_over_training

head_over_training(rows, length=lengths[-1], layer=0, head=0, trained=trained)

# %% [markdown]
# The last figure shows the distance over prefix length at the last checkpoint. The result object draws it:

# %%
result.figure(layer=0, head=0)
