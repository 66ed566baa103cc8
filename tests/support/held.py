"""Numbers that are held: what was computed when it was found right, in a file beside the tests, so that none changes unseen.

They say that a number is what it was, not that it is right: closed forms and models by hand say that. A difference means that
stored rows, seeded strings or published figures would no longer be what they were. After a deliberate change (a measurement
has a new version, a law another name) ``pytest --write-held PATH`` writes those of these tests anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

RELATIVE = 1e-4
"""Differences up to this share pass: processors differ in last bits, and iterations carry them."""
ABSOLUTE = 1e-7
ROW = 320
"""Characters of a row of a file that people read."""
Held = Callable[[Any], None]


def digest(values: object) -> dict[str, list[float]]:
    """What stands for many numbers in a file: no single one of them can change, nor two change places, without it.

    Args:
        values: numbers of any shape, in an order that is fixed; None and NaN are missing ones.

    Returns:
        ``digest``: how many there are, how many are missing, the sum of their sizes, their sum, and their sum with other
        weights at each place. Infinite ones count as 1e9.
    """
    flat = np.asarray(values, dtype=float).ravel()
    missing = np.isnan(flat)
    finite = np.clip(np.where(missing, 0.0, flat), -1e9, 1e9)
    # The places of missing numbers count too: where one stands, another weight is left out.
    weights = 0.5 + np.modf((np.arange(len(flat)) + 1) * (math.sqrt(5) - 1) / 2)[0]
    moment = float((finite * weights).sum() + (missing * weights).sum())
    mass = float(np.abs(finite).sum() + missing.sum())
    return {"digest": [len(flat), int(missing.sum()), mass, float(finite.sum()), moment]}


def differences(found: Any, held: Any, at: str = "") -> list[str]:
    """Where two values of JSON differ by more than last bits; [] where they do not."""
    if isinstance(found, Mapping) and isinstance(held, Mapping):
        if {*found} == {"digest"} == {*held}:
            return _digests(found["digest"], held["digest"], at)
        lost = [f"{at}/{key}: missing" for key in held if key not in found]
        new = [f"{at}/{key}: was not there" for key in found if key not in held]
        both = [one for key in held if key in found for one in differences(found[key], held[key], f"{at}/{key}")]
        return lost + new + both
    if _is_list(found) and _is_list(held):
        if len(found) != len(held):
            return [f"{at}: {len(found)} values, held {len(held)}"]
        return [
            text for i, pair in enumerate(zip(found, held, strict=True)) for text in differences(*pair, f"{at}/{i}")
        ]
    if isinstance(found, float) or (isinstance(held, float) and isinstance(found, int)):
        same = isinstance(held, int | float) and math.isclose(found, held, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        return [] if same else [f"{at}: {found!r}, held {held!r}"]
    return [] if found == held else [f"{at}: {found!r}, held {held!r}"]


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _digests(found: Sequence[float], held: Sequence[float], at: str) -> list[str]:
    """Sums may differ by last bits of what was added, not of what is left of it."""
    allowed = ABSOLUTE + RELATIVE * held[2]
    same = list(found[:2]) == list(held[:2])
    same = same and all(abs(a - b) <= allowed for a, b in zip(found[2:], held[2:], strict=True))
    return [] if same else [f"{at}: digest {list(found)}, held {list(held)}"]


def plain(value: Any) -> Any:
    """The same as JSON gives it back: keys are text, numpy's numbers are Python's, NaN and infinities are text.

    Numbers have nine digits: more than are compared.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if _is_list(value):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value


def write(file: Path, name: str, values: Any, in_rows: bool = False) -> None:
    """Hold these values of a test from now on; a test is a line of the file, or with ``in_rows`` a block of short lines."""
    file.parent.mkdir(exist_ok=True)
    table = {**_table(file), name: plain(values)}
    text = short_lines if in_rows else json.dumps
    lines = (f"{json.dumps(key)}: {text(table[key])}" for key in sorted(table))
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def short_lines(value: Any, depth: int = 1) -> str:
    """JSON in lines of about :data:`ROW` characters; short items of a list or a table share a line."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= ROW or not (isinstance(value, Mapping) or _is_list(value)):
        return text
    keys = (
        [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
        if isinstance(value, Mapping)
        else [""] * len(value)
    )
    items = list(value.values()) if isinstance(value, Mapping) else value
    lines = [""]
    for key, one in zip(keys, items, strict=True):
        item = key + short_lines(one, depth + 1)
        joined = f"{lines[-1]}, {item}" if lines[-1] else item
        lines = [*lines[:-1], joined] if "\n" not in joined and len(joined) <= ROW else [*lines, item]
    begin, end = "{}" if isinstance(value, Mapping) else "[]"
    separator = ",\n" + " " * depth
    return begin + separator[1:] + separator.join(filter(None, lines)) + end


def compare(file: Path, name: str, values: Any) -> None:
    """Fail where values are not those that are held of a test."""
    table = _table(file)
    assert name in table, f"nothing is held of {name}; where its numbers are right, `pytest --write-held` writes them"
    different = differences(plain(values), table[name])
    assert not different, "\n".join(different[:20])


def _table(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text())) if file.exists() else {}


@pytest.fixture
def held(request: pytest.FixtureRequest) -> Held:
    """``held(values)``: these equal what is held of this test (its name, parameters included), in ``held/`` beside it."""
    return _fixture(request, write)


@pytest.fixture
def held_rows(request: pytest.FixtureRequest) -> Held:
    """As ``held``, in a file of short lines; all tests of a module take the same of the two."""
    return _fixture(request, partial(write, in_rows=True))


def _fixture(request: pytest.FixtureRequest, write_values: Callable[[Path, str, Any], None]) -> Held:
    file = Path(request.path).parent / "held" / f"{request.path.stem}.json"
    act = write_values if request.config.getoption("--write-held") else compare
    return lambda values: act(file, request.node.name, values)
