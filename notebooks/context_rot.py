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
# # Context rot in a pretrained model
#
# After this tutorial you can test whether a pretrained language model gets worse with longer prompts, and find the
# attention heads that it needs.
#
# The model gets a list of words in its prompt and must copy it. We make the list longer and longer. Does accuracy
# fall long before the context window is full? You can test any model in a folder of Hugging Face's `transformers`:
# set the environment variable `LENGTHLENS_MODEL` to this folder. Without this variable, the notebook trains its own
# model, so that it needs no network. This model is a small Llama that learns in seconds to copy up to twelve words.
# The last section shows results of a real pretrained model, which we measured once.

# %%
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from IPython.display import Markdown
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from workbench.figures import causes
from workbench.runs import Run
from workbench.table import Table

torch.set_num_threads(1)
folder = Path(tempfile.mkdtemp())
steps = int(os.environ.get("LENGTHLENS_STEPS", 500))
given = os.environ.get("LENGTHLENS_MODEL")


def lengthlens(*words):
    """Run a command of LengthLens and show what it prints."""
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "CLICOLOR_FORCE")}
    command = [sys.executable, "-m", "lengthlens", *map(str, words)]
    done = subprocess.run(command, cwd=folder, env=plain, check=True, text=True, capture_output=True)
    print(done.stdout)


# %% [markdown]
# ## A model to evaluate
#
# The vocabulary has forty tokens: begin, end, colon, end of line, and thirty-six words. Two layers are enough to
# copy a list. A head in the first layer attends to the previous token. A head in the second layer finds the earlier
# occurrence of the current word.

# %%
SPECIAL = ["<s>", "</s>", ":", "\u010a"]
WORDS = [f"\u0120{a}{b}{c}" for a in "bdg" for b in "aeiu" for c in ("rt", "nd", "lk")]  # \u0120: a space before it
LONGEST = 12  # words of which it ever sees a copy


def made_here(place):
    """Train the model and save config, weights and tokenizer in a folder; return the last loss."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=40, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=128, pad_token_id=0, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, (s + 1) / 50) * (1 - s / steps))
    for _ in range(steps):
        n = int(torch.randint(2, LONGEST + 1, ()))
        words = torch.rand(64, len(WORDS)).argsort(1)[:, :n] + len(SPECIAL)
        tokens = torch.cat([torch.zeros(64, 1, dtype=torch.long), words, words], 1)
        logits = model(tokens).logits[:, n:-1]  # what follows the first half is the copy
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), words.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.save_pretrained(place)
    text = Tokenizer(models.WordLevel({word: i for i, word in enumerate(SPECIAL + WORDS)}, unk_token="</s>"))
    text.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    PreTrainedTokenizerFast(tokenizer_object=text, bos_token="<s>", eos_token="</s>").save_pretrained(place)
    return float(loss.detach())


model_folder = Path(given) if given else folder / "model"
said = f"The notebook evaluates the model in {given}."
if not given:
    said = (
        f"Training took {steps} steps. The last loss is {made_here(model_folder):.3f} nats per word (guessing: 3.58)."
    )
Markdown(said)

# %% [markdown]
# ## The task, in its prompt
#
# `lengthlens open` creates a *run*: a folder that LengthLens can measure. The run contains the path of the model and
# a hash of each of its files. The command copies no weights, uses no network, and runs no code of the model's
# folder. `symbols` is the number of different words from which the list is drawn, and `--lengths` gives the numbers
# of words in the list.

# %%
symbols, lengths = (256, "8,16,32,64,128") if given else (32, "4,8,12,16,20,24,32")
lengthlens(
    "open", model_folder, "--task", "copy", "--set", f"task.symbols={symbols}", "--lengths", lengths, "--out", "copy"
)

# %%
lengthlens("measure", "copy", "--only", "behaviour.in_context", "--only", "circuits.heads", "--sequences", 64)

# %%
run = Run.open(folder / "copy")
rows = Table.load(folder / "copy").frame()
verdict = rows[rows["quantity"] == "in_context_verdict"].iloc[0]
Markdown(f"**{verdict['label'].capitalize()}**: {verdict['note']}.")

# %%
curve = rows[rows["quantity"].isin(["answer_accuracy", "prompt_tokens"])].pivot_table(
    index="length", columns="quantity", values="value"
)
curve.round(3)

# %%
causes(rows, "behaviour.in_context", "answer_accuracy")

# %% [markdown]
# ## Which head finds the answer
#
# To copy a list, the model needs a head that finds the earlier occurrence of the current word and attends to the
# word after it. The table shows how much of its attention a head gives to this word, for lists of different length.
# It lists the four best heads:

# %%
mass = rows[(rows["quantity"] == "induction_mass") & (rows["mode"] == "task") & (rows["status"] == "ok")]
heads = mass.pivot_table(index=["layer", "head"], columns="length", values="value")
heads = heads.sort_values(heads.columns[0], ascending=False).head(4)
heads.round(2)

# %%
first, last = heads.columns[0], heads.columns[-1]
layer, head = heads.index[0]
Markdown(
    f"Head L{layer:.0f}H{head:.0f} gives {heads.iloc[0][first]:.2f} of its attention to this word in a list of "
    f"{first:.0f} words, and {heads.iloc[0][last]:.2f} in a list of {last:.0f}. Accuracy changes from "
    f"{curve['answer_accuracy'].iloc[0]:.2f} to "
    f"{curve['answer_accuracy'].iloc[-1]:.2f}. The longest prompt has {curve['prompt_tokens'].iloc[-1]:.0f} tokens, "
    f"and the context window has {run.task.window}."
)

# %% [markdown]
# ## A real model
#
# `make pretrained` downloads SmolLM2-135M-Instruct and evaluates it on the same task. The page [Evaluating
# pretrained models](../docs/pretrained.md) has all results. Here is the section of that page about copying:

# %%
page = Path("../docs/pretrained.md")
if page.exists():
    section = page.read_text().split("## Copying words")[1].split("\n## ")[0]
    shown = "\n".join(line for line in section.splitlines() if not line.startswith("`"))
else:
    shown = "The page is in the repository, but not in the package."
Markdown(shown)
