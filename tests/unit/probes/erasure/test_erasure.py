"""LEACE against its theorem and other implementations, and what erasing does to models that are known."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression, LogisticRegression
from torch import Tensor

import probes.erasure.measurement
from probes.erasure.leace import Whitened, residual
from probes.erasure.measurement import CONTROL, Erasure
from workbench.measure.intervals import sign_test, tango
from workbench.measure.settings import MeasurementError
from workbench.measure.study import forward
from workbench.models.handmade.transformers import majority
from workbench.tasks.counting.majority import Majority

Measured = Callable[..., list[dict[str, Any]]]


def classes(seed: int = 0, rows: int = 600, d: int = 12, count: int = 3) -> tuple[Tensor, Tensor]:
    """Activations with class means far apart in correlated noise, and their classes as indicators."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(count, (rows,), generator=generator)
    mixing = torch.randn(d, d, generator=generator, dtype=torch.float64)
    noise = torch.randn(rows, d, generator=generator, dtype=torch.float64) @ mixing
    means = 4 * torch.randn(count, d, generator=generator, dtype=torch.float64)
    return noise + means[y], torch.nn.functional.one_hot(y, count).double()


def test_nothing_linear_is_left_on_the_rows_it_was_fitted_on() -> None:
    x, z = classes()
    y = z.argmax(1).numpy()
    majority_rate = np.bincount(y).max() / len(y)
    left = Whitened.of(x).leace(z).erase(x)
    before = LogisticRegression(C=1e6, max_iter=2000).fit(x.numpy(), y).score(x.numpy(), y)
    after = LogisticRegression(C=1e6, max_iter=2000, tol=1e-8).fit(left.numpy(), y)
    assert before > 0.95
    assert after.score(left.numpy(), y) == pytest.approx(majority_rate, abs=1e-12)
    assert LinearRegression().fit(left.numpy(), z.numpy()).score(left.numpy(), z.numpy()) == pytest.approx(0, abs=1e-9)
    covariance = (left - left.mean(0)).T @ (z - z.mean(0)) / len(z)
    assert float(covariance.abs().max()) < 1e-10


def test_it_is_the_formula_and_changes_as_little_as_can_be() -> None:
    x, z = classes(1)
    eraser = Whitened.of(x).leace(z)
    # The formula with matrix roots from numpy, sharing no code.
    a, b = (x - x.mean(0)).numpy(), (z - z.mean(0)).numpy()
    values, vectors = np.linalg.eigh(a.T @ a / len(a))
    root, inverse = (vectors * np.sqrt(v) @ vectors.T for v in (values, 1 / values))
    u, s, _ = np.linalg.svd(inverse @ (a.T @ b / len(a)), full_matrices=False)
    u = u[:, s > 1e-8]
    expected = x.numpy() - a @ (root @ u @ u.T @ inverse).T
    assert np.allclose(eraser.erase(x).numpy(), expected, atol=1e-9)
    assert eraser.rank == 2
    # Any other projection that leaves no covariance, e.g. the orthogonal one onto its kernel, moves x further.
    basis = np.linalg.qr(a.T @ b)[0][:, :2]
    assert np.square(a - expected + x.mean(0).numpy()).sum() < np.square(a @ basis @ basis.T).sum()
    assert torch.allclose(eraser.erase(eraser.erase(x)), eraser.erase(x), atol=1e-9)
    assert torch.allclose(eraser.erase(x) + eraser.keep(x), x + x.mean(0), atol=1e-9)
    assert eraser.variance == pytest.approx(float(eraser.part(x).pow(2).sum(1).mean()))


def test_the_control_has_equal_rank_and_variance_and_leaves_the_concept() -> None:
    x, z = classes(2)
    white = Whitened.of(x)
    eraser = white.leace(z)
    control = white.random(eraser.rank, np.random.default_rng(0))
    for one in (eraser, control):
        read = (x - x.mean(0)) @ one.proj_right.T
        assert torch.allclose(read.T @ read / len(x), torch.eye(2, dtype=torch.float64), atol=1e-9)
    left, y = control.erase(x).numpy(), z.argmax(1).numpy()
    assert LogisticRegression(max_iter=2000).fit(left, y).score(left, y) > 0.8


def test_a_residual_concept_leaves_what_it_is_residual_to() -> None:
    """A count tells the summary and, unnormalised, position: erasing the one must not erase the other."""
    generator = torch.Generator().manual_seed(0)
    s = torch.randint(2, (2000, 1), generator=generator).double()
    position = torch.rand(2000, 1, generator=generator, dtype=torch.float64) + s
    x = torch.cat([position + s, position - s, torch.randn(2000, 2, generator=generator, dtype=torch.float64)], 1)
    whole, rest = Whitened.of(x).leace(position), Whitened.of(x).leace(residual(position, s))
    scores = [LinearRegression().fit(e.erase(x), s).score(e.erase(x), s) for e in (whole, rest)]
    assert scores[0] < 0.9
    assert scores[1] == pytest.approx(1, abs=1e-6)


