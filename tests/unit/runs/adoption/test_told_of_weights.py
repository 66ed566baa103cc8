"""What a config and the shapes of weights tell of a model together, and what is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs.adopt import CONFIG
from workbench.runs import RunError
from workbench.runs.adoption.adopt import _complete, _joined

TOLD = {"positions": "learned", "act_fn": "relu", "normalization_type": None}


@pytest.mark.parametrize(("fields", "asked"), [
    (TOLD, None), ({**TOLD, "attn_only": True}, None), ({"act_fn": "relu", "normalization_type": "LN"}, "which positions does it read"),
    ({"positions": "none", "normalization_type": "LN"}, "which activation do its MLPs have"), ({"positions": "none", "normalization_type": "LN", "attn_only": False}, "which activation"),
    ({"positions": "none", "normalization_type": "LN", "attn_only": True}, None), ({"positions": "none", "act_fn": "relu", "attn_only": True}, "it holds no LayerNorm weights: either"), ({"attn_only": True}, "which positions"),
])  # fmt: skip
def test_what_shapes_do_not_tell_is_asked_for(fields: dict[str, Any], asked: str | None) -> None:
    if asked is None:
        _complete(Path("file"), fields)
        return
    with pytest.raises(RunError, match="--set"):
        _complete(Path("file"), fields)


@pytest.mark.parametrize(("positions", "shapes", "says"), [
    ("standard", {"n_ctx": 24}, None), ("standard", {"n_ctx": 23}, "has n_ctx = 24, but in file it is 23"), ("alibi", {"n_ctx": 23}, None), ("rotary", {"n_ctx": 25}, None),
    ("alibi", {"d_model": 15}, "has d_model = 16, but in file it is 15"), ("alibi", {"unknown": 3}, None),
])  # fmt: skip
def test_a_config_and_shapes_must_agree(
    positions: str, shapes: dict[str, Any], says: str | None, tmp_path: Path
) -> None:
    """A mask of another size says nothing of a model that reads no table."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**CONFIG, "positional_embedding_type": positions}))
    if says is not None:
        with pytest.raises(RunError, match=says):
            _joined(config, shapes, Path("file"))
        return
    found = _joined(config, shapes, Path("file"))
    assert (found["n_ctx"], found["d_model"], found.get("unknown")) == (24, 16, shapes.get("unknown"))


@pytest.mark.parametrize(("content", "says"), [
    ("[]", "JSON"), ("{", "JSON"), ('{"positional_embedding_type": "x"}', "positional_embedding_type"),
])  # fmt: skip
def test_configs_that_cannot_be_read(content: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(RunError, match=says):
        _joined(tmp_path / "config.json", {}, Path("file"))
    with pytest.raises(RunError, match="JSON"):
        _joined(tmp_path / "none.json", {}, Path("file"))
