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
# # Patch a state between lengths
#
# After this tutorial you can patch a residual stream from a short sequence into a long one, with the controls that
# make the result meaningful.
#
# Suppose that a model's answer depends on a bounded task state (summary, a sufficient statistic of the prefix). Then
# the length of the prefix should not matter. So we take the model's state on a short sequence, patch it into a long
# one, and check whether the answer changes with it. We do this by hand first. Then we measure it with controls.

# %%
import pandas as pd
import torch
from IPython.display import Markdown

from circuits import interchange_statistics
from workbench.runs import Run, gallery
from workbench.tasks.random_generator import generator

torch.set_num_threads(1)
run = Run.open(gallery() / "majority_nope_s0")
task, n, model = run.task, run.trained_length, run.load(run.steps[-1])
long = task.next_length(8 * n)
Markdown(
    f"*{task.question}* Trained to N = {n}, without positions. Short strings here have {n} tokens, long ones {long}."
)

# %% [markdown]
# ## By hand
#
# Each long sequence gets the last row of the residual stream of a short sequence with the other answer, after the
# first block. The hooks are those of TransformerLens.

# %%
SITE = "blocks.0.hook_resid_post"
short_ones = task.sample(64, n, generator("short"), "matched")
long_ones = task.sample(64, long, generator("long"), "matched")
with torch.no_grad():
    _, cache = model.run_with_cache(short_ones.tokens)
    clean = model(long_ones.tokens)[:, -1].argmax(-1)
other = [int((short_ones.targets[:, -1] != answer).nonzero()[0]) for answer in long_ones.targets[:, -1]]
rows = cache[SITE][other, -1]


def patched(made):
    """Answers to the long strings when their last row at the site is another one."""

    def put(value, hook):
        return torch.cat([value[:, :-1], made(value[:, -1])[:, None]], 1)

    with torch.no_grad():
        return model.run_with_hooks(long_ones.tokens, fwd_hooks=[(SITE, put)])[:, -1].argmax(-1)


moved = patched(lambda own: rows)
flipped = float((moved == short_ones.targets[other, -1]).double().mean())
right = float((clean == long_ones.targets[:, -1]).double().mean())
Markdown(
    f"Unpatched, {right:.2f} of the long strings are answered right. Patched, {flipped:.2f} follow the short string."
)

# %% [markdown]
# All later computation reads that row, so patching the whole row is weak evidence. A sharper test patches **one
# direction**: the one that separates the two answers on short sequences. Is it enough, and does a random direction
# fail?

# %%
answers, stream = short_ones.targets[:, -1].bool(), cache[SITE][:, -1]
direction = stream[answers].mean(0) - stream[~answers].mean(0)


def along(vector):
    """Only the component along a vector is the short string's."""
    unit = vector / vector.norm()
    return patched(lambda own: own + ((rows - own) @ unit)[:, None] * unit)


random = torch.randn(len(direction), generator=generator("direction"))
shares = {
    "the direction of the answer": along(direction),
    "a random direction": along(random),
}
follow = {what: float((found == short_ones.targets[other, -1]).double().mean()) for what, found in shares.items()}
Markdown(
    "\n".join(f"- {what}, of {len(direction)}: {share:.2f} follow the short string" for what, share in follow.items())
)

# %% [markdown]
# ## Measured
#
# `interchange_statistics` does this at every point of the network, in both directions, with intervals. It also
# exchanges whole **prefixes**. A model with a scale-invariant rule answers the same after two prefixes of different
# length, if both have the same task state (here the lead of ones).
#
# We compare three models: this run, a counter compiled from a program, and the same counter restricted to its first
# tokens. The compiled counter has a scale-invariant rule. The restricted one has no such rule beyond its first
# tokens.


# %%
def exchanged(name):
    run = Run.open(gallery() / name)
    model = run.load(run.steps[-1])
    n = run.trained_length
    lengths = [n, run.task.next_length(2 * n), run.task.next_length(8 * n)]
    found = interchange_statistics(model, run.task, trained=n, lengths=lengths, suffix=8, factors=[2, 8])
    return found, found.frame().assign(run=name)


NAMES = ("majority_nope_s0", "compiled/majority", "compiled/majority_first_32")
results = {name: exchanged(name) for name in NAMES}
rows = pd.concat(frame for _, frame in results.values())
prefix = rows[(rows["quantity"] == "prefix_exchange_agreement") & (rows["mode"] == f"from {n}")]
prefix.assign(control=prefix["control"].replace("", "same update summary")).pivot_table(
    index=["run", "length"], columns="control", values="value"
).round(2)

# %%
at = prefix[(prefix["control"] == "") & (prefix["length"] == prefix["length"].max())].set_index("run")
lines = [
    f"- `{name}`: {at.loc[name, 'value']:.2f} [{at.loc[name, 'low']:.2f}, {at.loc[name, 'high']:.2f}]" for name in NAMES
]
Markdown(f"From {n} to {at['length'].iloc[0]:.0f} tokens, agreement with 95 % intervals:\n\n" + "\n".join(lines))

# %% [markdown]
# The other columns are controls. The first control uses donors with the same *answer* but another lead. A rule that
# uses the lead agrees less with them, and a rule that ignores it need not. The second control uses random donors:
# their agreement is chance.
#
# ## Where the answer arrives
#
# We patch the rows of the last query, one point of the network at a time. Donors come from the shorter length and
# have another answer. A patch is flagged where no attention follows, because the output is then always the donor's.

# %%
results["majority_nope_s0"][0].figure("interchange_accuracy", length=long)

# %% [markdown]
# ## Where a failure arises
#
# A flip-flop model with rotary positions is correct up to its training length, and wrong soon after. *Rescue*
# patches rows of short sequences into long ones. It is 1 where the failure happens before the patched point, so that
# the patch undoes it.

# %%
lost = Run.open(gallery() / "flip_flop_rotary_s0")
m = lost.trained_length
found = interchange_statistics(lost.load(lost.steps[-1]), lost.task, trained=m, lengths=[m, 4 * m], factors=[4])
rescue = found.frame().query("quantity == 'rescue' and length == @m * 4 and status == 'ok'")
rescue[["site", "value", "low", "high"]].round(2)

# %%
early = rescue[rescue["site"].str.endswith("attn.hook_z")].set_index("site")
Markdown(
    "\n".join(
        f"- at `{site}`, what this layer's heads read: rescue {row.value:.2f} [{row.low:.2f}, {row.high:.2f}]"
        for site, row in early.iterrows()
    )
)
