"""The reference of all commands, from what ``--help`` prints: ``make docs`` runs this.

``python -m docs.cli_page`` prints it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from workbench.cli.main import COMMANDS, app

HEAD = """# Command line reference

After this page you can look up every command with its options, their defaults and an example. The page is generated
from the code, so it equals what `lengthlens COMMAND --help` prints. [Commands](commands.md) lists the commands by what
you want to do.

You can write `--debug` after any command. It prints the traceback of an error instead of one sentence.

| exit status | meaning |
|---|---|
| 0 | The command finished. |
| 1 | The command finished, and reported damaged or failed items. |
| 2 | The input is wrong. The message states what to change. |
| 70 | LengthLens has a defect. The message names the file with the traceback. |
| 75 | The time limit is reached and everything is saved. Run the same command again to resume. |
| 130 | You stopped the command with Ctrl-C. Finished work is kept. Run the same command again to resume. |
"""

EXAMPLES: dict[str, str] = {
    "train": "lengthlens train majority --positions none --lengths 1-50 --out checkpoints/majority-nope",
    "sweep": "lengthlens sweep plateau --plan",
    "fork": "lengthlens fork checkpoints/ff --at 150,300 --children 3",
    "measure": "lengthlens measure checkpoints --only behaviour --lengths 100,200,800",
    "adopt": "lengthlens adopt my_models --task majority --lengths 1-50",
    "open": "lengthlens open my_model --task copy --presentation bare",
    "prompts": "lengthlens prompts prompts.jsonl --task copy --lengths 8,16,32",
    "answers": "lengthlens answers prompts.jsonl answers.jsonl --model my-model --out checkpoints/my-model",
    "compile": "lengthlens compile dyck_1 --up-to 1000",
    "list": "lengthlens list checkpoints",
    "info": "lengthlens info checkpoints/ff",
    "steps": "lengthlens steps checkpoints/ff",
    "eval": "lengthlens eval checkpoints/ff --lengths 64,128,512",
    "status": "lengthlens status checkpoints",
    "stop": "lengthlens stop checkpoints/ff",
    "config": "lengthlens config checkpoints/ff",
    "compare": "lengthlens compare checkpoints/ff checkpoints/ff2",
    "plot": "lengthlens plot checkpoints/ff accuracy",
    "ablate": "lengthlens ablate checkpoints/ff L0H1",
    "patch": "lengthlens patch checkpoints/ff --lengths 32,64",
    "attention": "lengthlens attention checkpoints/ff --head L0H1 --length 48 -o attention.png",
    "diagnose": "lengthlens diagnose checkpoints/ff",
    "challenge": "lengthlens challenge make --seed 1 --out my_challenge",
    "measurements": "lengthlens measurements",
    "quantities": "lengthlens quantities decodability",
    "glossary": "lengthlens glossary skill",
    "docs": "lengthlens docs",
    "app": "lengthlens app checkpoints",
    "gallery": "lengthlens gallery --to my_gallery",
    "tasks": "lengthlens tasks parity",
    "new": "lengthlens new task my_task",
    "predict": "lengthlens predict parity --positions none",
    "reproduce": "lengthlens reproduce crasp-exact",
    "show": "lengthlens show checkpoints",
    "prescribe": "lengthlens prescribe checkpoints/ff",
    "report": "lengthlens report checkpoints/ff -o page.html",
    "publish": "lengthlens publish checkpoints -o site/",
    "export": "lengthlens export checkpoints/ff --to hub/ff",
    "cite": "lengthlens cite parity DX01",
    "data": "lengthlens data claims --to claims",
    "rename": "lengthlens rename checkpoints/ff ff-baseline",
    "rm": "lengthlens rm checkpoints/ff",
    "fetch": "lengthlens fetch s3://bucket/study --out study",
    "check": "lengthlens check checkpoints",
    "demo": "lengthlens demo --no-serve",
}
"""Command -> a line that runs it."""


VALUES = {
    "<str>": "text", "<path>": "path", "<int range>": "integer", "<int>": "integer", "<float range>": "number",
    "<float>": "number", "<list[str]>": "text", "<list[Path]>": "path", "<bool>": "no value",
}  # fmt: skip
"""What ``--help`` prints for the type of an option -> the word of the table."""


def cli_page() -> str:
    """The page, as Markdown: a section for each command, in the order of ``--help``."""
    group: Any = typer.main.get_command(app)
    listed = [f"- [`{name}`](#{name}): {first_sentence(group.commands[name].help)}" for name in COMMANDS]
    sections = [_section(name, group.commands[name]) for name in COMMANDS]
    return "\n".join([HEAD, *listed, "", *sections])


def first_sentence(text: str) -> str:
    """The first sentence of a help text, on one line."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.?])\s+(?=[A-Z])", paragraph)[0]


def _section(name: str, command: Any) -> str:
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    parts = [f"## {name}", "", command.help.replace("\b\n", "").strip(), "", "```", EXAMPLES[name], "```", ""]
    parts += [f"Usage: `lengthlens {usage}`", ""]
    rows = [row for parameter in command.params if not parameter.hidden for row in _row(parameter, context)]
    if rows:
        parts += ["| argument or option | value | what it does | default |", "|---|---|---|---|", *rows, ""]
    return "\n".join(parts)


def _row(parameter: Any, context: Any) -> Iterator[str]:
    """One line of the table; none for what ``--help`` does not list."""
    record = parameter.get_help_record(context)
    if record is None:
        return
    left, text = record
    names = " ".join([*parameter.opts, *parameter.secondary_opts])
    option = parameter.param_type_name == "option"
    label = ", ".join(f"`{part}`" for part in (names.split() if option else [left.split()[0]]))
    value = left.split("--")[-1].partition(" ")[2] if option else ""
    value = VALUES.get(value, value if not option or value else "no value")
    text, default = _without_default(text)
    yield f"| {label} | {_cell(value)} | {_cell(text)} | {_cell(default)} |"


def _without_default(text: str) -> tuple[str, str]:
    """A help text split into its sentence and its default; limits such as ``x>=1`` stay with the sentence."""
    text, _, stated = text.partition(" Default: ")
    stated, brackets = stated.partition("  [")[::2]
    text, stated = text + (f"  [{brackets}" if brackets else ""), stated.rstrip(".")
    match = re.search(r"\s*\[([^\[\]]*)\]$", text)
    if match is None:
        return text, stated
    parts = [part.strip() for part in match[1].split(";")]
    defaults = [part.removeprefix("default:").strip() for part in parts if part.startswith("default:")]
    others = [part for part in parts if not part.startswith("default:") and part != "required"]
    limits = f" ({'; '.join(f'`{part}`' for part in others)})" if others else ""
    default = defaults[0].strip("()") if defaults else ""
    return text[: match.start()] + limits, f"`{default}`" if default else "required" if "required" in parts else stated


def _cell(text: str) -> str:
    """Text that stays within its cell, with options in code font."""
    text = " ".join(text.split()).replace("|", r"\|")
    pieces = re.split(r"(`[^`]*`)", text)
    plain = [re.sub(r"([*_<>\[\]])", r"\\\1", piece) if not piece.startswith("`") else piece for piece in pieces]
    return "".join(plain)


if __name__ == "__main__":
    print(cli_page())
