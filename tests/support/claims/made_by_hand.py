"""Rows of runs made by hand, and runs whose answers are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from workbench.claims.claim import Claim
from workbench.claims.trained.class_attention import APART, OFF
from workbench.claims.trained.in_text.whose_tokens import OF_OTHER, OTHERS, OWN
from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained.run_statistics import version_of
from workbench.claims.trained.trained_run import TrainedRun
from workbench.claims.trained_cells import Request, TrainedCell
from workbench.measure.intervals import clopper_pearson
from workbench.tasks import make_task
from workbench.tasks.base import Batch

SEEDS = tuple(range(10))
"""As many that the sign test decides on each of 25 parts."""
TEXTS = 40
"""Texts that have a row of their own."""
Value = Callable[[TrainedCell, int, str], float]
"""Of a cell, a seed and a quantity with its setting."""


@dataclass(frozen=True)
class Answering(TrainedRun):
    """A run that answers as ``right`` says: per string and query, whether the answer is right."""

    right_at: Callable[[Batch], Tensor] = lambda batch: torch.ones_like(batch.mask)

    @property
    def cfg(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ids=SimpleNamespace(predicted=False))

    def answers(self, batch: Batch) -> dict[str, Tensor]:
        answer = torch.where(self.right_at(batch), batch.targets, 1 - batch.targets)
        return {"logits": 9.0 * torch.nn.functional.one_hot(answer.clamp(0, 1), 2).double()}


def answering(task: str, trained: int, right_at: Callable[[Batch], Tensor], **parameters: Any) -> Answering:
    """A run of a task with two answers, whose N is ``trained``."""
    return Answering(SimpleNamespace(trained_length=trained), None, make_task(task, **parameters), right_at)  # type: ignore[arg-type]


def with_seeds(claim: Claim, seeds: Sequence[int] = SEEDS) -> Claim:
    """The claim on other seeds, where its own are too few to decide."""
    return replace(claim, cells=tuple(cell.on(*seeds) for cell in claim.cells), seeds=len(seeds))


def names_of(asked: Request) -> Iterator[tuple[str, str]]:
    """The quantities, with their settings, that are measured where this is asked."""
    settings: Mapping[str, Any] = asked.settings
    law = settings.get("law", "matched")
    setting = settings.get("told") or ("" if law == "matched" else law)
    if asked.name == "bins":
        yield from ((f"b{i}{of}", setting) for i in range(3) for of in ("", " every prefix", " skill"))
    if asked.name == "lengths":
        yield from ((f"{of} at {f:g} N", setting) for f in settings["factors"] for of in ("accuracy", "skill"))
    if asked.name == "losses":
        yield from ((f"loss at {f} N", "") for f in (1, 2, 4, 8, 16, 32))
    if asked.name == "behaviour":
        yield from ((f"skill at {f} N", law) for f in (2, 4, 8) for law in ("", "challenge"))
        yield from (("failure_length", law) for law in ("", "challenge"))
    if asked.name == "circuits.positional":
        yield from ((of, "weights, L0H0") for of in ("period", "period_strength"))
        yield "translation_variance", "weights, L0H0, period 1"
        yield "positional_regularizer", "weights, L0H0"
    if asked.name == "gates":
        yield from ((f"{of} gate on {settings['token']}", "") for of in ("least", "steady"))
    if asked.name == "circuits.sparsity":
        yield from ((f"keys_needed at {f} N", head) for f in (1, 2, 4) for head in ("L0H0", "L1H0"))
    if asked.name == "needed tokens":
        yield "needed tokens found", ""
    if asked.name == "circuits.hardmax":
        yield from (("hardmax_kind at 4 N", head) for head in ("L0H0", "L0H1"))
    if asked.name == "class attention":
        yield from ((f"{of} at {f} N", "") for of in (OFF, APART) for f in (1, 4, 16))
    if asked.name == "copies":
        yield from ((f"b{i} copied", "") for i in range(3))
    if asked.name == "transitions":
        yield from (
            (of, f"m {m}") for of in ("ratio of errors", "ratio of errors with its interval") for m in (1, 2, 3)
        )
    if asked.name == "steps":
        kinds = ("answer token", "step error", "slope of step error")
        yield from ((f"{of} at {f:g} N", "") for f in settings["factors"] for of in kinds)
    if asked.name == "tokens":
        yield from ((f"tokens right, {n} {of}", "") for of in ("read", "written") for n in settings.get(of, ()))
    if asked.name == "circuits.ablation":
        told = [f"{of} at 1 N" for of in settings["only"]]
        yield from ((of, f"{kind} edges") for of in told for kind in ("induction", "anti-induction"))
    if asked.name == "circuits.heads":
        yield from (
            (f"{of} at 1 N", f"{strings}, {head}")
            for of in ("induction", "anti_induction")
            for strings in ("task", "repeats")
            for head in ("L0H0", "L1H1")
        )
    if asked.name == "zero-shot copies":
        yield from ((f"zero-shot {side}", f"n {n}") for n in settings["sizes"] for side in ("right", "left"))
    if asked.name == "last byte":
        yield "loss with twice the context less with it", ""
        yield from (("loss with 128 bytes of a text", f"text {i}") for i in range(TEXTS))
    if asked.name.startswith("few tokens"):
        whose = (OWN, OTHERS, OF_OTHER) if asked.name.endswith("two") else (OWN,)
        kinds = ("long", "short", "sparse", "random")
        yield from ((f"loss, {kind}", f"{of}, text {i}") for of in whose for kind in kinds for i in range(TEXTS))
    if asked.name == "few tokens of two":
        yield "overlap over chance", ""
    if asked.name == "bound":
        yield from (("bound_part", "gamma"), ("training_length_bound_log10", "theorem 4.1"))


def made(
    cells: tuple[TrainedCell, ...],
    value: Value,
    fitted: Callable[[TrainedCell, int], bool] = lambda cell, seed: True,
    strings: int = 512,
    verdict: str = "scale-robust",
) -> list[RunRow]:
    """Rows of all that cells ask for; shares have the interval of so many strings, losses a spread of a tenth."""
    rows = []
    for cell in cells:
        for seed in cell.seeds:
            for asked in cell.requests:
                where = (cell.recipe(seed), f"run {cell.name} {seed}", 1, cell.name, seed, asked.key, version_of(asked))
                if asked.name in ("fit", "last byte"):
                    rows.append(RunRow(*where, "fitted", label="pass" if fitted(cell, seed) else "fail", value=1.0))
                if asked.name == "behaviour":
                    rows.append(RunRow(*where, "verdict", label=verdict, n=256))
                for quantity, setting in names_of(asked):
                    told = f"{quantity}, {setting}" if setting else quantity
                    number = value(cell, seed, told)
                    share = asked.name in (
                        "bins",
                        "lengths",
                        "behaviour",
                        "zero-shot copies",
                    ) and not quantity.startswith("failure")
                    if share:
                        low, high = clopper_pearson(round(number * strings), strings)
                        rows.append(RunRow(*where, quantity, setting, 32, number, low, high, strings))
                    else:
                        rows.append(RunRow(*where, quantity, setting, 32, number, n=strings, spread=number / 10))
    return rows


def table_for(claim: Claim, value: Value, **more: Any) -> RunTable:
    """A table of all runs of a claim."""
    return RunTable(made(claim.cells, value, **more))
