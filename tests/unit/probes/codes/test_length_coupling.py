"""C(n) of codes, hand-made and compiled models whose length coupling is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from probes.codes.class_means import FEWEST, Labelling, NoCode
from probes.codes.code_change import Codes
from probes.codes.length_coupling import ComparedCode, CouplingRows
from probes.fitting import controls
from probes.fitting.probe_rows import ProbeRows, halves
from probes.residual_stream import TARGET
from tests.support.probes.length_coupling import (
    INSIDE,
    Code,
    D,
    axes,
    changes,
    coupled_as_known,
    draw,
    mixture,
    rows_of,
)
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import majority
from workbench.tasks.counting.majority import Majority
from workbench.tasks.regular.state_machines import Parity

WRITTEN = "blocks.0.hook_attn_out"


def value(code: Code, n: int, noise: float = 0.3, batch: int = 1000, inside: Sequence[int] = INSIDE) -> float:
    return float(changes(draw(code, sorted({*inside, n}), batch, noise, 1), inside)[n, False].draws[0])


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (lambda s, n: axes(s), 0.0),
        (lambda s, n: axes(torch.full_like(s, n / 50)), 1.0),
        (lambda s, n: axes(s * (0.5 if n > 50 else 1.0)), 0.25 / 1.25),
        (lambda s, n: axes(s * (3.0 if n > 50 else 1.0)), 4 / 10),
        (lambda s, n: axes(s, torch.full_like(s, 0.8 if n > 50 else 0.0)), 0.64 / 2.64),
        (lambda s, n: axes(s, torch.full_like(s, 5.0 if n > 50 else 0.0)), 25 / 27),
        (lambda s, n: axes(s) if n <= 50 else axes(0 * s, s), 1.0),
        (lambda s, n: axes(s) if n <= 50 else axes(-s), 1.0),  # 1 - cos, clipped
    ],
)
def test_pure_codes(code: Code, expected: float) -> None:
    assert value(code, 400) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("share", "expected"), [(0.1, 0.122), (0.3, 0.349), (0.6, 0.652), (0.9, 0.918)])
def test_a_mixture_of_summary_and_position(share: float, expected: float) -> None:
    z = 1.58
    assert share * z**2 / (2 * (1 - share) + share * z**2) == pytest.approx(expected, abs=1e-3)
    assert value(mixture(share, z), 400) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("phi", [20, 60, 90, 150])
def test_a_rotation_from_one_training_length(phi: float) -> None:
    angle = math.radians(phi)
    code: Code = lambda s, n: axes(s) if n == 50 else axes(math.cos(angle) * s, math.sin(angle) * s)  # noqa: E731
    assert value(code, 400, inside=(50,)) == pytest.approx(min(1, 1 - math.cos(angle)), abs=0.02)


def test_a_rotation_from_several_training_lengths() -> None:
    theta = 0.02

    def direction(n: int) -> np.ndarray:
        return np.array([math.cos(theta * n), math.sin(theta * n)])

    resultant = (direction(25) + direction(50)) / 2
    for n in (60, 90, 130):
        expected = min(1, ((direction(n) - resultant) ** 2).sum() / (1 + (resultant**2).sum()))
        found = value(lambda s, m: axes(s * direction(m)[0], s * direction(m)[1]), n)
        assert found == pytest.approx(expected, abs=0.02)


def test_rotation_translation_and_scale_change_nothing() -> None:
    rows = draw(mixture(0.4, 1.5), (25, 50, 400), 200, 0.3, 4)
    turn = torch.linalg.qr(torch.randn(D, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64))[0]
    moved = {n: r.x[0].double() @ turn * 7 + 3 for n, r in rows.items()}
    fit = halves(200, np.random.default_rng(0))
    codes = Codes(rows, INSIDE, fit, lambda *p: np.random.default_rng(p[-1]), 20)
    before, after = codes.changes({n: r.x[0] for n, r in rows.items()}), codes.changes(moved)
    for pair in before:
        assert before[pair].draws == pytest.approx(after[pair].draws, abs=1e-12)


def test_noise_adds_nothing() -> None:
    """Without halves the noise of the means in 500 dimensions would pass for a change."""
    code: Code = lambda s, n: torch.cat([s[:, None], torch.zeros(len(s), 499)], 1)  # noqa: E731
    rows = draw(code, (25, 50, 400), 1000, 1.5, 2)
    naive = [torch.stack([r.x[0][r.labels[TARGET] == c].mean(0) for c in (0, 1)]) for r in rows.values()]
    grand = ((naive[0] + naive[1]) / 2).mean(0)
    a, b = (naive[0] + naive[1]) / 2 - grand, naive[2] - grand
    assert float((b - a).pow(2).sum() / (b.pow(2).sum() + a.pow(2).sum())) > 0.4
    found = [float(changes(draw(code, (25, 50, 400), 1000, 1.5, seed))[400, False].draws[0]) for seed in range(6)]
    assert np.mean(found) < 0.1


def test_nothing_is_undefined_and_never_a_number() -> None:
    found = changes(draw(lambda s, n: axes(0 * s), (25, 50, 400), 400, 0.3, 3))
    assert all(change.problem == "the code is not above its sampling noise" for change in found.values())
    still = changes(draw(lambda s, n: axes(0 * s), (25, 50, 400), 400, 0.0, 3))
    assert all(change.problem for change in still.values())
    rows = draw(lambda s, n: axes(s), (25, 50, 400), 100, 0.3, 3)
    rows[400].x[0, 5, 5] = torch.nan
    assert {c.problem for c in changes(rows).values()} == {"activations are not finite"}


@pytest.mark.parametrize("p", [1.0, 0.99, 0.9, 0.75, 0.6])
def test_a_binary_output_of_known_accuracy(p: float) -> None:
    """Logits +-1 that are right with probability p past training: C = (1 - a)^2 / (1 + a^2), a = 2p - 1."""

    def logits(s: Tensor, n: int) -> Tensor:
        right = torch.rand(len(s), generator=torch.Generator().manual_seed(n)) < (p if n > 50 else 1)
        answer = torch.where(right, s, -s)
        return torch.stack([-answer, answer], 1)

    rows = draw(logits, (25, 50, 400), 4000, 0.0, 5)
    a = float(((rows[400].x[0][:, 1] > 0) == rows[400].labels[TARGET].bool()).double().mean()) * 2 - 1
    found = changes(rows)[400, False].draws[0]
    assert found == pytest.approx((1 - a) ** 2 / (1 + a**2), abs=0.02)


def test_real_summaries_are_compared_in_common_bins() -> None:
    def rows(n: int, scale: float, width: int) -> ProbeRows:
        s = torch.rand(800, width, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
        noise = 0.1 * torch.randn(800, D, generator=torch.Generator().manual_seed(n + 1))
        noise[:, :width] += scale * (s - 0.5)
        return rows_of(noise, s if width > 1 else s[:, 0])

    for width in (1, 3):
        same = changes({25: rows(25, 1, width), 50: rows(50, 1, width), 400: rows(400, 1, width)})
        half = changes({25: rows(25, 1, width), 50: rows(50, 1, width), 400: rows(400, 0.5, width)})
        assert same[400, False].draws[0] == pytest.approx(0, abs=0.01)
        assert half[400, False].draws[0] == pytest.approx(0.2, abs=0.05)


def test_poor_classes_are_left_out_or_named() -> None:
    fit = halves(60, np.random.default_rng(0))
    x = torch.randn(60, 3)
    three = torch.arange(60) % 2
    three[0] = 2
    labelling = Labelling.of({5: rows_of(x, three)}, (5,), fit)
    assert (labelling.classes, labelling.note) == ((0, 1), "2 of 3 classes")
    with pytest.raises(NoCode, match="class"):
        Labelling.of({5: rows_of(x, three * 0)}, (5,), fit)
    with pytest.raises(NoCode, match=f"{FEWEST}"):
        Labelling.of({5: rows_of(x, torch.arange(60))}, (5,), fit)
    with pytest.raises(NoCode, match="lengths"):
        Labelling.of({5: rows_of(x, three)}, (7,), fit)
    lacking = Codes({5: rows_of(x, three), 9: rows_of(x, three * 0)}, (5,), fit, lambda *p: np.random.default_rng(0), 9)
    assert "class 1 has 0 sequences" in lacking.problems[9]


@pytest.mark.parametrize("twin", ["robust", "first", "gain"])
def test_models_whose_answers_are_known(twin: str) -> None:
    coupled_as_known("by hand", twin)


def test_rows_of_a_run(make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]) -> None:
    run = make_run(majority(gain_length=400), Majority(), 25)
    rows = measured(run, 100, "probes.length_coupling", lengths=[51, 101, 201], resamples=50)
    head, *_ = rows
    assert (head["quantity"], head["mode"], head["length"], head["status"]) == ("length_coupling", "used", None, "ok")
    # Logits are exact here, and a bootstrap of equal values has no width.
    assert (head["value"], head["low"], head["high"], head["n"]) == (0, None, None, 128)
    assert "all equal" in head["note"]
    assert "no resample differs" in head["note"]
    stored = [r for r in rows if r["quantity"] == "length_coupling" and r["mode"] == "stored"]
    assert [r["layer"] for r in stored] == [-1, 0, 0, 1, 1]
    assert stored[-1]["value"] < 0.1
    assert {r["length"] for r in rows if r["quantity"] == "length_coupling_at"} == {7, 13, 25, 51, 101, 201}
    inner = measured(run, 100, "probes.length_coupling", lengths=[51], resamples=50, layers=[1])
    assert inner[0]["status"] == "undefined"
    assert "length 101 was not measured" in inner[0]["note"]
    assert {r["layer"] for r in inner} == {None, 1}


def test_positions_never_trained_are_said_so(
    make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]
) -> None:
    cfg = ModelConfig(d_vocab=3, n_layers=1, d_model=8, n_heads=1, n_ctx=80, d_vocab_out=2, positions="learned")
    run = make_run(HookedTransformer(cfg), Parity(), 8)
    rows = measured(run, 100, "probes.length_coupling", resamples=20)
    one = [r for r in rows if r["quantity"] == "length_coupling" and r["status"] != "undefined"]
    read = [r for r in one if not r["control"].endswith(("token_only", "tokens"))]
    assert read
    assert {r["status"] for r in read} == {"unseen_position"}
    assert {r["status"] for r in one if r not in read} <= {"ok"}  # no model is read there
    assert {r["status"] for r in rows if r["quantity"] == "length_coupling_in"} <= {"ok", "undefined"}


def test_a_code_that_copies_the_last_token_is_the_trap() -> None:
    """Where the last token is the summary, C is 0 without any model; where it is not, there is no code to compare."""
    tokens, labels = {}, {}
    for n in (10, 50, 400):
        tokens[n] = torch.randint(1, 3, (400, 8), generator=torch.Generator().manual_seed(n))
        labels[n] = tokens[n][:, -1] - 1
    for control, noise in ((controls.TOKEN, 0.0), (controls.TOKENS, 0.02)):
        xs = controls.inputs_by_length(tokens, control)
        assert len({x.shape[1] for x in xs.values()}) == 1  # the same features at every length
        copied = changes({n: rows_of(x, labels[n]) for n, x in xs.items()}, inside=(10, 50))
        assert copied[400, False].draws[0] == pytest.approx(0, abs=noise)
        other = {n: torch.arange(400) % 2 for n in tokens}
        nothing = changes({n: rows_of(x, other[n]) for n, x in xs.items()}, inside=(10, 50))
        assert nothing[400, False].problem == "the code is not above its sampling noise"


def test_controls_of_a_run(make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]) -> None:
    run = make_run(majority(gain_length=400), Majority(), 25, steps=(0, 100))
    options = {"lengths": [51, 101, 201], "resamples": 50, "sequences": 256}
    rows, first = (measured(run, step, "probes.length_coupling", **options) for step in (100, 0))
    at, before = (
        {r["control"]: r for r in found if r["quantity"] == "length_coupling" and r["mode"] == "used"}
        for found in (rows, first)
    )
    names = {"", "shuffled_labels", "hashed_labels", "untrained", "token_only", "last_8_tokens"}
    assert set(at) == names
    assert {r["control"] for r in rows if r["quantity"] == "length_coupling_in" and r["mode"] == "used"} == names
    assert at[""]["value"] == 0
    assert at["untrained"]["value"] == before[""]["value"] != 0, "that of step 0"
    for label in ("shuffled_labels", "hashed_labels"):  # labels that are not coded
        assert at[label]["status"] == "undefined" or at[label]["value"] > 0.5
    without = measured(make_run(majority(), Majority(), 25, "late"), 100, "probes.length_coupling", resamples=20)
    assert "untrained" not in {r["control"] for r in without}


def test_fair_bits_shrink_the_summary_and_a_matched_law_does_not() -> None:
    """A counter that is exact at every length writes d / K and 1 / K: on fair bits E|d| is about sqrt(2 n / pi)."""
    model, task, inside, lengths = majority(gain_length=205), Majority(), (13, 25), (13, 25, 51, 201)
    mu = {}
    for n in lengths:
        d = sum(math.comb(n, c) / 2**n * abs(2 * c - n) for c in range(n + 1))
        mu[n] = np.array([[-d, 1], [d, 1]]) / (n + 1)
    grand = np.mean([mu[n] for n in inside], 0).mean(0)
    a = np.mean([mu[n] for n in inside], 0) - grand
    for law in ("fair", "challenge"):
        rows = {}
        for n in lengths:
            generator = torch.Generator().manual_seed(n)
            batch = task.sample(1000, n, generator, "challenge")
            if law == "fair":
                batch = task.label(torch.randint(1, 3, (1000, n), generator=generator))
            x = model.run_with_cache(batch.tokens, names_filter=WRITTEN)[1][WRITTEN][:, -1].detach()
            rows[n] = rows_of(x, batch.output_summary[:, -1])
        found = changes(rows, inside)
        for n in (51, 201):
            b = mu[n] - grand
            expected = ((b - a) ** 2).sum() / ((b**2).sum() + (a**2).sum()) if law == "fair" else 0
            assert found[n, False].draws[0] == pytest.approx(expected, abs=0.04), (law, n)
        assert expected > 0.4 or law == "challenge"


# ---- rows ------------------------------------------------------------------------------------------
def orthogonal(s: Tensor, n: int) -> Tensor:
    """The code of 25 along one axis, that of 50 and of all others along another."""
    return axes(s, 0 * s) if n == 25 else axes(0 * s, s)


@pytest.mark.asserts("length_coupling", "length_coupling_in", "length_coupling_at")
def test_inside_training_a_length_is_compared_with_the_others_alone() -> None:
    """Orthogonal codes: |b - a|^2 = 2 = |b|^2 + |a|^2. With itself among them a = (u + v) / 2, and it is 1/2 over 3/2."""
    drawn = draw(orthogonal, (25, 50, 100), 1000, 0.3, 1)
    found = changes(drawn)
    for n in INSIDE:
        assert float(found[n, True].draws[0]) == pytest.approx(1.0, abs=0.02)
        assert float(found[n, False].draws[0]) == pytest.approx(1 / 3, abs=0.02)
    codes = Codes(drawn, INSIDE, halves(1000, np.random.default_rng(0)), lambda *p: np.random.default_rng(p[-1]), 40)
    asked = ("run", "step", "task", "cfg", "model", "grid", "seed", "deep", "trained_ids", "earlier", "passes")
    asked += ("rng", "batch", "cache", "further", "answers", "memo", "show")
    study: Any = SimpleNamespace(**dict.fromkeys(asked, print), reads_unseen=lambda n: n > 50)
    report = CouplingRows(dict.fromkeys(drawn, 1000), study, [100])
    place = ComparedCode({"mode": "stored", "site": "x"}, {n: r.x[0] for n, r in drawn.items()})
    rows = {(r["quantity"], r["length"]): r for r in report.rows(place, codes)}
    assert rows["length_coupling_in", None]["value"] == pytest.approx(1.0, abs=0.02)
    assert rows["length_coupling_in", None]["status"] == "ok"
    assert rows["length_coupling", None]["value"] == pytest.approx(1 / 3, abs=0.02)
    assert rows["length_coupling", None]["status"] == "unseen_position"
    for n in (25, 50, 100):
        at = rows["length_coupling_at", n]
        assert at["value"] == pytest.approx(1 / 3, abs=0.02)
        assert at["low"] < at["value"] < at["high"] < at["low"] + 0.1
        assert at["n"] == 1000


def test_what_is_added_to_all_logits_is_no_code(make_run: Callable[..., Any], measured: Callable[..., Any]) -> None:
    """Logits that all fall with 1 / K: softmax takes no notice, and neither does the figure."""
    model = majority(gain_length=400)
    with torch.no_grad():
        model.unembed.W_U[5] += 200.0  # the dimension that holds 1 / K, for both answers
    run = make_run(model, Majority(), 25)
    rows = measured(run, 100, "probes.length_coupling", lengths=[51, 101, 201], resamples=20, layers=[1])
    used = {r["quantity"]: r for r in rows if (r["mode"], r["control"], r["length"]) == ("used", "", None)}
    assert used["length_coupling"]["value"] == pytest.approx(0.0, abs=1e-6)
    assert used["length_coupling_in"]["value"] == pytest.approx(0.0, abs=1e-6)
