"""Length-coupled twins of compiled programs fail exactly where the formulas say."""

from __future__ import annotations

import pytest

from tests.support.theory.compiled_twins import disperses


@pytest.mark.parametrize(("score", "known"), [(8.0, 0.424), (9.0, 0.665), (12.0, 0.974), (20.0, 0.99995)])
def test_an_offset_head_over_long_strings_reads_what_is_known(score, known):
    assert disperses(score, 4000) == pytest.approx(known, abs=5e-4 if known < 0.99 else 5e-6)
