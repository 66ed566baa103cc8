"""What Runs and Sweep say of all runs of the gallery at once."""

from __future__ import annotations

from types import SimpleNamespace

from dash import html

from tests.support.dashboard.answers import texts
from tests.support.dashboard.claims import NAMES, gallery, view_of  # noqa: F401 - fixtures
from workbench.dashboard.components import prose
from workbench.dashboard.pages import sweep
from workbench.dashboard.pages.base import Visit
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.run_brief import Brief
from workbench.dashboard.state.run_description import origin
from workbench.dashboard.state.sweep_query import choices_of, read
from workbench.figures.rows.frame import Frame


def test_a_sweep_pools_no_compiled_run_with_trained_ones(gallery: Context) -> None:
    """By default; a reader who clears the setting that is held fixed sees both kinds."""
    compiled = {name for name in NAMES if name.startswith("compiled/")}

    def members(asked: dict[str, str]) -> list[set[str]]:
        parts = [cell.split("; ") for cell in sweep.PHASE.rows(gallery, asked)["members"]]
        return [{one.partition(" step ")[0] for one in cell} for cell in parts]

    assert compiled
    assert not any(compiled & cell for cell in members({}))
    assert any(compiled & cell and cell - compiled for cell in members({"fix": ""})), (
        "pooled where the reader asks for it"
    )
    assert all(cell <= compiled or not cell & compiled for cell in members({"x": "origin"}))
    said = texts(html.Div(sweep.PAGE.draw(gallery, Visit("/sweep", "")).content))
    assert "Compiled models are left out until you clear" in said
    choices = choices_of(gallery.store)
    for asked in ({}, {"fix": ""}, {"x": "origin"}, {"x": "task.name", "y": "origin", "fix": "origin=compiled"}):
        query = read(asked, choices)[0]
        assert read(query.written(choices.fixed(query.x, query.y)), choices)[0] == query


def test_the_training_row_gives_accuracies_of_its_log_only_until_behaviour_is_measured(
    gallery: Context,
) -> None:
    run = view_of(gallery, "flip_flop_rotary_s0")
    log = Frame.from_rows([{"step": 600, "loss": 0.1, "lr": 1e-3, "accuracy_in": 0.91, "accuracy_out": 0.72}])
    measured, unmeasured = ({"log": log, "brief": brief} for brief in (run.brief, Brief(specs={})))
    assert "Accuracy" not in "".join(prose.training(SimpleNamespace(live=False, planned=600, **measured)))
    text = "".join(prose.training(SimpleNamespace(live=False, planned=600, **unmeasured)))
    assert text == "Step 600 of 600. Accuracy 0.91 at trained lengths, 0.72 at twice that."


def test_one_trained_length_is_no_range(gallery: Context) -> None:
    assert "trained on length 256" in origin(view_of(gallery, "small_model"))
    assert "trained on lengths 1 to 32" in origin(view_of(gallery, "flip_flop_rotary_s0"))