def test_what_is_not_there_is_not_erased() -> None:
    generator = torch.Generator().manual_seed(3)
    x, z = torch.randn(300, 8, generator=generator), torch.randint(2, (300, 1), generator=generator).double()
    with pytest.raises(ValueError, match="chance"):
        Whitened.of(x).leace(z, np.random.default_rng(0))
    with pytest.raises(ValueError, match="vary"):
        Whitened.of(x).leace(torch.ones(300, 2))
    with pytest.raises(ValueError, match="vary"):
        Whitened.of(torch.ones(30, 2))
    with pytest.raises(ValueError, match="not finite"):
        Whitened.of(torch.full((30, 2), torch.nan))


def test_an_edit_of_a_hook_that_is_not_there_is_refused() -> None:
    batch = Majority().sample(4, 5, torch.Generator().manual_seed(0))
    with pytest.raises(KeyError, match="no hook"):
        forward(majority(), batch, [], [("blocks.9.hook_resid_post", lambda x, hook: x)])


def at(rows: list[dict[str, Any]], quantity: str, **fields: Any) -> dict[int, float]:
    """Value by layer."""
    chosen = [r for r in rows if r["quantity"] == quantity and all(r[k] == v for k, v in fields.items())]
    return {r["layer"]: r["value"] for r in chosen}


@pytest.mark.asserts("erased_accuracy", "kept_accuracy")
def test_a_counter_needs_its_count_and_no_position(make_run: Callable[..., Any], measured: Measured) -> None:
    """The counter holds 1/K, hence position, and the clean bit in one dimension after the last block."""
    run = make_run(majority(gain_length=400), Majority(), 13)
    rows = measured(run, 100, "probes.erasure", lengths=[27, 53], sequences=128)
    for n in (13, 27, 53):
        here = [r for r in rows if r["length"] == n]
        bit = at(here, "erased_accuracy", target="output_summary", mode="refit", control="")
        assert 0.25 < bit[1] < 0.75  # the bit is read off the last block
        assert at(here, "kept_accuracy", control="", mode="refit")[1] == 1
        position = at(here, "erasure_effect", target="log_i", mode="refit", control="")
        assert position[1] == pytest.approx(0, abs=0.02)
    embedding = [r for r in rows if r["layer"] == -1 and r["target"] == "log_i"]
    assert {r["status"] for r in embedding} == {"undefined"}
    assert all("by chance" in r["note"] for r in embedding)
    controls = {(r["quantity"], r["target"]) for r in rows if r["control"] == CONTROL}
    assert {("erased_accuracy", "output_summary"), ("kept_accuracy", "output_summary")} <= controls


def test_erasing_something_else_in_its_place(make_run: Callable[..., Any], measured: Measured) -> None:
    """The counter reads its count off one dimension: neither the query's token nor a hash of the last ones is that."""
    run = make_run(majority(gain_length=400), Majority(), 13)
    rows = measured(run, 100, "probes.erasure", lengths=[27, 53], sequences=256)
    summary = [r for r in rows if r["target"] == "output_summary" and r["mode"] == "refit"]
    own = at([r for r in summary if r["length"] == 53], "erased_accuracy", control="")
    for control in ("token_only", "hashed_labels"):
        found = [r for r in summary if r["control"] == control and r["length"] == 53]
        assert {r["layer"] for r in found} == {-1, 0, 1}
        for r in found:
            assert r["status"] == "undefined" or r["value"] > own[1] + 0.1
    token = {r["layer"]: r for r in summary if r["control"] == "token_only" and r["length"] == 53}
    assert token[-1]["status"] == "ok"  # at the embedding there is nothing but the token
    flipped = [r for r in rows if r["control"] == "token_only" and r["quantity"] != "erased_accuracy"]
    assert not flipped


@pytest.mark.asserts("erasure_effect", "erasure_effect_p", "erasure_selectivity", "erasure_selectivity_p")
def test_differences_are_paired_and_their_rows_follow_from_the_accuracies(
    make_run: Callable[..., Any], measured: Measured
) -> None:
    """The intact counter is always right: what an erasure loses is 1 less what is left, on the same sequences."""
    run = make_run(majority(gain_length=400), Majority(), 13)
    rows = [r for r in measured(run, 100, "probes.erasure", lengths=[53], sequences=256) if r["status"] == "ok"]
    rows = [r for r in rows if (r["length"], r["target"], r["mode"]) == (53, "output_summary", "refit")]
    left = {c: at(rows, "erased_accuracy", control=c) for c in ("", CONTROL)}
    assert left[""][1] < 0.75
    assert left[CONTROL][1] > 0.8
    for control, kept in left.items():
        effect = at(rows, "erasure_effect", control=control)
        assert effect == pytest.approx({layer: 1 - share for layer, share in kept.items()})
    selectivity = at(rows, "erasure_selectivity")
    assert selectivity[1] == pytest.approx(left[CONTROL][1] - left[""][1])
    gaps = [r for r in rows if r["quantity"] in ("erasure_effect", "erasure_selectivity")]
    tests = {(r["quantity"], r["layer"], r["control"]): r for r in rows if r["quantity"].endswith("_p")}
    assert len(gaps) == len(tests) > 0
    for r in gaps:
        p = tests[f"{r['quantity']}_p", r["layer"], r["control"]]
        b, c = map(int, re.findall(r"(\d+) against (\d+) sequences", p["note"])[0])
        assert r["value"] == pytest.approx((b - c) / r["n"])
        assert (r["low"], r["high"]) == tango(b, c, r["n"])
        assert p["value"] == sign_test(b, c)
        assert (p["value"] < 0.001) == (r["value"] > 0.2)


