"""The measurements end to end: real tasks, real models, a study, and what comes out as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import probes
from probes.fitting.probe_rows import ProbeError
from probes.position import Position
from probes.summary import Summary
from workbench.measure.measurement import Grid, Measurement
from workbench.measure.study import Shown, show_pass
from workbench.models import HookedTransformer, ModelConfig
from workbench.table.schema import to_arrow
from workbench.tasks.base import Batch
from workbench.tasks.counting.majority import Majority

LENGTHS, INSIDE = (13, 25, 51), (13, 25)


def model(seed: int, d_model: int = 12, n_layers: int = 1) -> HookedTransformer:
    cfg = ModelConfig(d_vocab=3, n_layers=n_layers, d_model=d_model, n_heads=2, n_ctx=64, d_vocab_out=2)
    return HookedTransformer(cfg, seed=seed).eval()


class FakeStudy:
    """A checkpoint of a run that lives in memory."""

    run, step, trained_ids, earlier, seed, deep = "run", 100, None, (), 0, False

    def __init__(
        self, trained: Any, untrained: Any | None, task: Any, memory: dict[Any, Any], batch: int = 160
    ) -> None:
        self.model, self.untrained, self.task, self.memory = trained, untrained, task, memory
        self.cfg = trained.cfg
        self.grid = Grid(25, LENGTHS, INSIDE, (51,))
        self.passes: list[int] = []
        longest = task.sample(batch, 51, torch.Generator().manual_seed(0), "matched")
        self.batches = {n: longest.prefix(n) for n in LENGTHS}

    def reads_unseen(self, length: int) -> bool:
        return False

    def rng(self, *parts: object) -> np.random.Generator:
        return np.random.default_rng(list(repr(parts).encode()))

    def batch(self, law: str, length: int) -> Batch:
        return self.batches[length]

    def cache(self, law: str, length: int, names: Sequence[str], untrained: bool = False) -> Any:
        if self.untrained is None:
            return None
        self.passes.append(length)
        return self.untrained.run_with_cache(
            self.batches[length].tokens, names_filter=list(names), return_cache_object=False
        )[1]

    def show(
        self, law: str, length: int, observers: Sequence[Any], untrained: bool = False, step: int | None = None
    ) -> bool:
        if self.untrained is None:
            return False
        self.passes.append(length)
        batch = self.batches[length]
        show_pass(self.untrained, batch, [Shown(observer) for observer in observers], chunk=len(batch))
        return True

    def further(self, *args: Any) -> Any:
        raise AssertionError("no probe draws further strings")

    def answers(self, batch: Batch, names: Sequence[str]) -> Any:
        raise AssertionError("no probe asks for further answers")

    def memo(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    def measure(self, measurement: Any) -> list[dict[str, Any]]:
        longest, hooks = self.batches[max(LENGTHS)].tokens, measurement.hooks(self.cfg)
        _, cache = self.model.run_with_cache(longest, names_filter=hooks, return_cache_object=False)
        for n, batch in self.batches.items():
            cut = {name: x[:, : batch.tokens.shape[1]] for name, x in cache.items()}
            measurement.observe("matched", n, batch, cut)
        rows: list[dict[str, Any]] = measurement.finish(self)
        return rows


class Open(Majority):
    """Majority whose laws are not prefix-closed."""

    def prefix_closed(self, law: Any) -> bool:
        return False


@pytest.mark.parametrize("kind", [Summary, Position])
def test_the_protocol_is_met(kind: type[Any]) -> None:
    measurement = kind()
    assert isinstance(measurement, Measurement)
    assert set(measurement.spec.settings) == set(measurement.settings)
    assert kind(**measurement.spec.settings).spec == measurement.spec
    assert measurement.hooks(model(0).cfg)[-1] == "blocks.0.hook_resid_post"


def test_summary_rows_of_a_study() -> None:
    rows = FakeStudy(model(1), model(0), Majority(), {}).measure(Summary(resamples=20))
    to_arrow([{**r, "run": "r", "step": 0, "measurement": "m"} for r in rows])
    controls = {
        "shuffled_labels",
        "hashed_labels",
        "untrained",
        "token_only",
        "last_8_tokens",
        "position_only",
    }
    kinds = {(r["quantity"], r["mode"], r["control"]) for r in rows}
    assert kinds == (
        {("summary_decodability", m, "") for m in ("transfer", "recalibrated", "refit")}
        | {("summary_decodability", "refit", c) for c in controls}
        | {("selectivity", "refit", "")}
    )
    assert len(rows) == len(kinds) * len(LENGTHS) * 3
    assert {(r["layer"], r["site"]) for r in rows} == {
        (-1, "blocks.0.hook_resid_pre"),
        (0, "blocks.0.hook_resid_mid"),
        (0, "blocks.0.hook_resid_post"),
    }
    assert all(r["status"] == "ok" and r["low"] <= r["value"] <= r["high"] and r["n"] == 80 for r in rows)
    assert {r["target"] for r in rows} == {"output_summary"}
    assert {r["value"] for r in rows if r["control"] == "position_only"} == {0.5}


@pytest.mark.asserts("selectivity")
def test_selectivity_is_refit_minus_the_best_rival() -> None:
    rows = FakeStudy(model(1), model(0), Majority(), {}).measure(Summary(resamples=20))
    for length in LENGTHS:
        for site in ("blocks.0.hook_resid_pre", "blocks.0.hook_resid_mid", "blocks.0.hook_resid_post"):
            here = [r for r in rows if (r["length"], r["site"]) == (length, site)]
            value = {
                r["control"]: r["value"]
                for r in here
                if r["quantity"] == "summary_decodability" and r["mode"] == "refit"
            }
            rival = max(("untrained", "token_only", "last_8_tokens", "position_only"), key=value.__getitem__)
            (row,) = [r for r in here if r["quantity"] == "selectivity"]
            assert row["value"] == pytest.approx(value[""] - value[rival])
            assert row["note"] == f"over {rival}"
    for r in rows:  # only a recalibrated probe can have turned round
        if r["mode"] == "refit" and r["quantity"] != "selectivity" and r["status"] == "ok":
            assert r["note"] == "", r
    embedding = [r for r in rows if (r["layer"], r["quantity"]) == (-1, "selectivity")]
    assert all(r["value"] < 0 for r in embedding)


def test_at_step_0_the_untrained_control_is_the_refit_itself() -> None:
    study = FakeStudy(model(4), model(4), Majority(), {})
    for kind in (Summary, Position):
        values = {
            (r["length"], r["site"], r["target"], r["control"]): r["value"]
            for r in study.measure(kind(resamples=20))
            if r["mode"] == "refit" and r["quantity"] in ("summary_decodability", "position_decodability")
        }
        pairs = [(v, values[*k[:3], "untrained"]) for k, v in values.items() if k[3] == ""]
        assert all(a == b for a, b in pairs)


def test_the_untrained_control_is_made_once_per_run() -> None:
    memory: dict[Any, Any] = {}
    first, second = (FakeStudy(model(s), model(0), Majority(), memory) for s in (1, 2))
    rows = [s.measure(Summary(resamples=20)) for s in (first, second)]
    assert first.passes == [51]  # one pass at the longest length serves all under a prefix-closed law
    assert second.passes == []
    untrained = [[r["value"] for r in of if r["control"] == "untrained"] for of in rows]
    assert untrained[0] == untrained[1]
    refit = [[r["value"] for r in of if r["mode"] == "refit" and not r["control"]] for of in rows]
    assert refit[0] != refit[1]


def test_an_open_law_needs_a_pass_per_length() -> None:
    closed, opened = (FakeStudy(model(1), model(0), task(), {}) for task in (Majority, Open))
    rows = [s.measure(Summary(resamples=20)) for s in (closed, opened)]
    assert sorted(opened.passes) == list(LENGTHS)
    for a, b in zip(*rows, strict=True):  # the same strings here, so the same numbers up to rounding
        assert a["value"] == pytest.approx(b["value"], abs=0.05)


def test_measuring_twice_gives_the_same_rows() -> None:
    rows = [FakeStudy(model(1), model(0), Majority(), {}).measure(Summary(resamples=20)) for _ in range(2)]
    assert rows[0] == rows[1]


def test_without_step_0_selectivity_is_undefined() -> None:
    rows = FakeStudy(model(1), None, Majority(), {}).measure(Summary(resamples=20))
    assert "untrained" not in {r["control"] for r in rows}
    chosen = [r for r in rows if r["quantity"] == "selectivity"]
    assert {r["status"] for r in chosen} == {"undefined"}
    assert all("step 0" in r["note"] and r["value"] is None for r in chosen)
    assert {r["status"] for r in rows if r["quantity"] != "selectivity"} == {"ok"}


def test_a_class_that_is_missing_somewhere_is_named(read_code: Any, at: Any) -> None:
    def code(s: torch.Tensor, n: int) -> torch.Tensor:
        return torch.nn.functional.one_hot(s, 3).float()

    sizes = iter([3, 3, 2])

    def draw(generator: torch.Generator, batch: int) -> torch.Tensor:
        return torch.arange(batch) % next(sizes)

    rows = read_code(code, draw=draw, batch=90)
    assert at(rows, 50)["refit", ""]["status"] == "ok"
    for mode in ("transfer", "recalibrated", "refit"):
        cell = at(rows, 400)[mode, ""]
        assert (cell["status"], cell["value"]) == ("undefined", None)
        assert "no row of class 2" in cell["note"]
    assert at(rows, 400, "selectivity")["refit", ""]["status"] == "undefined"


def test_one_class_one_value_few_sequences_and_no_length_inside_are_undefined(read_code: Any, at: Any) -> None:
    def code(s: torch.Tensor, n: int) -> torch.Tensor:
        return torch.randn(len(s), 3, generator=torch.Generator().manual_seed(n))

    one = read_code(code, draw=lambda g, b: torch.zeros(b, dtype=torch.long), batch=60)
    assert at(one, 400)["refit", ""]["note"].endswith("one class only")
    same = read_code(code, draw=lambda g, b: torch.ones(b, dtype=torch.float64), batch=60)
    assert "does not vary" in at(same, 400)["refit", ""]["note"]
    assert at(same, 400, "summary_rmse")["refit", ""]["status"] == "undefined"
    few = read_code(code, batch=12)
    assert at(few, 400)["refit", ""]["note"].startswith("6 sequences")
    away = read_code(code, batch=60, inside=(7,))
    assert at(away, 400)["transfer", ""]["note"].startswith("none of the lengths")
    assert at(away, 400)["refit", ""]["status"] == "ok"


def test_unsupervised_queries_are_no_rows() -> None:
    """Majority asks at odd lengths only, so at an even one there is nothing to decode."""
    batch = Majority().sample(64, 51, torch.Generator().manual_seed(0), "matched")
    result = probes.probe(model(0), [batch.prefix(n) for n in (24, 25, 51)], inside=[25])
    status = {(r["length"], r["status"]) for r in result.rows if r["quantity"] == "summary_decodability"}
    assert (24, "undefined") in status
    assert (24, "ok") not in status
    assert (25, "ok") in status


def test_a_token_that_is_the_label(generators: Any, at: Any) -> None:
    tokens = torch.randint(2, (200, 20), generator=torch.Generator().manual_seed(0))
    measurement = Summary(resamples=20)
    for n in (10, 20):
        part = tokens[:, :n]
        everywhere = torch.ones_like(part)
        batch = Batch(part, part, everywhere.bool(), part, None, n, False, "matched")
        noise = torch.randn(200, n, 4, generator=torch.Generator().manual_seed(n))
        measurement.observe("matched", n, batch, {"blocks.0.hook_resid_pre": noise})
    cells = at(measurement.decode((10,), generators(0), lambda: None), 20)
    for control in ("token_only", "last_8_tokens"):
        assert cells["refit", control]["value"] == 1
        assert cells["refit", control]["low"] > 0.9  # not 1: the interval of 100 right out of 100
    assert cells["refit", ""]["value"] == pytest.approx(0.5, abs=0.15)
    assert cells["refit", "position_only"]["value"] == 0.5


def test_tokens_before_the_start_are_no_tokens() -> None:
    """The window reaches back over BOS, which is not a task token."""
    batch = Majority().sample(40, 5, torch.Generator().manual_seed(0), "matched")
    site = "blocks.0.hook_resid_pre"
    rows = Summary().reduce(batch, 3, {site: torch.zeros(40, 6, 1)}, [site])
    assert rows.tokens[:, :5].unique().tolist() == [-1]
    assert torch.equal(rows.tokens[:, 5:], batch.tokens[:, 1:4])


def test_probing_a_model_in_hand() -> None:
    batch = Majority().sample(64, 51, torch.Generator().manual_seed(0), "matched")
    batches = [batch.prefix(n) for n in (13, 25, 51)]
    result = probes.probe(model(1), batches, untrained=model(0), resamples=20, seed=3)
    assert result.inside == (13, 25)
    assert result.trained == 25
    frame = result.frame()
    assert set(frame["measurement"]) == {"probes.summary"}
    assert set(frame["length"]) == {13, 25, 51}
    assert (frame["status"] == "ok").all()
    assert probes.probe(model(1), batches, untrained=model(0), resamples=20, seed=3).rows == result.rows
    assert probes.probe(model(1), batches, untrained=model(0), resamples=20, seed=4).rows != result.rows
    assert len(result.figure().data)
    assert result.sites == ("blocks.0.hook_resid_pre", "blocks.0.hook_resid_mid", "blocks.0.hook_resid_post")
    assert result.direction().shape == (12, 1)
    assert np.linalg.norm(result.direction("blocks.0.hook_resid_mid")) == pytest.approx(1)
    with pytest.raises(ProbeError, match="no direction"):
        result.direction("blocks.7.hook_resid_post")
    one = probes.probe(model(1), batch, resamples=20)
    assert set(one.frame()["length"]) == {51}
    position = probes.probe(model(1), batches, target="position", inside=[25], resamples=20, positions=2)
    assert set(position.frame()["target"]) == {"log_i", "i"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: {"data": []}, "batch"),
        (lambda b: {"target": "sum"}, "summary"),
        (lambda b: {"inside": [26]}, "length 26"),
        (lambda b: {"data": [b, b]}, "same length"),
        (lambda b: {"data": [b, b.prefix(13).rows(0, 8)]}, "equally many"),
    ],
)
def test_wrong_calls_say_what_is_wrong(change: Callable[[Batch], Mapping[str, Any]], message: str) -> None:
    batch = Majority().sample(16, 25, torch.Generator().manual_seed(0), "matched")
    with pytest.raises(ProbeError, match=message):
        probes.probe(**{"model": model(0), "data": [batch], **change(batch)})


def test_a_length_is_observed_once() -> None:
    study, measurement = FakeStudy(model(1), None, Majority(), {}), Summary()
    study.measure(measurement)
    with pytest.raises(ProbeError, match="twice"):
        study.measure(measurement)


def test_activations_that_are_not_finite_are_named_and_never_scored(read_code: Any, at: Any) -> None:
    def code(s: torch.Tensor, n: int) -> torch.Tensor:
        x = torch.nn.functional.one_hot(s, 3).float()
        x[3] = torch.inf if n == 400 else x[3]
        return x

    rows = read_code(code, batch=90)
    assert at(rows, 50)["refit", ""]["status"] == "ok"
    for mode in ("transfer", "recalibrated", "refit"):
        cell = at(rows, 400)[mode, ""]
        assert (cell["status"], cell["value"]) == ("undefined", None)
        assert "not finite" in cell["note"]


def test_a_summary_of_many_integers_is_a_number(read_code: Any, at: Any) -> None:
    def code(s: torch.Tensor, n: int) -> torch.Tensor:
        return torch.stack([s / 100.0, -s / 50.0], 1)

    rows = read_code(code, draw=lambda g, b: torch.randint(1000, (b,), generator=g), batch=400, noise=0.1)
    cell = at(rows, 400)["refit", ""]
    assert cell["value"] == pytest.approx(1, abs=0.01)
    assert at(rows, 400, "summary_rmse")["refit", ""]["value"] < 20
