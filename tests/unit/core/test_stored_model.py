"""The model part of a config, as new and as old configs write it."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.core.names import STATE_SPACE_MODELS
from workbench.core.stored_model import StoredModel, component_name, component_settings


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({}, ("transformer", "none", {}, "arange")),
        ({"positions": "rope", "ids": "pose"}, ("transformer", "rope", {}, "pose")),
        (
            {"positions": {"name": "rope", "base": 500.0}, "ids": {"name": "pose", "chunks": 2}},
            ("transformer", "rope", {"base": 500.0}, "pose"),
        ),
        ({"architecture": "ssm", "gates": "signed"}, ("ssm-signed", "none", {}, "arange")),
        ({"gates": "none"}, ("transformer", "none", {}, "arange")),
    ],
)
def test_kind_positions_and_ids_are_read_from_each_form(part: dict[str, Any], expected: tuple[Any, ...]) -> None:
    model = StoredModel(part)
    assert (model.kind, model.positions, model.position_settings, model.ids) == expected


def test_the_kinds_of_state_space_models_are_the_names_that_theory_uses() -> None:
    kinds = {StoredModel({"architecture": "ssm", "gates": gates}).kind for gates in ("nonnegative", "signed")}
    assert kinds == set(STATE_SPACE_MODELS)


def test_a_component_without_a_name_has_none() -> None:
    assert component_name({"base": 2}) is None
    assert component_name(3) == 3
    assert component_settings(None) == {}
