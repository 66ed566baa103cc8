"""Hash-consing: equal objects are one object, for trees that share their subtrees."""

from __future__ import annotations

import threading
import weakref
from dataclasses import fields
from typing import Any

_objects: weakref.WeakValueDictionary[tuple[Any, ...], Any] = weakref.WeakValueDictionary()
_lock = threading.Lock()


class Interned(type):
    """Metaclass of frozen dataclasses (``eq=False``) whose equal objects are the same object.

    The objects compare and hash by identity, in constant time, whatever the depth of their trees. A field with the
    value True differs from a field with the value 1.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        # The key keeps the parts alive, and equal parts are one object: compared by identity.
        key = (cls, *((type(value), value) for value in field_values(made)))
        with _lock:
            return _objects.setdefault(key, made)


def field_values(made: Any) -> tuple[Any, ...]:
    """The values of the fields of a dataclass object, in order."""
    return tuple(getattr(made, field.name) for field in fields(made))
