"""Checks of the course "Does your transformer count, or does it memorize lengths?".

There is one check for each function that you write. It prints one line if the answer is right. Otherwise it raises
:class:`WrongAnswer` with a sentence that names the case, the value and a likely reason. The expected values come from
the functions that LengthLens itself uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from workbench.core.errors import LensError, quoted_value
from workbench.measure.edits.interventions.intervention import TrainedIds
from workbench.measure.edits.interventions.position import POSITION, Interpolate
from workbench.measure.intervals import wilson
from workbench.models.transformer.tie_sets import nearest_hardmax, sort_rows
from workbench.tasks.base import Batch, Task
from workbench.tasks.random_generator import generator
from workbench.tasks.registry import make_task
from workbench.theory.compiler.pipeline import compile
from workbench.theory.crasp.evaluator import accepts
from workbench.theory.crasp.parser import parse
from workbench.theory.crasp.syntax import CraspError

if TYPE_CHECKING:
    from workbench.theory.crasp.program import Program

__all__ = [
    "WrongAnswer", "check_accuracy", "check_first_tokens_guess", "check_hardmax_distance", "check_longest",
    "check_probe", "check_program", "check_recovered_share", "check_skill_interval", "check_squeezed_ids",
    "small_margin_batch",
]  # fmt: skip

TOLERANCE = 1e-4
LONGEST_WORD = 9
"""Programs are compared with majority on all words up to this length."""
MOST_TOKENS = 1_000_000
"""Largest length for which a program is compiled."""
TESTED_LENGTH = 249
"""Length at which a compiled program is tested: 8 N for N = 31, rounded up to an odd number."""


class WrongAnswer(LensError, AssertionError):
    """An answer to an exercise that is not right; the message names the case and a likely reason."""


class _Rigged:
    """A model with given outputs."""

    def __init__(self, outputs: Tensor) -> None:
        self.outputs = outputs

    def __call__(self, tokens: Tensor) -> Tensor:
        return self.outputs


def check_accuracy(accuracy_at: Callable[[Any, Task, Batch], float]) -> None:
    """Check exercise 1 on a model whose last answer is right on 48 of 64 sequences, and no other answer is.

    Args:
        accuracy_at: ``(model, task, batch) -> share of sequences with a right last answer``.
    """
    task = make_task("majority")
    batch = task.batch(64, 15, seed=1)
    answers = 1 - batch.targets
    answers[:48, -1] = batch.targets[:48, -1]
    model = _Rigged(torch.nn.functional.one_hot(answers, 2).float())
    value = _number(accuracy_at(model, task, batch), "accuracy_at")
    right = task.correct(model.outputs, batch)
    supervised = float(right[batch.mask].double().mean())
    hints = {
        75.0: "Return a share between 0 and 1, not a percentage.",
        48.0: "That is the number of sequences. Return their share.",
        0.25: "That is the share of wrong answers.",
        float(
            right.double().mean()
        ): "That is the mean over all positions. Only the answer after the last token counts.",
        supervised: "That is the mean over all supervised positions. Only the answer after the last token counts.",
    }
    _compare("accuracy_at", "a model whose last answer is right on 48 of 64 sequences", value, 0.75, hints)
    _pass("Exercise 1", "accuracy_at counts the answers after the last token")


def check_skill_interval(skill_interval: Callable[[int, int, float], Sequence[float]]) -> None:
    """Check exercise 2a against the interval of Wilson, rescaled by the baseline.

    Args:
        skill_interval: ``(right, n, baseline) -> (low, high)``.
    """
    for right, n, baseline in ((400, 512, 0.5), (512, 512, 0.5), (0, 10, 0.25), (190, 250, 0.75)):
        answer = _pair(skill_interval(right, n, baseline), "skill_interval")
        limits = wilson(right, n)
        expected = tuple((limit - baseline) / (1 - baseline) for limit in limits)
        case = f"{right} of {n} right answers and a baseline of {baseline:g}"
        if _close(answer, expected):
            continue
        share = right / n
        half = 1.959964 * math.sqrt(share * (1 - share) / n)
        normal = tuple((limit - baseline) / (1 - baseline) for limit in (share - half, share + half))
        hint = ""
        if _close(answer, limits):
            hint = "These are limits of accuracy. Rescale both by the baseline."
        elif _close(answer, tuple(min(1.0, max(0.0, limit)) for limit in expected)):
            hint = "Do not clip: skill is negative where accuracy is below the baseline."
        elif _close(answer, expected[::-1]):
            hint = "Return the lower limit first."
        elif _close(answer, normal):
            hint = "This is the normal interval. It has no width when all answers are right; use the formula of Wilson."
        raise _wrong("skill_interval", case, _pair_text(answer), _pair_text(expected), hint)
    _pass("Exercise 2a", "skill_interval agrees with the intervals of LengthLens")


def check_first_tokens_guess(first_tokens_guess: Callable[[Tensor, int], Tensor]) -> None:
    """Check exercise 2b against the shortcut ``first_window`` of the task majority.

    Args:
        first_tokens_guess: ``(tokens [batch, 1 + length], window) -> guesses [batch]``, 1 for more ones.
    """
    task, window = make_task("majority"), 31
    batch = task.batch(512, 47, seed=2)
    guesses = _tensor(first_tokens_guess(batch.tokens, window), "first_tokens_guess", (512,))
    tokens = batch.tokens

    def majority(part: Tensor) -> Tensor:
        return (2 * (part == 2).sum(1) > part.shape[1]).long()

    def above_mean(part: Tensor) -> Tensor:
        return (part.double().mean(1) > 1.5).long()

    expected = majority(tokens[:, 1 : 1 + window])
    wrong = int((guesses.long() != expected).sum())
    if wrong:
        hints = {
            "Column 0 contains the BOS token. The task tokens begin in column 1.": majority(tokens[:, :window]),
            "Your mean includes BOS, whose id is 0. The task tokens begin in column 1.": above_mean(tokens[:, :window]),
            "Your mean includes BOS, whose id is 0. Leave column 0 out.": above_mean(tokens[:, : window + 1]),
            "The function reads the last tokens. Read the first ones.": majority(tokens[:, -window:]),
            "The function reads the whole sequence. Read only the first `window` task tokens.": majority(tokens[:, 1:]),
            "Your mean is over the whole sequence and BOS. Read the first `window` task tokens.": above_mean(tokens),
            "All guesses are reversed: return 1 if there are more ones.": 1 - expected,
            "All guesses are 1. The symbol 0 has the token id 1, and the symbol 1 has the id 2.": torch.ones_like(
                expected
            ),
            "All guesses are 0. The symbol 0 has the token id 1, and the symbol 1 has the id 2.": expected.new_zeros(
                512
            ),
        }
        hint = next((text for text, other in hints.items() if torch.equal(guesses.long(), other)), "")
        case = f"512 sequences of length 47 and a window of {window}"
        raise _wrong("first_tokens_guess", case, f"{512 - wrong} matching guesses", "512", hint)
    _pass("Exercise 2b", "first_tokens_guess is the shortcut first_window of LengthLens")


def check_probe(probe_predictions: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """Check exercise 3 on planted codes of a class, and against the probe of LengthLens.

    Args:
        probe_predictions: ``(train_x [row, d], train_y [row], test_x [other row, d]) -> classes [other row]``.
    """
    from probes.fitting.linear import fit_probes

    draw = generator("course", "probe")
    direction, drift = torch.randn(2, 8, generator=draw, dtype=torch.float64)
    drift = drift - direction * (drift @ direction) / (direction @ direction)

    def rows(count: int, noise: float = 0.1) -> tuple[Tensor, Tensor]:
        y = torch.arange(count) % 2
        blur = noise * torch.randn(count, 8, generator=draw, dtype=torch.float64)
        return 5.0 + (2.0 * y[:, None] - 1) * direction + blur, y

    def predict(x: Tensor, y: Tensor, new: Tensor) -> Tensor:
        classes = _tensor(probe_predictions(x.clone(), y.clone(), new.clone()), "probe_predictions", (len(new),))
        if not bool(((classes == 0) | (classes == 1)).all()):
            raise WrongAnswer(
                "probe_predictions returns values other than 0 and 1: return classes, not scores. A score above the "
                "middle of the two targets means class 1"
            )
        return classes.long()

    def reason(x: Tensor, y: Tensor, new: Tensor) -> str:
        """Return which usual mistake gives the same classes as the reader's function."""
        answer = predict(x, y, new)
        for text, constant, targets in (
            ("The middle of the targets 0 and 1 is ½. Use the targets −1 and 1, or compare with ½.", True, y.double()),
            ("Append a column of ones to the features, so that the probe has a constant.", False, 2.0 * y - 1),
            ("Use the targets −1 and 1, and append a column of ones to the features.", False, y.double()),
        ):
            rows, others = (torch.nn.functional.pad(part, (0, int(constant)), value=1.0) for part in (x, new))
            weights = torch.linalg.lstsq(rows, targets.double()[:, None]).solution
            if float(((others @ weights)[:, 0].gt(0) == answer).double().mean()) > 0.99:
                return text
        return "Fit least squares to the targets −1 and 1 on all training rows, with a column of ones as a feature."

    x, y = rows(400)
    new, labels = rows(200)
    share = float((predict(x, y, new) == labels).double().mean())
    if share < 0.99:
        case = "rows whose class is coded linearly"
        raise _wrong("probe_predictions", case, f"accuracy {share:.2f}", "1.00", reason(x, y, new))
    moved = predict(x, y, new - 4 * direction)
    if float((moved == 0).double().mean()) < 0.99:
        raise WrongAnswer(
            "probe_predictions adapts to the test rows: when all of them move towards class 0, a frozen probe calls "
            f"each one class 0, but yours calls {int((moved == 0).sum())} of {len(moved)} so. Compute means and "
            "weights from the training rows only"
        )
    noisy, targets = rows(400, noise=1.5)
    others, _ = rows(400, noise=1.5)
    (fitted,) = fit_probes(noisy[None], [targets], [2], torch.arange(len(noisy)) % 4, strengths=(1e-6,))
    theirs = fitted(others[None] + drift)[0]
    agreement = float((predict(noisy, targets, others + drift) == theirs).double().mean())
    if agreement < 0.97:
        case, hint = "noisy rows", reason(noisy, targets, others + drift)
        raise _wrong("probe_predictions", case, f"agreement {agreement:.2f} with the library", "at least 0.97", hint)
    _pass("Exercise 3", f"your probe and that of LengthLens agree on {agreement:.0%} of noisy rows")


