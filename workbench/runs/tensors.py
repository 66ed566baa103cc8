"""The header of a safetensors file, read without torch and without its tensors."""

from __future__ import annotations

import math
from typing import Any, BinaryIO

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from workbench.storage.seal import json_object
from workbench.table.stored_json import first_problem

METADATA = "__metadata__"
LONGEST = 16 << 20
"""The most bytes of a header, enough for some hundred thousand tensors."""


class Tensor(BaseModel):
    """The type and shape of one tensor in a file, and the position of its bytes after the header."""

    model_config = ConfigDict(strict=True, frozen=True)

    dtype: str
    shape: list[int] = Field(max_length=16)
    data_offsets: list[int] = Field(min_length=2, max_length=2)

    @property
    def numbers(self) -> int:
        """The number of elements of the tensor."""
        return math.prod(self.shape)


_Tensors: TypeAdapter[dict[str, Tensor]] = TypeAdapter(dict[str, Tensor])


def read_header(file: BinaryIO) -> tuple[dict[str, Tensor], dict[str, Any], int]:
    """The tensors by name, the metadata, and the offset of the tensors' bytes, of an open safetensors file.

    The layout is that of the safetensors format: the length of the header in 8 bytes, little-endian, the header as
    JSON, the tensors.

    Raises:
        ValueError: if the file does not begin like a safetensors file, or a tensor is outside of it.
    """
    size = int.from_bytes(file.read(8), "little")
    if size > LONGEST:
        raise ValueError("it does not begin as a safetensors file does")
    content = json_object(file.read(size))
    metadata = content.pop(METADATA, {})
    if not isinstance(metadata, dict):
        raise ValueError("its metadata are not a JSON object")
    try:
        tensors = _Tensors.validate_python(content)
    except ValidationError as error:
        raise ValueError(f"its header: {first_problem(error)}") from None
    room = file.seek(0, 2) - 8 - size
    for name, tensor in tensors.items():
        first, last = tensor.data_offsets
        if min(tensor.shape, default=0) < 0 or not 0 <= first <= last <= room:
            raise ValueError(f"tensor {name:.100} is outside the file")
    return tensors, metadata, 8 + size
