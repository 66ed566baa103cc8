"""Readers that count letters after the last one or two letters: gradients at them, and training through them.

The model has two layers. Each head of the first averages the letters before a position, with a free logit for each
distance. The only head of the second layer compares these averages at the answered position with those at earlier
ones, by a matrix W. The answer is its average of the earlier letters, and of a start symbol with score 0 whose value is
the uniform distribution. A head that averages everything counts nothing; with logit c at distance 1 it holds the letter
before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from workbench.claims.claim import Row
from workbench.claims.exact.side_by_side import adam, one_thread, round_to_digits

LETTERS, HEADS = 3, 2
PARAMETER = 0.5
"""Of the Dirichlet distribution of the rows of a transition table."""
LENGTHS = (16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096)
SEQUENCES, CHUNK = 256, 64
READERS = {"one letter": 0, "two letters": 1, "three letters": 2}
"""Readers, with the number of letters before the answer that they compare."""
FIXED = (2.0, 4.0, 8.0, 16.0)
TRAINED_LENGTH, BATCH, STEPS, RATE, SEEDS, CHECKPOINTS = 48, 16, 800, 0.03, 6, 60
START = 0.1
HELD_OUT, FROM = 128, 16
"""Sequences on which answers are compared, and the first compared position."""


@dataclass
class Weights:
    """The trained tensors, with the runs as first dimension.

    Attributes:
        distances: ``[run, head, distance]`` logits of the first layer; distance 1 is the letter before.
        pairs: ``[run, feature, feature]`` W, first the answered position; a feature is a letter of a head.
    """

    distances: torch.Tensor
    pairs: torch.Tensor


def draw(count: int, length: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return sequences ``[sequence, position]``, each of a source of its own, and the distribution of the next letter.

    Two letters decide about the next one, by a table of its own for each sequence.
    """
    tables = rng.dirichlet(np.full(LETTERS, PARAMETER), (count, LETTERS, LETTERS))
    limits = tables.cumsum(-1)
    every = np.arange(count)
    letters = rng.integers(0, LETTERS, (count, length))
    for place in range(2, length):
        row = limits[every, letters[:, place - 2], letters[:, place - 1]]
        letters[:, place] = np.minimum((rng.random((count, 1)) > row).sum(1), LETTERS - 1)
    return letters, tables[every, letters[:, -2], letters[:, -1]]


def reader(compared: int, length: int, logit: float) -> Weights:
    """Return a reader by hand.

    Args:
        compared: number of letters before the answer that have to agree, 0 to 2.
        length: number of distances.
        logit: of attention where it looks for something.
    """
    distances = torch.zeros(1, HEADS, length, dtype=torch.float64)
    pairs = torch.zeros(1, HEADS * LETTERS, HEADS * LETTERS, dtype=torch.float64)
    for head in range(compared):
        distances[0, head, head] = logit
        of_head = slice(head * LETTERS, (head + 1) * LETTERS)
        pairs[0, of_head, of_head] = logit * torch.eye(LETTERS, dtype=torch.float64)
    return Weights(distances, pairs)


