"""Files of prompts and answers as nobody should hand them over: first lines that promise too much, and other lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tests.support.hostile.opened_folders import MARKER
from workbench.cli.main import app

PROMPTS, ANSWERS = "prompts.jsonl", "answers.jsonl"
WRONG: tuple[Any, ...] = (None, 0, -1, 1, 10**6, 10**9, 10**30, 2.5, "8", [], [8], {}, True)
PATHS: tuple[tuple[str, ...], ...] = (
    ("strings",), ("seed",), ("task",), ("task", "name"), ("task", "parameters"), ("task", "parameters", "symbols"),
    ("task", "presented"), ("task", "presented", "asked_lengths"), ("task", "presented", "window"),
    ("task", "presented", "vocabulary_size"), ("task", "presented", "wording"), ("task", "presented", "tokens_per_length"),
    ("task", "presented", "wording", "symbols"), ("task", "presented", "wording", "names"),
    ("task", "presented", "wording", "ask"), ("task", "presented", "presentation"),
    ("task", "presented", "presentation", "shots"), ("task", "presented", "presentation", "shot_items"),
    ("task", "presented", "presentation", "name"), ("task", "presented", "presentation", "template"),
    ("task", "presented", "presentation", "pairs"), ("task", "presented", "presentation", "between"),
)  # fmt: skip
"""Entries of the first line."""
LARGE_LISTS: tuple[tuple[str, Any], ...] = (
    ("asked_lengths", [10**6]), ("asked_lengths", [8, 10**9]), ("asked_lengths", [8, 16, 10**30]),
    ("asked_lengths", [*range(1, 5000)]), ("asked_lengths", [16, 8]), ("asked_lengths", [8, 8]),
    ("asked_lengths", [0, 8]), ("asked_lengths", ["8"]), ("asked_lengths", [True]),
)  # fmt: skip


def make_sound_answers(folder: Path) -> None:
    """Prompts of 3 strings at 8 and 16 items, and an answer to each."""
    options = ["--task", "ur", "--presentation", "shots", "--lengths", "8,16", "--strings", "3"]
    done = CliRunner().invoke(app, ["prompts", str(folder / PROMPTS), *options])
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in (folder / PROMPTS).read_text().splitlines()[1:]]
    answers = [json.dumps({"id": line["id"], "answer": line["answer"]}) for line in lines]
    (folder / ANSWERS).write_text("\n".join(answers) + "\n")


def change_first(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the first line of the prompts."""
    first, *rest = (folder / PROMPTS).read_text().splitlines()
    content = json.loads(first)
    change(content)
    (folder / PROMPTS).write_text("\n".join([json.dumps(content), *rest]) + "\n")


def set_entry(path: tuple[str, ...], value: Any, content: dict[str, Any]) -> None:
    *way, last = path
    for name in way:
        content = content[name]
    content[last] = value


def remove_entry(path: tuple[str, ...], content: dict[str, Any]) -> None:
    *way, last = path
    for name in way:
        content = content[name]
    del content[last]


def write(folder: Path, name: str, data: bytes) -> None:
    (folder / name).write_bytes(data)


def answered_cases() -> Iterator[tuple[str, Callable[[Path], None], bool | None]]:
    """Labels, what is done to a sound pair of files, and whether it is taken in nevertheless; None = either."""
    yield "sound", lambda folder: None, True
    for path in PATHS:
        label = ".".join(path)
        yield f"without {label}", partial(change_first, change=partial(remove_entry, path)), None
        for value in WRONG:
            changed = partial(change_first, change=partial(set_entry, path, value))
            yield f"{label} = {value!r:.20}", changed, None
    for name, value in LARGE_LISTS:
        changed = partial(change_first, change=partial(set_entry, ("task", "presented", name), value))
        yield f"{name} = {value!r:.40}", changed, False
    for task in (
        "parity",
        "majority",
        "bounded_dyck",
        "copied_text",
        "kgram_continuations",
        "no_such",
        "os:system",
        "x.py:T",
    ):
        yield f"task {task}", partial(change_first, change=partial(set_entry, ("task", "name"), task)), False
    yield "task of a file", task_of_a_file, False
    for name in (PROMPTS, ANSWERS):
        for label, data in {
            "empty": b"", "no JSON": b"hello\n", "a list": b"[]\n", "null": b"null\n", "no UTF-8": b'{"id": "\xff"}\n',
            "deep": b"[" * 100_000 + b"]" * 100_000, "nothing": b"{}\n", "nan": b"NaN\n", "one line": b"x" * (1 << 20),
            "many empty objects": b"{}\n" * 3_000_000, "many lines": b"\n" * 3_000_000,
        }.items():  # fmt: skip
            yield f"{name}: {label}", partial(write, name=name, data=data), False
    yield "prompts doubled", doubled, False
    yield "prompts cut", shortened, False
    yield "prompts without texts", textless, False
    many = b"".join(b'{"id": "x-%d", "answer": "a"}\n' % i for i in range(300_000))
    yield "answers to other prompts", partial(write, name=ANSWERS, data=many), False
    yield "an answer of many words", long_answer, True


def task_of_a_file(folder: Path) -> None:
    marker = folder.parent / MARKER
    (folder / "task.py").write_text(f"import os\nos.mkdir({str(marker)!r})\n")
    source = {"file": str(folder / "task.py"), "class": "T", "sha256": "0" * 64}
    change_first(folder, lambda content: content["task"].update(name="T", source=source))


def doubled(folder: Path) -> None:
    first, *rest = (folder / PROMPTS).read_text().splitlines()
    (folder / PROMPTS).write_text("\n".join([first, *rest, *rest]))


def shortened(folder: Path) -> None:
    (folder / PROMPTS).write_text("\n".join((folder / PROMPTS).read_text().splitlines()[:-1]))


def textless(folder: Path) -> None:
    first, *rest = (folder / PROMPTS).read_text().splitlines()
    short = [json.dumps({**json.loads(line), "prompt": ""}) for line in rest]
    (folder / PROMPTS).write_text("\n".join([first, *short]))


def long_answer(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / ANSWERS).read_text().splitlines()]
    lines[0]["answer"] = "word " * 1_000_000
    (folder / ANSWERS).write_text("\n".join(json.dumps(line) for line in lines))
