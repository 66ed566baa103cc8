"""Former names of methods: they work for one more version, with a DeprecationWarning that gives the new name."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

REMOVED_IN = "0.2"
"""The version without the former names."""


class FormerName:
    """An attribute of a class that stands for another one, by the name that it had before.

    Write ``old = FormerName("new")`` in the class that defines ``new``. In a pydantic model, annotate the attribute as
    ``ClassVar[FormerName]``.
    """

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the attribute with the new name, and warn the caller."""
        warn_of(self.owner, self.name, self.new)
        if instance is None:
            return getattr(owner, self.new)
        if inspect.getattr_static(type(instance), self.name) is not self:
            # A subclass overrides the former name and calls super(): the attribute of the base class is meant.
            return inspect.getattr_static(self.owner, self.new).__get__(instance, owner)
        return getattr(instance, self.new)


class OverridableFormerNames:
    """A base of classes whose subclasses in other packages may still define a method by its former name.

    Such a method then overrides the one with the new name.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, member in list(vars(cls).items()):
            former = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), None)
            if isinstance(former, FormerName) and not isinstance(member, FormerName) and former.new not in vars(cls):
                warn_of(cls, name, former.new)
                setattr(cls, former.new, member)


def warn_of(owner: type, name: str, new: str) -> None:
    """Warn the caller of the caller that a name has changed."""
    sentence = f"{owner.__name__}.{name} is now {owner.__name__}.{new}; version {REMOVED_IN} removes the old name"
    warnings.warn(sentence, DeprecationWarning, stacklevel=3)