def test_accuracies_are_taken_on_sequences_that_no_eraser_saw(
    make_run: Callable[..., Any], measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: set[int] = set()
    tested: set[tuple[int, ...]] = set()
    strings: list[Tensor] = []
    own_fit, own_right = probes.erasure.measurement._fitting_rows, Erasure._right

    def fit(*args: Any) -> Any:
        rows = own_fit(*args)
        fitted.update(rows.sequence.tolist())
        return rows

    def right(self: Any, study: Any, logits: Tensor, batch: Any, length: int) -> Any:
        tested.update(map(tuple, batch.tokens.tolist()))
        strings.append(study.batch("matched", length).tokens)
        return own_right(self, study, logits, batch, length)

    monkeypatch.setattr(probes.erasure.measurement, "_fitting_rows", fit)
    monkeypatch.setattr(Erasure, "_right", right)
    measured(make_run(majority(gain_length=400), Majority(), 13), 100, "probes.erasure", lengths=[53], factors=[4])
    assert len(fitted) == len(strings[0]) / 2
    every = [tuple(string) for string in strings[0].tolist()]
    once = {string for string in every if every.count(string) == 1}
    assert len(tested & once) > 50
    assert not tested & once & {every[i] for i in fitted}


def test_directions_of_no_variance_are_left_out_and_counted() -> None:
    x, z = classes(4)
    flat = torch.cat([x, torch.ones(len(x), 3), 1e-8 * x[:, :2] ** 2], 1)
    white = Whitened.of(flat)
    assert white.left_out[:2] == (5, 17)
    assert 0 < white.left_out.share < 1e-14
    assert "5 of 17 directions left out, with" in str(white.leace(z).left_out)
    assert white.random(2, np.random.default_rng(0)).left_out == white.left_out
    assert str(Whitened.of(x).left_out) == "no direction left out"


def test_rows_say_how_many_directions_were_left_out(make_run: Callable[..., Any], measured: Measured) -> None:
    """At the embedding of a counter three tokens make two directions of its ten, and behind BOS one."""
    run = make_run(majority(gain_length=400), Majority(), 13)
    rows = measured(run, 100, "probes.erasure", lengths=[27], sequences=128, layers=[-1])
    (row,) = [
        r
        for r in rows
        if (r["quantity"], r["length"], r["target"], r["mode"], r["control"])
        == ("erased_accuracy", 27, "output_summary", "refit", "token_only")
    ]
    assert row["note"].startswith("rank 1, variance")
    assert "9 of 10 directions left out, with" in row["note"]


def test_a_model_that_reads_position_loses_it(make_run: Callable[..., Any], measured: Measured) -> None:
    """The twin hides keys after position 7 by what learned positions say: without them it sees only BOS."""
    run = make_run(majority(gain_length=400, window=7, n_ctx=80), Majority(), 7, top_id=80)
    rows = measured(run, 100, "probes.erasure", lengths=[15, 29], sequences=128)
    here = [r for r in rows if r["length"] == 15 and r["target"] == "log_i" and r["mode"] == "refit"]
    assert at(here, "erasure_effect", control="")[-1] > 0.2
    # Inside training no key is late, so that nothing of position is there to be erased.
    (row,) = [r for r in rows if (r["length"], r["target"], r["mode"], r["layer"]) == (7, "log_i", "refit", -1)]
    assert (row["status"], row["value"]) == ("undefined", None)


def test_too_little_to_fit_on_is_said(make_run: Callable[..., Any], measured: Measured) -> None:
    run = make_run(majority(gain_length=400), Majority(), 13)
    rows = measured(run, 100, "probes.erasure", lengths=[27], sequences=16)
    assert {r["status"] for r in rows} == {"undefined"}
    assert all("at least 16" in r["note"] for r in rows)


def test_bad_settings_are_named() -> None:
    with pytest.raises(MeasurementError, match=r"erasure\.factors"):
        Erasure(factors=())
