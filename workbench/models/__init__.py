"""The models that are trained and analysed, their configurations, and models built by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from workbench.models.interop.bridge import to_bridge
    from workbench.models.interop.hugging_face.visible_keys import change_visible_keys
    from workbench.models.interop.upstream_lens import to_upstream
    from workbench.models.positions.encoding import Encoding
    from workbench.models.positions.registry import ENCODINGS, make_encoding
    from workbench.models.rnn.config import RNNConfig
    from workbench.models.rnn.model import HookedRNN
    from workbench.models.ssm.config import SSMConfig
    from workbench.models.ssm.model import HookedSSM
    from workbench.models.testing import check_encoding
    from workbench.models.transformer.config import ModelConfig
    from workbench.models.transformer.model import HookedTransformer

__all__ = [
    "ENCODINGS",
    "Encoding",
    "HookedRNN",
    "HookedSSM",
    "HookedTransformer",
    "ModelConfig",
    "RNNConfig",
    "SSMConfig",
    "change_visible_keys",
    "check_encoding",
    "make_encoding",
    "to_bridge",
    "to_upstream",
]

__getattr__, __dir__ = face(
    __name__,
    {
        "ENCODINGS": "positions.registry",
        "Encoding": "positions.encoding",
        "HookedRNN": "rnn.model",
        "HookedSSM": "ssm.model",
        "HookedTransformer": "transformer.model",
        "ModelConfig": "transformer.config",
        "RNNConfig": "rnn.config",
        "SSMConfig": "ssm.config",
        "change_visible_keys": "interop.hugging_face.visible_keys",
        "check_encoding": "testing",
        "make_encoding": "positions.registry",
        "to_bridge": "interop.bridge",
        "to_upstream": "interop.upstream_lens",
    },
)
