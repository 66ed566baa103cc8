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
# A model whose answer hangs on a bounded summary of the prefix should not care how long that prefix was. So take what
# it has of a short string, put it into a long one, and see whether the answer comes along. By hand first, then measured
# with the controls that such a patch needs.

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
# Each long string gets the last row of the residual stream of a short string whose answer is the other one, behind the
# first block. The hooks are TransformerLens's.

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
# But whatever follows is read from that row, so a whole row that carries the answer says little. The sharper question:
# is **one direction** enough, the one that tells the two answers apart on short strings? And is a random one not?

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
# `interchange_statistics` does this for every site, in both directions, with intervals; and it exchanges **prefixes**:
# a model with a scale-invariant rule answers the same after two prefixes of different length whose update summary (here
# the lead of ones) is the same. Three models: this run; a counter compiled from a program, which has such a rule; and
# that counter made to see its first tokens alone, which has none past them.


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
# The other columns are the controls. Donors with the same *answer* but another lead: a rule that carries the lead
# agrees less with them, one that carries nothing of it need not. Random donors: agreement by chance.
#
# ## Where the answer arrives
#
# Rows of the last query, site by site, donors of another answer from the shorter length. A patch is flagged where no
# attention follows: there the output is the donor's own, whatever the model does.

# %%
results["majority_nope_s0"][0].figure("interchange_accuracy", length=long)

# %% [markdown]
# ## Where a failure arises
#
# A flip-flop with rotary positions is right up to its training length and wrong soon after. *Rescue* puts rows of short
# strings into long ones: 1 where the failure has already happened before the site, so that the patch undoes it.

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
