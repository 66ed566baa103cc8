"""Annotated types and shapes are checked at the first calls of each function in each test.

At every call a unit test takes three times as long, and the thousandth call of a loop finds what the first few did: functions
of strings one by one, forward passes of an optimiser. ``pytest --every-call`` checks them all.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable
from types import CodeType
from typing import Any

import jaxtyping

CALLS = 4
"""Of each function in each test that are checked."""
SEEN_OFTEN = 200
"""Once so many calls of a function were checked, the first one in each further test is."""


class CheckedCalls:
    """Decorates as jaxtyping does, and lets calls beyond the first ones of a test through as they are.

    A function is decorated when it is first called: those that are defined within others are made anew again and again.

    Attributes:
        limit: calls of each function in each test that are checked; None = all.
    """

    def __init__(self, limit: int | None = CALLS) -> None:
        self.limit = limit
        self._all = jaxtyping.jaxtyped
        self._seen: Counter[CodeType] = Counter()
        self._checked: Counter[CodeType] = Counter()

    def begin_test(self) -> None:
        """From now on all functions are checked again."""
        self._seen.clear()

    def __call__(self, fn: Any = None, *, typechecker: Any) -> Any:
        """In place of ``jaxtyping.jaxtyped``."""
        if fn is None:
            return functools.partial(self, typechecker=typechecker)
        if isinstance(fn, classmethod | staticmethod):
            return type(fn)(self(fn.__func__, typechecker=typechecker))
        if inspect.isclass(fn):
            return self._constructor(fn, typechecker)
        if not inspect.isfunction(fn) or inspect.isgeneratorfunction(fn):
            return self._all(fn, typechecker=typechecker)
        return self._first(fn, lambda: self._all(fn, typechecker=typechecker))

    def _constructor(self, cls: Any, typechecker: Any) -> Any:
        """The class, with the constructor of a dataclass checked."""
        plain = cls.__init__
        cls = self._all(cls, typechecker=typechecker)
        checked = cls.__init__
        if checked is not plain:
            cls.__init__ = self._first(plain, lambda: checked)
        return cls

    def _first(self, fn: Any, check: Callable[[], Any]) -> Callable[..., Any]:
        seen, total, code, checked = self._seen, self._checked, fn.__code__, None

        @functools.wraps(fn)
        def first_checked(*args: Any, **options: Any) -> Any:
            nonlocal checked
            if self.limit is not None:
                count = seen[code]
                if count >= self.limit or (count and total[code] >= SEEN_OFTEN):
                    return fn(*args, **options)
                seen[code] += 1
                total[code] += 1
            checked = checked or check()
            return checked(*args, **options)

        return first_checked
