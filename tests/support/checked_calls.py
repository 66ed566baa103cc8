"""Annotated types and shapes are checked at the first calls of each function in each test.

At every call a unit test takes three times as long, and the thousandth call of a loop finds what the first few did: functions
of strings one by one, forward passes of an optimiser. ``pytest --every-call`` checks them all.

jaxtyping builds two checking functions for each function, and checks the arguments before the call and again after it. Here
beartype checks arguments and result once. Only annotations with arrays need the memory of sizes that jaxtyping keeps.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections import Counter
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, get_args, get_type_hints

import jaxtyping
from beartype.roar import BeartypeException

CALLS = 4
"""Of each function in each test that are checked."""
JAXTYPED: Any = jaxtyping.jaxtyped
"""jaxtyping's own decorator, also where an object of :class:`CheckedCalls` takes its place."""
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
            return JAXTYPED(fn, typechecker=typechecker)
        return self._first(fn, lambda: checked_once(fn, typechecker))

    def _constructor(self, cls: Any, typechecker: Any) -> Any:
        """The class, with the constructor of a dataclass checked."""
        plain = vars(cls).get("__init__")
        if dataclasses.is_dataclass(cls) and plain is not None and not hasattr(plain, "__wrapped__"):
            cls.__init__ = self._first(plain, lambda: checked_once(plain, typechecker))  # type: ignore[misc, method-assign]
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


def checked_once(fn: Any, typechecker: Callable[[Any], Any]) -> Any:
    """The function, with its arguments checked before each call and its result after it."""
    annotations = {name: resolved(fn, annotation) for name, annotation in fn.__annotations__.items()}
    copy: Any = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    copy.__kwdefaults__, copy.__qualname__, copy.__module__ = fn.__kwdefaults__, fn.__qualname__, fn.__module__
    copy.__annotations__ = annotations
    checked = typechecker(copy)
    if any(has_array(annotation) for annotation in annotations.values()):
        return without_note(JAXTYPED(checked, typechecker=None))
    return checked


def without_note(fn: Any) -> Any:
    """The function, whose own errors do not carry the note of jaxtyping on the sizes of arrays."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            if hasattr(error, "__notes__") and not isinstance(error, BeartypeException | jaxtyping.TypeCheckError):
                error.__notes__ = [note for note in error.__notes__ if "`jaxtyping.jaxtyped` function" not in note]
                if not error.__notes__:
                    del error.__notes__
            raise

    return call


def resolved(fn: Any, annotation: object) -> Any:
    """What an annotation means in the module of its function; Any where a name in it is not known at run time."""

    def holder() -> None: ...

    holder.__annotations__ = {"value": annotation}
    try:
        return get_type_hints(holder, fn.__globals__, include_extras=True)["value"]
    except Exception:  # noqa: BLE001 - jaxtyping does the same
        return Any


def has_array(annotation: Any) -> bool:
    """Whether sizes of an array are part of an annotation."""
    if inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray):
        return True
    return any(has_array(part) for part in get_args(annotation))
