"""What is meant by commands and options under names that other programs use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from workbench.core.suggest import near_names

ALIASES: Mapping[str, tuple[str, ...]] = {
    "ls": ("list",),
    "runs": ("list",),
    "show": ("info",),
    "verdict": ("info",),
    "checkpoints": ("steps",),
    "settings": ("config",),
    "evaluate": ("eval",),
    "test": ("eval",),
    "probe": ("measure", "--only", "probes."),
    "patching": ("patch",),
    "kill": ("stop",),
    "remove": ("rm",),
    "delete": ("rm",),
    "mv": ("rename",),
    "bibtex": ("cite",),
    "citation": ("cite",),
    "move": ("rename",),
}
"""Another name of a command -> the words that it stands for."""

_COMMAND_MEANINGS: Mapping[str, str] = {
    "train": "fit run start learn",
    "sweep": "grid grid-search hyperparameters study experiment",
    "fork": "branch split children clone",
    "measure": "analyze analyse analysis accuracy benchmark metric score",
    "measure --only circuits.": "circuits heads",
    "ablate": "ablation ablations knockout knock-out lesion",
    "attention": "attn pattern patterns attention-pattern attend",
    "measure --only probes.": "probes",
    "diagnose": "why explain debug cause",
    "prescribe": "fix suggest recommend remedy",
    "compare": "diff cmp difference vs",
    "plot": "figure figures graph chart draw curve curves visualize visualise",
    "app": "dashboard ui serve server web view browser gui start-app",
    "gallery": "examples example samples",
    "list": "dir folder models",
    "info": "describe details inspect stats results result print cat",
    "measurements": "probes-list analyses",
    "quantities": "metrics columns quantity",
    "docs": "documentation doc manual man readme",
    "status": "progress running ps jobs",
    "config": "configuration hyperparameters-of params",
    "glossary": "define definition definitions term terms word words dictionary",
    "tasks": "task problems",
    "adopt": "import load convert",
    "open": "huggingface hf pretrained",
    "fetch": "download pull",
    "export": "push upload save hub",
    "data": "datasets dataset tables parquet",
    "report": "html page",
    "publish": "site website",
    "check": "validate verify fsck",
    "predict": "theory theorem bound",
    "reproduce": "claims claim paper papers",
    "new": "init create template",
    "demo": "tutorial quickstart",
    "--version": "version",
}
"""What to type -> the words that may mean it."""
COMMAND_MEANINGS: Mapping[str, str] = {
    **{word: name for name, words in _COMMAND_MEANINGS.items() for word in words.split()},
    "summary": "info",
    "repair": "prescribe",
}

COMMAND_NOTES: Mapping[str, str] = {
    "cp": "a run is a folder, so cp -r RUN NEW_NAME copies it with its checkpoints and results",
    "copy": "a run is a folder, so cp -r RUN NEW_NAME copies it with its checkpoints and results",
}
"""What to say of a command that the shell has already."""

_OPTION_MEANINGS: Mapping[tuple[str, ...], str] = {
    ("--steps",): "epochs epoch iterations iters max-steps num-steps n-steps train-steps",
    ("--step", "--steps"): "checkpoint checkpoints ckpt at",
    ("--device cuda",): "gpu gpus cuda use-gpu accelerator",
    ("--device cpu",): "cpu no-cuda",
    ("--dtype bfloat16",): "bf16 fp16 half mixed-precision precision",
    ("--out", "--to"): "output outdir output-dir dir save save-dir save-to path dest destination folder name run-name",
    ("--learning-rate",): "lr-max peak-lr step-size rate",
    ("--batch-size",): "bs batchsize batch minibatch",
    ("--seeds", "--seed"): "random-seed rng n-seeds num-seeds repeats runs",
    ("--layers",): "n-layers num-layers depth blocks n-layer",
    ("--heads",): "n-heads num-heads n-head attention-heads",
    ("--d-model",): "dim width hidden hidden-size d-hidden embedding-dim n-embd size",
    ("--positions",): "pos position pe encoding position-encoding positional positional-encoding embedding",
    ("--lengths",): "length max-length min-length seq-len sequence-length context train-length max-len test-lengths",
    ("--architecture",): "arch model model-type",
    ("--set training.optimizer=sgd",): "optimizer optim opt",
    ("--set training.weight_decay=0.1",): "weight-decay wd",
    ("--set training.warmup=100",): "warmup warmup-steps",
    ("--set training.rate_law=cosine",): "schedule scheduler lr-schedule lr-scheduler",
    ("--workers",): "jobs num-workers n-jobs threads processes parallel cores",
    ("--sequences",): "samples num-samples n-samples n num-sequences",
    ("--only",): "measurement measurements measure probe probes metric metrics",
    ("--over",): "axis x x-axis versus by",
    ("--plan",): "dry-run dry plan-only",
    ("--json",): "format output-format as-json jsonl",
    ("--minutes", "--time-limit"): "timeout time max-time",
    ("--regex",): "regexp expression language",
}
"""What to type, the first that the command has -> the words that may mean it."""
OPTION_MEANINGS: Mapping[str, tuple[str, ...]] = {
    f"--{word}": targets for targets, words in _OPTION_MEANINGS.items() for word in words.split()
}
OPTION_NOTES: Mapping[str, str] = {
    "--epochs": "training is counted in optimizer steps, because each batch has new sequences",
    "--epoch": "training is counted in optimizer steps, because each batch has new sequences",
    "--resume": "run the same command again to resume, or use lengthlens train --resume RUN",
    "--continue": "run the same command again to resume",
    "--overwrite": "existing results are kept; name another folder",
    "--force": "existing results are kept; name another folder",
    "--open": "no browser is opened; the command prints the address",
    "--verbose": "--debug shows the traceback of an error",
}
"""What to say of an option that no command has, in place of or before another option."""


def unknown_command(name: str, known: Collection[str]) -> str:
    """The sentence for a command that does not exist: the nearest by meaning, then by letters.

    Example:

        >>> unknown_command("analyze", ["measure", "train"])
        "there is no command 'analyze'; use lengthlens measure"
        >>> unknown_command("trian", ["measure", "train"])
        "there is no command 'trian'; did you mean lengthlens train?"
    """
    sentence = f"there is no command {name[:60]!r}"
    if note := COMMAND_NOTES.get(name.lower()):
        return f"{sentence}; {note}"
    if meant := COMMAND_MEANINGS.get(name.lower().replace("_", "-")):
        return f"{sentence}; use lengthlens {meant}"
    near = near_names(name, [*known, *ALIASES])
    if near:
        return f"{sentence}; did you mean lengthlens {' or '.join(near)}?"
    return f"{sentence}; lengthlens --help lists the commands"


def unknown_option(name: str, command: str, known: Collection[str]) -> str:
    """The sentence for an option that a command does not have: the nearest by meaning, then by letters.

    Args:
        name: the option as typed, e.g. ``--epochs``.
        command: name of the command.
        known: the options of the command, e.g. ``--steps``.

    Example:

        >>> unknown_option("--gpu", "train", ["--device", "--steps"])
        'train has no option --gpu; use --device cuda'
    """
    plain = name.lower().replace("_", "-")
    parts = [f"{command} has no option {name[:60]}"]
    if note := OPTION_NOTES.get(plain):
        parts.append(note)
    if plain in known:
        return f"{parts[0]}; write it as {plain}"
    target = next((text for text in OPTION_MEANINGS.get(plain, ()) if text.split()[0] in known), "")
    if target:
        parts.append(f"use {target}")
    elif near := near_names(name, known):
        parts.append(f"did you mean {' or '.join(near)}?")
    elif not note:
        parts.append(f"lengthlens {command} --help lists its options")
    return "; ".join(parts)


def option_before_command(name: str) -> str:
    """The sentence for an option that stands before a command.

    Example:

        >>> option_before_command("--gpu")
        'lengthlens has no option --gpu; options stand after a command, e.g. lengthlens train TASK --device cuda'
    """
    target = OPTION_MEANINGS.get(name.lower().replace("_", "-"), (name[:60],))[0]
    return f"lengthlens has no option {name[:60]}; options stand after a command, e.g. lengthlens train TASK {target}"


def first_unknown_option(words: Sequence[str], known: Collection[str], with_value: Collection[str]) -> str:
    """The first option among the words of a command that the command does not have; "" if it has all of them.

    Args:
        words: the words after the name of the command.
        known: all options of the command.
        with_value: those that take a value, which may look like an option.
    """
    before = ""
    for word in words:
        if word == "--":
            return ""
        name = word.partition("=")[0]
        if word.startswith("--") and name not in known and before not in with_value:
            return name
        before = word
    return ""
