"""Every number that the pages of the gallery name stands in the row that it claims to come from.

The table is read here with :class:`workbench.table.Table`, the pages read it through the dashboard's store: two ways
to the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cited import NUMBER, Rows, said, unfounded

from workbench.dashboard.answers import Answers
from workbench.dashboard.cursor import default_cursor
from workbench.dashboard.runview import RunView
from workbench.dashboard.store import Store
from workbench.dashboard.worker import Worker
from workbench.figures import head_sentence, rail_text, verdict_sentence, why_sentence
from workbench.figures.labels import estimate, proportion
from workbench.table import Table

GALLERY = Path(__file__).resolve().parents[2] / "checkpoints" / "gallery"
NAMES = sorted(file.parent.relative_to(GALLERY).as_posix() for file in GALLERY.rglob("run.json"))


@pytest.fixture(scope="module")
def gallery() -> Iterator[Answers]:
    made = Answers(Store([GALLERY]), Worker())
    yield made
    made.close()


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """All rows of the gallery."""
    return Table.load(GALLERY).frame()


def view_of(gallery: Answers, name: str) -> RunView:
    run = gallery.store.run(name)
    assert run is not None
    return run


@pytest.fixture(scope="module")
def of_run(rows: pd.DataFrame) -> dict[str, Rows]:
    """Rows by run."""
    return {str(name): Rows(part) for name, part in rows.groupby("run", observed=True)}


def test_the_gallery_is_walked() -> None:
    assert len(NAMES) >= 9


@pytest.mark.parametrize("name", NAMES)
def test_dots_on_runs_are_the_rail_of_run(gallery: Answers, name: str) -> None:
    run = view_of(gallery, name)
    line = gallery.summary(run)
    longest, step = run.lengths[-1], run.brief.last
    assert step is not None
    rail = said(rail_text(run.light, "representation", step, longest, 0, 0, trained=run.trained))
    seen = 0
    for concept in ("summary", "position"):
        carried = run.brief.carries.get(concept)
        if carried is None:
            assert concept not in rail.lower()
            continue
        seen += 1
        text = estimate(carried["value"], carried["low"], carried["high"])
        assert f"{concept} {text} after block {carried['layer']:.0f} at length {longest}" in rail.lower()
        assert proportion(line[concept]) == proportion(carried["value"])
        assert f"{concept} {text}, controls {proportion(carried['control'])}" in line["carries"]
        assert f"controls ({proportion(carried['control'])})" in rail
    assert seen == 2


@pytest.mark.parametrize("name", NAMES)
def test_every_number_in_a_sentence_cites_its_row(gallery: Answers, of_run: dict[str, Rows], name: str) -> None:
    run, held = view_of(gallery, name), of_run[name]
    base = default_cursor(run)
    heads = [(layer, head) for layer in range(run.n_layers) for head in range(run.n_heads)]
    numbers = 0
    for step in run.measured_steps:
        told = [verdict_sentence(run.light, step=step, trained=run.trained)]
        for layer, head in heads if step == base.step else [(base.layer, base.head)]:
            at: dict[str, Any] = {"step": step, "layer": layer, "head": head}
            told.append(why_sentence(run.light, trained=run.trained, length=base.length, **at))
            told += head_sentence(run.light, length=base.length, trained=run.trained, **at)
        for length in run.lengths:
            for kind in ("behaviour", "representation", "mechanism"):
                told.append(rail_text(run.light, kind, step, length, base.layer, base.head, trained=run.trained))
        for pieces in told:
            assert unfounded(pieces, held, run.trained) == []
            numbers += len(NUMBER.findall(said(pieces)))
    assert numbers > 100
