"""The fields that a config class declares, read from its source: importing it may take the seconds that torch takes."""

from __future__ import annotations

import ast
from pathlib import Path

ROOM = Path(__file__).parents[1]


def declared_fields(module: str, cls: str) -> list[str]:
    """Names of the fields that a pydantic class itself declares, in their order; not those of its bases.

    Args:
        module: the module's address, e.g. ``workbench.training.config``.
        cls: the class.

    Raises:
        LookupError: if the module has no such class.
    """
    file = ROOM.joinpath(*module.split(".")[1:]).with_suffix(".py")
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == cls:
            return [
                part.target.id
                for part in node.body
                if isinstance(part, ast.AnnAssign)
                and isinstance(part.target, ast.Name)
                and not part.target.id.startswith("_")
                and not ast.unparse(part.annotation).startswith("ClassVar")
            ]
    raise LookupError(f"{module} has no class {cls}")
