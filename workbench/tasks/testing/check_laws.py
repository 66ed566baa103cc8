"""Checks of distributions: they differ where they must, and stated baselines are correct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from scipy.special import chdtrc
from torch import Tensor

from workbench.core.thresholds import HIGHEST_FLOOR
from workbench.tasks.base import EVALUATION_LAWS, Batch
from workbench.tasks.testing.subject import (
    MANY,
    Check,
    P,
    TaskSubject,
    refuses,
)


# ---- distributions -------------------------------------------------------------------------------
def _laws(one: TaskSubject) -> Iterator[str]:
    reason = one.task.challenge_is_matched
    p, name = _smallest_p(_statistics(one, one.large_batch("matched")), _statistics(one, one.large_batch("challenge")))
    if p >= P and not reason:
        yield (
            f"the matched and the challenge test set do not differ ({MANY:,} sequences of each at length "
            f"{one.length}); draw challenge sequences on which shortcuts fail, or give the reason in "
            "challenge_is_matched"
        )
    if p < P and reason:
        yield (
            f"challenge_is_matched is set ({reason}), but the two test sets differ in {name}; set challenge_is_matched "
            "= ''"
        )


def _prefix_closed(one: TaskSubject) -> Iterator[str]:
    for law in EVALUATION_LAWS:
        if not one.task.prefix_closed(law):
            continue
        # Facts in meta are about whole strings.
        cut, whole = (
            replace(batch, meta={})
            for batch in (one.large_batch(law).prefix(one.window), one.draw(law, one.window, MANY))
        )
        p, name = _smallest_p(_statistics(one, cut), _statistics(one, whole))
        if p < P:
            yield (
                f"prefix_closed({law!r}) is True, but prefixes of longer sequences and sequences of length "
                f"{one.window} differ in {name}; return False"
            )


def _support(one: TaskSubject) -> Iterator[str]:
    for law in EVALUATION_LAWS:
        for length in dict.fromkeys((one.task.next_length(1), one.window)):
            listed = one.task.support(law, length, one.window)
            if listed is None:
                continue
            place = {tuple(string): i for i, string in enumerate(listed.batch.tokens.tolist())}
            drawn = [place.get(tuple(string)) for string in one.draw(law, length, MANY).tokens.tolist()]
            if None in drawn:
                yield (
                    f"support({law!r}, {length}) lacks a sequence that sample() draws; list all sequences, or return "
                    "None"
                )
                continue
            counts = np.bincount(np.array(drawn, dtype=np.int64), minlength=len(place))
            if len(place) > 1 and _misfit(counts, listed.probabilities.numpy() * MANY) < P:
                yield (
                    f"support({law!r}, {length}) and sample() have different probabilities; correct support(), or "
                    "return None"
                )


def _misfit(counts: Any, expected: Any) -> float:
    """Return the p-value of a fit; rare sequences are pooled."""
    rare = expected < 5
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    possible = (expected > 0) | (counts > 0)
    counts, expected = counts[possible], expected[possible]
    if len(counts) < 2:
        return 1.0
    return _chi_squared(counts, expected * counts.sum() / expected.sum(), len(counts) - 1)


def _statistics(one: TaskSubject, batch: Batch) -> dict[str, Tensor]:
    """Return statistics ``[batch]`` in which two distributions may differ, by their names in a sentence."""
    task, strings = one.task, one.strings(batch)
    length = strings.shape[1]
    change = strings[:, 1:] != strings[:, :-1]
    index = torch.arange(1, length)
    statistics: dict[str, Tensor] = {
        "how often neighbouring tokens differ": change.sum(1),
        "how long the first token repeats": torch.where(change, index, length).amin(1) if length > 1 else strings[:, 0],
        "where the last run of equal tokens begins": torch.where(change, index, 0).amax(1)
        if length > 1
        else strings[:, 0],
        "the first token": strings[:, 0],
        "the middle token": strings[:, length // 2],
        "the last token": strings[:, -1],
        "the last answer": batch.targets[:, -1].flatten(1)[:, 0] if task.real else batch.targets[:, -1],
    }
    frequent = (
        torch.bincount(strings.flatten(), minlength=task.d_vocab).topk(min(8, task.d_vocab)).indices.sort().values
    )
    for token in frequent.tolist():
        occurs = strings == token
        name = task.tokens_names[token]
        statistics[f"how often {name} occurs"] = occurs.sum(1)
        statistics[f"where {name} occurs last"] = torch.where(occurs, torch.arange(1, length + 1), 0).amax(1)
    again = strings[:, 1:] == strings[:, :1]
    before = strings[:, :-1] == strings[:, -1:]
    if length > 1:
        statistics["where the first token occurs again"] = torch.where(again, index, length).amin(1)
        statistics["where the last token occurred before"] = torch.where(before, index, 0).amax(1)
    for key, values in batch.meta.items():
        for column, value in enumerate(values.flatten(1).unbind(1) if values.ndim > 1 else [values]):
            statistics[f"meta {key} {column}"] = value
    distinct = strings.sort(1).values
    statistics["the number of different tokens"] = (distinct[:, 1:] != distinct[:, :-1]).sum(1)
    for name, hits in task.shortcuts(batch, one.window).items():
        statistics[f"how often the shortcut {name} is right"] = hits
    return statistics


def _smallest_p(first: dict[str, Tensor], second: dict[str, Tensor]) -> tuple[float, str]:
    """Return the smallest p over all shared statistics, times their number (Bonferroni), and its name."""
    names = [name for name in first if name in second]
    p, name = min((_two_samples(first[name], second[name]), name) for name in names)
    return min(1.0, p * len(names)), name


def _two_samples(first: Tensor, second: Tensor, bins: int = 12) -> float:
    """Return the p of the chi-squared test of two samples; values are put into bins of about equal counts."""
    both = torch.cat([first, second]).double()
    values = both.unique()
    if len(values) > bins:
        edges = torch.quantile(both, torch.linspace(0, 1, bins + 1, dtype=torch.float64))[1:-1].unique()
        group = torch.bucketize(both, edges)
    else:
        group = torch.searchsorted(values, both)
    parts = group[: len(first)], group[len(first) :]
    table = torch.stack([torch.bincount(part, minlength=bins + 1) for part in parts])
    table = table[:, table.sum(0) > 0]
    rare = table.sum(0) < 20
    if bool(rare.any()):
        table = torch.cat([table[:, ~rare], table[:, rare].sum(1, keepdim=True)], 1)
    if table.shape[1] < 2:
        return 1.0
    counts = table.double().numpy()
    expected = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True) / counts.sum()
    return _chi_squared(counts, expected, table.shape[1] - 1)


def _chi_squared(counts: Any, expected: Any, freedom: int) -> float:
    """Return the p of Pearson's statistic. It is written out because loading scipy.stats takes longer than a check."""
    return float(chdtrc(freedom, ((counts - expected) ** 2 / expected).sum()))


