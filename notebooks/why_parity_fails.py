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
# # Why parity fails past the training length
#
# Parity has a summary of one bit that every token can flip. A transformer can fit it on short strings, and loses it on
# longer ones. Four measurements say why: the function is maximally sensitive, the model stops being so past training,
# the minimum that it sits in gets sharper with length, and what it has of a prefix is no bit that another prefix of
# the same parity could replace.
#
# The run is the demo's `parity-learned` if it is there; else a smaller one is trained, in less than a minute on a quiet
# machine.

# %%
import os
from pathlib import Path

import pandas as pd
import torch

from circuits import function_statistics, hardmax_statistics, interchange_statistics
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.runs import find_runs
from workbench.tasks.random_generator import generator
from workbench.training.trainer import Trainer

torch.set_num_threads(1)
root = Path(os.environ.get("LENGTHLENS_RUNS", "../checkpoints"))
there = {run.name.rpartition("/")[2]: run for run in find_runs(root)} if root.is_dir() else {}
if "parity-learned" in there:
    run = there["parity-learned"]
else:
    options = {
        "positions": "learned", "ids": "random_offset", "lengths": "1-12", "n_ctx": 110, "learning_rate": 2e-3,
        "steps": int(os.environ.get("LENGTHLENS_STEPS", 1800)),
    }  # fmt: skip
    run = Trainer(build(TrainRequest("parity", options)), root / "parity-learned").run()
task, n, model = run.task, run.trained_length, run.load(run.steps[-1])
lengths = [max(2, n // 4), n // 2, n, 2 * n, 4 * n, 8 * n]
lengths = [length for length in lengths if length + task.bos <= model.cfg.n_ctx]

# %% [markdown]
# ## Accuracy by length

# %%
accuracy = {}
for length in lengths:
    batch = task.sample(256, length, generator("notebook", length), "matched")
    with torch.no_grad():
        accuracy[length] = float(task.correct(model(batch.tokens), batch)[:, -1].double().mean())
pd.Series(accuracy, name="accuracy").rename_axis("length").to_frame()

# %% [markdown]
# ## Sensitivity: of the task it is n, the model's own stays behind
#
# The average sensitivity is the mean number of positions whose change changes the answer (Hahn and Rofin 2024). Parity
# has n. A model that answers by something smoother cannot follow it.

# %%
sensitive = function_statistics(model, task, trained=n, lengths=lengths, factors=[x / n for x in lengths], strings=32)
sensitive.figure("average_sensitivity")

# %% [markdown]
# ## Sharpness: the loss under small noise on the weights grows with length

# %%
sensitive.figure("sharpness")

# %% [markdown]
# ## Attention: are there heads that keep their shape?

# %%
batches = [task.sample(64, length, generator("notebook", length), "matched") for length in lengths]
hardmax = hardmax_statistics(model, batches, trained=n)
hardmax.figure("effective_support")

# %% [markdown]
# ## Interchange: is there a bit that can be passed on?
#
# A prefix is exchanged for one of another length with the same parity. For a scale-invariant function that changes
# nothing: agreement 1. Random donors are the control, at one half. Between trained lengths the exchange works as far as
# the model does; from a trained length to a longer one it does not.

# %%
within = interchange_statistics(model, task, trained=n // 2, lengths=[n // 2, n], suffix=n // 4, factors=[2])
longer = [length for length in lengths if length >= n]
exchanged = interchange_statistics(model, task, trained=n, lengths=longer, suffix=n // 4, factors=[2, 4])
rows = pd.concat([within.frame(), exchanged.frame()])
rows = rows[rows["quantity"].isin(["prefix_exchange_agreement", "kv_splice_agreement"]) & rows["layer"].isna()]
rows[["quantity", "length", "mode", "control", "value", "low", "high", "n"]]

# %%
exchanged.figure("prefix_exchange_agreement")
