"""The filters of ``lengthlens app --filter`` as the address of the Runs page."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.cli.errors import UsageError
from workbench.core.errors import quoted_value
from workbench.core.suggest import nearest
from workbench.core.verdicts import WORDS
from workbench.tasks.known_tasks import TASKS

FIELDS = {"task": "task", "verdict": "verdict", "positions": "positions", "tag": "tag", "name": "text"}
"""Key of ``--filter`` -> field of :class:`~workbench.dashboard.state.filters.Filters`."""


def runs_page_filter(texts: Sequence[str]) -> str:
    """Path and query of the Runs page under filters ``KEY=VALUE``; ``/`` without any.

    Without a key, a value is a ``task`` or a ``verdict`` if there is one of that name, else a ``name``.

    Example:

        >>> runs_page_filter(["task=parity", "verdict=length-coupled"])
        '/?verdict=length-coupled&task=parity'

    Raises:
        UsageError: for a filter without a value, an unknown key, a key that is given twice, or an unknown verdict.
    """
    if not texts:
        return "/"
    from workbench.dashboard.state.filters import Filters, write_filters

    filters: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals and key:
            key, value = _key_of(text), text
        if not value:
            raise UsageError(f"--filter takes KEY=VALUE, e.g. task=parity, not {quoted_value(text)}")
        if key not in FIELDS:
            raise UsageError(f"--filter has no key {quoted_value(key)}; {nearest(key, FIELDS)}")
        if FIELDS[key] in filters:
            raise UsageError(f"--filter names {key} twice; give it once")
        if key == "verdict" and value not in WORDS:
            raise UsageError(
                f"--filter verdict={quoted_value(value)}: there is no such verdict; {nearest(value, WORDS)}"
            )
        filters[FIELDS[key]] = value
    return write_filters(Filters(**filters))  # type: ignore[arg-type]  # the fields are those of FIELDS, all texts


def _key_of(value: str) -> str:
    """The key that a value without one most likely belongs to."""
    return "task" if value in TASKS else "verdict" if value in WORDS else "name"
