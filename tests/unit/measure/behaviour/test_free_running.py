"""Free running: models whose every answer is known, right while forced and lost after an error of their own."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
import torch
from torch import Tensor

from workbench.measure.behaviour.free_running import BUDGET_TOKENS, affordable, free_run
from workbench.measure.behaviour.measurement import Behaviour
from workbench.measure.measurement import Grid, show
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.positions import Arange
from workbench.tasks import Task
from workbench.tasks.random_generator import generator

BOS, A, B, SEP = range(4)


class Echo(Task):
    """``x <sep> x``: the answer is x, token by token, then the end."""

    name: ClassVar[str] = "echo"
    question: ClassVar[str] = "What was said?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the next token"
    vocabulary: ClassVar[tuple[str, ...]] = ("<bos>", "a", "b", "<sep>")
    outputs: ClassVar[tuple[str, ...]] = ("<eos>", "a", "b")

    @property
    def answer_tokens(self) -> tuple[int, ...]:
        return (0, A, B)

    def admissible(self, length: int) -> bool:
        return length >= 3 and length % 2 == 1

    def prompt_of(self, length: int) -> int:
        return 2 + length // 2

    def draw_strings(self, batch: int, length: int, generator: torch.Generator, law: str, window: int | None) -> Any:
        x = torch.randint(A, SEP, (batch, length // 2), generator=generator)
        return torch.cat([x, torch.full((batch, 1), SEP), x], 1), {}

    def label_strings(self, strings: Tensor, meta: dict[str, Tensor]) -> Any:
        half = strings.shape[1] // 2
        end = torch.zeros(len(strings), 1, dtype=torch.long)
        targets = torch.cat([torch.zeros(len(strings), half, dtype=torch.long), strings[:, :half], end], 1)
        mask = torch.zeros_like(targets, dtype=torch.bool)
        mask[:, half:] = True
        return targets, mask, targets, None

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        raise NotImplementedError

    def answer(self, tokens: Tensor) -> Tensor:
        return torch.ones(len(tokens), 3)


class Scripted:
    """A causal model that answers by a rule in plain Python: ``rule(tokens so far) -> class``."""

    cfg = SimpleNamespace(ids=Arange(), n_ctx=64)

    def __init__(self, rule) -> None:
        self.rule, self.calls = rule, 0

    def __call__(self, tokens: Tensor, ids: Tensor | None = None) -> Tensor:
        self.calls += 1
        out = torch.zeros(*tokens.shape, 3)
        for b, row in enumerate(tokens.tolist()):
            for i in range(len(row)):
                if SEP in row[: i + 1]:
                    out[b, i, self.rule(row[: i + 1])] = 1
        return out


def echo(seen: list[int], slip: int | None = None, lost: int | None = None, stop: int | None = None) -> int:
    """The right class; another one at answer ``slip``; ``lost`` after any wrong answer; the end at ``stop``."""
    at = seen.index(SEP)
    x, y = seen[1:at], seen[at + 1 :]
    if stop is not None and len(y) == stop:
        return 0
    if lost is not None and y != x[: len(y)]:
        return lost
    right = x[len(y)] if len(y) < len(x) else 0
    return 3 - right if len(y) == slip else right


def one_at_a_time(model: Scripted, task: Echo, batch) -> Tensor:
    """Greedy decoding as anybody would write it: the oracle."""
    tokens = batch.tokens[:, : batch.prompt]
    classes = []
    while tokens.shape[1] <= batch.tokens.shape[1]:
        found = model(tokens)[:, -1].argmax(-1)
        classes.append(found)
        tokens = torch.cat([tokens, torch.tensor(task.answer_tokens)[found][:, None]], 1)
    return torch.stack(classes, 1)


RULES = {
    "perfect": {},
    "slips once": {"slip": 2},
    "lost after its slip": {"slip": 2, "lost": 1},
    "lost, but forced it never slips": {"lost": 1},
    "ends early": {"stop": 3},
}


@pytest.mark.parametrize("rule", RULES)
def test_the_answers_are_those_of_decoding_one_at_a_time(rule: str) -> None:
    task, model = Echo(), Scripted(lambda seen: echo(seen, **RULES[rule]))
    batch = task.sample(6, 13, generator("echo"))
    found = free_run(model, task, batch, model(batch.tokens))
    assert torch.equal(found.answers[:, batch.prompt - 1 :], one_at_a_time(model, task, batch))
    assert found.passes <= 7


def test_against_a_real_model_with_random_weights() -> None:
    """Many sequences, all of whose answers change: the fixed point is still the greedy answer."""
    task = Echo()
    cfg = ModelConfig(
        d_vocab=4,
        d_vocab_out=3,
        n_layers=2,
        d_model=16,
        n_heads=2,
        n_ctx=64,
        positions="learned",
        initializer_range=1.0,
    )
    model = HookedTransformer(cfg, seed=5)
    batch = task.sample(24, 21, generator("random"))
    with torch.no_grad():
        found = free_run(model, task, batch, model(batch.tokens))
        assert torch.equal(found.answers[:, batch.prompt - 1 :], one_at_a_time(model, task, batch))
    assert found.passes > 1


def test_after_the_end_nothing_counts_as_right() -> None:
    task, model = Echo(), Scripted(lambda seen: echo(seen, stop=3))
    batch = task.sample(5, 13, generator("echo"))
    right = free_run(model, task, batch, model(batch.tokens)).right
    assert right.sum(1).tolist() == [3] * 5


class FakeStudy(SimpleNamespace):
    cfg = SimpleNamespace(ids=SimpleNamespace(predicted=False))

    def reads_unseen(self, length: int) -> bool:
        return False

    def rng(self, *parts: object) -> np.random.Generator:
        return np.random.default_rng(generator(*parts).initial_seed())


def rows_of(rule: dict, sequences: int = 32, length: int = 13, **settings) -> tuple[dict, FakeStudy]:
    task, model = Echo(), Scripted(lambda seen: echo(seen, **rule))
    study = FakeStudy(task=task, model=model, grid=Grid(length, (length,), (length,), ()), passes=0, seed=0, deep=False)
    behaviour = Behaviour(**settings)
    for law in ("matched", "challenge"):
        batch = task.sample(sequences, length, generator(law), law)
        behaviour.observe(law, length, batch, {"logits": model(batch.tokens)})
    rows = behaviour.finish(study)
    return {(r["quantity"], r["mode"]): r for r in rows if r["law"] == "matched" and not r["target"]}, study


@pytest.mark.parametrize(("rule", "forced", "free"), [
    ({}, 1.0, 1.0),
    ({"slip": 2}, 6 / 7, 6 / 7),
    ({"slip": 2, "lost": 0}, 6 / 7, 2 / 7),
    ({"slip": 0, "lost": 0}, 6 / 7, 0.0),
    ({"lost": 0}, 1.0, 1.0),
])  # fmt: skip
def test_an_error_is_fed_back_and_costs_what_it_must(rule: dict, forced: float, free: float) -> None:
    """Six tokens and an end: one slip costs 1/7 while forced; who is lost after it also loses all that follow."""
    rows, _ = rows_of(rule)
    assert rows["token_accuracy", "teacher_forced"]["value"] == pytest.approx(forced)
    assert rows["token_accuracy", "free_running"]["value"] == pytest.approx(free)
    whole = float(forced == 1)
    for quantity in ("accuracy", "exact_match"):
        for mode in ("teacher_forced", "free_running"):
            assert rows[quantity, mode]["value"] == whole, "a whole answer is right in both modes or in neither"


def test_n_says_how_many_ran_free_and_passes_are_counted() -> None:
    rows, study = rows_of({"slip": 0, "lost": 1}, sequences=20, free_running=7)
    assert rows["accuracy", "teacher_forced"]["n"] == 20
    assert {r["n"] for (_, mode), r in rows.items() if mode == "free_running"} == {7}
    assert study.passes > 0


def test_the_budget_bounds_long_answers() -> None:
    task = Echo()
    batch = task.sample(64, 401, generator("long"))
    length, answers = 402, 201
    count = affordable(batch, 64)
    assert count == BUDGET_TOKENS // (length * answers) == 6
    assert affordable(task.sample(64, 13, generator("short")), 64) == 64
    assert affordable(task.sample(3, 13, generator("short")), 64) == 3


def test_without_fed_back_tokens_it_is_not_applicable() -> None:
    class Silent(Echo):
        name: ClassVar[str] = "silent"

        @property
        def answer_tokens(self) -> None:
            return None

    task, model = Silent(), Scripted(echo)
    study = FakeStudy(task=task, model=model, grid=Grid(13, (13,), (13,), ()), passes=0)
    behaviour = Behaviour()
    batch = task.sample(8, 13, generator("x"), "matched")
    show(behaviour.observer(study, "matched", 13, batch), {"logits": model(batch.tokens)})
    assert [r["status"] for r in behaviour._free_rows(study, "matched", 13)] == ["not_applicable"]


def test_tasks_that_ask_without_showing_have_no_such_rows() -> None:
    from workbench.tasks import make_task

    task = make_task("majority")
    batch = task.sample(8, 5, generator("x"), "matched")
    behaviour = Behaviour()
    study = FakeStudy(task=task)
    show(behaviour.observer(study, "matched", 5, batch), {"logits": torch.zeros(8, 6, 2)})
    assert behaviour._free_rows(study, "matched", 5) == []
