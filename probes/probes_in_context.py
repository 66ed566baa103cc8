"""``probes.in_context``: what the residual stream contains about a question in the prompt, by layer and length.

It measures two things. The answer is decoded at the positions where it is due, by applying the output layer directly to
the stream (the logit lens, nostalgebraist 2020). The number of an item is decoded at the item's position, by a linear
probe. A probe of one length is applied to longer prompts. A code of absolute positions does not extrapolate to
positions that the probe was not fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from pydantic import PrivateAttr
from torch import Tensor

from probes.fitting.linear import Directions, ridge
from workbench.core.names import EMBEDDING, MATCHED
from workbench.measure.in_context.layers_read import spread, stream
from workbench.measure.measurement import Measurement, Observer, Quantity
from workbench.measure.rows import mean_row, missing_row
from workbench.measure.settings import Count, MeasurementError
from workbench.table.schema import Row

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.models.base.architecture import Architecture
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch

NAME = "probes.in_context"
LAW = MATCHED
"""The control: the same probe of the tokens' embeddings, which say nothing of places but what the token tells."""
ITEMS, TOKENS = "items", "tokens"
FITTED_ON = 32
"""Minimum number of items of the prompt whose probe is applied to longer prompts."""
FOLDS = 4

QUANTITIES = (
    Quantity(
        "lens_accuracy",
        "Logit lens: share of the answer tokens that are correct when the residual stream after a layer goes "
        "directly through the last normalisation and the unembedding. The most likely symbol of the task "
        "counts as the answer; mean over sequences (nostalgebraist 2020). It rises at the layer where the "
        "answer becomes readable.",
        "share", 0, 1,
        formula="⟨(1/m) Σ_{t} 1[arg max W_{U} N(h_{t}) = y_{t}]⟩",
        where="h: residual stream after the layer, N: the last normalisation, m: answer tokens",
    ),
    Quantity(
        "item_position_r2",
        "R² of a linear probe that decodes the number of an item from the residual stream at the item's token. The "
        "probe is fitted and tested on different sequences of this length. 1 means that the order of items is "
        "linearly decodable.",
        "R²", None, 1,
        formula="1 − Σ (n̂ − n)² / Σ (n − n̄)²",
        where="n: number of the item, n̂: value that the probe predicts, n̄: mean of n",
        controls=(EMBEDDING,),
    ),
    Quantity(
        "item_position_transfer_r2",
        "R² of the number of an item, or of the index of its token (target), decoded by the probe fitted at the "
        f"shortest prompt with at least {FITTED_ON} items. Below 0 it is worse than predicting the mean.",
        "R²", None, 1,
        formula="1 − Σ (n̂ − n)² / Σ (n − n̄)²",
        where="n: number of the item or of its token, n̂: value that the probe predicts",
        controls=(EMBEDDING,),
    ),
)  # fmt: skip


