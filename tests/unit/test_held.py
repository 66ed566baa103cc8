"""What is held of tests: a difference shows at every depth, last bits do not."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.support.held import ROW, compare, differences, digest, plain, write

VALUES = [1.5, -2.0, None, 0.25, 1e-3]


def test_last_bits_pass_and_all_else_shows() -> None:
    held = plain({"rows": [1, 2.5, "ok", None], "all": digest(VALUES)})
    assert differences(held, held) == []
    assert differences({**held, "rows": [1, 2.5 + 1e-9, "ok", None]}, held) == []
    assert differences({**held, "rows": [1, 2.51, "ok", None]}, held) == ["/rows/1: 2.51, held 2.5"]
    assert differences({**held, "rows": [2, 2.5, "ok", None]}, held) == ["/rows/0: 2, held 1"]
    assert differences({**held, "rows": [1, None, "ok", None]}, held) == ["/rows/1: None, held 2.5"]
    assert differences({**held, "rows": [1, 2.5, "ok"]}, held) == ["/rows: 3 values, held 4"]
    assert differences({"rows": held["rows"]}, held) == ["/all: missing"]
    assert differences({**held, "more": 1}, held) == ["/more: was not there"]


@pytest.mark.parametrize("other", [
    [1.5, -2.0, None, 0.25],
    [1.5, 2.0, None, 0.25, 1e-3],
    [-2.0, 1.5, None, 0.25, 1e-3],
    [1.5, -2.0, 0.0, 0.25, 1e-3],
    [1.5, None, -2.0, 0.25, 1e-3],
    [1.5, -2.0, None, 0.25, 3e-3],
    [1.5, -2.0, None, 0.25, math.inf],
], ids=str)  # fmt: skip
def test_a_digest_tells_any_other_numbers(other: list[float | None]) -> None:
    assert differences(digest(VALUES), digest(VALUES)) == []
    assert differences(digest([value and value * (1 + 1e-9) for value in VALUES]), digest(VALUES)) == []
    assert differences(digest(other), digest(VALUES))


def test_it_is_written_on_request_and_else_compared(tmp_path: Path) -> None:
    file = tmp_path / "held" / "test_one.json"
    with pytest.raises(AssertionError, match="test_it"):
        compare(file, "test_it", {"x": 1.5})
    write(file, "test_it", {"x": 1.5})
    write(file, "test_another", {"x": 1})
    compare(file, "test_it", {"x": 1.5})
    with pytest.raises(AssertionError, match=r"2\.5"):
        compare(file, "test_it", {"x": 2.5})
    assert file.read_text().count("\n") == 4, "a line for each test"


def test_rows_are_short_lines_with_the_same_content(tmp_path: Path) -> None:
    file, values = tmp_path / "held" / "test_one.json", {"x": [[i / 3] * 9 for i in range(40)], "word": "−0.5"}
    write(file, "test_it", values, in_rows=True)
    compare(file, "test_it", values)
    assert max(map(len, file.read_text().split("\n"))) <= 2 * ROW
    assert "−0.5" in file.read_text()