def averages(distances: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """Return the averages ``[sequence, position, feature]`` of the letters before each position, for a single run.

    There is one position more than letters: the last one is that of the next letter. The first average is 0.

    Args:
        distances: ``[head, distance]`` logits.
        codes: ``[sequence, position, letter]``.
    """
    length = codes.shape[1]
    factors = distances[:, :length].exp()
    size = 2 * length
    product = torch.fft.rfft(factors, size)[:, None, :, None] * torch.fft.rfft(codes, size, dim=1)
    sums = torch.fft.irfft(product, size, dim=2)[:, :, :length]
    means = sums / factors.cumsum(1)[:, None, :, None]
    return torch.cat([torch.zeros_like(means[:, :, :1]), means], 2).permute(1, 2, 0, 3).flatten(2)


def last_answer(weights: Weights, codes: torch.Tensor) -> torch.Tensor:
    """Return the distribution of the next letter ``[sequence, letter]``, for a single run.

    Args:
        weights: of one run.
        codes: ``[sequence, position, letter]``, one-hot.
    """
    features = averages(weights.distances[0], codes)
    scores = ((features[:, -1] @ weights.pairs[0])[:, None] * features[:, :-1]).sum(2)
    return _answer(scores[:, None], codes)[:, 0]


def _answer(scores: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """Average letters ``[..., position, letter]`` with scores ``[..., answer, position]``, and the start symbol."""
    start = torch.zeros_like(scores[..., :1])
    shares = torch.cat([start, scores], -1).softmax(-1)
    return shares[..., 1:] @ codes + shares[..., :1] / LETTERS


def all_answers(weights: Weights, letters: torch.Tensor) -> torch.Tensor:
    """Return the distributions of each letter given those before it, ``[run, sequence, position, letter]``.

    Args:
        weights: of several runs.
        letters: ``[run, sequence, position]``.
    """
    length = letters.shape[-1]
    codes = torch.nn.functional.one_hot(letters, LETTERS).double()
    apart = torch.arange(length)[:, None] - torch.arange(length)  # distance from a position to an earlier one
    logits = weights.distances[:, :, (apart - 1).clamp(min=0)].masked_fill(apart < 1, -torch.inf)
    shares = torch.cat([torch.zeros_like(logits[:, :, :1]), logits[:, :, 1:].softmax(-1)], 2)
    features = torch.einsum("rhts,rbsl->rbthl", shares, codes).flatten(3)
    scores = features @ weights.pairs[:, None] @ features.transpose(-1, -2)
    return _answer(scores.masked_fill(apart < 1, -torch.inf), codes)


def gradient_norms(weights: Weights, letters: np.ndarray, following: np.ndarray) -> tuple[float, float]:
    """Return the norm of the gradient of the cross-entropy at the last position: root mean square, and of the mean.

    The first is over sequences. It bounds the norm of the gradient of the mean loss over all sequences of the source.

    Args:
        weights: of one run.
        letters: ``[sequence, position]``.
        following: ``[sequence, letter]`` distribution of the next letter.
    """

    def loss(distances: torch.Tensor, pairs: torch.Tensor, codes: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        answer = last_answer(Weights(distances[None], pairs[None]), codes[None])[0]
        return -(target * answer.clamp(min=1e-300).log()).sum()

    of_each = torch.func.vmap(torch.func.grad(loss, (0, 1)), (None, None, 0, 0))
    squares = 0.0
    totals = [torch.zeros_like(tensor[0]) for tensor in (weights.distances, weights.pairs)]
    for at in range(0, len(letters), CHUNK):
        codes = torch.nn.functional.one_hot(torch.from_numpy(letters[at : at + CHUNK]), LETTERS).double()
        slopes = of_each(weights.distances[0], weights.pairs[0], codes, torch.from_numpy(following[at : at + CHUNK]))
        for total, slope in zip(totals, slopes, strict=True):
            total += slope.sum(0)
            squares += float(slope.square().sum())
    of_mean = math.sqrt(sum(float(total.square().sum()) for total in totals)) / len(letters)
    return math.sqrt(squares / len(letters)), of_mean


@one_thread
def gradient_rows(
    lengths: tuple[int, ...] = LENGTHS,
    sequences: int = SEQUENCES,
    factor: float = 2.0,
    fixed: tuple[float, ...] = FIXED,
) -> list[Row]:
    """Return the gradient at readers that count one and two letters by length, and its slope on log n.

    Args:
        lengths: of the sequences.
        sequences: of each length.
        factor: of log n, which gives the logits.
        fixed: logits that do not depend on the length, for further rows at the last length.
    """
    rows, norms = [], dict[str, list[float]]()
    for length in lengths:
        letters, following = draw(sequences, length, np.random.default_rng([12, length]))
        for name, compared in READERS.items():
            if compared == HEADS:
                continue
            norm, of_mean = gradient_norms(reader(compared, length, factor * math.log(length)), letters, following)
            norms.setdefault(name, []).append(of_mean)
            item = f"{name}, n {length}"
            rows.append(Row("gradient", item, round_to_digits(of_mean), n=sequences))
            rows.append(Row("root mean square of gradients", item, round_to_digits(norm), n=sequences))
            if length == lengths[-1] and compared:
                for logit in fixed:
                    _, value = gradient_norms(reader(compared, length, logit), letters, following)
                    item = f"{name}, n {length}, logit {logit:g}"
                    rows.append(Row("gradient at a fixed logit", item, round_to_digits(value), n=sequences))
    for name, values in norms.items():
        x, y = np.log(lengths), np.log(values)
        rows.append(Row("slope of log gradient on log n", name, round_to_digits(np.polyfit(x, y, 1)[0])))
        rows.append(Row("R^2 of log gradient on log n", name, round_to_digits(np.corrcoef(x, y)[0, 1] ** 2)))
    return rows


def nearest(answers: torch.Tensor, letters: torch.Tensor) -> tuple[list[int], torch.Tensor]:
    """Return for each run which reader has the nearest answers, and the mean KL divergences ``[reader, run]``.

    Args:
        answers: ``[run, sequence, position, letter]``.
        letters: ``[sequence, position]``.
    """
    length = letters.shape[-1]
    divergences = []
    for compared in READERS.values():
        own = all_answers(reader(compared, length, 2 * math.log(length)), letters[None])[:, :, FROM:]
        ratio = own.log() - answers[:, :, FROM:].log()
        divergences.append((own * ratio).sum(-1).mean((1, 2)))
    table = torch.stack(divergences)
    return table.argmin(0).tolist(), table


@one_thread
def training_rows(
    seeds: int = SEEDS, steps: int = STEPS, first_seed: int = 0, rate: float = RATE, trained_heads: int = HEADS
) -> list[Row]:
    """Return whether runs are nearest first to the reader that counts one letter, and then to that of two letters.

    Args:
        seeds: number of runs.
        steps: of training.
        first_seed: of the runs.
        rate: of Adam.
        trained_heads: heads of the first layer whose logits are trained; the others average everything.
    """
    generators = [np.random.default_rng([120, first_seed + seed]) for seed in range(seeds)]
    size = HEADS * LETTERS
    distances = torch.stack([torch.from_numpy(START * g.standard_normal((HEADS, TRAINED_LENGTH))) for g in generators])
    pairs = torch.stack([torch.from_numpy(START * g.standard_normal((size, size))) for g in generators])
    trained = (torch.arange(HEADS) < trained_heads).double()[:, None]
    distances = distances * trained
    tensors = [distances, pairs]
    moments = [(torch.zeros_like(tensor), torch.zeros_like(tensor)) for tensor in tensors]
    held_out = torch.from_numpy(draw(HELD_OUT, TRAINED_LENGTH, np.random.default_rng(121))[0])
    checkpoints = {round(step) for step in np.linspace(0, steps, CHECKPOINTS)}
    course: list[list[int]] = []
    tables: list[torch.Tensor] = []
    losses: list[torch.Tensor] = []
    for step in range(steps + 1):
        if step in checkpoints:
            answers = all_answers(Weights(*tensors), held_out.expand(seeds, -1, -1))
            places, table = nearest(answers, held_out)
            course.append(places)
            tables.append(table)
            losses.append(-answers.gather(3, held_out.expand(seeds, -1, -1)[..., None]).log().mean((1, 2, 3)))
        if step == steps:
            break
        letters = torch.from_numpy(np.stack([draw(BATCH, TRAINED_LENGTH, g)[0] for g in generators]))
        leaves = [tensor.requires_grad_() for tensor in tensors]
        answers = all_answers(Weights(*leaves), letters)
        loss = -answers.gather(3, letters[..., None]).log().mean((1, 2, 3)).sum()
        slopes = list(torch.autograd.grad(loss, leaves))
        slopes[0] = slopes[0] * trained
        for at, slope in enumerate(slopes):
            tensors[at], moments[at] = adam(leaves[at].detach(), slope, moments[at], step + 1, rate)
    rows = []
    for run in range(seeds):
        order = [each[run] for each in course]
        late = int(torch.stack(tables[-len(course) // 3 :]).mean(0)[:, run].argmin())
        passed = order[0] == 0 and 1 in order and late > 0
        item = f"seed {first_seed + run}"
        rows.append(Row("one letter is nearest first, then two", item, float(passed), seed=first_seed + run))
        for name, place in READERS.items():
            share = order.count(place) / len(order)
            rows.append(
                Row(f"share of checkpoints nearest to {name}", item, round_to_digits(share), seed=first_seed + run)
            )
        rows.append(Row("loss at the start", item, round_to_digits(float(losses[0][run])), seed=first_seed + run))
        rows.append(Row("loss at the end", item, round_to_digits(float(losses[-1][run])), seed=first_seed + run))
    return rows
