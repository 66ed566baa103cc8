"""The config fields of architectures that carry a state from token to token and have no attention and no positions."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator

from workbench.core.errors import LensError
from workbench.models.base.architecture import Architecture
from workbench.models.positions.encoding import Encoding
from workbench.models.positions.id_samplers import Arange, IdSampler
from workbench.models.positions.none import NoPositions


class NoHeadsError(LensError, TypeError):
    """Code tried to loop over the heads of a model without heads."""


class NoHeads:
    """The number of heads of a model without any: equals 0, but raises an error in ``range``.

    A loop over no heads would end with an empty result, as if heads had been analysed. ``transformer_lens.patching``
    has such loops.

    Args:
        title: the architecture's name in the error.
    """

    def __init__(self, title: str) -> None:
        self._title = title

    def __index__(self) -> int:
        raise NoHeadsError(
            f"a {self._title} has no attention heads to look at or to patch; its layers have hook_mixer_out"
        )

    def __int__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other == 0

    def __hash__(self) -> int:
        return hash(0)

    def __repr__(self) -> str:
        return "0"


class WithoutAttention(Architecture):
    """The fields of a model without attention; see also :class:`Architecture`.

    It reads no positions and has no heads; these fields are fixed. ``n_heads`` is 0 in its JSON; see :class:`NoHeads`.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    no_heads: Literal[0] = Field(default=0, alias="n_heads")
    attention: Literal["none"] = "none"
    positions: Encoding = NoPositions()
    ids: IdSampler = Arange()

    @field_validator("positions", "ids")
    @classmethod
    def _no_positions(cls, value: Encoding | IdSampler) -> Encoding | IdSampler:
        if value.name not in ("none", "arange"):
            raise ValueError(
                f"a {cls.title} has no position encoding, so {value.name} has no effect; leave it out, or choose "
                "architecture transformer"
            )
        return value

    @property
    def n_heads(self) -> Any:
        """0, as an object that raises an error in a loop over heads (:class:`NoHeads`)."""
        return NoHeads(self.title)