def check_hardmax_distance(hardmax_distance: Callable[[Tensor], float]) -> None:
    """Check exercise 4 against the distance that ``circuits.hardmax`` stores.

    Args:
        hardmax_distance: ``weights [key] -> distance to the nearest uniform distribution on some keys``.
    """
    random = torch.randn(6, 40, generator=generator("course", "attention"), dtype=torch.float64).softmax(-1)
    cases = {
        "the weights 0, 1, 0, 0": torch.tensor([0.0, 1.0, 0.0, 0.0]),
        "equal weights on 5 keys": torch.full((5,), 0.2),
        "the weights 0.5, 0, 0.5, 0": torch.tensor([0.5, 0.0, 0.5, 0.0]),
        "the weights 0.7, 0.1, 0.1, 0.1": torch.tensor([0.7, 0.1, 0.1, 0.1]),
        **{f"random weights {number + 1} on 40 keys": row for number, row in enumerate(random)},
    }
    for case, weights in cases.items():
        p = weights.double()
        expected = float(nearest_hardmax(sort_rows(p.clamp(min=1e-300).log()[None].numpy())).distance[0])
        value = _number(hardmax_distance(p.clone()), "hardmax_distance")
        uniform = float((p - 1 / len(p)).abs().sum()) / 2
        keys = torch.arange(len(p))
        unsorted = min(float((p - (keys < k).double() / k).abs().sum()) / 2 for k in range(1, len(p) + 1))
        hints = {
            unsorted: "Sort the weights in descending order first, so that the k largest ones come first.",
            2 * expected: "That is the sum of absolute differences. The total variation is half of it.",
            1 - float(p.max()): "That is the distance to the single best key. Try sets of every size.",
            uniform: "That is the distance to equal weights on all keys. Try sets of every size.",
        }
        _compare("hardmax_distance", case, value, expected, hints)
    _pass("Exercise 4", "hardmax_distance agrees with circuits.hardmax")


