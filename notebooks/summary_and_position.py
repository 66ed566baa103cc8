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
# # Task state or position? Majority against parity
#
# After this tutorial you can probe a model for its task state and for position, and test whether the model uses
# them.
#
# We compare models of two tasks, both without position encodings. Majority (are there more ones than zeros?) needs a
# ratio of counts, which uniform attention gives at any length. Parity (is the number of ones odd?) needs the count
# itself. The task state (summary, a sufficient statistic of the prefix) is all that a model must know about the
# prefix to answer. For parity it is one bit. We answer three questions:
#
# 1. When does the task state appear, beyond what an untrained model shows?
# 2. Is the task state encoded in the same way beyond the trained lengths?
# 3. Does the model use the task state, and does erasing the position lower accuracy on long prefixes?
#
# `lengthlens sweep probes` trains these models and measures them over all lengths and layers. This notebook reads
# the trained models and measures them for a few lengths.

# %%
import os
from pathlib import Path

import pandas as pd
import torch

from probes import probe
from workbench.runs import find_runs
from workbench.tasks.random_generator import generator

torch.set_num_threads(1)
root = Path(os.environ.get("LENGTHLENS_RUNS", "../checkpoints/probes"))
runs = {run.task.name: run for run in find_runs(root)}
runs = {name: runs[name] for name in ("majority", "parity") if name in runs}
for run in runs.values():
    print(run.name, run.steps, "trained to", run.trained_length)

# %% [markdown]
# ## When does the task state appear?
#
# A *probe* predicts the task state linearly from the residual stream. We fit the probe at one prefix length, on half
# of the sequences, and test it on the other half. As a control we probe the untrained model in the same way. For
# majority, the untrained model already contains the answer, because uniform attention counts without training.
# *Selectivity* is the score of the probe minus that of the best control, so it measures the effect of training.


# %%
def batches(task, lengths, sequences=256):
    return [task.sample(sequences, n, generator("notebook", task.name, n), "matched") for n in lengths]


frames = []
for name, run in runs.items():
    trained = run.trained_length
    lengths = [run.task.next_length(trained * f) for f in (0.5, 1, 2, 4)]
    drawn = batches(run.task, lengths)
    inside = [n for n in lengths if n <= trained]
    for step in run.steps:
        result = probe(run.load(step), drawn, inside=inside, untrained=run.load(run.steps[0]), resamples=100)
        frames.append(result.frame().assign(run=run.name, task=name, step=step))
rows = pd.concat(frames)
last_site = rows.groupby("task")["layer"].transform("max") == rows["layer"]
last = rows[last_site & rows["site"].str.endswith("hook_resid_post") & (rows["control"] == "")]
at_n = last[last["length"] == last["task"].map({name: run.trained_length for name, run in runs.items()})]
chosen = at_n[at_n["quantity"].isin(["summary_decodability", "selectivity"]) & (at_n["mode"] == "refit")]
chosen.pivot_table(index="step", columns=["task", "quantity"], values="value").round(2)

# %% [markdown]
# This is the direction that the probe uses, in the residual stream after the last block of the last checkpoint:

# %%
result.direction()[:, 0].round(2)

# %% [markdown]
# ## Is the task state encoded in the same way beyond the trained lengths?
#
# We test the probe at longer lengths in three modes. `transfer` uses the probe that was fitted at trained lengths.
# `recalibrated` fits only its gain and threshold again, and `refit` fits the whole probe again. `length_coupling`
# needs no probe. It compares the mean logits of each task state between lengths: 0 means that they are the same, and
# 1 means that they have nothing in common.

# %%
final = last[last["step"] == last.groupby("task")["step"].transform("max")]
modes = final[final["quantity"] == "summary_decodability"]
modes.pivot_table(index=["task", "length"], columns="mode", values="value").round(2)

# %%
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan

wanted = ["behaviour", "probes.length_coupling", "probes.erasure"]
problems = execute(
    plan(MeasureRequest([run.path for run in runs.values()], only=wanted, steps="last", executor="serial"))
)
print(problems or "measured, or measured before")

# %%
from workbench.table.query import Table

tables = {run.name: Table.load(run.path).frame(step=run.steps[-1]) for run in runs.values()}
used = pd.concat(frame[frame["quantity"] == "length_coupling_at"].assign(run=name) for name, frame in tables.items())
used[used["mode"] == "used"][["run", "length", "value", "low", "high", "status"]].round(3)

# %% [markdown]
# ## Does erasing position lower accuracy on long prefixes?
#
# The method LEACE removes a quantity from the residual stream while the model runs. In the first experiment it
# erases the task state at the last token. In the second experiment it erases the position at every token, except for
# the part of the position that the task state predicts. The control erases equally many random directions.

# %%
from workbench.figures import erasure_over_length

figures = []
for run in runs.values():
    frame = tables[run.name]
    layer = int(frame.loc[frame["measurement"] == "probes.erasure", "layer"].max()) - 1
    figures.append(erasure_over_length(frame, trained=run.trained_length, step=run.steps[-1], layer=layer))
figures[0]

# %%
figures[-1]
