"""Our models are TransformerLens's modules without its whole package, which opens as soon as it is asked for."""

from __future__ import annotations

import pytest

from tests.support.models.lens_parts import ORDERS, printed, same_classes


@pytest.mark.parametrize("order", [name for name in ORDERS if name != "ours first"])
def test_classes_are_the_same_whoever_comes_first(order: str) -> None:
    same_classes(order)


NAMES = """
import json, sys
{first}
import transformer_lens
transformer_lens.patching, transformer_lens.supported_models
from transformer_lens.conversion_utils import TensorConversionSet
def said(value):
    return f"{{getattr(value, '__module__', '')}}.{{getattr(value, '__qualname__', getattr(value, '__name__', type(value)))}}"
places = ("transformer_lens", "transformer_lens.utilities", "transformer_lens.conversion_utils")
own = {{name: {{k: said(v) for k, v in vars(sys.modules[name]).items() if not k.startswith("__")}} for name in places}}
print(json.dumps(own))
"""


def test_an_opened_package_has_what_a_plain_import_gives() -> None:
    plain = printed(NAMES.format(first=""))
    opened = printed(NAMES.format(first="import workbench.models.transformer.model"))
    for place, names in plain.items():
        # Modules that our parts read, and a plain import of TransformerLens has no need of, may stand there as well.
        extra = opened[place].keys() - names.keys()
        assert extra <= {"matrix", "lm_utils"}, extra
        assert {k: v for k, v in opened[place].items() if k in names} == names, place
        assert len(names) >= 2


def test_what_is_gone_is_told_as_by_the_package_itself() -> None:
    code = """
import json
import workbench.models.transformer.model
try:
    from transformer_lens import HookedEncoderDecoder
    said = ""
except ImportError as error:
    said = str(error)
import transformer_lens
print(json.dumps([said, hasattr(transformer_lens, "no_such_thing"), transformer_lens.__name__]))
"""
    said, known, name = printed(code)
    assert "TransformerBridge" in said
    assert (known, name) == (False, "transformer_lens")
