"""A task to start from, written where somebody wants it, with its test."""

from __future__ import annotations

import keyword
import re
from importlib.util import find_spec
from pathlib import Path

from workbench.cli.errors import UsageError
from workbench.core.errors import quoted_value
from workbench.storage.atomic import make_folder
from workbench.storage.below import write_new

TEMPLATE = Path(__file__).parents[1] / "tasks" / "testing" / "template_task.py"
TEST = '''"""Does the task template_task keep what a task promises? Run by: pytest test_template_task.py"""

from template_task import TemplateTask

from workbench.tasks.testing import check_task


def test_it_keeps_what_a_task_promises() -> None:
    check_task(TemplateTask())


def test_its_answers_are_those_found_by_hand() -> None:
    a, b, x = 1, 2, 3
    assert TemplateTask().reference([a, b, x, a]) == [0, 0, 1, 1]
'''


def write_task(name: str, folder: Path) -> tuple[Path, Path, str]:
    """Write a task that works, and its test.

    Args:
        name: what the task, its module and (in capitals) its class are called.
        folder: the folder for the two files, which is made if it is missing.

    Returns:
        the task's file, the test's file, and the name of the class.

    Raises:
        UsageError: for a name that cannot be a task's, or is one already, and for files that are there.
    """
    from workbench.tasks import task_names

    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", name) or keyword.iskeyword(name):
        raise UsageError(
            f"the name of a task takes small letters, digits and _, e.g. my_task, not {quoted_value(name)}"
        )
    if name in task_names():
        raise UsageError(f"the task {name} exists already (lengthlens tasks {name}); choose another name")
    cls = "".join(part.capitalize() for part in name.split("_"))
    task, test = folder / f"{name}.py", folder / f"test_{name}.py"
    for file in (task, test):
        if file.exists():
            raise UsageError(f"{file} exists already; choose another name, or another folder with --to")
    if find_spec(name) is not None:
        raise UsageError(
            f"{name} is the name of an installed module, and the test would import that module; choose another name"
        )
    make_folder(folder)
    for file, text in ((task, TEMPLATE.read_text(encoding="utf-8")), (test, TEST)):
        write_new(folder, file.name, text.replace("template_task", name).replace("TemplateTask", cls).encode())
    return task, test, cls
