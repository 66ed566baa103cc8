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
# # Why parity fails beyond the training length
#
# After this tutorial you can use four measurements to explain why a model fails on long sequences.
#
# The answer to *parity* is whether the number of ones so far is odd. So the task state (summary, a sufficient
# statistic of the prefix) is one bit, and every 1 flips it. A transformer can learn parity on short sequences, but
# then fails on longer ones. Four measurements explain this:
#
# - Parity is as sensitive to its input as a function can be: each token matters.
# - Beyond the trained lengths, the model is less sensitive than parity.
# - The loss increases more strongly under noise on the weights as sequences become longer.
# - The model does not store one bit. If a prefix is replaced by another prefix with the same parity, the answer can
#   change.
#
# The notebook uses the model `parity-learned` of `lengthlens demo`, if it exists. Otherwise it trains a smaller
# model in less than a minute.

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
# ## Sensitivity: parity has n, the model has less
#
# The *average sensitivity* of a function is the mean number of positions at which a change of the token changes the
# answer (Hahn and Rofin 2024). For parity it is the length n. The figure compares it with the average sensitivity of
# the model.

# %%
sensitive = function_statistics(model, task, trained=n, lengths=lengths, factors=[x / n for x in lengths], strings=32)
sensitive.figure("average_sensitivity")

# %% [markdown]
# ## Sharpness: the loss under small noise on the weights grows with length

# %%
sensitive.figure("sharpness")

# %% [markdown]
# ## Attention: do heads keep their shape over length?

# %%
batches = [task.sample(64, length, generator("notebook", length), "matched") for length in lengths]
hardmax = hardmax_statistics(model, batches, trained=n)
hardmax.figure("effective_support")

# %% [markdown]
# ## Interchange: does one bit carry over between lengths?
#
# We replace the prefix of a sequence by a prefix of another length with the same parity. Parity itself does not
# change, so a model that computes it gives the same answer. The *agreement* is the share of positions after the
# prefix at which the answer stays the same. In the control the new prefix comes from a random sequence, and
# agreement is one half. Between two trained lengths, agreement is about as high as the accuracy of the model.
# Between a trained length and a longer one, the exchange changes many answers.

# %%
within = interchange_statistics(model, task, trained=n // 2, lengths=[n // 2, n], suffix=n // 4, factors=[2])
longer = [length for length in lengths if length >= n]
exchanged = interchange_statistics(model, task, trained=n, lengths=longer, suffix=n // 4, factors=[2, 4])
rows = pd.concat([within.frame(), exchanged.frame()])
rows = rows[rows["quantity"].isin(["prefix_exchange_agreement", "kv_splice_agreement"]) & rows["layer"].isna()]
rows[["quantity", "length", "mode", "control", "value", "low", "high", "n"]]

# %%
exchanged.figure("prefix_exchange_agreement")
