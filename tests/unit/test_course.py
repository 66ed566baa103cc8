"""The course: its solutions pass their checks, and wrong answers are refused with a sentence that says why."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from lengthlens import course
from tests.support.places import ROOT

SOURCE = (ROOT / "notebooks" / "count_or_memorize.py").read_text()
SOLUTIONS = re.findall(r'^# %% tags=\["solution"\]\n(.*?)(?=^# %%)', SOURCE, re.MULTILINE | re.DOTALL)
CHECKS = re.findall(r'^# %% tags=\["check"\]\n(.*?)(?=^# %%)', SOURCE, re.MULTILINE | re.DOTALL)
BLANKS = re.findall(r"^def (\w+)\(.*\n.*\n    raise NotImplementedError\(", SOURCE, re.MULTILINE)


def namespace() -> dict[str, Any]:
    names = {"torch": torch, "N": 31, "Z": 1.959964}
    return names | {name: getattr(course, name) for name in course.__all__}


def solved() -> dict[str, Any]:
    names = namespace()
    for solution in SOLUTIONS:
        exec(solution, names)
    return names


def test_each_solution_passes_its_check(capsys: pytest.CaptureFixture[str]) -> None:
    names = solved()
    for check in CHECKS:
        exec(check, names)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"Exercise {number}" for number in ("1", "2a", "2b", "3", "4", "5a", "5b", "6a", "6b")
    ]
    assert all(": right, " in line for line in lines)
    assert len(SOLUTIONS) == len(CHECKS) == len(lines)
    used = set(re.findall(r"\b(check_\w+)\(", "".join(CHECKS)))
    assert used == {name for name in course.__all__ if name.startswith("check_")}


def test_a_blank_is_no_answer() -> None:
    """The function of each exercise raises until the reader has written it."""
    assert BLANKS == [
        "accuracy_at", "skill_interval", "first_tokens_guess", "probe_predictions", "hardmax_distance", "squeezed_ids",
        "recovered_share",
    ]  # fmt: skip


SOLVED = solved()


def normal(right: int, n: int, baseline: float) -> tuple[float, float]:
    half = 1.959964 * (right / n * (1 - right / n) / n) ** 0.5
    return (right / n - half - baseline) / (1 - baseline), (right / n + half - baseline) / (1 - baseline)


def accuracy_limits(right: int, n: int, baseline: float) -> Any:
    return SOLVED["skill_interval"](right, n, 0.0)


def leaking(train_x: torch.Tensor, train_y: torch.Tensor, test_x: torch.Tensor) -> Any:
    """Fit a probe that subtracts the mean of the test rows from them."""
    return SOLVED["probe_predictions"](train_x - train_x.mean(0), train_y, test_x - test_x.mean(0))


def without_constant(train_x: torch.Tensor, train_y: torch.Tensor, test_x: torch.Tensor) -> torch.Tensor:
    weights = torch.linalg.lstsq(train_x.abs(), (2.0 * train_y.double() - 1)[:, None]).solution
    return (test_x @ weights)[:, 0].gt(0).long() * 0


def fit(constant: bool, middle: float) -> Callable[..., torch.Tensor]:
    """Return a least-squares probe with or without a constant, for two targets around a middle, compared with 0."""

    def classes(train_x: torch.Tensor, train_y: torch.Tensor, test_x: torch.Tensor) -> torch.Tensor:
        rows, others = (torch.nn.functional.pad(x, (0, int(constant)), value=1.0) for x in (train_x, test_x))
        targets = (train_y.double() - 0.5) * 2 * (1 - middle) + middle
        return (others @ torch.linalg.lstsq(rows, targets[:, None]).solution)[:, 0].gt(0).long()

    return classes


def unsorted_distance(p: torch.Tensor) -> float:
    keys = torch.arange(len(p))
    return min(float((p - (keys < k).double() / k).abs().sum()) / 2 for k in range(1, len(p) + 1))


def clipped(*of: Any) -> Any:
    return tuple(min(1.0, max(0.0, limit)) for limit in SOLVED["skill_interval"](*of))


def mean_answers(model: Any, task: Any, batch: Any) -> float:
    return float(task.correct(model(batch.tokens), batch).double().mean())


WRONG: list[tuple[Callable[..., Any], Any, str]] = [
    (course.check_accuracy, mean_answers, "after the last token"),
    (course.check_accuracy, lambda *of: 100 * SOLVED["accuracy_at"](*of), "not a percentage"),
    (course.check_accuracy, lambda *of: 1 - SOLVED["accuracy_at"](*of), "wrong answers"),
    (course.check_accuracy, lambda *of: None, "must return one finite number"),
    (course.check_hardmax_distance, lambda p: p.max(), r".item()"),
    (course.check_probe, lambda x, y, new: [0] * len(new), "tensor of PyTorch"),
    (course.check_skill_interval, normal, "normal interval"),
    (course.check_skill_interval, accuracy_limits, "limits of accuracy"),
    (course.check_skill_interval, lambda *of: SOLVED["skill_interval"](*of)[::-1], "lower limit first"),
    (course.check_skill_interval, lambda *of: 0.5, "two numbers"),
    (course.check_skill_interval, clipped, "Do not clip"),
    (
        course.check_first_tokens_guess,
        lambda x, w: (x.double().mean(1) > 1.5).long(),
        "over the whole sequence and BOS",
    ),
    (course.check_first_tokens_guess, lambda x, w: (x[:, : w + 1].double().mean(1) > 1.5).long(), "Leave column 0 out"),
    (
        course.check_first_tokens_guess,
        lambda x, w: (x[:, 1 : w + 1].double().mean(1) > 0.5).long(),
        "All guesses are 1",
    ),
    (course.check_first_tokens_guess, lambda x, w: torch.zeros(len(x)), "All guesses are 0"),
    (course.check_probe, fit(False, 0.0), "Append a column of ones to the features, so"),
    (course.check_probe, fit(True, 0.5), "The middle of the targets 0 and 1"),
    (course.check_hardmax_distance, unsorted_distance, "Sort the weights"),
    (
        course.check_squeezed_ids,
        lambda n, last: SOLVED["squeezed_ids"](n, last).round(),
        "position 1 is 0, expected 0.4921",
    ),
    (course.check_squeezed_ids, lambda n, last: torch.arange(n).clamp(max=last), "position 1 is 1, expected 0.4921"),
    (course.check_squeezed_ids, lambda n, last: torch.arange(n) * last / n, "The last position needs the id 31"),
    (course.check_recovered_share, lambda *of: -SOLVED["recovered_share"](*of), "sign is reversed"),
    (course.check_program, "alphabet 0 1\nanswer := count(Q(0)) <= count(Q(1))", "A tie is not a lead"),
    (course.check_first_tokens_guess, lambda x, w: (2 * (x[:, :w] == 2).sum(1) > w).long(), "BOS"),
    (course.check_first_tokens_guess, lambda x, w: (2 * x[:, -w:] - 3).sum(1).gt(0).long(), "last tokens"),
    (course.check_first_tokens_guess, lambda x, w: (2 * x[:, 1:] - 3).sum(1).gt(0).long(), "whole sequence"),
    (course.check_first_tokens_guess, lambda x, w: 1 - SOLVED["first_tokens_guess"](x, w), "reversed"),
    (course.check_first_tokens_guess, lambda x, w: SOLVED["first_tokens_guess"](x, w)[:5], "shape"),
    (course.check_probe, leaking, "training rows only"),
    (course.check_probe, without_constant, "accuracy 0.50"),
    (course.check_probe, lambda x, y, new: new[:, 0], "classes, not scores"),
    (course.check_hardmax_distance, lambda p: 1 - p.max().item(), "single best key"),
    (course.check_hardmax_distance, lambda p: 2 * SOLVED["hardmax_distance"](p), "half of it"),
    (course.check_hardmax_distance, lambda p: (p - 1 / len(p)).abs().sum().item() / 2, "on all keys"),
    (course.check_squeezed_ids, lambda n, last: torch.arange(n).clamp(max=last), "clipped"),
    (course.check_squeezed_ids, lambda n, last: SOLVED["squeezed_ids"](n, last).floor(), "Do not round"),
    (course.check_squeezed_ids, lambda n, last: torch.linspace(0, last, n), "leave them as they are"),
    (course.check_squeezed_ids, lambda n, last: torch.arange(n) * last / n * 1.5, "beyond 31"),
    (course.check_recovered_share, lambda edited, plain, at_n: edited - plain, "Divide it by the drop"),
    (course.check_recovered_share, lambda edited, plain, at_n: edited / at_n, "ratio of accuracies"),
    (course.check_recovered_share, lambda *of: max(0.0, SOLVED["recovered_share"](*of)), "negative values"),
    (course.check_program, "alphabet 0 1\nanswer := 1 <= count(Q(1))", "after 0 0 1 your program answers yes"),
    (course.check_program, "alphabet 0 1\nanswer := count(Q(1)) <", "cannot be read"),
    (course.check_program, "alphabet a b\nanswer := count(Q(a)) < count(Q(b))", "alphabet 0 1"),
]


@pytest.mark.parametrize(("check", "answer", "reason"), WRONG)
def test_a_wrong_answer_is_refused_with_its_reason(check: Callable[..., Any], answer: Any, reason: str) -> None:
    with pytest.raises(course.WrongAnswer, match=re.escape(reason)):
        check(answer)


@pytest.mark.parametrize(
    ("longest", "reason"),
    [
        (32, "Choose a larger LONGEST"),
        (62, "have a reserve"),
        (248, "at least 249"),
        (2.5, "whole number"),
        (0, "from 1"),
        (10**9, "1,000,000"),
    ],
)
def test_a_counter_that_is_blurred_at_long_lengths_is_refused(longest: Any, reason: str) -> None:
    program = course.check_program(SOLVED["PROGRAM"])
    with pytest.raises(course.WrongAnswer, match=reason):
        course.check_longest(program, longest)