# ---- baselines -----------------------------------------------------------------------------------
def _chance(one: TaskSubject) -> Iterator[str]:
    """Check that chance is the score of the best constant answer."""
    task = one.task
    for law in EVALUATION_LAWS:
        for length in dict.fromkeys((one.window, one.length)):
            stated = task.chance(law, length)
            if not 0 <= stated <= 1:
                yield f"chance({law!r}, {length}) is {stated:g}; return a share of sequences between 0 and 1"
                continue
            batch = one.draw(law, length, MANY, window=length // 8)
            best = float(task.shortcuts(batch, length)["position_only"].mean())
            # The best constant on some sequences is a little better there than it is on all.
            classes = 2 if task.real else task.d_vocab_out
            slack = (2 * np.log(max(2, classes)) * max(stated, 1 / MANY) / MANY) ** 0.5
            if abs(best - stated) > 5 * 0.5 / MANY**0.5 + slack:
                yield (
                    f"on the {law} test set at length {length} the best constant answer is right for {best:.3f} of "
                    f"{MANY:,} sequences, but chance() returns {stated:.3f}; return the share of the best constant "
                    "answer"
                )


def _shortcuts(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for law in EVALUATION_LAWS:
        found = task.shortcuts(one.large_batch(law), one.window)
        for name in ("position_only", "last_token"):
            if name not in found:
                yield f"shortcuts() lacks {name}; extend the dict that super().shortcuts() returns"
        for name, hits in found.items():
            if tuple(hits.shape) != (MANY,) or not bool(((hits >= 0) & (hits <= 1)).all()):
                yield (
                    f"the shortcut {name} has shape {tuple(hits.shape)} or values outside 0 to 1; return one share for "
                    f"each of the {MANY:,} sequences"
                )
            elif law == "challenge" and name not in task.outside_floor and float(hits.mean()) > HIGHEST_FLOOR:
                yield (
                    f"on the challenge test set at length {one.length} the shortcut {name} is right for "
                    f"{float(hits.mean()):.3f} of the sequences; at most {HIGHEST_FLOOR} is allowed, so place the "
                    "deciding tokens outside the first and last N tokens"
                )
        short = task.shortcuts(one.draw(law, one.window), one.window)
        seen = [name for name in short if name.endswith("window")]
        if seen:
            yield (
                f"shortcuts() returns {' and '.join(seen)} at length N, where a window contains the whole sequence; "
                "return windows only beyond N"
            )


def _strata(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for name in task.strata_names:
        batch = task.sample_stratum(name, 8, one.length, torch.Generator().manual_seed(0), "matched", one.window)
        if batch is None:
            continue
        kinds = task.strata(batch)
        if name in kinds and not bool(kinds[name].all()):
            yield (
                f"sample_stratum({name!r}) draws sequences that strata() does not mark as {name}; correct one of the "
                "two"
            )
        if not 0 <= task.stratum_chance(name, "matched", one.length) <= 1:
            yield (
                f"stratum_chance({name!r}) is {task.stratum_chance(name, 'matched', one.length):g}; return a share "
                "between 0 and 1"
            )
    if not refuses(lambda: task.sample_stratum("no such", 1, one.length, torch.Generator(), "matched", None)):
        yield "sample_stratum() accepts the unknown kind of hard input 'no such'; raise TaskError for unknown names"


CHECKS: Mapping[str, Check] = {
    "laws": _laws,
    "prefix-closed": _prefix_closed,
    "support": _support,
    "chance": _chance,
    "shortcuts": _shortcuts,
    "strata": _strata,
}
"""The checks of this file by name, in the order in which they run."""
