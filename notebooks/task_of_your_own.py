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
# # A task of your own
#
# After this tutorial you can write a task, check it, train a model on it, measure the model and compare it with
# theory.
#
# A task is one Python file. In this example the model reads letters `a` and `b` and blanks. After each token it must
# answer whether the last two letters were the same. The notebook calls the commands of LengthLens from Python. You
# can type the same commands in a terminal.

# %%
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from IPython.display import Markdown

from workbench.figures import accuracy_over_length
from workbench.runs import Run
from workbench.table import Table

folder = Path(tempfile.mkdtemp())
steps = int(os.environ.get("LENGTHLENS_STEPS", 600))


def lengthlens(*words):
    """Run a command of LengthLens and show what it prints."""
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "CLICOLOR_FORCE")}
    command = [sys.executable, "-m", "lengthlens", *map(str, words)]
    done = subprocess.run(command, cwd=folder, env=plain, text=True, capture_output=True)
    print(done.stdout, done.stderr if done.returncode else "", sep="")


# %% [markdown]
# ## The file
#
# `lengthlens new task my_task` writes a template, with a test. Here is the complete file of our task. Each method
# defines one part of the task. `help(workbench.tasks.Task)` describes the methods and the shapes of their arguments.

# %%
TASK = '''
import torch

from workbench.tasks import BOS, Task
from workbench.tasks.automata.dfa import Automaton

BLANK, A, B = 1, 2, 3


class SameTwo(Task):
    """Were the last two letters the same? Blanks do not count; every string begins with a letter of each kind.

    All laws draw letters and blanks independently. Challenge strings end in blanks that fill the last N places.
    """

    name = "same_two"
    family = "mine"
    question = "Were the last two letters the same?"
    kind = "state"
    summary = "the last two letters"
    vocabulary = (BOS, "_", "a", "b")
    outputs = ("no", "yes")

    def draw_strings(self, batch, length, generator, law, window):
        blank = torch.rand((batch, length), generator=generator) < 0.7
        letters = torch.randint(A, B + 1, (batch, length), generator=generator)
        if law == "challenge":
            end = length // 8 if window is None else window
            blank[:, max(2, length - end):] = True
        blank[:, :2] = False
        return torch.where(blank, BLANK, letters), {}

    def label_strings(self, strings, meta):
        place = torch.arange(strings.shape[1])
        last = torch.where(strings != BLANK, place, 0).cummax(1).values
        before = torch.nn.functional.pad(last, (1, 0))[:, :-1].gather(1, last)
        one, other = strings.gather(1, last), strings.gather(1, before)
        asked = (place >= 1).expand_as(strings)
        same = torch.where(asked, (one == other).long(), 0)
        return same, asked, same, (2 * (other - A) + (one - A)).long()

    def reference(self, tokens):
        answers, letters = [], []
        for token in tokens:
            letters += [token] if token != BLANK else []
            answers.append(int(letters[-1] == letters[-2]) if len(letters) > 1 else None)
        return answers

    def answer(self, tokens):
        weights = torch.full((len(tokens), 2), 0.5, dtype=torch.float64)
        for i, string in enumerate(tokens.tolist()):
            letters = [token for token in string if token > BLANK]
            if len(letters) > 1:
                weights[i] = torch.tensor([float(letters[-1] != letters[-2]), float(letters[-1] == letters[-2])])
        return weights

    def prefix_closed(self, law):
        return law != "challenge"

    def automaton(self):
        return Automaton.explore(
            self.vocabulary[1:], ("", ""), lambda two, token: two if token == "_" else (two[1], token),
            accepts=lambda two: two[0] != "" and two[0] == two[1], name=lambda two: "".join(two) or "none",
        )
'''
_ = (folder / "same_two.py").write_text(TASK)

# %% [markdown]
# ## The check
#
# `lengthlens tasks --check` tests the file. It compares the labels with the independent method `reference`, and the
# method `chance` with the accuracy of the best constant answer. It also checks the test sets, the shortcuts, shapes
# and seeds. The two test sets must differ: *matched* sequences are distributed as in training, and *challenge*
# sequences are built so that shortcuts fail.

# %%
lengthlens("tasks", "--check", "same_two.py:SameTwo")

# %% [markdown]
# What happens if a task is wrong? In this copy of the file, `reference` disagrees with the labels. LengthLens
# refuses the task before training begins:

# %%
right, wrong = "answers.append(int(letters[-1] == ", "answers.append(int(letters[-1] != "
_ = (folder / "wrong.py").write_text(TASK.replace(right, wrong))
lengthlens("train", "wrong.py:SameTwo", "--steps", 10)

# %% [markdown]
# ## Theory, then training
#
# The task declares its automaton, so `lengthlens predict` can derive from theory whether a model generalizes in
# length. Then we train a model and compare.

# %%
lengthlens("predict", "same_two.py:SameTwo", "--positions", "none", "--positions", "rotary")

# %%
lengthlens(
    "train", "same_two.py:SameTwo", "--positions", "rotary", "--lengths", "2-16", "--layers", 2, "--d-model", 32,
    "--heads", 2, "--learning-rate", 0.005, "--steps", steps, "--out", "run",
    "--set", "training.checkpoints.log=0", "--set", "training.checkpoints.linear=1",
)  # fmt: skip

# %% [markdown]
# The folder of a run stores the hash of the task file. `lengthlens measure` executes this file only if you name it
# with `--trust-code`.

# %%
lengthlens("measure", "run", "--only", "behaviour", "--steps", "last", "--trust-code", "same_two.py")

# %%
lengthlens("show", "run")

# %% [markdown]
# ## In Python

# %%
run = Run.open(folder / "run")
run.trust(folder / "same_two.py")
rows = Table.load(folder / "run").frame(step=run.steps[-1])
verdict = rows[rows["quantity"] == "verdict"].iloc[0]
last = rows[
    (rows["quantity"] == "accuracy") & (rows["length"] == rows["length"].max()) & (rows["mode"] == "teacher_forced")
]
each = ", ".join(f"{row.value:.2f} on the {row.law} test set" for row in last.drop_duplicates("law").itertuples())
Markdown(f"**{verdict['label'].capitalize()}**: {verdict['note']}. At length {last['length'].iloc[0]:.0f}: {each}.")

# %%
accuracy_over_length(rows, trained=run.trained_length, step=run.steps[-1])
