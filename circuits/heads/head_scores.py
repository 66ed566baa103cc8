"""``circuits.heads``: what each head attends to, and what it writes for what it reads.

Consider a query t with target set T_t among its K visible keys. A head's mass M on T_t is compared with that of uniform
attention, |T_t| / K. The score is (M - |T|/K) / (1 - |T|/K): 0 for uniform attention, and 1 for all mass on the
targets. Without that correction, uniform attention counts as an induction head wherever tokens repeat (its mass is
about one over the size of the alphabet).

There are two kinds of sequences (the column ``mode``): those of the ``task``, and ``repeats``, random tokens in which a
block recurs after random lags. With one fixed lag, a head that always attends that far back would pass, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from circuits.attention.attention_scores import scores_at
from circuits.attention.score_observer import LayerReducer, ScoreObserver, reduced_layers
from circuits.attention.target_keys import (
    ANSWER_META,
    KEY_META,
    KINDS,
    Definition,
    Targets,
    anti_induction,
    named_positions,
)
from circuits.head_rows import head_rows
from workbench.core.names import MATCHED
from workbench.core.thresholds import SINK
from workbench.measure.measurement import Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import missing_row
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Count
from workbench.table.schema import Row, row
from workbench.tasks.random_tokens import repeats

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.models.base.protocol import HookedModel
    from workbench.models.transformer.scores import ScoreInputs
    from workbench.tasks.base import Batch, Task

NAME = "circuits.heads"
LAW = MATCHED

Scores = Mapping[str, NDArray[np.float64]]
"""Quantity -> ``[sequence, head]``; NaN where a sequence has no target."""


def _score(name: str, what: str, keys: str) -> tuple[Quantity, Quantity]:
    """Return the quantities of mass on a set of keys, chance-corrected and raw; ``keys`` is the set as a formula."""
    mass = f"Attention mass of a head on {what}"
    corrected = (
        f"{mass}, corrected for chance. There is one value per head and length, the mean over the last queries. 0 "
        "means as much mass as uniform attention gives, and 1 means all attention."
    )
    return (
        Quantity(
            name, corrected, "share", None, 1,
            formula="(M − |T|/K) / (1 − |T|/K)", where=f"M = Σ_{{j ∈ T}} p_{{j}}, {keys}, t: the query",
        ),
        Quantity(
            f"{name}_mass", f"{mass}, not corrected for chance. Uniform attention gives |T|/K.", "share", 0, 1,
            formula="M = Σ_{j ∈ T} p_{j}", where=f"{keys}, t: the query",
        ),
    )  # fmt: skip


QUANTITIES = (
    *_score("previous_token", "the key directly before the query", "T = {t − 1}"),
    *_score(
        "induction",
        "the keys directly after earlier occurrences of the query's token",
        "T = {j + 1 : j + 1 < t, x_{j} = x_{t}}",
    ),
    *_score(
        "anti_induction",
        "earlier occurrences of the query's token, or on the keys before them (target: which)",
        "T = {j < t : x_{j} = x_{t}}, or the keys directly before these",
    ),
    *_score("duplicate_token", "earlier occurrences of the query's token", "T = {j < t : x_{j} = x_{t}}"),
    *_score("first_token", "the first key, BOS where there is one", "T = {0}"),
    *_score(
        "answer_token", "the key that contains the answer, as the task names it", "T: the key that contains the answer"
    ),
    *_score("key_token", "the key that matches the query, as the task names it", "T: the key that matches the query"),
    Quantity(
        "sink",
        f"Share of queries whose top key is the first one. Above {SINK:g} the head is a sink.",
        "share",
        0,
        1,
        formula="⟨1[arg max_{j} p_{j} = 0]⟩",
        where="⟨·⟩ also averages over queries; 0: the first key",
    ),
    Quantity(
        "ov_copying",
        "Share of tokens to whose own logit the head's OV circuit W_E W_V W_O W_U, without LayerNorm, gives the "
        "highest value when the head reads them. Near 1 the head copies the tokens it attends to.",
        "share",
        0,
        1,
        formula="(1/V) Σ_{t} 1[arg max_{u} (W_{E} W_{V} W_{O} W_{U})_{t,u} = t]",
        where="t, u: tokens, V: how many there are",
        interval=False,
    ),
)

BOUNDS = {q.name: q.bounds for q in QUANTITIES}


class Heads(ScoreObserver["Scores"]):
    """Measure attention patterns of heads (previous token, induction and others), sinks and OV copying.

    Args:
        window: queries with prefix length in (n - window, n], supervised or not; ``answer_token`` and ``key_token`` use
            the supervised ones.
        definition: definition of anti-induction, see :func:`circuits.attention.target_keys.anti_induction`.
        resamples: bootstrap resamples.
    """

    name = NAME
    version = 2
    title = "Heads"
    quantities = QUANTITIES
    sequences = 128
    presented = "also"

    window: Count = 16
    definition: Definition = "same"
    resamples: Count = 400

    def reducer(self, batch: Batch) -> HeadScores:
        return HeadScores(self.window, self.definition)

    def finish(self, study: Study) -> list[Row]:
        rows: list[Row] = []
        for n, layers in self._seen.items():
            rows += self._rows(study, n, layers, "task")
        n = max(study.grid.inside, default=study.grid.lengths[0])
        if study.task.presented:
            why = (
                "random tokens are drawn from a task's own vocabulary; what a presented task repeats is in its strings"
            )
            names = [q.name for q in QUANTITIES if q.name != "ov_copying"]
            rows += [missing_row("not_applicable", why, quantity=q, law=LAW, length=n, mode="repeats") for q in names]
        else:
            rows += self._rows(study, n, self._repeats(study, n), "repeats")
        return rows + self._copying(study)

    def _rows(self, study: Study, length: int, layers: Sequence[Scores], mode: str) -> list[Row]:
        rows = rows_of_scores(study, NAME, length, layers, mode, self.definition, self.resamples)
        if mode == "task" and "answer_token" not in layers[0]:
            why = "the task names no such key"
            names = [f"{kind}{end}" for kind in _NAMED for end in ("", "_mass")]
            rows += [missing_row("not_applicable", why, quantity=q, law=LAW, length=length, mode=mode) for q in names]
        return rows

    def _repeats(self, study: Study, length: int) -> list[Scores]:
        """Return scores on random tokens with blocks that recur after random lags."""
        generator = torch.Generator().manual_seed(int(study.rng(NAME, "repeats").integers(2**31)))
        return scores_on_repeats(study, length, generator, lambda: TokenScores(self.window, self.definition))

    def _copying(self, study: Study) -> list[Row]:
        shared = {"quantity": "ov_copying", "law": ""}
        try:
            copying = ov_copying(study.model)
        except ValueError as error:
            return [missing_row("not_applicable", str(error), **shared)]
        return [
            row(value=float(value), layer=layer, head=head, note="from the weights", **shared)
            for (layer, head), value in np.ndenumerate(copying)
        ]


def rows_of_scores(
    study: Study, name: str, length: int, layers: Sequence[Scores], mode: str, definition: Definition, resamples: int
) -> list[Row]:
    """Return the rows of one length, from the scores of every layer; ``name`` is the measurement's name."""
    rows = []
    for layer, found in enumerate(layers):
        rng = study.rng(name, length, mode, layer)
        place = {"law": LAW, "length": length, "layer": layer, "mode": mode}
        rows += head_rows(found, rng, resamples, "no query of the window has such a key", BOUNDS, **place)
    for r in rows:
        if r["quantity"].startswith("anti_induction"):
            r["target"] = definition
        if r["quantity"] == "sink" and r["value"] > SINK:
            r["note"] = "a sink: the head rests on the first key"
    return rows


