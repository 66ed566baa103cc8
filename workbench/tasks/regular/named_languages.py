"""Regular languages that are tasks under names of their own, one line each.

Everything except name and expression is that of :class:`workbench.tasks.regular.regular_task.RegularTask`. Theory
decides the properties of a language: whether it is star-free, and in which class of programs it is. ``lengthlens tasks
NAME`` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

EXPRESSIONS: Mapping[str, str] = {
    "aa_star_b_star": "(aa)*b*",
}
"""Regular expression of each name. Symbols have ids in the order of the alphabet."""


@cache
def language(name: str) -> Any:
    """Return the task class of a language of :data:`EXPRESSIONS`."""
    from workbench.tasks.regular.regular_task import RegularTask

    expression = EXPRESSIONS[name]
    return type(
        name,
        (RegularTask,),
        {
            "__module__": __name__,
            "__doc__": f"Decide after every symbol whether the string so far is in {expression}.\n\n"
            "Distributions, queries and task states are those of every regular language "
            "(:class:`workbench.tasks.regular.regular_task.RegularTask`).",
            "name": name,
            "summary": f"membership in {expression}, or what may follow, or the state",
            "expression": property(lambda task: expression),
        },
    )


def __getattr__(name: str) -> Any:
    if name not in EXPRESSIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return language(name)
