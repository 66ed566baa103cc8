"""Losses on the last byte of a text, with contexts of two lengths and with a few of the earlier bytes.

Every run sees the same texts, so that runs can be compared text by text: what is of text 17 has the setting
``text 17``.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from circuits.sparsity.few_tokens import FewTokens, expected_overlap, few_tokens, overlaps
from workbench.claims.trained.bin_accuracy import share
from workbench.claims.trained.in_text.whose_tokens import OF_OTHER, OTHERS, OWN
from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.run_statistics import statistic
from workbench.claims.trained.trained_run import TrainedRun
from workbench.measure.intervals import clopper_pearson
from workbench.tasks.base import Batch, Task
from workbench.training.config import RunConfig
from workbench.training.trainer import Trainer

TEXTS = 500
CHOSEN = 5
OTHER_SEEDS = 1_000
"""How far seeds of the other of two models lie: with the same weights to begin with two models agree untrained."""
DIGITS = 5
"""Decimals of the losses of single texts that are kept."""
Values = NDArray[np.float64]


@statistic("last byte", version=1)
def last_byte_rows(run: TrainedRun, short: int, texts: int = TEXTS) -> StatisticRows:
    """Return the loss on the last byte with ``short`` bytes of context and with twice as many, and the difference of
    both.

    The first row is whether the run solves the trained length. It does if at N more last bytes are right than by
    guessing the likeliest byte after the last two, over the same texts. A fixed threshold of accuracy would not work,
    because a byte is never certain.

    Args:
        run: a run of a text task.
        short: bytes of the shorter context.
        texts: how many.
    """
    whole = whole_texts(run, short, texts)
    long, brief = _last_losses(run, whole), _last_losses(run, ending_of(whole, short))
    yield from fit_by_bigrams(run, ending_of(whole, min(run.longest, 2 * short)))
    yield {"quantity": "loss with twice the context", "length": 2 * short, **_mean(long)}
    yield {"quantity": "loss with the context", "length": short, **_mean(brief)}
    yield {"quantity": "loss with twice the context less with it", "length": 2 * short, **_mean(long - brief)}
    yield from _by_text(f"loss with {2 * short} bytes of a text", "", long)


def fit_by_bigrams(run: TrainedRun, batch: Batch) -> StatisticRows:
    """Return whether a run predicts more last bytes than the most likely byte after the two before: an exact sign test
    over texts.
    """
    right = run.right(batch)[0]
    bigram = run.task.shortcuts(batch, 2)["bigram"] > 0.5
    better, worse = int((right & ~bigram).sum()), int((bigram & ~right).sum())
    low = clopper_pearson(better, better + worse)[0] if better + worse else 0.0
    for told, shown in (("accuracy of the last byte", right), ("accuracy of bigrams", bigram)):
        yield {"quantity": told, "length": batch.length, **share(int(shown.sum()), len(shown)), "n": len(shown)}
    # Of the texts on which the two differ more than half are the model's: the sign test.
    fitted = low > 0.5
    yield {"quantity": "fitted", "value": float(fitted), "label": "pass" if fitted else "fail"}


@statistic("few tokens", version=1)
@statistic("few tokens of two", version=1)
def few_token_rows(
    run: TrainedRun, short: int, texts: int = TEXTS, other: Mapping[str, Mapping[str, Any]] | None = None
) -> StatisticRows:
    """Return losses of single texts with the double context, with the single context, and with the single context plus
    five chosen or random bytes.

    Args:
        run: a run of a text task.
        short: bytes of the shorter context.
        texts: how many.
        other: settings of ``model`` and ``training`` in which another run differs from this one, in addition to its
            seeds. That run is trained here. Losses of both models are then also measured with the bytes that the other
            one chose, and the choices are compared.
    """
    batch = whole_texts(run, short, texts)
    chosen_here = few_tokens(run.model, run.task, batch, short, CHOSEN)
    yield from _losses(OWN, chosen_here)
    if other is None:
        return
    model = trained_otherwise(run, other).model
    chosen = few_tokens(model, run.task, batch, short, CHOSEN).chosen
    yield from _losses(OTHERS, few_tokens(run.model, run.task, batch, short, CHOSEN, chosen=chosen))
    yield from _losses(OF_OTHER, few_tokens(model, run.task, batch, short, CHOSEN, chosen=chosen_here.chosen))
    yield from overlap_rows(chosen_here.chosen, chosen, short)


def overlap_rows(one: NDArray[np.int64], other: NDArray[np.int64], tokens: int) -> StatisticRows:
    """Return how many tokens two choices share, divided by what chance gives: for the same text, and for another text.

    Args:
        one, other: ``[text, k]`` the choices.
        tokens: number of tokens that each choice is made from.
    """
    chance = expected_overlap(one.shape[1], tokens)
    same = overlaps(one, other) / chance
    shifted = overlaps(one, np.roll(other, 1, 0)) / chance
    for told, values in (("overlap over chance", same), ("overlap with another text's over chance", shifted)):
        yield {"quantity": told, "length": 2 * tokens, **_mean(values)}


def trained_otherwise(run: TrainedRun, other: Mapping[str, Mapping[str, Any]]) -> TrainedRun:
    """Train the run that :func:`config_otherwise` describes, and return it without saving it."""
    with tempfile.TemporaryDirectory() as folder:
        return TrainedRun.of(Trainer(config_otherwise(run.run.config, run.task, other), Path(folder) / "other").run())


def config_otherwise(stored: Mapping[str, Any], task: Task, other: Mapping[str, Mapping[str, Any]]) -> RunConfig:
    """Return the settings of a run with some settings of ``model`` and ``training``, and the seeds, changed."""
    parts = {name: {**stored[name], **other.get(name, {})} for name in ("model", "training")}
    seeds = {name: seed + OTHER_SEEDS if name in ("init", "data") else seed for name, seed in stored["seeds"].items()}
    return RunConfig.model_validate({"task": task, **parts, "seeds": seeds})


def whole_texts(run: TrainedRun, short: int, texts: int) -> Batch:
    """Return held-out texts of twice ``short`` bytes, the same ones for every run."""
    return run.strings(texts, 2 * short, "matched", "texts")


def ending_of(batch: Batch, length: int) -> Batch:
    """Return the last bytes of texts as separate texts, with the same byte as the answer."""
    tokens = torch.cat([batch.tokens[:, :1], batch.tokens[:, batch.tokens.shape[1] - length :]], 1)
    kept = slice(batch.tokens.shape[1] - length - 1, None)
    cut = {name: getattr(batch, name)[:, kept] for name in ("targets", "mask", "output_summary")}
    mask = cut["mask"].clone()
    mask[:, 0] = False
    return replace(batch, tokens=tokens, length=length, **{**cut, "mask": mask})


def _last_losses(run: TrainedRun, batch: Batch) -> Values:
    with torch.no_grad():
        losses = run.task.losses(run.answers(batch)["logits"], batch)
    found: Values = losses[:, -1].double().numpy(force=True)
    return found


def _losses(setting: str, found: FewTokens) -> StatisticRows:
    yield from _by_text("loss, long", setting, found.loss_long)
    yield from _by_text("loss, short", setting, found.loss_short)
    yield from _by_text("loss, sparse", setting, found.loss_sparse)
    yield from _by_text("loss, random", setting, found.loss_random)


def _by_text(quantity: str, setting: str, values: Values) -> Iterator[dict[str, Any]]:
    for place, value in enumerate(values.tolist()):
        told = ", ".join(filter(None, (setting, f"text {place}")))
        yield {"quantity": quantity, "setting": told, "value": round(value, DIGITS)}


def _mean(values: Values) -> dict[str, Any]:
    """A mean over texts with its interval."""
    spread, mean = float(values.std(ddof=1)), float(values.mean())
    half = 1.96 * spread / math.sqrt(len(values))
    return {"value": mean, "low": mean - half, "high": mean + half, "n": len(values), "spread": spread}
