"""Compiled programs: the sizes that are known, every prefix of every short string, every dimension's value."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.theory.pipeline import QUICK, solves_its_task
from tests.support.theory.random_programs import programs
from workbench.theory.compiler import pipeline
from workbench.theory.compiler.error_budget import ErrorBudget, error_budget
from workbench.theory.compiler.pipeline import Compiled, compile
from workbench.theory.crasp import programs as p
from workbench.theory.crasp import syntax as ast
from workbench.theory.crasp.builder import MOD, Q, count, program, where
from workbench.theory.crasp.evaluator import evaluate, every_string, trace
from workbench.theory.crasp.parser import parse
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import CraspError
from workbench.theory.crasp.zoo import ZOO, Case

MIXED = program("ab", {"accept": count(Q("a")) - 3 * count(Q("a"), offsets={0, 2}) + 1 > count(Q("b"))})
"""Local and global counts in one inequality."""
HOLDS_OF_NOTHING = program(
    "ab",
    {
        "accept": count(1 - count(Q("a"), {1}) >= 0) > 2 * count(Q("b")),
        "other": count(count(Q("a"), {0, 2}) <= 1) == count(Q("a")) + 1,
        "third": count(2 * count(Q("b"), {1}) < 5) + count(count(Q("b"), {0}) == 0) >= 3 * count(Q("a")),
    },
)
"""Local comparisons that hold where there is nothing, as at BOS, and are counted: BOS must not be among them."""
CHOICE = program("ab", {"accept": where(MOD(0, 3), count(Q("a")), count(Q("b")) + 2) >= count(Q("a"), {1}) + 3})
"""A conditional whose condition is a residue."""


def mismatches(compiled: Compiled, strings: np.ndarray) -> int:
    """Prefixes and outputs on which model and evaluator differ."""
    found, wanted = compiled.evaluate(strings), evaluate(compiled.program, strings)
    return sum(int((found[name] != wanted[name]).sum()) for name in wanted)


def all_strings(made: Program, most: int) -> np.ndarray:
    """All strings of the greatest length of which there are at most ``most``: their prefixes are the shorter ones."""
    letters = len(made.alphabet)
    length = max(n for n in range(1, 20) if letters**n <= most)
    return every_string(letters, length)


# ---- sizes ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("made", "layers", "d_model", "mlp", "heads"),
    [
        (p.majority(), 2, 10, (2, 2), (("uniform",), ())),
        (p.dyck_1(), 4, 15, (6, 2, 2, 2), (("uniform",), (), ("uniform",), ())),
        (p.repeated_letter(2), 2, 11, (2, 2), (("uniform",), ())),
        (p.contains_ab(), 4, 12, (2, 2, 2, 2), (("uniform", "offset 1"), (), ("uniform",), ())),
        (p.tomita_4(), 4, 13, (2, 2, 2, 2), (("uniform", "offset 1", "offset 2"), (), ("uniform",), ())),
        (p.bounded_dyck(2), 4, 16, (8, 2, 2, 2), (("uniform",), (), ("uniform",), ())),
        (p.equal_blocks("abc"), 4, 24, (14, 4, 4, 2), (("uniform",), (), ("uniform",), ())),
        (p.unique_right("ab"), 5, 28, (4, 8, 8, 8, 4), (("uniform", "offset 1"), (), ("uniform",), (), ())),
        (p.unique_right("abc"), 5, 52, (6, 18, 18, 18, 6), (("uniform", "offset 1"), (), ("uniform",), (), ())),
        (program("ab", {"accept": Q("b")}), 1, 5, (0,), ((),)),
    ],
    ids=["majority", "dyck_1", "(aa)*", "contains ab", "no 000", "D_2", "anbncn", "UR 2", "UR 3", "last symbol"],
)
def test_sizes(made, layers, d_model, mlp, heads):
    compiled = compile(made, 20)
    sizes, cfg = compiled.sizes, compiled.model.cfg
    assert (sizes.layers, sizes.d_model, sizes.mlp, sizes.heads) == (layers, d_model, mlp, heads)
    assert (cfg.n_layers, cfg.d_model, cfg.d_mlp) == (layers, d_model, mlp)
    assert cfg.n_heads == max(1, *map(len, heads))
    assert len(compiled.dims) == len(set(compiled.dims)) == d_model


def test_heads_that_a_block_does_not_need_are_zero():
    compiled = compile(p.contains_ab(), 20)
    for layer, block in enumerate(compiled.model.blocks):
        for head in range(len(compiled.sizes.heads[layer]), compiled.model.cfg.n_heads):
            assert not any(getattr(block.attn, f"W_{part}")[head].any() for part in "QKVO")
            assert not block.attn.phi[head].any()


@pytest.mark.parametrize(
    ("made", "positions"),
    [
        (p.dyck_1(), {"name": "none"}),
        (p.abab(), {"name": "limit", "period": 4, "locality": 0}),
        (p.tomita_4(), {"name": "limit", "period": 1, "locality": 2}),
        (CHOICE, {"name": "limit", "period": 3, "locality": 1}),
    ],
)
def test_only_programs_that_use_positions_get_any(made, positions):
    assert compile(made, 20).model.cfg.positions.model_dump() == positions


def test_there_are_no_biases_and_no_normalization():
    model = compile(p.tomita_4(), 50).model
    assert model.cfg.normalization_type is None
    assert model.cfg.act_fn == "relu"
    assert not any(weight.any() for name, weight in model.named_parameters() if ".b_" in name)


# ---- agreement -----------------------------------------------------------------------------------
@pytest.mark.parametrize("case", ZOO.values(), ids=lambda case: case.name)
def test_models_agree_with_programs_on_short_strings(case: Case):
    assert mismatches(compile(case.program, 50), all_strings(case.program, 260)) == 0


@settings(max_examples=15)
@given(made=programs(), log_scaled=st.booleans())
def test_random_programs_compile_to_models_that_agree(made: Program, log_scaled: bool):
    assert mismatches(compile(made, 5, log_scaled=log_scaled), every_string(3, 4)) == 0


@pytest.mark.parametrize("log_scaled", [False, True])
def test_a_counted_comparison_that_holds_of_nothing_is_not_counted_at_bos(log_scaled):
    compiled, strings = compile(HOLDS_OF_NOTHING, 60, log_scaled=log_scaled), every_string(2, 9)
    accepted = evaluate(HOLDS_OF_NOTHING, strings)
    assert all(0.02 < accepted[name].mean() < 0.98 for name in accepted)
    assert mismatches(compiled, strings) == 0


@pytest.mark.parametrize("made", [MIXED, CHOICE], ids=["mixed", "choice"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("log_scaled", [False, True])
def test_local_counts_among_global_ones_and_conditionals(made, dtype, log_scaled):
    compiled = compile(made, 100, dtype=dtype, log_scaled=log_scaled)
    strings = all_strings(made, 512)
    accepted = evaluate(made, strings)["accept"]
    assert 0.1 < accepted.mean() < 0.9
    assert mismatches(compiled, strings) == 0


@pytest.mark.parametrize(
    "line",
    [
        count(Q("a")) >= 0,
        count(Q("a")) < 0,
        ~(count(Q("a")) > 1),
        ~Q("a"),
        MOD(2, 3) | Q("a"),
        (count(Q("a"), {0}) == 1) & (count(Q("b"), {5}) == 0),
        where(Q("a"), where(MOD(1, 2), 3, count(Q("b"))), -2) == count(Q("a")),
    ],
)
def test_programs_at_the_edge_of_the_construction(line):
    made = program("ab", {"accept": line})
    assert mismatches(compile(made, 9), every_string(2, 9)) == 0


def value_of(made: Program, node: ast.Node, strings: np.ndarray) -> np.ndarray:
    """The value of one expression at every prefix."""
    lines = (("value", node), ("_", ast.Truth()))
    return trace(Program(made.alphabet, lines, ("_",)), strings)["value"].astype(float)


@pytest.mark.parametrize(
    "made", [p.dyck_1(), p.tomita_4(), p.unique_right("ab"), MIXED, CHOICE, HOLDS_OF_NOTHING, p.abab()]
)
def test_every_dimension_holds_what_its_name_says(made):
    compiled = compile(made, 40)
    strings = np.random.default_rng(0).integers(1, len(made.alphabet) + 1, (30, 40))
    last = f"blocks.{compiled.sizes.layers - 1}.hook_resid_post"
    _, cache = compiled.model.run_with_cache(compiled.tokens(strings), names_filter=[last])
    stream = {name: cache[last][..., k].numpy() for k, name in enumerate(compiled.dims)}
    keys = np.arange(2, 42)
    assert np.allclose(stream["one"], 1)
    assert (stream["bos"] == ([1.0] + [0.0] * 40)).all()
    if "u" in stream:
        assert np.allclose(stream["u"][:, 1:], 1 / keys, rtol=1e-6)
    assert compiled.meaning.keys() <= set(compiled.dims)
    for name, (kind, node) in compiled.meaning.items():
        value = value_of(made, node if not kind.startswith("m") else ast.Counting(node), strings)
        if kind.startswith("l@"):
            back = int(kind[2:])
            value = np.concatenate([np.zeros((len(value), back)), value[:, :-back]], 1)
        if kind in ("m", "ul", "q"):
            value = value / keys
        off = {"c": 0.0, "g": 0.0, "b": compiled.budget.coarse_error()}.get(kind, 1e-6)
        assert np.abs(stream[name][:, 1:] - value).max() <= off, name
        if isinstance(node, ast.Boolean):
            assert (stream[name][:, 0] == 0).all(), f"{name} at BOS"


def test_answers_are_exact_bits():
    compiled = compile(p.dyck_1(), 30)
    logits = compiled.model(compiled.tokens(every_string(2, 8)))
    assert set(logits.unique().tolist()) == {-0.5, 0.5}
    assert torch.equal(logits[..., 0], -logits[..., 1])
    assert compiled.answers == ("reject", "accept")
    several = compile(p.unique_right("ab"), 30)
    assert several.answers == ("NEXT_a", "NEXT_b")
    assert set(several.model(several.tokens(every_string(2, 8))).unique().tolist()) == {-0.5, 0.5}


def test_a_dimension_that_does_not_exist_is_named():
    with pytest.raises(CraspError, match=r"'m:W'.*m:V"):
        compile(p.dyck_1(), 10).dim("m:W")


@pytest.mark.parametrize("log_scaled", [False, True])
def test_explicit_and_fused_attention_answer_alike(log_scaled):
    compiled = compile(p.tomita_4(), 200, log_scaled=log_scaled)
    tokens = compiled.tokens(ZOO["tomita_4"].near_misses(96))
    explicit, cache = compiled.model.run_with_cache(tokens)
    assert cache["blocks.0.attn.hook_pattern"].shape[-1] == 97
    assert torch.equal(explicit, compiled.model(tokens))


@pytest.mark.parametrize("name", QUICK)
def test_a_compiled_model_solves_the_task_of_its_case(name: str):
    solves_its_task(ZOO[name])


# ---- rounding ------------------------------------------------------------------------------------
def test_the_error_budget_by_hand():
    budget = error_budget(p.dyck_1(), 999)
    assert (budget.magnitude, budget.depth, budget.gain, budget.margin) == (3.0, 2, 4000.0, 1 / 2000)
    assert budget.coarse_error() == pytest.approx(3 * 4000 * 2.0**-23)
    assert budget.coarse_error() == pytest.approx(5e-7 * 1000 * 3, rel=0.05)
    assert budget.dtype == "float32"
    assert error_budget(p.dyck_1(), budget.longest).dtype == "float32"
    assert error_budget(p.dyck_1(), budget.longest + 1).dtype == "float64"
    assert error_budget(p.majority(), 100).depth == 1
    assert error_budget(program("ab", {"accept": Q("a")}), 100).magnitude == 0
    assert error_budget(MIXED, 10).magnitude == 1 + 3 + 1
    assert error_budget(CHOICE, 10).magnitude == max(1, 1 + 2) + 1 + 3


def test_a_coarse_comparison_is_as_near_to_its_bit_as_the_budget_says():
    compiled = compile(p.majority(), 1000)
    half = [1] * 500 + [2] * 499
    for string, true in ((half, True), ([*half, 2], False)):
        _, cache = compiled.model.run_with_cache(compiled.tokens([string]))
        y = cache["blocks.0.mlp.hook_pre"][0, -1, 0].item()
        d = 0 if true else -1
        assert y == pytest.approx(compiled.budget.gain * (d + 0.5) / (len(string) + 1), abs=0.01)
        coarse = cache["blocks.0.hook_resid_post"][0, :, compiled.dim("b:accept")]
        assert float((coarse - coarse.round()).abs().max()) <= compiled.budget.coarse_error()


def test_the_cheapest_precision_that_suffices_is_chosen():
    small, large = compile(p.majority(), 1000), compile(p.majority(), 10**7)
    assert next(small.model.parameters()).dtype == torch.float32
    assert next(large.model.parameters()).dtype == torch.float64
    assert next(compile(p.majority(), 10**7, dtype="float32").model.parameters()).dtype == torch.float32


@pytest.mark.parametrize("scalings", [7, 9, 200])
def test_factors_that_no_weight_holds_are_refused(scalings):
    text = "alphabet 0 1\na := count(Q(0)) <" + " 999 *" * scalings + " count(Q(1))\n"
    with pytest.raises(CraspError, match="factors"):
        compile(parse(text), 1000)


def test_nested_conditions_multiply_their_factors():
    counts = "count(Q(0))"
    for _ in range(60):
        counts = f"where(Q(1), 1000000 * {counts}, 1)"
    with pytest.raises(CraspError, match="factors"):
        compile(parse(f"alphabet 0 1\na := 1 < {counts}\n"), 1000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_max": 0}, "n_max"),
        ({"n_max": 10, "first_keys": 11}, "first_keys"),
        ({"n_max": 10, "first_keys": 0}, "first_keys"),
        ({"n_max": 10, "dtype": "bfloat16"}, "bfloat16"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(CraspError, match=message):
        compile(p.majority(), **options)


def test_programs_and_models_of_exactly_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    made = p.majority()
    assert pipeline.written_out([made["accept"]]) == 7
    for name, limit, says in (
        ("LARGEST_PROGRAM", 7, "7 expressions"),
        ("MOST_NUMBERS", compile(made, 5).model.cfg.least_numbers, "weights"),
    ):
        monkeypatch.setattr(pipeline, name, limit)
        compile(made, 5)
        monkeypatch.setattr(pipeline, name, limit - 1)
        with pytest.raises(CraspError, match=says):
            compile(made, 5)
        monkeypatch.undo()
    turning = program("ab", {"accept": MOD(1, 4) | MOD(2, 3)})
    monkeypatch.setattr(pipeline, "LARGEST_REACH", 12)
    compile(turning, 5)
    monkeypatch.setattr(pipeline, "LARGEST_REACH", 11)
    with pytest.raises(CraspError, match="12 positions"):
        compile(turning, 5)


@pytest.mark.parametrize(("largest", "depth", "n_max", "dtype", "longest"), [
    (2.0, 1, 100, "float32", 2**23 // 32 - 1), (0.0, 0, 1, "float32", 2**23 // 16 - 1), (1.0, 1, 2**19 - 1, "float32", 2**19 - 1),
    (1.0, 1, 2**19, "float64", 2**19 - 1), (8.0, 2, 2**16 - 1, "float32", 2**16 - 1), (8.0, 2, 2**16, "float64", 2**16 - 1),
])  # fmt: skip
def test_budgets_that_are_just_met(largest: float, depth: int, n_max: int, dtype: str, longest: int) -> None:
    budget = ErrorBudget(n_max, largest, depth)
    assert (budget.dtype, budget.longest) == (dtype, longest)
    assert budget.coarse_error("float64") == pytest.approx(4 * (n_max + 1) * largest * 2.0**-52)
    assert (
        budget.coarse_error() == budget.coarse_error("float32") == pytest.approx(4 * (n_max + 1) * largest * 2.0**-23)
    )
    assert budget.gain * budget.margin == pytest.approx(2)
