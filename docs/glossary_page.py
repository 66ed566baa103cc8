"""The glossary of the documentation, from the specs of the measurements: ``make docs`` runs this.

``python -m docs.glossary_page`` prints it.
"""

from __future__ import annotations

import re
from dataclasses import asdict

from workbench.core.verdicts import VERDICTS
from workbench.dashboard.components.terms import TERMS
from workbench.dashboard.components.typeset import LETTERS
from workbench.dashboard.panels.panel_words import span_of
from workbench.measure.known_measurements import BUILT_IN
from workbench.measure.measurement import Quantity
from workbench.measure.registry import make_measurement
from workbench.table.wording import quantity_label

HEAD = """# Glossary

This page defines every stored quantity. A heading is the label on screen, and the stored name follows in code font. The
page *Glossary* of the dashboard shows the quantities of your own folders, with their settings. All intervals are
95 %.

The definitions use these terms:

- The *task state* is what the answer needs of a prefix, such as a count. The *code* of the task state is the mean
  residual stream for each value of the task state.
- A quantity can have several rows. The column *target* states what a row is about, for example a head or a shortcut.
  The column *mode* states the variant of the measurement. The *control* is the same measurement where the effect should
  be absent.
- *Shuffled labels* are the labels of other sequences, drawn at random. *Hashed labels* are a fixed random function of
  the last 8 tokens, with the same frequencies as the task state.
- The status *censored* means that the value lies outside the measured range. `low` is then a lower bound, if known.
- "a(n), where A replaces B" is the accuracy of the model when A is computed in place of B.
"""


def glossary() -> str:
    """The page, as Markdown: the verdicts, the words, and a section a measurement, as they are listed."""
    verdicts = [f"**{label}**: {_plain(kind.meaning)}\n" for label, kind in VERDICTS.items()]
    words = [f"**{term}**: {_plain(said)}\n" for term, said in TERMS.items()]
    head = [HEAD, _plain(LETTERS), "\n## Verdicts\n", *verdicts, "\n## Words\n", *words]
    return "\n".join([*head, *(_section(name) for name in BUILT_IN)])


def _section(name: str) -> str:
    spec = make_measurement(name).spec
    laws = ", ".join(spec.laws) or "no test set"
    sequences = f" · {spec.sequences:,} sequences" if spec.sequences else ""
    head = f"## {spec.title}\n\n`{spec.name}` · version {spec.version} · {laws}{sequences}\n"
    return "\n".join([head, *map(_entry, spec.quantities)])


def _entry(quantity: Quantity) -> str:
    facts = " · ".join(part for part in (f"`{quantity.name}`", span_of(asdict(quantity))) if part)
    lines = [f"### {quantity_label(quantity.name)}", facts, _with_code(quantity.definition)]
    if quantity.formula:
        where = f"; {_plain(quantity.where)}" if quantity.where else ""
        lines.append(_plain(quantity.formula) + where)
    return "\n\n".join([*lines, ""])


def _with_code(text: str) -> str:
    """Text as :func:`_plain`, whose parts between backticks stay in code font."""
    parts = text.split("`")
    return "".join(f"`{part}`" if place % 2 else _plain(part) for place, part in enumerate(parts))


def _plain(text: str) -> str:
    """Text in which nothing is read as Markdown, but for what stands below or above the line."""
    escaped = re.sub(r"([\\*_<>\[\]`|])", r"\\\1", text)
    below = re.sub(r"\\_\{([^{}]*)\}", r"<sub>\1</sub>", escaped)
    return re.sub(r"\^\{([^{}]*)\}", r"<sup>\1</sup>", below)


if __name__ == "__main__":
    print(glossary())
