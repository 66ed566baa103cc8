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
# # Find the head
#
# After this tutorial you can find the attention head that a model needs, test it by ablation, and follow it beyond
# the trained lengths.
#
# We use a trained model from the gallery, the example runs in the repository. Its task is *flip-flop*. The tokens
# `w0` and `w1` write a bit, and the model must answer which bit was written last. It is correct at every trained
# length, so some head has to find the last write. Which head is it? From which training step on does the head find
# the last write? What does it do beyond the trained lengths?

# %%
import pandas as pd
import torch
from IPython.display import Markdown

from circuits import ablation_statistics, contribution_statistics
from workbench.figures import causes
from workbench.runs import Run, gallery
from workbench.tasks.random_generator import generator

torch.set_num_threads(1)
run = Run.open(gallery() / "flip_flop_rotary_s0")
task, n = run.task, run.trained_length
Markdown(
    f"*{task.question}* The model was trained on lengths up to N = {n} for {run.steps[-1]:,} steps. The tokens are "
    f"`{' '.join(task.vocabulary)}`."
)

# %% [markdown]
# ## A guess, from attention patterns
#
# For each head we measure how much attention the last query gives to the last write. We do this at every checkpoint.
# `run_with_cache` and the hook names are those of TransformerLens.

# %%
WRITES = torch.tensor([task.vocabulary.index(word) for word in ("w0", "w1")])


def on_last_write(model, length, strings=128):
    """Attention mass of the last query on the last write, ``[layer, head]``."""
    batch = task.sample(strings, length, generator("tutorial", length), "matched")
    with torch.no_grad():
        _, cache = model.run_with_cache(batch.tokens)
    places = torch.isin(batch.tokens, WRITES).long() * torch.arange(batch.tokens.shape[1])
    last = places.max(1).values
    rows = [cache[f"blocks.{layer}.attn.hook_pattern"][:, :, -1] for layer in range(model.cfg.n_layers)]
    return torch.stack([row[torch.arange(strings), :, last].mean(0) for row in rows])


mass = {step: on_last_write(run.load(step), n) for step in run.steps}
table = pd.DataFrame(
    {
        step: {f"L{i}.{j}": float(m[i, j]) for i in range(m.shape[0]) for j in range(m.shape[1])}
        for step, m in mass.items()
    }
)
table.rename_axis("head").round(2)

# %%
final = mass[run.steps[-1]]
layer, head = divmod(int(final.argmax()), final.shape[1])
name = f"L{layer}.{head}"
since = next(step for step in run.steps if float(mass[step][layer, head]) > 0.5 * float(final.max()))
Markdown(
    f"**{name}** gives {final.max():.2f} of its attention to the last write at step {run.steps[-1]:,}. It first "
    f"reached half of this value at the checkpoint of step {since:,}. "
    f"Before training the value was {mass[0][layer, head]:.2f}."
)

# %% [markdown]
# ## The test: the accuracy drop without the head
#
# Attention to the last write does not show that the model uses this head. So we replace the output of one head after
# the other and measure accuracy. *Mean* ablation replaces the output by its mean over other sequences. *Resample*
# ablation replaces it by the output on one other sequence. `low` and `high` are the ends of 95 % intervals.

# %%
model = run.load(run.steps[-1])
ablated = ablation_statistics(model, task, trained=n, lengths=[n], factors=[1], sequences=128).frame()
heads = ablated[(ablated["quantity"] == "ablated_accuracy") & ablated["target"].isin(["nothing", "head"])]
heads[["target", "mode", "layer", "head", "value", "low", "high"]].round(3)

# %%
only = heads[heads["target"] == "head"]
mine = (only["layer"] == layer) & (only["head"] == head)
Markdown(
    f"Without {name}, accuracy at length {n} is at most {only[mine]['value'].max():.2f} (chance is "
    f"{task.chance('matched', n):.2f}). Without any other single head, accuracy is at least "
    f"{only[~mine]['value'].min():.2f}."
)

# %% [markdown]
# ## Beyond the trained lengths
#
# The model fails on longer sequences. Does the head then attend to other tokens, or do later components no longer
# use its output? First we compute its attention to the last write at longer lengths. Then we compute how much the
# tokens that the head attends to most add to the logit of the correct answer, in nats. `contribution_statistics`
# computes this contribution from the output matrix of the head and the unembedding matrix.

# %%
lengths = [n, 2 * n, 4 * n, 7 * n]
found = pd.Series({length: float(on_last_write(model, length)[layer, head]) for length in lengths}, name="mass")
found.rename_axis("length").to_frame().round(3)

# %%
said = contribution_statistics(model, task, trained=n, lengths=lengths, sequences=64)
rows = said.frame()
rows[(rows["layer"] == layer) & (rows["head"] == head) & (rows["status"] == "ok")].pivot_table(
    index=["quantity"], columns="length", values="value"
).round(2)

# %%
right = {}
for length in lengths:
    batch = task.sample(256, length, generator("right", length), "matched")
    with torch.no_grad():
        right[length] = float(task.correct(model(batch.tokens), batch)[:, -1].double().mean())
Markdown(
    f"From length {n} to {lengths[-1]} its attention to the last write changes from {found[n]:.2f} to "
    f"{found[lengths[-1]]:.2f}, and the accuracy of the model from {right[n]:.2f} to {right[lengths[-1]]:.2f}. "
    + (
        "So the head attends less to the last write as the prefix grows."
        if found[lengths[-1]] < 0.8 * found[n]
        else "So the head still finds the last write, and a later component fails."
    )
)

# %% [markdown]
# The figure shows, for each head of this layer and each prefix length, the log odds of attention to these tokens
# against all other tokens:

# %%
causes(rows, "circuits.contributions", "set_log_odds", trained=n, layer=layer)
