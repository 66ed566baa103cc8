"""T5's relative positions: a learned bias for each bucket of lags."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor, nn

from workbench.core.limits import SIZE
from workbench.models.positions.encoding import BY_ONE, Encoding, LimitTerms, Reach, attention_of_layer, shared_of

STEP = (
    "a bias by buckets is the theorem's local term but for a constant per query, which softmax does not see; only lags "
    "with a bucket of their own are told apart"
)


class Relative(Encoding):
    """A learned bias for each bucket of lags (T5; Raffel et al. 2019, 1910.10683, section 2.1).

    Each head adds ``W_bias[head, bucket(t)]`` to the score q . k / sqrt(d_head) at lag ``t = id_query - id_key``. The
    table ``pos_bias.W_bias [n_heads, buckets]`` is shared by all layers, as in T5. Half of the buckets contain one lag
    each (0, 1, 2, ...). The starts of the others grow geometrically towards ``max_distance``. The last bucket begins
    before it and contains all larger lags. A key whose id is above the query's, which coupled ids allow, has lag 0.

    T5 itself does not divide q . k by sqrt(d_head); its initial weights compensate for this.

    Attributes:
        buckets: number of biases of a head.
        max_distance: from this lag on, all lags are certainly in the last bucket.
    """

    name: Literal["relative"] = "relative"
    buckets: int = Field(default=32, ge=2, le=1024)
    max_distance: int = Field(default=128, ge=2, le=SIZE)
    biased: ClassVar[bool] = True
    bias_hook: ClassVar[str] = "hook_bucket_bias"
    limit: ClassVar[bool] = True

    @model_validator(mode="after")
    def _together(self) -> Relative:
        if self.max_distance <= self.buckets // 2:
            raise ValueError(
                f"max_distance {self.max_distance} must exceed half the buckets, {self.buckets // 2}: so many lags "
                "have a bucket of their own"
            )
        return self

    @classmethod
    def examples(cls) -> tuple[Encoding, ...]:
        return (cls(buckets=8, max_distance=16),)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The smallest lag of each bucket. A bucket is empty if the next one has the same start."""
        # Bucket e + k of B wide ones begins at the smallest t with (t / e)^B >= (max_distance / e)^k: settled by whole
        # numbers, for a logarithm that is off in its last bit would move a bound that is a whole number itself.
        e, far = self.buckets // 2, self.max_distance
        wide, starts = self.buckets - e, list(range(e))
        for k in range(wide):
            t = max(e, math.floor(e * (far / e) ** (k / wide)) - 1)
            while t**wide * e**k < far**k * e**wide:
                t += 1
            starts.append(t)
        return tuple(starts)

    @property
    def single(self) -> int:
        """The number of distances, from 0 on, that have a bucket of their own."""
        starts = set(self.starts)
        return next(t for t in range(self.buckets) if t + 1 not in starts)

    def bucket(self, lags: Int[Tensor, "*any"]) -> Int[Tensor, "*any"]:
        """The bucket of each lag."""
        return torch.bucketize(lags.clamp_min(0), torch.tensor(self.starts, device=lags.device), right=True) - 1

    def shared_parameters(self, n_heads: int) -> Mapping[str, nn.Parameter]:
        return {"W_bias": nn.Parameter(torch.empty(n_heads, self.buckets))}

    def bias_weights(self, attn: Any, shared: Mapping[str, Tensor], like: Tensor) -> Float[Tensor, "head bucket"]:
        return shared["W_bias"]

    def bias_at(
        self, weights: Float[Tensor, "#batch #query head bucket"], lags: Int[Tensor, "#batch query key"]
    ) -> Float[Tensor, "#batch head query key"]:
        return torch.take_along_dim(weights.transpose(1, 2), self.bucket(lags)[:, None], -1)

    def limit_terms(self, model: Any, layer: int) -> LimitTerms:
        weights = shared_of(model)["W_bias"].detach().double()
        lags = torch.arange(max(self.starts[-1], 1), device=weights.device)
        far = weights[:, -1]
        vectors = weights.new_zeros(1, attention_of_layer(model, layer).cfg.d_model)
        return LimitTerms(vectors, weights[:, self.bucket(lags)] - far[:, None], far)

    @classmethod
    def reach(cls, settings: Mapping[str, Any]) -> Reach:
        """Return which positions a program may read: as far back as each distance has its own bucket."""
        stated = {name: settings[name] for name in ("buckets", "max_distance") if name in settings}
        return Reach(period=1, locality=cls(**stated).single - 1 if stated else None, ids=BY_ONE, step=STEP)
