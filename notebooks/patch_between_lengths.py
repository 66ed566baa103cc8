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
# Suppose that the answer depends on the prefix only through its task state (summary, a sufficient statistic of the
# prefix). An example is the number of ones minus the number of zeros. A model that computes this task state should
# not care how long the prefix is. So we copy activations from a short sequence into a long one, and check whether
# the model then gives the answer of the short sequence. We first do this with hooks, and then with a function of
# LengthLens that adds controls.

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
    f"*{task.question}* The model was trained on lengths up to N = {n}, without position encodings. Short sequences "
    f"here have {n} tokens, and long sequences {long}."
)

# %% [markdown]
# ## By hand
#
# The task is majority: are there more ones than zeros? For each long sequence we choose a short sequence with the
# other answer. After the first block, we replace the residual stream at the last position of the long sequence by
# that of the short sequence. The hooks are those of TransformerLens.

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
    """Return answers to the long sequences with another residual stream at the last position."""

    def put(value, hook):
        return torch.cat([value[:, :-1], made(value[:, -1])[:, None]], 1)

    with torch.no_grad():
        return model.run_with_hooks(long_ones.tokens, fwd_hooks=[(SITE, put)])[:, -1].argmax(-1)


moved = patched(lambda own: rows)
flipped = float((moved == short_ones.targets[other, -1]).double().mean())
right = float((clean == long_ones.targets[:, -1]).double().mean())
Markdown(
    f"Without the patch, the model is right on a share of {right:.2f} of the long sequences. With the patch, it "
    f"gives the answer of the short sequence for {flipped:.2f} of them."
)

# %% [markdown]
# The answer is computed from the residual stream at the last position, so replacing all of it must change the
# answer. A sharper test replaces only its component along **one direction**: the direction that separates the two
# answers on short sequences. Is this enough to change the answer, and does a random direction have no effect?

# %%
answers, stream = short_ones.targets[:, -1].bool(), cache[SITE][:, -1]
direction = stream[answers].mean(0) - stream[~answers].mean(0)


def along(vector):
    """Replace only the component along a vector by that of the short sequence."""
    unit = vector / vector.norm()
    return patched(lambda own: own + ((rows - own) @ unit)[:, None] * unit)


random = torch.randn(len(direction), generator=generator("direction"))
shares = {
    "the direction of the answer": along(direction),
    "a random direction": along(random),
}
follow = {what: float((found == short_ones.targets[other, -1]).double().mean()) for what, found in shares.items()}
Markdown(
    "\n".join(
        f"- {what} (one of {len(direction)} dimensions): the answer is that of the short sequence for {share:.2f}"
        for what, share in follow.items()
    )
)

# %% [markdown]
# ## Measured
#
# The function `interchange_statistics` applies such patches at every point of the network, from short to long
# sequences and from long to short ones, with intervals. It also exchanges whole **prefixes**: it replaces the first
# part of a sequence by a prefix of another length with the same task state. Here the task state is the lead, the
# number of ones minus the number of zeros. A model is *scale-invariant* if its answer depends only on the task
# state. Such a model gives the same answer after the exchange. The measured *agreement* is the share of positions
# after the prefix at which the answer stays the same.
#
# We compare three models: the trained model from above, a counter compiled from a program, and the same counter
# restricted to the first 32 tokens. The compiled counter is scale-invariant. The restricted counter is not, because
# it ignores all later tokens.


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
# The column `same update summary` is the exchange described above. The other columns are controls with other
# *donors*, the sequences from which the new prefix comes. In the control `output summary` the donor has the same
# answer but another lead. A model that uses the lead agrees less often after this exchange. In the control
# `random donor` the donor is a random sequence, and agreement is at chance.
#
# ## Where the answer arrives
#
# Where in the network does the last position receive the answer? We replace the residual stream at the last
# position, at one point of the network at a time. The new values come from shorter sequences with another answer
# (the donors). The answer has arrived at a point if the model then gives the donor's answer. The figure marks points
# after the last attention layer, because there the output is always that of the donor.

# %%
results["majority_nope_s0"][0].figure("interchange_accuracy", length=long)

# %% [markdown]
# ## Where a failure arises
#
# In the task *flip-flop* a model must answer which bit was written last. A model with rotary position encodings is
# correct up to its longest trained length, and fails soon after. The quantity *rescue* shows where. It replaces the
# residual stream of a long sequence by that of a short sequence. Rescue is 1 if this recovers all accuracy, which
# means that the failure happens before the patched point.

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
        f"- at `{site}`, the outputs of this layer's heads: rescue {row.value:.2f} [{row.low:.2f}, {row.high:.2f}]"
        for site, row in early.iterrows()
    )
)
