"""Regular languages that are tasks under names of their own: a line each.

Everything but name and expression is that of :class:`workbench.tasks.regular.regular_task.RegularTask`; what theory
says of a language (star-free or not, in which class of programs) is decided: ``lengthlens tasks NAME`` tells it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

EXPRESSIONS: Mapping[str, str] = {
    "aa_star_b_star": "(aa)*b*",
}
"""Name -> regular expression, whose symbols have the ids of their order in the alphabet."""


@cache
def language(name: str) -> Any:
    """The task class of a language of :data:`EXPRESSIONS`."""
    from workbench.tasks.regular.regular_task import RegularTask

    expression = EXPRESSIONS[name]
    return type(
        name,
        (RegularTask,),
        {
            "__module__": __name__,
            "__doc__": f"Is the string so far in {expression}?\n\n"
            "Laws, what may be asked and what summaries are: as for every regular language "
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
