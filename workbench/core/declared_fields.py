"""The fields that a config class declares, read from its source code.

Importing the class could take seconds, because it imports torch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from workbench.core import limits

ROOM = Path(__file__).parents[1]
PLAIN = {
    "int": int, "float": float, "str": str, "bool": bool, "tuple": tuple, "Annotated": Annotated, "Literal": Literal,
    **{name: value for name, value in vars(limits).items() if name.isupper()},
}  # fmt: skip
"""The names of which the types of plain fields consist, besides pydantic's ``Field``."""


NAMED = ("workbench.models.base.", "workbench.core.names")
"""Modules from which a config imports named types."""


def declared_fields(module: str, cls: str) -> list[str]:
    """Names of the fields that a pydantic class itself declares, in source order, without the fields of its bases.

    Args:
        module: the module's address, e.g. ``workbench.training.config``.
        cls: the class.

    Raises:
        LookupError: if the module has no such class.
    """
    return [name for name, _ in _fields(_parsed(module), module, cls)]


def plain_fields(module: str, cls: str, known: type[Any] | None = None) -> type[Any]:
    """A pydantic model of those fields of a pydantic class whose types are plain: numbers, words, choices of words.

    The model checks each field by itself, as the class does, and requires none of them. It does not know the class's
    validators, nor its rules between several fields.

    Args:
        module, cls: as for :func:`declared_fields`.
        known: the model of a base's fields.
    """
    from pydantic import ConfigDict, create_model

    tree = _parsed(module)
    names = _plain()
    for node in tree.body:  # types that have a name: the module's own, and those that it imports
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(NAMED):
            taken = {alias.name for alias in node.names}
            names |= {name: kind for name, kind in _named_types(_parsed(str(node.module))).items() if name in taken}
    names |= _named_types(tree)
    definitions: dict[str, Any] = {}
    for name, node in _fields(tree, module, cls):
        limited = node.value if isinstance(node.value, ast.Call) else None
        if _is_plain(node.annotation, names) and (limited is None or _is_plain(limited, names)):
            kind = _value(node.annotation, names)
            definitions[name] = (kind if limited is None else Annotated[kind, _value(limited, names)], None)
    settings = ConfigDict(extra="forbid", allow_inf_nan=False)
    model: type[Any] = create_model(cls, **({"__base__": known} if known else {"__config__": settings}), **definitions)
    return model


def _plain() -> dict[str, Any]:
    from pydantic import Field  # takes a tenth of a second: --help needs none

    return {**PLAIN, "Field": Field}


def _named_types(tree: ast.Module) -> dict[str, Any]:
    """The plain types that a module assigns to names at its top level."""
    types: dict[str, Any] = {}
    for node in tree.body:
        known = {**_plain(), **types}
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_plain(node.value, known):
            types[node.targets[0].id] = _value(node.value, known)
    return types


def _parsed(module: str) -> ast.Module:
    return ast.parse(ROOM.joinpath(*module.split(".")[1:]).with_suffix(".py").read_text(encoding="utf-8"))


def _fields(tree: ast.Module, module: str, cls: str) -> Iterator[tuple[str, ast.AnnAssign]]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == cls:
            for part in node.body:
                if not isinstance(part, ast.AnnAssign) or not isinstance(part.target, ast.Name):
                    continue
                if not part.target.id.startswith("_") and not ast.unparse(part.annotation).startswith("ClassVar"):
                    yield part.target.id, part
            return
    raise LookupError(f"{module} has no class {cls}")


def _is_plain(node: ast.expr, names: dict[str, Any]) -> bool:
    """Whether every name in an expression is known, and the expression only subscripts, joins and limits types."""
    parts = list(ast.walk(node))
    calls = [part for part in parts if isinstance(part, ast.Call)]
    return (
        all(part.id in names for part in parts if isinstance(part, ast.Name))
        and any(isinstance(part, ast.Name) for part in parts)
        and all(isinstance(call.func, ast.Name) and call.func.id == "Field" for call in calls)
        and not any(isinstance(part, ast.Attribute) for part in parts)
    )


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "<declared field>", "eval"), {"__builtins__": {}}, names)