def scores_on_repeats(
    study: Study,
    length: int,
    generator: torch.Generator,
    make: Callable[[], TokenScores],
    weights: Float[Tensor, " token"] | None = None,
    strings: Int[Tensor, "batch pos"] | None = None,
) -> list[Scores]:
    """Return scores of every layer on random tokens, or given sequences, in which a block is made to recur.

    Args:
        study: the checkpoint.
        length: length of the sequences.
        generator: draws tokens and lags.
        make: returns a reducer for one layer.
        weights: probabilities of the tokens; None = uniform.
        strings: sequences in which a block is made to recur, instead of random tokens.
    """
    batch = study.batch(LAW, length)
    count, positions = batch.tokens.shape
    tokens = repeats(count, positions, study.cfg.d_vocab, generator, batch.bos, weights=weights, strings=strings)
    study.passes += 1
    asked = replace(batch, tokens=tokens)
    return reduced_layers(study.model, asked, make, len(batch))


class TokenScores(LayerReducer["Scores"]):
    """Computes scores of the heads of one layer on any tokens, from their last ``window`` queries."""

    def __init__(self, window: int = 16, definition: Definition = "same") -> None:
        self._window, self._definition, self._parts = window, definition, list[Scores]()

    def add(self, inputs: ScoreInputs, part: Batch, seen: Mapping[str, Tensor]) -> None:
        self._parts.append(self.scores(inputs, part))

    def scores(self, inputs: ScoreInputs, part: Batch) -> Scores:
        """Return the scores on some sequences."""
        size = part.tokens.shape[1]
        queries = torch.arange(max(1, size - self._window), size)
        return token_scores(inputs, part.tokens, queries, self._definition, self.further(part.tokens, queries))

    def further(self, tokens: Int[Tensor, "batch pos"], queries: Int[Tensor, " query"]) -> Mapping[str, Targets]:
        """Return sets of target keys in addition to those of every head score."""
        return {}

    def result(self) -> Scores:
        return {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}


class HeadScores(TokenScores):
    """Computes scores on the sequences of a task, which may name further keys (:func:`head_scores`)."""

    def scores(self, inputs: ScoreInputs, part: Batch) -> Scores:
        return head_scores(inputs, part, self._window, self._definition)


