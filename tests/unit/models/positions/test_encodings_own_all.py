"""Nobody outside the encodings' own place asks which encoding a model has, or lists them by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.places import ROOT
from workbench.models.positions import ENCODINGS

OWN = ROOT / "workbench" / "models" / "positions"
CLASSES = {cls.__name__ for cls in ENCODINGS.values()}
NAMES = set(ENCODINGS)
OTHERS_SAY_TOO = {"none", "learned"}
"""Names that other settings have as well: a list of these alone is none of encodings."""


def asked(code: str) -> Iterator[str]:
    """What in a file asks which encoding there is, or lists them."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass", "type"):
            if {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & CLASSES:
                yield ast.unparse(node)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            said = {side.value for side in sides if isinstance(side, ast.Constant)} & NAMES
            about = any(word in ast.unparse(node) for word in ("positions.", "encoding", "scheme", "at.name"))
            if said and about:
                yield ast.unparse(node)
        elif isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            listed = {part.value for part in parts if isinstance(part, ast.Constant)} & NAMES
            if len(listed) > 1 and listed - OTHERS_SAY_TOO:
                yield ast.unparse(node)
        elif isinstance(node, ast.MatchClass) and ast.unparse(node.cls).rpartition(".")[2] in CLASSES:
            yield ast.unparse(node)


def test_no_file_asks_which_encoding_it_is() -> None:
    files = [file for room in ("workbench", "circuits", "probes", "benchmarks") for file in (ROOT / room).rglob("*.py")]
    # Claims state the runs that papers made, as the files of sweeps do, which are no Python.
    files = [file for file in files if not {OWN, ROOT / "workbench" / "claims"} & {*file.parents}]
    found = {str(file.relative_to(ROOT)): list(asked(file.read_text())) for file in files}
    assert len(found) > 200
    assert {file: said for file, said in found.items() if said} == {}


@pytest.mark.parametrize("code", [
    "isinstance(cfg.positions, Rotary)",
    "x = isinstance(cfg.positions, (Limit, Alibi))",
    "if cfg.positions.name == 'limit': pass",
    "if 'alibi' != at.name: pass",
    "word = '' if run.encoding == 'none' else run.encoding",
    "SILENT = ('rotary', 'alibi')",
    "NAMES = {'standard': 'learned', 'rotary': 1, 'none': 2}",
    "match cfg.positions:\n    case Limit(): pass",
])  # fmt: skip
def test_asking_would_be_seen(code: str) -> None:
    assert list(asked(code))


def test_other_settings_are_not_meant() -> None:
    assert not list(asked("x = cfg.log_scaling in ('all', 'learned')\ny = a == 'none'\nz = ('none', 'learned')"))
