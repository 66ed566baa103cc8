"""An architecture is one config and one registration: another one is made, filled and named like those of the house."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from workbench.models.architectures import ARCHITECTURES, make_config, make_model
from workbench.models.errors import ArchitectureError
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer

SIZES = {"d_vocab": 3, "n_layers": 1, "d_model": 8, "n_heads": 1, "n_ctx": 8}


class WideConfig(ModelConfig):
    """A transformer of another name."""

    kind: ClassVar[str] = "wide"
    model: ClassVar[str] = f"{__name__}:Wide"

    @property
    def variant(self) -> str:
        return "wide"


class Wide(HookedTransformer):
    pass


def test_the_architectures_of_the_house_make_their_models() -> None:
    assert list(ARCHITECTURES) == ["transformer", "ssm", "rnn", "pretrained"]
    for name, config in ARCHITECTURES.items():
        assert config.kind == name
    cfg = make_config({**SIZES, "positions": "rotary"})
    assert type(make_model(cfg)) is HookedTransformer
    assert cfg.variant == "rotary"
    ssm = make_config({"architecture": "ssm", "d_vocab": 3, "n_layers": 1, "d_model": 8, "n_ctx": 8, "gates": "signed"})
    assert ssm.variant == "ssm-signed"
    rnn = make_config({"architecture": "rnn", "d_vocab": 3, "n_layers": 1, "d_model": 8, "n_ctx": 8, "cell": "elman"})
    assert rnn.variant == "rnn-elman"
    assert (cfg.mixes_by, ssm.mixes_by, rnn.mixes_by) == ("attention", "scan", "recurrence")
    for one in (cfg, ssm, rnn):
        held = sum(tensor.numel() for tensor in make_model(one).state_dict().values())
        assert held / 2 < one.least_numbers <= held


def test_another_architecture_is_registered_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ARCHITECTURES, "_things", dict(ARCHITECTURES._things))
    fields: dict[str, Any] = {**SIZES, "architecture": "wide"}
    with pytest.raises(ArchitectureError, match="'wide'"):
        make_config(fields)
    ARCHITECTURES.register(WideConfig)
    assert ARCHITECTURES.find("wide") is WideConfig
    assert type(make_model(WideConfig(**SIZES))) is Wide