def check_squeezed_ids(squeezed_ids: Callable[[int, int], Tensor]) -> None:
    """Check exercise 5a against the intervention ``P.int`` of LengthLens.

    Args:
        squeezed_ids: ``(positions, last) -> ids [positions]``, none of them above ``last``.
    """
    edit = next(one for one in POSITION if isinstance(one, Interpolate))
    for positions, last in ((64, 31), (250, 31), (20, 31)):
        ids = _tensor(squeezed_ids(positions, last), "squeezed_ids", (positions,)).double()
        own = torch.arange(positions)
        expected = edit.edit(own[None], TrainedIds(last, last, between=True, absolute=True))[0].double()
        if bool(torch.isclose(ids, expected, atol=TOLERANCE).all()):
            continue
        case = f"{positions} positions and the last trained id {last}"
        hint = ""
        if positions <= last:
            hint = "All these ids were trained, so leave them as they are."
        elif bool(torch.isclose(ids, own.clamp(max=last).double()).all()):
            hint = "These ids are clipped: many tokens share the last one. Multiply all ids by one factor instead."
        elif any(torch.allclose(ids, rounded, atol=TOLERANCE) for rounded in (expected.floor(), expected.round())):
            hint = "Do not round: sinusoidal positions read fractions."
        elif torch.allclose(ids, own.double() * last / positions, atol=TOLERANCE):
            hint = f"The last position needs the id {last}. The largest usual id is the number of positions minus one."
        elif float(ids.max()) > last + TOLERANCE:
            hint = f"The largest id is {float(ids.max()):.4g}, which is beyond {last}."
        first = int((~torch.isclose(ids, expected, atol=TOLERANCE)).long().argmax())
        value = f"the id of position {first} is {float(ids[first]):.4g}"
        raise _wrong("squeezed_ids", case, value, f"{float(expected[first]):.4g}", hint)
    _pass("Exercise 5a", "squeezed_ids is the intervention P.int of LengthLens")


