"""Changes which keys the layers of a pretrained model see: a wider window, keys that stay visible, and hidden keys.

Some layers of models such as Gemma 3 see only the last keys, their window. The first token of a long text is then out
of sight. Such models often put attention on the first token that is not needed elsewhere, an attention sink (Xiao et
al. 2024, arXiv 2309.17453). These changes show what a model loses when the first token leaves the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.models.interop.hugging_face.families import PretrainedError

if TYPE_CHECKING:
    from workbench.models.interop.hugging_face.adapter import PretrainedModel
    from workbench.models.transformer.scores import ScoreInputs


@dataclass(frozen=True)
class VisibleKeys:
    """A change of the keys that a layer sees.

    Attributes:
        visible: positions that all later queries see, even before the window.
        hidden: positions that no later query sees.
        window: number of keys, the query's own among them, that a query sees; None = the layer's own window.
    """

    visible: tuple[int, ...] = ()
    hidden: tuple[int, ...] = ()
    window: int | None = None

    def __call__(self, inputs: ScoreInputs) -> ScoreInputs:
        """Return the inputs of a layer's scores with this change."""
        window = inputs.window if self.window is None else self.window
        return replace(inputs, window=window, visible=self.visible, hidden=self.hidden)


@contextmanager
def change_visible_keys(
    model: PretrainedModel,
    *,
    visible: Sequence[int] = (),
    hidden: Sequence[int] = (),
    window: int | None = None,
    layers: Sequence[int] | None = None,
) -> Iterator[None]:
    """Change which keys some layers see, inside a ``with`` block.

    Outputs and the hooks of scores and patterns show the change. Statistics that are computed from queries and keys do
    not, e.g. those of ``circuits.hardmax``.

    Args:
        model: a pretrained model.
        visible: positions that all later queries see, even before the window.
        hidden: positions that no later query sees. A query always sees its own position.
        window: number of keys, the query's own among them, that a query sees; None = the layer's own window.
        layers: the changed layers; None = all layers that have a window.

    Raises:
        PretrainedError: if no layer has a window and none is named, for a layer that does not exist, for a negative
            position, or for a window below 1.
    """
    windowed = [layer for layer, size in enumerate(model.cfg.windows) if size is not None]
    chosen = windowed if layers is None else list(layers)
    if not chosen:
        raise PretrainedError("no layer of this model has a window; name the layers to change, e.g. layers=[0]")
    if unknown := [layer for layer in chosen if not 0 <= layer < model.cfg.n_layers]:
        raise PretrainedError(f"there is no layer {unknown[0]}; choose layers from 0 to {model.cfg.n_layers - 1}")
    if negative := [position for position in (*visible, *hidden) if position < 0]:
        raise PretrainedError(f"positions begin at 0, so {negative[0]} names no key; count from the first token")
    if window is not None and window < 1:
        raise PretrainedError(f"a window of {window} keys leaves no key; choose at least 1, the query's own")
    change = VisibleKeys(tuple(visible), tuple(hidden), window)
    points: list[Any] = [model.blocks[layer].attn for layer in chosen]
    before = [point.change for point in points]
    for point in points:
        point.change = change
    try:
        yield
    finally:
        for point, old in zip(points, before, strict=True):
            point.change = old
