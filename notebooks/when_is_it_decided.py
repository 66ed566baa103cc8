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
# # When is it decided how far a run reaches?
#
# After this tutorial you can fork runs, and see whether their behaviour on long sequences was already decided at the
# step of the fork.
#
# All runs below solve bounded Dyck words up to length N = 16. On longer words some keep working, and others fail. A
# *fork* continues a run from a step with the same weights and the same optimizer, but on other training sequences.
#
# - If a run and its forks end alike, the outcome was decided at the step of the fork.
# - If they differ as much as unrelated runs, it was not decided yet.
#
# *Reach* is the mean skill at 1.5, 2, 3, 4 and 8 N, where skill is 0 at chance and 1 for only right answers.

# %%
import os

import torch
from plotly.subplots import make_subplots

from workbench.claims.determinacy.cells import cell_named
from workbench.claims.determinacy.families import determinacy_by_step, families_at
from workbench.claims.determinacy.study import FAMILY_FILE, StudyTable, reach_lengths, reach_of, skills
from workbench.training.stacked import train_stacked

torch.set_num_threads(1)
cell = cell_named("bounded_dyck_2-none")
table = StudyTable.read(*FAMILY_FILE)
steps = (150, 300)

# %% [markdown]
# ## Train six runs, and fork each of them twice
#
# Runs of one configuration train as a stack, so this takes less than a minute. The first fork is at step 150 of 500,
# where most runs just solve the trained lengths. The second fork is at step 300.

# %%
seeds = table.parents(cell)[: int(os.environ.get("LENGTHLENS_FAMILIES", 6))]
parents = train_stacked([cell.config(seed) for seed in seeds], keep=steps)


def reach(states, step):
    """Reach of the runs that forked at a step, each on test sequences of its own."""
    words = [("notebook", seed, step) for seed in seeds]
    return reach_of(skills(cell, states, reach_lengths(cell), words))


own = {0: reach([states[500] for states in parents.states], 0)}
for step in steps:
    configs = [cell.config(seed, fork=(step, 1)) for seed in seeds]
    forks = train_stacked(configs, start_states=[states[step] for states in parents.states], from_step=step)
    own[step] = reach([states[500] for states in forks.states], step)

# %% [markdown]
# ## Compare each run with its forks
#
# Grey dots are the runs of the published study: the reach of a run across, that of its three forks up. Orange dots are
# the runs that were trained above, which are too few to show it by themselves. In the left panel the grey dots are
# scattered: at step 150, the outcome is open. In the right panel they lie near the diagonal: at step 300, it is
# decided.

# %%
figure = make_subplots(1, 2, subplot_titles=[f"forked at step {step} of 500" for step in steps], shared_yaxes=True)
for column, step in enumerate(steps, 1):
    families = families_at(table.rows, cell, step).values()
    x = [members[0] for members in families for _ in members[1:]]
    y = [fork for members in families for fork in members[1:]]
    published = {"mode": "markers", "name": "published study", "marker": {"color": "#b8b8b8", "size": 5}}
    trained = {"mode": "markers", "name": "trained here", "marker": {"color": "#d55e00", "size": 9}}
    figure.add_scatter(x=x, y=y, showlegend=column == 1, row=1, col=column, **published)
    figure.add_scatter(x=own[0], y=own[step], showlegend=column == 1, row=1, col=column, **trained)
    figure.add_shape(
        type="line", x0=0, y0=0, x1=1, y1=1, line={"dash": "dot", "color": "#555555", "width": 1}, row=1, col=column
    )
figure.update_xaxes(title="reach of the run", range=[0, 1.03])
figure.update_yaxes(range=[0, 1.03])
figure.update_yaxes(title="reach of its forks", col=1)
figure.update_layout(height=420, width=820, template="simple_white", title="Bounded Dyck words, no positions")
figure

# %% [markdown]
# ## How sure is it?
#
# *Determinacy* is the correlation of reach between two members of one family, with a 95 % interval over families. At a
# step the outcome is *decided* if the whole interval is above 0.5, and *open* if it is below.

# %%
for step, found in determinacy_by_step(table.rows, cell).items():
    print(
        f"step {step}: {found.value:.2f} [{found.low:.2f}, {found.high:.2f}], {found.families} families: {found.label}"
    )

# %% [markdown]
# For a run of your own, `lengthlens fork RUN --at 150,300 --children 3` trains such forks. The page *When is it
# decided?* in the documentation has the results for other tasks and position encodings.
