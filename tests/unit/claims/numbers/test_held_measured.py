"""What is asked of the runs of trained claims, asked of small models with random weights in float64: the rows are held.

Everything that can be asked is asked here, by the list of it; of several tasks, laws and ways to tell positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.held import Held, digest
from tests.support.printed import printed
from workbench.claims.trained import (
    ambiguous_transitions,
    answer_steps,
    bin_accuracy,
    class_attention,
    extreme_gates,
    long_losses,
    needed_tokens,
    retrieval_copies,
)
from workbench.claims.trained.bin_accuracy import _few, bins_of, lengths_in, share
from workbench.claims.trained.in_text import text_losses
from workbench.claims.trained.in_text.text_losses import overlap_rows
from workbench.claims.trained.run_statistics import statistics
from workbench.claims.trained.standard_rows import _reduced
from workbench.claims.trained.trained_run import TrainedRun
from workbench.claims.trained.two_sides import zero_shot_copies
from workbench.claims.trained_cells import cell
from workbench.models.architectures import make_model

ASKED: dict[str, tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...]] = {
    "fit": (("majority", "nope", {}, {}), ("aa_star", "ape", {}, {}), ("flip_flop", "rope", {}, {})),
    "bins": (
        ("majority", "rope", {}, {}), ("majority", "nope", {}, {"law": "challenge"}), ("aa_star", "nope", {}, {"bins": 2}),
        ("letter_majority", "nope", {"letters": 4, "half": "first"}, {"task": {"half": "second"}, "told": "other half"}),
    ),
    "lengths": (
        ("majority", "alibi", {}, {"factors": [0.5, 1, 2.5]}), ("flip_flop", "nope", {}, {"factors": [2], "law": "challenge"}),
    ),
    "losses": (("simple", "nope", {"omega": 2.0}, {"factors": (1, 3)}), ("simple", "nope", {"omega": 1.0}, {"factors": (2,), "omega": 3.0})),
    "gates": (("parity", "signed", {}, {"token": "1"}), ("flip_flop", "ssm", {}, {"token": "i0 i1"})),
    "class attention": (("mod_p_mean", "lim 2 1", {"p": 3}, {"factors": (1, 2)}), ("simple", "nope", {"omega": 1.0}, {"factors": (2,)})),
    "copies": (("ur", "nope", {"symbols": 18}, {}), ("ul", "rope", {"symbols": 18}, {"bins": 2})),
    "transitions": (("nf", "nope", {"symbols": 4}, {}), ("nf", "rope", {"symbols": 3}, {"most": 2})),
    "steps": (("parity_scratchpad", "ape", {}, {"factors": [1, 2]}),),
    "tokens": (("parity_scratchpad", "nope", {}, {"read": [3, 5], "written": [4]}),),
    "needed tokens": (
        ("planted", "nope", {"k": 2, "span": 4}, {"groups": "type"}), ("sparse_parity", "ape", {"k": 1, "values": 4}, {"groups": "token"}),
    ),
    "zero-shot copies": (("copied_text", "nope", {"symbols": 12}, {"sizes": [4, 8], "shown": 3}),),
    "last byte": (("text", "nope", {"folder": "generated"}, {"short": 8, "texts": 40}),),
    "few tokens": (("text", "nope", {"folder": "generated"}, {"short": 8, "texts": 12}),),
}  # fmt: skip
"""Name -> task, positions, parameters of the task, and what is asked further."""
MODULES = (
    ambiguous_transitions,
    answer_steps,
    bin_accuracy,
    class_attention,
    extreme_gates,
    long_losses,
    needed_tokens,
    retrieval_copies,
    zero_shot_copies,
)


def small_run(task: str, positions: str, parameters: dict[str, Any], longest: int = 6) -> TrainedRun:
    """A model of width 8 with large random weights, whose answers differ between strings."""
    scans = positions in ("ssm", "signed")
    width = 16 if scans else 8
    one = cell(task, positions, longest, 1, layers=2, width=width, heads=2, reach=4, **parameters)
    config = one.config(0)
    model = make_model(config.model, seed=3).double().eval()
    with torch.no_grad():
        for index, weight in enumerate(model.parameters()):
            weight.mul_(1 if scans else 3 + index % 2)
    return TrainedRun(SimpleNamespace(trained_length=longest), model, config.task)  # type: ignore[arg-type]


def cases() -> Iterator[Any]:
    for name, several in ASKED.items():
        for index, one in enumerate(several):
            yield pytest.param(name, *one, id=f"{name} {index} {one[0]}")


@pytest.mark.parametrize(("name", "task", "positions", "parameters", "asked"), list(cases()))
def test_what_is_measured_of_a_small_run(
    name: str,
    task: str,
    positions: str,
    parameters: dict[str, Any],
    asked: dict[str, Any],
    held: Held,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in MODULES:
        for constant, small in (("STRINGS", 40), ("RESAMPLES", 60), ("MOST_LENGTHS", 5), ("TOKENS", 2_000)):
            if hasattr(module, constant):
                monkeypatch.setattr(module, constant, small)
    rows = list(statistics()[name].function(small_run(task, positions, parameters), **asked))
    assert rows
    named = [(row["quantity"], row.get("setting"), row.get("length"), row.get("n"), row.get("label")) for row in rows]
    numbers = [[row.get(key) for key in ("value", "low", "high", "spread")] for row in rows]
    listed = [[None if one is None else float(one) for one in row] for row in numbers]
    held([len(rows), printed(named), listed if len(rows) < 10 else digest(np.array(listed, dtype=float))])


def test_everything_that_can_be_asked_is_asked_here() -> None:
    assert {*ASKED, "few tokens of two"} == set(statistics())


# ---- parts --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("longest", [1, 2, 7, 16])
def test_bins_and_their_lengths(longest: int, held: Held) -> None:
    run = small_run("majority", "nope", {}, 16)
    found = [bins_of(longest, bins) for bins in (1, 2, 4)]
    lengths = [
        lengths_in(run, low, high)
        for low, high in ((1, longest), (longest, 31), (longest, 32), (longest, 33), (2, 200))
    ]
    held([found, lengths, [_few(lengths[3], most) for most in (1, 2, 4)]])


def test_a_share_has_its_exact_interval_unless_all_was_counted(held: Held) -> None:
    held(
        [share(right, n, counted) for right, n, counted in ((0, 9, False), (9, 9, False), (4, 9, False), (4, 9, True))]
    )


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_what_is_ambiguous(m: int, held: Held) -> None:
    strings = torch.tensor([[1, 2, 1, 2, 3, 1], [1, 1, 1, 1, 1, 1], [1, 2, 3, 4, 5, 6], [2, 3, 1, 2, 3, 1]])
    held(ambiguous_transitions.ambiguous(strings, m).int().tolist())


def test_steps_at_risk_and_their_slope(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_steps, "RESAMPLES", 200)
    rights = [np.array(one) for one in ([[1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 1]], [[1], [0]], [[0, 1], [0, 0]])]
    held(
        [
            [[part.astype(int).tolist() for part in answer_steps.at_risk(one)], answer_steps.slope_of_error(one)]
            for one in rights
        ]
    )


def test_windows_and_their_means(held: Held) -> None:
    tokens = torch.tensor([[1, 2, 1, 1, 2, 1, 1, 1], [2, 2, 1, 1, 1, 1, 2, 1]])
    windows = extreme_gates.windows_of(tokens, 2)
    gates = torch.sin(torch.arange(2 * 8 * 3, dtype=torch.float64)).view(2, 8, 3)
    means = extreme_gates.window_means(gates, windows, tokens == 1)
    many = extreme_gates.window_means(gates.repeat(9, 1, 1), windows.repeat(9, 1, 1), (tokens == 1).repeat(9, 1))
    held([windows.tolist(), means.tolist(), many.tolist()])


def test_overlaps_of_choices(held: Held) -> None:
    one, other = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]]), np.array([[0, 1, 9], [5, 9, 8], [6, 7, 8]])
    held([list(overlap_rows(one, other, tokens)) for tokens in (10, 24)])


def test_differences_of_texts_that_are_cut_short(held: Held) -> None:
    run = small_run("text", "nope", {"folder": "generated"})
    batch = text_losses.whole_texts(run, 6, 5)
    cut = text_losses.ending_of(batch, 6)
    parts = [cut.tokens, cut.targets, cut.mask.int()]
    held([cut.length, [part.tolist() for part in parts], text_losses._mean(np.array([1.0, 2.0, 4.0]))])


@pytest.mark.parametrize("layer", [None, 1])
@pytest.mark.parametrize("quantity", ["verdict", "accuracy", "first_wrong", "near_ties"])
def test_rows_of_the_workbench_as_rows_of_claims(quantity: str, layer: int | None, held: Held) -> None:
    base = {"quantity": quantity, "value": 0.5, "low": 0.4, "high": 0.6, "n": 9, "layer": layer, "target": "t"}
    found = []
    for law, mode, head, label, status, length in (
        ("matched", "teacher_forced", None, "", "ok", 64), ("challenge", "free", 2, "hold", "ok", 32), ("", "", 0, "", "undefined", None),
    ):  # fmt: skip
        found.append(
            _reduced(
                {**base, "law": law, "mode": mode, "head": head, "label": label, "status": status, "length": length},
                {64: " at 2 N"},
            )
        )
    held(found)
