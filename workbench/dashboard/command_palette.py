"""What the command palette (Ctrl K) finds: pages, runs, quantities, terms. The browser adds heads, steps, commands.

``/commands.json`` is read each time the palette opens. An entry has a kind, a name, a few words next to it, and an
action (``assets/js/palette.js``). The action is ``go`` to an address, or to the ``panel`` of the Run page that shows
the entry.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flask import Flask, Response, jsonify

from workbench.core.verdicts import WORDS
from workbench.dashboard.components.terms import TERMS, anchor
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.panels.run_panels import CIRCUIT, DEEPER, PANELS, WHY
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import link
from workbench.table.wording import quantity_label
from workbench.tasks.known_tasks import task_label


class Entry(NamedTuple):
    """One thing that can be found.

    Attributes:
        kind: what it is, as the list shows next to the name.
        name: what is typed for it.
        hint: a few words on it.
        does: ``go``, ``carry`` (``go``, and keep the step, length and head that the page before has selected) or
            ``panel``.
        what: the address; of a panel its id, and after a bar what the panel *Anything else* would show.
    """

    kind: str
    name: str
    hint: str
    does: str
    what: str


def entries(context: Context) -> list[Entry]:
    """Pages, runs, quantities and terms, in this order."""
    runs = context.store.runs()
    first = next(iter(runs), "")
    entries_found = [
        Entry("Page", page.name, "", *(("carry", link(first, page.path)) if page.needs_run else ("go", page.path)))
        for page in PAGES
        if first or not page.needs_run
    ]
    for name, run in runs.items():
        last = run.brief.last
        verdict = WORDS.get(run.brief.verdicts.get(last, ""), "") if last is not None else ""
        said = " · ".join(part for part in (verdict, task_label(run.task), run.positions) if part)
        entries_found.append(Entry("Run", name, said, "go", link(name)))
    return [*entries_found, *_quantities(context), *_terms()]


def _quantities(context: Context) -> list[Entry]:
    panels = {
        quantity: panel.id for panel in reversed((*PANELS, *WHY, *DEEPER, *CIRCUIT)) for quantity in panel.quantities
    }
    measured = {pair for run in context.store.runs().values() for pair in run.brief.quantities}
    entries = []
    for measurement, spec in context.store.specs.items():
        for one in spec.get("quantities", ()):
            name = one["name"]
            if (measurement, name) not in measured:
                continue
            at = f"{panels.get(name, 'more-training')}|{measurement}|{name}"
            title, label = spec.get("title") or measurement, quantity_label(name)
            hint = title if label == name.replace("_", " ") else f"{title} \u00b7 {name}"
            entries.append(Entry("Quantity", label, hint, "panel", at))
    return entries


def _terms() -> list[Entry]:
    return [Entry("Term", term, said, "go", f"/glossary#{anchor(term)}") for term, said in TERMS.items()]


def connect(server: Flask, context: Context) -> None:
    """Add the address to the app's server."""

    @server.get("/commands.json")
    def commands() -> Response:
        answer: dict[str, Any] = {"entries": [list(one) for one in entries(context)]}
        made: Response = jsonify(answer)
        return made
