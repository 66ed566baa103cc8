"""Id samplers: which position ids training and evaluation give to the tokens of a sequence."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from workbench.core.former_names import FormerName
from workbench.models.errors import PositionError
from workbench.models.positions.named_config import Scheme, refuse_negative

Ids = Int[Tensor, "#batch pos"]


class IdSampler(Scheme):
    """The rule that assigns position ids in training and evaluation: ``[batch, pos]``, or ``[1, pos]`` if all sequences
    get the same.

    BOS is a token like any other: it has the first id.
    """

    consistent: ClassVar[bool] = True
    """Whether evaluation gives a prefix the same ids by itself as inside a longer sequence."""
    coupled: ClassVar[bool] = False
    """Whether ids come from the task, so that they are known only together with a batch of it."""
    predicted: ClassVar[bool] = False
    """Whether the model itself must predict the ids of the tokens of its answer."""

    def training(
        self,
        batch: int,
        pos: int,
        n_ctx: int,
        generator: torch.Generator,
        coupled: Int[Tensor, "#batch pos"] | None = None,
    ) -> Int[Tensor, "#batch pos"]:
        """Return the ids of one training batch. ``coupled`` are ids that the task itself assigns, for samplers that use
        them.

        Raises:
            PositionError: if the sampler has no ids for that many tokens.
        """
        raise NotImplementedError

    def evaluation(self, pos: int, n_ctx: int, coupled: Int[Tensor, "#batch pos"] | None = None) -> Ids:
        """Ids for evaluation: 0, 1, 2, ..., unless the sampler defines others."""
        return torch.arange(pos)[None]

    def shift_ids(self, ids: Ids, offset: int) -> Ids:
        """Return ids moved by ``offset``, as training might move them: all ids except those of special tokens."""
        return ids + offset

    shifted: ClassVar[FormerName] = FormerName("shift_ids")

    def check(self, pos: int, n_ctx: int) -> None:
        """Refuse to train on ``pos`` tokens if the sampler has no ids for that many.

        Raises:
            PositionError: naming the smallest ``n_ctx`` that is enough.
        """

    def _need(self, least: int, n_ctx: int) -> None:
        if n_ctx < least:
            raise PositionError(f"{self.name} needs n_ctx of at least {least}, but it is {n_ctx}")


class Arange(IdSampler):
    """0, 1, 2, ... in training and in evaluation."""

    name: Literal["arange"] = "arange"

    def training(
        self,
        batch: int,
        pos: int,
        n_ctx: int,
        generator: torch.Generator,
        coupled: Int[Tensor, "#batch pos"] | None = None,
    ) -> Int[Tensor, "#batch pos"]:
        return torch.arange(pos)[None]


class RandomOffset(IdSampler):
    """Consecutive ids from an offset drawn uniformly per sequence, so that all of 0..n_ctx-1 are trained.

    As in Huang et al. (2410.02140): training ids are arange + offset, with the offset uniform over all values that fit
    the context. Evaluation starts at 0.
    """

    name: Literal["random_offset"] = "random_offset"

    def check(self, pos: int, n_ctx: int) -> None:
        self._need(pos, n_ctx)

    def training(
        self,
        batch: int,
        pos: int,
        n_ctx: int,
        generator: torch.Generator,
        coupled: Int[Tensor, "#batch pos"] | None = None,
    ) -> Int[Tensor, "#batch pos"]:
        self.check(pos, n_ctx)
        offset = torch.randint(0, n_ctx - pos + 1, (batch, 1), generator=generator)
        return torch.arange(pos)[None] + offset


class Pose(IdSampler):
    """The id sampler PoSE: consecutive ids within chunks, with gaps between chunks (Zhu et al. 2023, 2309.10400).

    Golowich et al. (2025, 2502.16792) define it for two chunks. A sequence of l tokens is split at a uniformly random
    position, and J_0, J_1 are drawn independently and uniformly from 1..n_ctx - l. The first chunk has the ids min(J),
    min(J) + 1, ..., and the second, which begins after l_1 tokens, starts at max(J) + l_1. With more chunks there are
    as many draws, in ascending order, and independent cuts. Several cuts may coincide.

    Training ids are in 1..n_ctx - 1 and strictly increase. Evaluation uses the true ids 1..l. BOS is the first of the l
    tokens, so its id is 1 in evaluation.
    """

    name: Literal["pose"] = "pose"
    chunks: int = Field(default=2, ge=2, le=1024)

    def check(self, pos: int, n_ctx: int) -> None:
        self._need(pos + 1, n_ctx)

    def training(
        self,
        batch: int,
        pos: int,
        n_ctx: int,
        generator: torch.Generator,
        coupled: Int[Tensor, "#batch pos"] | None = None,
    ) -> Int[Tensor, "#batch pos"]:
        self.check(pos, n_ctx)
        cuts = torch.randint(1, max(pos, 2), (batch, self.chunks - 1), generator=generator).sort(1).values
        starts = torch.randint(1, n_ctx - pos + 1, (batch, self.chunks), generator=generator).sort(1).values
        places = torch.arange(pos).expand(batch, pos)
        chunk = torch.searchsorted(cuts, places.contiguous(), right=True)
        return places + starts.gather(1, chunk)

    def evaluation(self, pos: int, n_ctx: int, coupled: Int[Tensor, "#batch pos"] | None = None) -> Ids:
        return torch.arange(1, pos + 1)[None]


class RandomSubset(IdSampler):
    """A random subset of 0..n_ctx-1 in ascending order (randomized positions, Ruoss et al. 2023, 2305.16843).

    Each training sequence draws its own subset. In evaluation the subset is a pure function of the number of tokens,
    the same for all sequences. Therefore a prefix by itself has other ids than inside a longer sequence.
    """

    name: Literal["random_subset"] = "random_subset"
    consistent: ClassVar[bool] = False

    def check(self, pos: int, n_ctx: int) -> None:
        self._need(pos, n_ctx)

    def training(
        self,
        batch: int,
        pos: int,
        n_ctx: int,
        generator: torch.Generator,
        coupled: Int[Tensor, "#batch pos"] | None = None,
    ) -> Int[Tensor, "#batch pos"]:
        self.check(pos, n_ctx)
        # The places of the smallest of iid draws are a uniform subset.
        smallest = torch.rand(batch, n_ctx, generator=generator).topk(pos, 1, largest=False, sorted=False)
        return smallest.indices.sort(1).values

    def evaluation(self, pos: int, n_ctx: int, coupled: Int[Tensor, "#batch pos"] | None = None) -> Ids:
        return self.training(1, pos, n_ctx, torch.Generator().manual_seed(pos))


class TaskIds(IdSampler):
    """The ids that the task couples: tokens with the same role have the same id.

    As in position coupling (Cho et al. 2024, 2405.20671), training adds one random offset per sequence to all ids,
    uniform over the values that fit 0..n_ctx-1. The id 0 of special tokens such as BOS stays 0. Evaluation adds no
    offset.

    Attributes:
        offset: whether training adds an offset. Without it, ids beyond those of the longest trained sequence stay
            untrained. The setting is stored only if it is False, so that older runs have the same run ids.
    """

    coupled: ClassVar[bool] = True
    offset: bool = Field(default=True, exclude_if=bool)

    def training(
        self,
        batch: int,
        pos: int,
        n_ctx: int,
        generator: torch.Generator,
        coupled: Int[Tensor, "#batch pos"] | None = None,
    ) -> Int[Tensor, "#batch pos"]:
        ids = self.evaluation(pos, n_ctx, coupled)
        self._need(int(ids.max()) + 1, n_ctx)
        if not self.offset:
            return ids.expand(batch, -1)
        room = n_ctx - ids.amax(1, keepdim=True)
        offset = (torch.rand(batch, 1, generator=generator, dtype=torch.float64) * room).long()
        return torch.where(ids == 0, 0, ids + offset)

    def evaluation(self, pos: int, n_ctx: int, coupled: Int[Tensor, "#batch pos"] | None = None) -> Ids:
        if coupled is None:
            raise PositionError(
                f"ids {self.name} come from the task, but this batch has none; choose another id sampler"
            )
        refuse_negative(coupled)  # here, before training shifts them
        return coupled

    def shift_ids(self, ids: Ids, offset: int) -> Ids:
        return torch.where(ids == 0, 0, ids + offset)


class Coupled(TaskIds):
    """The id sampler that uses the position ids which the task itself assigns. Ids of answers are given to the model
    like those of the input.
    """

    name: Literal["coupled"] = "coupled"


class Predicted(TaskIds):
    """The id sampler for models that predict the ids of their answers; see
    :mod:`workbench.models.transformer.predicted_ids`.

    Attributes:
        weight: weight of the cross-entropy of ids, relative to 1 for that of tokens. The paper does not state it.
    """

    name: Literal["predicted"] = "predicted"
    predicted: ClassVar[bool] = True
    weight: float = Field(default=1.0, gt=0.0)
