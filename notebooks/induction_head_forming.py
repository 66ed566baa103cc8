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
# A two-layer transformer learns a retrieval task: it must find the earlier occurrence of the last token, and answer
# with the token that followed there. For example, the answer to `a c b a` is `c`. The literature expects a mechanism
# of two parts (Olsson et al. 2022). A *previous-token head* in the first layer copies information about the previous
# token to each position. A *matching head* in the second layer finds the position whose previous token equals the
# current token, and copies the token there. Here we watch both heads form, and then test the circuit by ablation.
#
# The model is the first run of the sweep `retrieval`. If it does not exist yet, this notebook trains it in less than
# a minute.

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
# The first figure shows how much the heads of the first layer attend to the previous token. The second figure shows
# how much the heads of the second layer attend to the token with the answer. Both scores are corrected for chance,
# so that uniform attention scores 0. The sequences are those of the task, at the longest trained length.

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
# The next figure tests whether the heads of the second layer are induction heads. Here the model gets random
# sequences that are repeated after a random lag. With a fixed lag, a head that always looks back by this lag would
# score just as high.

# %%
causes(rows, "circuits.heads", "induction", mode="repeats", layer=1)

# %% [markdown]
# ## The test
#
# We ablate groups of heads. Without the matching heads, or without the previous-token heads, accuracy falls to near
# chance (1/6). Without all other heads, accuracy does not drop. The rows `induction edges` remove only the attention
# from the current token to the token after its earlier occurrence. Accuracy then falls as much as without the
# matching heads.

# %%
model = run.load(run.steps[-1])
ablated = ablation_statistics(model, task, trained=n, lengths=[n], factors=[1], sequences=128).frame()
sets = ablated[ablated["quantity"].eq("ablated_accuracy") & ablated["layer"].isna()]
sets[["target", "mode", "value", "low", "high", "status", "note"]]

# %% [markdown]
# ## Where the answer arrives
#
# In which layer does the last position receive the answer? At one point of the network at a time, we replace the
# residual stream of the last position by that of another sequence (the *donor*), which has another answer. If the
# model then gives the donor's answer, the answer has arrived at this point. The first and the last point of the
# figure carry no information. Before the first attention layer nothing can have arrived. After the last attention
# layer the output is always that of the donor.

# %%
profile = interchange_statistics(model, task, trained=n, lengths=[n, 2 * n], factors=[2])
profile.figure("interchange_accuracy", length=2 * n)
