"""The model part of a config, as new and as old configs write it."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.core.names import STATE_SPACE_MODELS
from workbench.core.stored_model import WITHOUT_ATTENTION, StoredModel, component_name, component_settings
from workbench.models.architectures import ARCHITECTURES


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
        ({"architecture": "rnn", "cell": "elman"}, ("rnn-elman", "none", {}, "arange")),
        ({"gates": "none"}, ("transformer", "none", {}, "arange")),
    ],
)
def test_kind_positions_and_ids_are_read_from_each_form(part: dict[str, Any], expected: tuple[Any, ...]) -> None:
    model = StoredModel(part)
    assert (model.kind, model.positions, model.position_settings, model.ids) == expected


def test_the_kinds_of_state_space_models_are_the_names_that_theory_uses() -> None:
    kinds = {StoredModel({"architecture": "ssm", "gates": gates}).kind for gates in ("nonnegative", "signed")}
    assert kinds == set(STATE_SPACE_MODELS)


def test_architectures_without_attention_are_described_as_their_configs_describe_them() -> None:
    configs = {name: config for name, config in ARCHITECTURES.items() if config.mixes_by != "attention"}
    assert {name: family.title for name, family in WITHOUT_ATTENTION.items()} == {
        name: config.title for name, config in configs.items()
    }
    for name, family in WITHOUT_ATTENTION.items():
        assert family.field in configs[name].model_fields
    assert StoredModel({"architecture": "rnn", "cell": "gru"}).variant == "gru cell"
    assert StoredModel({"architecture": "ssm", "gates": "signed"}).variant == "signed gates"
    assert StoredModel({"cell": "gru"}).variant == ""


def test_a_component_without_a_name_has_none() -> None:
    assert component_name({"base": 2}) is None
    assert component_name(3) == 3
    assert component_settings(None) == {}
