"""What unit tests check of annotated calls: arguments, results, sizes that must agree, and how often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import beartype
import pytest
import torch
from beartype.roar import BeartypeCallHintParamViolation, BeartypeCallHintReturnViolation
from jaxtyping import Float
from torch import Tensor

from tests.support.checked_calls import CALLS, CheckedCalls

CHECKER = beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))


def checked(fn: Any, limit: int | None = CALLS) -> Any:
    return CheckedCalls(limit)(fn, typechecker=CHECKER)


def number(value: float, name: str | None = None, *rest: int, base: int = 2) -> float:
    return name or value  # type: ignore[return-value]


def product(matrix: Float[Tensor, "row column"], vector: Float[Tensor, " column"]) -> Float[Tensor, " row"]:
    return matrix @ vector


def first_row(matrix: Float[Tensor, "row column"]) -> Float[Tensor, " row"]:
    return matrix[0]


def of_an_unknown_name(value: Any, times: int) -> Any:
    return value * times


of_an_unknown_name.__annotations__ |= {"value": "NotImported", "return": "NotImported"}


@dataclass(frozen=True)
class Sized:
    size: int
    rows: Float[Tensor, "row column"]


MATRIX = torch.ones(2, 3)


@pytest.mark.parametrize(("fn", "arguments"), [
    (number, (1.5,)), (number, (1,)), (product, (MATRIX, torch.ones(3))), (first_row, (torch.ones(3, 3),)),
    (of_an_unknown_name, ("a", 2)), (Sized, (1, MATRIX)),
])  # fmt: skip
def test_right_calls_give_what_the_function_gives(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    made, plain = checked(fn)(*arguments), fn(*arguments)
    if isinstance(plain, Tensor):
        assert torch.equal(made, plain)
    elif fn is not Sized:
        assert made == plain


@pytest.mark.parametrize(("fn", "arguments", "options"), [
    (number, ("1",), {}), (number, (1.0, 3), {}), (number, (1.0, None, "x"), {}), (number, (1.0,), {"base": 0.5}),
    (product, (MATRIX, torch.ones(4)), {}), (product, (MATRIX, torch.ones(3).long()), {}), (product, (torch.ones(3), MATRIX), {}),
    (of_an_unknown_name, ("a", "b"), {}),
])  # fmt: skip
def test_a_wrong_argument_is_seen(fn: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    with pytest.raises(BeartypeCallHintParamViolation):
        checked(fn)(*arguments, **options)


@pytest.mark.parametrize(("fn", "arguments"), [(number, (1.0, "text")), (first_row, (MATRIX,))])
def test_a_wrong_result_is_seen(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with pytest.raises(BeartypeCallHintReturnViolation):
        checked(fn)(*arguments)


@pytest.mark.parametrize("values", [("1", MATRIX), (1, torch.ones(3))])
def test_a_wrong_field_of_a_dataclass_is_seen(values: tuple[Any, ...]) -> None:
    @dataclass
    class Fields:
        size: int
        rows: Float[Tensor, "row column"]

    with pytest.raises(BeartypeCallHintParamViolation):
        checked(Fields)(*values)


def test_sizes_of_one_call_do_not_bind_the_next() -> None:
    fn = checked(product, limit=None)
    for columns in (3, 5):
        assert fn(torch.ones(2, columns), torch.ones(columns)).tolist() == [columns] * 2


def test_the_first_calls_of_each_test_are_checked() -> None:
    calls = CheckedCalls()
    fn = calls(number, typechecker=CHECKER)
    for _ in range(2):
        calls.begin_test()
        for _ in range(CALLS):
            with pytest.raises(BeartypeCallHintParamViolation):
                fn("1")
        assert fn("1") == "1"
