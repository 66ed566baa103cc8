"""The interface that every analysed model must have, whoever wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor


@runtime_checkable
class HookedModel(Protocol):
    """The interface of a model whose activations can be read and edited by TransformerLens's names."""

    cfg: Any
    hook_dict: dict[str, Any]

    def __call__(
        self, tokens: Tensor, position_ids: Tensor | None = None, *, return_type: str | None = "logits"
    ) -> Tensor:
        """Outputs ``[batch, pos, out]``; with ``return_type=None``, as in TransformerLens, they are not computed."""
        ...

    def run_with_cache(self, *args: Any, **kwargs: Any) -> Any: ...

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any: ...

    def hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Return a context in which the given hooks are attached to the model."""
        ...

    def score_hooks(self, layer: int) -> list[str]:
        """Names of the activations from which attention scores are computed; q and k come first."""
        ...