def check_recovered_share(recovered_share: Callable[[float, float, float], float]) -> None:
    """Check exercise 5b: how much of an accuracy drop an edit recovers.

    Args:
        recovered_share: ``(edited, plain, at_n) -> share``.
    """
    for edited, plain, at_n in ((0.9, 0.7, 1.0), (0.6, 0.7, 0.98), (0.98, 0.73, 0.98)):
        expected = (edited - plain) / (at_n - plain)
        hints = {
            edited - plain: "That is the gain. Divide it by the drop from N.",
            edited / at_n: "That is a ratio of accuracies. Divide the gain by the drop from N.",
            -expected: "The sign is reversed. The gain is the edited accuracy minus the plain one.",
            max(0.0, expected): "Keep negative values: an edit can make accuracy worse.",
        }
        case = f"accuracies of {edited:g} with the edit, {plain:g} without it and {at_n:g} at N"
        _compare(
            "recovered_share", case, _number(recovered_share(edited, plain, at_n), "recovered_share"), expected, hints
        )
    _pass("Exercise 5b", "1 means that the edit recovers the whole drop, 0 that it changes nothing")


def check_program(text: str) -> Program:
    """Check exercise 6a on all sequences of up to 9 symbols, and return the program.

    Args:
        text: a C-RASP program over the symbols 0 and 1 that is true if more ones than zeros were read.
    """
    try:
        program = parse(text)
    except CraspError as error:
        raise WrongAnswer(f"the program cannot be read: {error}") from None
    if program.alphabet != ("0", "1"):
        raise WrongAnswer(f"the first line of the program must be 'alphabet 0 1', not {' '.join(program.alphabet)!r}")
    if len(program.outputs) != 1:
        raise WrongAnswer("the program needs one answer, the value of its last line")
    # Odd lengths come first: an even one can end in a tie.
    for length in (*range(1, LONGEST_WORD + 1, 2), *range(2, LONGEST_WORD + 1, 2)):
        words = np.array(list(product((1, 2), repeat=length)))
        answers = accepts(program, words)
        expected = 2 * (words == 2).sum(1) > length
        for word, answer, truth in zip(words, answers, expected, strict=True):
            if bool(answer) != bool(truth):
                shown = " ".join(str(token - 1) for token in word)
                ones = int((word == 2).sum())
                raise WrongAnswer(
                    f"after {shown} your program answers {'yes' if answer else 'no'}, but there are {ones} ones and "
                    f"{length - ones} zeros: the answer is {'yes' if truth else 'no'}"
                    + (". A tie is not a lead" if 2 * ones == length else "")
                )
    _pass("Exercise 6a", f"the program is right on all sequences of up to {LONGEST_WORD} symbols")
    return program


