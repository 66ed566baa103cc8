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
# # From a question to a figure
#
# After this tutorial you can run a small study and make its figure and table for a paper.
#
# The question: **does the position encoding decide whether a model still counts correctly beyond its training
# length?** The task is majority: are there more ones than zeros so far? To answer, a model needs the share of ones,
# which uniform attention computes at any length. We train six small models: three encodings with two seeds each.
# This takes less than a minute on two cores.

# %%
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
from IPython.display import Markdown

from workbench.runs import find_runs
from workbench.table import Table

pd.set_option("display.max_colwidth", None)
folder = Path(tempfile.mkdtemp())
steps = int(os.environ.get("LENGTHLENS_STEPS", 250))


def lengthlens(*words):
    """Run a command of LengthLens and show what it prints."""
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "CLICOLOR_FORCE")}
    command = [sys.executable, "-m", "lengthlens", *map(str, words)]
    done = subprocess.run(command, cwd=folder, env=plain, check=True, text=True, capture_output=True)
    print(done.stdout)


# %% [markdown]
# ## The experiment, as a file
#
# A *sweep* is a grid over the options of `lengthlens train`. LengthLens checks the options of all models before it
# trains the first one. If training is interrupted, run the same command again to resume.

# %%
_ = (folder / "encodings.yaml").write_text(f"""
out: runs
base: {{task: majority, lengths: 1-16, layers: 1, d_model: 16, heads: 2, steps: {steps}, learning_rate: 0.01,
       training.checkpoints.log: 0, training.checkpoints.linear: 1}}
grid:
  - positions: [none, rotary, alibi]
    seed: [0, 1]
measure: {{only: [behaviour], steps: last}}
""")
lengthlens("sweep", "encodings.yaml", "--dry-run")

# %%
lengthlens("sweep", "encodings.yaml")

# %% [markdown]
# ## The answer, as rows
#
# All measured values are in one table, which you can query with SQL. The *verdict* is a label that states whether
# accuracy holds beyond the trained lengths. *failure_length* is the first tested length at which the model fails.
# Two test sets are used: *matched* sequences are distributed as in training, and in *challenge* sequences neither
# the first nor the last tokens reveal the answer.

# %%
table = Table.load(folder / "runs")
verdicts = table.sql("select run, label as verdict, note from rows where quantity = 'verdict' order by run")
verdicts

# %%
accuracy = table.sql("""
    select split_part(run, '-', 1) as positions, run, law, length, value, low, high from rows
    where measurement = 'behaviour' and quantity = 'accuracy' and mode = 'teacher_forced' order by run, law, length
""")
trained = find_runs(folder / "runs")[0].trained_length

# %%
verdicts["positions"] = verdicts["run"].str.split("-").str[0]
said = verdicts.groupby("positions")["verdict"].agg(list)
longest = int(accuracy["length"].max())
lines = []
for positions, found in said.items():
    robust = sum(verdict == "scale-robust" for verdict in found)
    hard = accuracy.query("positions == @positions and law == 'challenge' and length == @longest")["value"]
    lines.append(
        f"- **{positions}**: scale-robust in {robust} of {len(found)} seeds; at length {longest}, "
        f"{longest / trained:.0f} times the longest trained length, accuracy on the challenge test set is "
        f"{hard.min():.2f} to {hard.max():.2f}."
    )
Markdown("\n".join(lines))

# %% [markdown]
# ## The figure
#
# Each line is the accuracy of one model, and the band is its 95 % interval. The horizontal axis is the length
# divided by the longest training length. Two seeds per encoding are not enough to predict what another seed gives.
# For a paper, add seeds to the list above and run the same command again. The command trains only the new models.

# %%
COLOURS = {"none": "#1f6feb", "rotary": "#b35900", "alibi": "#8250df"}
figure = go.Figure()
hard = accuracy[accuracy["law"] == "challenge"]
for (positions, run), line in hard.groupby(["positions", "run"]):
    x, colour = line["length"] / trained, COLOURS[positions]
    band = go.Scatter(
        x=[*x, *x[::-1]], y=[*line["high"], *line["low"][::-1]], fill="toself", line_width=0, fillcolor=colour,
        opacity=0.12, hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    first = run.endswith("seed0")
    mean = go.Scatter(x=x, y=line["value"], name=positions, legendgroup=positions, showlegend=first, line_color=colour)
    figure.add_traces([band, mean])
figure.add_vline(1, line_dash="dot", line_color="grey")
figure.update_xaxes(type="log", title="prefix length / longest trained length", tickvals=[0.25, 0.5, 1, 2, 4, 8])
figure.update_yaxes(title="accuracy, challenge strings", range=[0.4, 1.02])
figure.update_layout(template="simple_white", width=620, height=360, margin={"l": 60, "r": 20, "t": 20, "b": 50})
figure

# %% [markdown]
# `figure.write_html("encodings.html")` saves the figure as a web page. In the dashboard (`lengthlens app runs`) you
# can save each panel as SVG or PNG. This is the table behind the figure, ready for a paper:

# %%
at = accuracy.query("length == @longest").groupby(["positions", "law"])["value"].agg(["min", "max"]).unstack("law")
print(at.to_latex(float_format="%.3f"))