class InContextProbes(Measurement):
    """Measure the logit lens at answers, and linear probes of item numbers, by layer and prompt length.

    Args:
        layers_read: number of layers that are read, evenly spread, including the last one.
        items: number of items of a sequence that are read, evenly spread; all if there are no more.
        window: number of answers that are read, the last ones.
        resamples: bootstrap resamples of sequences.
    """

    name = NAME
    title = "Probes in context"
    quantities = QUANTITIES
    sequences = 32
    presented = "only"
    on_request = True

    layers_read: Count = 8
    items: Count = 64
    window: Count = 16
    resamples: Count = 400

    _seen: dict[int, _Rows] = PrivateAttr(default_factory=dict)

    def hooks(self, cfg: Architecture) -> list[str]:
        return ["hook_embed", *(stream(layer) for layer in spread(cfg.n_layers, self.layers_read))]

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Raise an error: rows are collected by :meth:`observer`."""
        raise MeasurementError(f"{NAME} needs the model: call observer() instead of observe()")

    def observer(self, study: Study, law: str, length: int, batch: Batch) -> Observer:
        made = _Rows(batch, spread(study.cfg.n_layers, self.layers_read), self.items, self.window)
        self._seen[length] = made
        return made

    def finish(self, study: Study) -> list[Row]:
        rows: list[Row] = []
        for n, seen in self._seen.items():
            rows += self._lens(study, n, seen)
        return rows + self._positions(study)

    def _lens(self, study: Study, length: int, length_rows: _Rows) -> list[Row]:
        symbols = torch.tensor(sorted(study.task.wording.symbols))  # type: ignore[attr-defined]  # it is presented
        rng = study.rng(NAME, length, "lens")
        rows = []
        for layer, asked in length_rows.query_rows.items():
            if layer < 0:
                continue
            with torch.no_grad():
                logits = torch.cat([straight(study.model, one)[..., symbols] for one in asked.split(1)])
            right = symbols[logits.argmax(-1).cpu()] == length_rows.answers
            values = right.double().mean(1).numpy(force=True)
            place = {"law": LAW, "length": length, "layer": layer}
            rows.append(
                mean_row(values, rng, self.resamples, "nothing is asked", (0.0, 1.0), quantity="lens_accuracy", **place)
            )
        return rows

    def _positions(self, study: Study) -> list[Row]:
        lengths = sorted(self._seen)
        reference = next((n for n in lengths if n >= FITTED_ON), lengths[-1])
        rows: list[Row] = []
        carried: dict[str, list[Directions]] = {}
        for n in [reference, *(n for n in lengths if n != reference)]:
            length_rows = self._seen[n]
            if len(length_rows.batch) < 2 * FOLDS:
                why = f"a probe is fitted on half of the strings, in {FOLDS} folds: it takes {2 * FOLDS} of them"
                names = [q.name for q in QUANTITIES if q.controls]
                rows += [
                    missing_row("undefined", why, quantity=name, law=LAW, length=n, control=control)
                    for name in names for control in ("", EMBEDDING)
                ]  # fmt: skip
                continue
            own = length_rows.fit_probes(ITEMS)
            carried = carried or {ITEMS: own, TOKENS: length_rows.fit_probes(TOKENS)}
            rows += self._scored(study, "item_position_r2", n, length_rows, own, ITEMS)
            for target in (ITEMS, TOKENS) if n > reference else ():
                rows += self._scored(study, "item_position_transfer_r2", n, length_rows, carried[target], target)
        if not any(r["quantity"] == "item_position_transfer_r2" for r in rows):
            why = "there is no longer prompt that the probe could be taken to"
            where: dict[str, Any] = {"quantity": "item_position_transfer_r2", "law": LAW, "length": reference}
            rows.append(missing_row("not_applicable", why, **where))
        return rows

    def _scored(
        self, study: Study, quantity: str, length: int, length_rows: _Rows, probes: Sequence[Directions], target: str
    ) -> list[Row]:
        rng = study.rng(NAME, length, quantity, target)
        new_rows = []
        for layer, probe in zip(length_rows.items, probes, strict=True):
            values = length_rows.r2(probe, layer, target)
            place: dict[str, Any] = {"law": LAW, "length": length, "target": target}
            place |= {"control": EMBEDDING} if layer < 0 else {"layer": layer}
            new_rows.append(mean_row(values, rng, self.resamples, "there is one item", quantity=quantity, **place))
        return new_rows


class _Rows(Observer):
    """Rows of the residual stream at items and at answers, by layer; -1 = the embeddings.

    Attributes:
        items: ``[string, item, d_model]`` of each layer.
        query_rows: ``[string, token, d_model]``.
        answers: ``[string, token]``.
        numbers: number of each item, from 1 on, and index of its token, by target.
    """

    def __init__(self, batch: Batch, layers: Sequence[int], items: int, window: int) -> None:
        places: Sequence[int] = batch.item_places  # type: ignore[attr-defined]  # the batch of a presented task
        chosen = np.unique(np.linspace(0, len(places) - 1, min(items, len(places))).round().astype(int))
        self.batch, self.groups = batch, {-1: ("hook_embed",), **{layer: (stream(layer),) for layer in layers}}
        self._places = torch.tensor([places[i] for i in chosen])
        self._asked = batch.mask.any(0).nonzero()[-window:, 0]
        self.answers: Int[Tensor, "string token"] = batch.targets[:, self._asked]
        self.numbers = {ITEMS: torch.tensor(chosen + 1).double(), TOKENS: self._places.double()}
        self._parts: dict[int, list[tuple[Tensor, Tensor]]] = {key: [] for key in self.groups}

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        (value,) = seen.values()
        self._parts[key].append((value[:, self._places].clone(), value[:, self._asked].clone()))

    @cached_property
    def items(self) -> dict[int, Float[Tensor, "string item d_model"]]:
        return {key: torch.cat([items for items, _ in parts]) for key, parts in self._parts.items()}

    @cached_property
    def query_rows(self) -> dict[int, Float[Tensor, "string token d_model"]]:
        return {key: torch.cat([asked for _, asked in parts]) for key, parts in self._parts.items()}

    def fit_probes(self, target: str) -> list[Directions]:
        """Return a probe for each layer, fitted on every second sequence."""
        numbers = self.numbers[target]
        half = len(self.batch) // 2
        fold = (torch.arange(half) % FOLDS).repeat_interleave(len(numbers))
        probes = []
        for rows in self.items.values():
            x = rows[: 2 * half : 2].flatten(0, 1).cpu()[None]
            probes += ridge(x, [numbers.repeat(half)[:, None]], fold)
        return probes

    def r2(self, probe: Directions, layer: int, target: str) -> NDArray[np.float64]:
        """Return ``[string]``, the R² of the other sequences; NaN with one item."""
        numbers = self.numbers[target]
        rows = self.items[layer][1::2]
        predicted = probe(rows.flatten(0, 1).cpu()[None])[0, :, 0].view(len(rows), -1)
        spread_of = (numbers - numbers.mean()).pow(2).sum()
        found: NDArray[np.float64] = (1 - (predicted - numbers).pow(2).sum(1) / spread_of).numpy(force=True)
        return np.where(np.isfinite(found), found, np.nan)


def straight(model: HookedModel, rows: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows out"]:
    """Return logits computed from rows of the stream without any further layer."""
    if hasattr(model, "read_out"):
        logits: Tensor = model.read_out(model.final_norm(rows))  # type: ignore[attr-defined]  # what reads out has one
        return logits.float()
    made: Tensor = model.unembed(model.ln_final(rows))  # type: ignore[attr-defined]  # a plain stack of blocks
    return made