def head_statistics(
    model: HookedModel, data: Data, labels: Tensor | Sequence[Tensor] | None = None, *, task: Task | None = None,
    trained: int | None = None, lengths: Sequence[int] | None = None, sequences: int = 128, seed: int = 0,
    **settings: Any,
) -> Result:  # fmt: skip
    """Return every quantity of ``circuits.heads`` for one model, without a run; see :class:`Heads`."""
    return run(
        Heads(**settings),
        model,
        data,
        labels,
        task=task,
        trained=trained,
        lengths=lengths,
        sequences=sequences,
        seed=seed,
    )


def head_scores(inputs: ScoreInputs, batch: Batch, window: int = 16, definition: Definition = "same") -> Scores:
    """Return scores of every head of one layer on the sequences of a batch, from their last ``window`` queries.

    Returns:
        quantity -> ``[sequence, head]``.
    """
    first = max(1, batch.length - window + 1)
    queries = torch.arange(batch.index(first), batch.index(batch.length) + 1)
    named = {kind: named_positions(batch, queries, meta) for kind, meta in _NAMED.items()}
    known = {kind: target for kind, target in named.items() if target is not None}
    return token_scores(inputs, batch.tokens, queries, definition, known)


_NAMED = {"answer_token": ANSWER_META, "key_token": KEY_META}


def token_scores(
    inputs: ScoreInputs,
    tokens: Int[Tensor, "batch pos"],
    queries: Int[Tensor, " query"],
    definition: Definition = "same",
    further: Mapping[str, Targets] | None = None,
) -> Scores:
    """Return scores of every head for chosen queries; ``further`` has target sets besides those of the tokens."""
    targets = {kind: make(tokens, queries) for kind, make in KINDS.items()}
    targets["anti_induction"] = anti_induction(tokens, queries, definition)
    targets |= further or {}
    parts: list[dict[str, Tensor]] = []
    step = max(1, PATTERN // max(1, inputs.q.shape[2] * len(queries) * tokens.shape[1]))
    for start in range(0, len(tokens), step):
        rows = slice(start, start + step)
        chosen = inputs.select(rows)
        pattern = chosen.pattern(scores_at(chosen, queries.tolist()).double())
        of_rows = {kind: target[rows] for kind, target in targets.items()}
        parts.append(dict(_scored(pattern, of_rows, queries)))
    return {name: torch.cat([part[name] for part in parts]).numpy(force=True) for name in parts[0]}


PATTERN = 1 << 22
"""Number of attention weights in memory at once."""


def _scored(
    pattern: Float[Tensor, "batch head query key"], targets: Mapping[str, Targets], queries: Int[Tensor, " query"]
) -> Iterator[tuple[str, Float[Tensor, "batch head"]]]:
    visible = queries.double() + 1
    for kind, target in targets.items():
        mass = torch.einsum("bhqk,bqk->bhq", pattern, target.double())
        size = target.sum(-1).double()[:, None]
        base = size / visible
        has = (size > 0) & (base < 1)
        yield kind, _query_mean((mass - base) / (1 - base), has)
        yield f"{kind}_mass", _query_mean(mass, has)
    top = (pattern.argmax(-1) == 0).double()
    yield "sink", _query_mean(top, torch.ones_like(top, dtype=torch.bool))


def _query_mean(values: Float[Tensor, "batch head query"], has: Bool[Tensor, "batch #head query"]) -> Tensor:
    kept = has.expand_as(values)
    return torch.where(kept, values, 0.0).sum(-1) / kept.sum(-1).where(kept.any(-1), torch.nan)


def ov_copying(model: HookedModel) -> NDArray[np.float64]:
    """Return ``[layer, head]``: share of tokens for which W_E W_V W_O W_U gives their own logit the highest value.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; LayerNorm is left out. If there are
    fewer answers than tokens, the first token (BOS) is skipped, because it is not an answer.

    Raises:
        ValueError: for a model whose outputs are not its tokens.
    """
    parts = [getattr(model, name, None) for name in ("W_E", "W_V", "W_O", "W_U")]
    if any(part is None for part in parts):
        raise ValueError("the model has no weights W_E, W_V, W_O and W_U to read copying from")
    w_e, w_v, w_o, w_u = (part.detach().double() for part in parts)  # type: ignore[union-attr]
    tokens, outputs = w_e.shape[0], w_u.shape[1]
    if not tokens - 2 <= outputs <= tokens or outputs < 2:
        raise ValueError(f"the model's {outputs} outputs are not its {tokens} tokens: there is no own logit")
    first = min(1, tokens - outputs)
    read = torch.einsum("td,lhde,lhem,mo->lhto", w_e[first : first + outputs], w_v, w_o, w_u)
    own = torch.arange(outputs)
    found: NDArray[np.float64] = (read.argmax(-1) == own).double().mean(-1).numpy(force=True)
    return found
