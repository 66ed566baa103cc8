"""Length-coupled twins of compiled programs fail exactly where the formulas say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from tests.support.theory.compiled_twins import disperses
from workbench.theory.compiler.pipeline import Compiled, compile
from workbench.theory.crasp import programs as p
from workbench.theory.crasp.evaluator import evaluate, every_string
from workbench.theory.crasp.syntax import CraspError


def leading(d: int, length: int) -> list[int]:
    """A string of majority whose difference count(a) - count(b) - 1 is d at the end."""
    more = (length + d + 1) // 2
    return [1] * more + [2] * (length - more)


def right_at_the_end(compiled: Compiled, string: list[int]) -> bool:
    wanted = evaluate(compiled.program, [string])["accept"][0, -1]
    return bool(compiled.evaluate([string])["accept"][0, -1] == wanted)


# ---- gain too small ------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [-2, -1, 0, 1, 2, 3, 5])
def test_a_small_gain_errs_exactly_on_near_ties_of_long_strings(d, dtype):
    compiled = compile(p.majority(), 50, dtype=dtype)
    lengths = [n for n in (1, 3, 49, 50, 51, 99, 101, 199, 200, 201, 203, 205, 400, 401, 609, 610, 612, 614, 801)
               if (n + d + 1) % 2 == 0 and n > d + 1]  # fmt: skip
    for length in lengths:
        errs = d >= 0 and (d + 0.5) * 4 * 51 / (length + 1) <= 0.5
        assert right_at_the_end(compiled, leading(d, length)) != errs, length


def test_the_first_failure_of_a_small_gain():
    compiled = compile(p.majority(), 50)
    assert min(n for n in range(151, 300, 2) if not right_at_the_end(compiled, leading(0, n))) == 203


def test_accuracy_of_a_small_gain_is_the_share_of_strings_off_the_near_ties():
    compiled, length = compile(p.majority(), 50), 401
    a = np.arange(length + 1)
    strings = np.where(np.arange(length) < a[:, None], 1, 2)
    right = compiled.evaluate(strings)["accept"][:, -1] == (2 * a > length)
    assert right.mean() == pytest.approx(1 - 1 / 402)  # uniform count
    assert binom.pmf(a, length, 0.5)[right].sum() == pytest.approx(0.96023, abs=1e-5)  # independent fair symbols


# ---- first keys only -----------------------------------------------------------------------------
@pytest.mark.parametrize("made", [p.majority(), p.dyck_1(), p.contains_ab()], ids=["majority", "dyck_1", "contains_ab"])
def test_first_keys_answers_from_them_alone(made):
    compiled = compile(made, 40, first_keys=8)
    strings = every_string(2, 8)
    tail = np.random.default_rng(0).integers(1, 3, (len(strings), 22))
    found = compiled.evaluate(np.concatenate([strings, tail], 1))["accept"]
    wanted = evaluate(made, strings)["accept"]
    assert np.array_equal(found[:, :8], wanted)
    assert (found[:, 8:] == wanted[:, -1:]).all()


def test_first_keys_leaves_residues_right():
    compiled = compile(p.repeated_letter(4), 30, first_keys=5)
    found = compiled.evaluate(np.ones((1, 30), dtype=int))["accept"][0]
    assert found.tolist() == [(i % 4 == 0) for i in range(1, 31)]


def test_first_keys_hides_the_others_from_every_head():
    compiled = compile(p.tomita_4(), 30, first_keys=6)
    strings = np.random.default_rng(1).integers(1, 3, (4, 30))
    _, cache = compiled.model.run_with_cache(compiled.tokens(strings))
    for layer, heads in enumerate(compiled.sizes.heads):
        assert (
            float(cache[f"blocks.{layer}.attn.hook_pattern"][:, : len(heads), 7:, 7:].sum(-1).max() if heads else 0)
            < 1e-10
        )


@pytest.mark.parametrize("made", [p.majority(), p.tomita_4()], ids=["majority", "tomita_4"])
def test_first_keys_reads_no_positions_beyond_its_table(made):
    compiled = compile(made, 20, first_keys=5)
    compiled.evaluate(np.ones((1, 20), dtype=int))
    with pytest.raises(CraspError, match="20 positions"):
        compiled.evaluate(np.ones((1, 21), dtype=int))


@pytest.mark.parametrize(("score", "length"), [(4.0, 30), (4.0, 300), (9.0, 300)])
def test_an_offset_head_disperses_as_the_formula_says(score, length):
    disperses(score, length)


def test_log_scaled_scores_must_exceed_one():
    strings = every_string(2, 10)
    wanted = evaluate(p.contains_ab(), strings)["accept"]

    def wrong(score: float | None) -> int:
        return int(
            (compile(p.contains_ab(), 50, log_scaled=True, score=score).evaluate(strings)["accept"] != wanted).sum()
        )

    assert (wrong(1.0), wrong(1.2), wrong(None)) == (968, 0, 0)