def check_longest(program: Program, longest: int) -> Any:
    """Check exercise 6b: compile the program, test it at length 249 on leads of one, and return the model.

    Args:
        program: of exercise 6a.
        longest: the longest sequence for which the weights are made.
    """
    if type(longest) is not int or not 1 <= longest <= MOST_TOKENS:
        raise WrongAnswer(f"LONGEST is a whole number of tokens from 1 to {MOST_TOKENS:,}, not {quoted_value(longest)}")
    model = compile(program, n_max=longest).model
    task = make_task("majority")
    batch = small_margin_batch(task, TESTED_LENGTH)
    with torch.no_grad():
        right = int(task.correct(model(batch.tokens), batch)[:, -1].sum())
    if right < len(batch):
        raise WrongAnswer(
            f"compiled for {longest} tokens, the model is right on {right} of {len(batch)} sequences of "
            f"{TESTED_LENGTH} tokens with a lead of one. One token changes a mean over the prefix by one over its "
            "length. Choose a larger LONGEST, so that the comparison separates the two"
        )
    if longest < TESTED_LENGTH:
        raise WrongAnswer(
            f"compiled for {longest} tokens, the model is right on all {len(batch)} sequences of {TESTED_LENGTH} "
            f"tokens with a lead of one, but only because the weights have a reserve. They are made to be exact up to "
            f"{longest} tokens. Set LONGEST to at least {TESTED_LENGTH}"
        )
    _pass("Exercise 6b", f"the compiled model is right on all {len(batch)} sequences with a lead of one")
    return model


def small_margin_batch(task: Task, length: int, count: int = 256) -> Batch:
    """Return sequences of majority in which one symbol leads by one."""
    batch = task.sample_stratum("lead 1", count, length, generator("course", "margin", length), "matched")
    assert batch is not None
    return batch


def _pass(exercise: str, text: str) -> None:
    print(f"{exercise}: right, {text}.")


def _wrong(name: str, case: str, value: str, expected: str, hint: str) -> WrongAnswer:
    return WrongAnswer(f"{name} on {case}: {value}, expected {expected}. {hint}".strip())


def _compare(name: str, case: str, value: float, expected: float, hints: dict[float, str]) -> None:
    """Refuse a value that differs from the expected one, with the hint of the value that it equals."""
    if math.isclose(value, expected, abs_tol=TOLERANCE):
        return
    hint = next((text for other, text in hints.items() if math.isclose(value, other, abs_tol=TOLERANCE)), "")
    raise _wrong(name, case, f"{value:.4g}", f"{expected:.4g}", hint)


def _close(left: Sequence[float], right: Sequence[float]) -> bool:
    return all(math.isclose(a, b, abs_tol=TOLERANCE) for a, b in zip(left, right, strict=True))


def _pair_text(pair: Sequence[float]) -> str:
    return f"[{pair[0]:.4g}, {pair[1]:.4g}]"


def _number(value: object, name: str) -> float:
    """Return a number that a function of the reader returned."""
    if isinstance(value, Tensor | np.ndarray) and math.prod(value.shape) == 1:
        raise WrongAnswer(f"{name} must return a number of Python, not {quoted_value(value)}: end it with .item()")
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not math.isfinite(value):
        raise WrongAnswer(f"{name} must return one finite number, not {quoted_value(value)}")
    return float(value)


def _pair(value: object, name: str) -> tuple[float, float]:
    """Return two numbers that a function of the reader returned."""
    if not isinstance(value, Sequence | Tensor | np.ndarray) or len(value) != 2:
        raise WrongAnswer(f"{name} must return two numbers, the lower and the upper limit, not {quoted_value(value)}")
    return _number(value[0], name), _number(value[1], name)


def _tensor(value: object, name: str, shape: tuple[int, ...]) -> Tensor:
    """Return a tensor of the expected shape that a function of the reader returned."""
    if not isinstance(value, Tensor):
        raise WrongAnswer(f"{name} must return a tensor of PyTorch, not {quoted_value(value)}")
    if tuple(value.shape) != shape:
        raise WrongAnswer(f"{name} must return a tensor of shape {shape}, not {tuple(value.shape)}")
    return value.detach()
