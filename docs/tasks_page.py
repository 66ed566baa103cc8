"""The list of built-in tasks with an example of each, from the tasks themselves: ``make docs`` runs this.

``python -m docs.tasks_page`` prints it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.core.errors import LensError
from workbench.tasks import task_names
from workbench.tasks.base import Task
from workbench.tasks.registry import find_task

HEAD = """# List of tasks

After this page you can choose a task. Each line has the question that the model answers, and an example.

- **Example**: one sequence of the length-matched test set (distributed as in training), at the default parameters.
- **Correct answers**: one for each position at which the model is evaluated. Tasks with one answer per prefix have one
  for each token. Tasks that write an answer have one for each written token.
- **Chance**: the accuracy of the best constant answer at length 64, or at the next length that the task allows. An
  answer with several tokens is correct only if all its tokens are correct.

`lengthlens tasks NAME` prints everything about a task: its test sets, its parameters, and what theory predicts for it.
[Your own task](your_own_task.md) explains how to add one.
"""

LENGTH, CHANCE_LENGTH, MOST_WORDS = 6, 64, 16
FAMILIES = {
    "automata": "Automata and regular languages",
    "counting": "Counting and context-free languages",
    "averages": "Averages and regression",
    "retrieval": "Retrieval",
    "copying": "Copying, sorting and addition",
    "scratchpad": "Scratchpads",
    "planted": "Planted correlations",
    "text": "Text",
    "mixtures": "Mixtures of tasks",
}


def tasks_page() -> str:
    """The page, as Markdown: a table for each family of tasks."""
    by_family: dict[str, list[str]] = {}
    for name in task_names():
        cls = find_task(name)
        by_family.setdefault(cls.family, []).append(_line(name, cls))
    parts = [HEAD]
    for family, lines in by_family.items():
        title = FAMILIES.get(family, family.capitalize())
        parts += [
            f"## {title}",
            "",
            "| task | question | example | correct answers | chance |",
            "|---|---|---|---|---|",
        ]
        parts += [*lines, ""]
    return "\n".join(parts)


def _line(name: str, cls: type[Task]) -> str:
    try:
        task = cls()
        example, answers = example_of(task)
        chance = f"{task.chance('matched', task.next_length(CHANCE_LENGTH)):.2f}"
    except LensError:  # a task over files of the user's
        return f"| `{name}` | {_cell(cls.question)} | needs a folder of text |  |  |"
    return f"| `{name}` | {_cell(task.question)} | {_code(example)} | {_code(answers)} | {chance} |"


def example_of(task: Task) -> tuple[str, str]:
    """A short sequence of a task, without the beginning token, and its correct answers at supervised positions."""
    batch = task.batch(1, task.next_length(LENGTH), seed=1)
    names = task.tokens_names
    tokens = [names[int(token)] for token in batch.tokens[0]]
    answers = [_answer(task, target) for target in batch.targets[0][batch.mask[0]]]
    return _joined(tokens[int(task.bos) :]), _joined(answers)


def _answer(task: Task, target: Any) -> str:
    if target.dtype.is_floating_point:
        values = [f"{value:.2f}" for value in target.reshape(-1).tolist()]
        return f"({' '.join(values)})" if len(values) > 1 else values[0]
    return str(task.output_names[int(target)])


def _joined(words: list[str]) -> str:
    return " ".join([*words[:MOST_WORDS], *(["..."] if len(words) > MOST_WORDS else [])])


def _code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`" if "`" not in text else f"`` {text} ``"


def _cell(text: str) -> str:
    return " ".join(_escaped(text)).replace("|", r"\|")


def _escaped(text: str) -> Iterator[str]:
    for word in text.split():
        yield "".join(f"\\{letter}" if letter in "*_<>[]" else letter for letter in word)


if __name__ == "__main__":
    print(tasks_page())
