"""Measurements of plain tokens: the rows of the batch that says the same; and lengths that a task does not admit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from circuits import ablation_statistics, hardmax_statistics, head_statistics, positional_statistics
from probes.api import probe
from probes.fitting.probe_rows import ProbeError
from tests.support.measure.plain import drawn
from workbench.measure import run
from workbench.measure.running.plain_tokens import batches_of
from workbench.measure.settings import MeasurementError
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task
from workbench.tasks.base import TaskError

TASK = make_task("majority")
N = 9


def values(result: Any) -> list[tuple[object, ...]]:
    return [(r["quantity"], r["length"], r["layer"], r["head"], r["value"], r["label"]) for r in result.rows]


def test_tokens_with_their_task_are_the_batch_with_and_without_bos() -> None:
    batch = drawn(TASK, N)
    whole = values(hardmax_statistics(majority(), batch, trained=N))
    assert values(hardmax_statistics(majority(), batch.tokens, task=TASK, trained=N)) == whole
    assert values(hardmax_statistics(majority(), [batch.tokens[:, 1:]], task=TASK, trained=N)) == whole


def test_tokens_alone_are_read_by_what_needs_no_labels_and_refused_by_what_does() -> None:
    tokens = drawn(TASK, N).tokens
    found = hardmax_statistics(majority(), tokens)
    # A head whose scores are all equal looks at every key: BOS counts as one of them.
    assert {r["length"] for r in found.rows} - {None} == {N + 1}
    assert {r["value"] for r in found.rows if r["quantity"] == "argmax_mass" and r["layer"] == 0} == {1.0}
    assert positional_statistics(majority(), tokens).rows
    with pytest.raises(MeasurementError, match=r"circuits\.heads"):
        head_statistics(majority(), tokens)
    with pytest.raises(ProbeError, match="needs labels"):
        probe(majority(), tokens)


def test_a_probe_finds_labels_that_are_in_the_tokens_and_not_those_that_are_not() -> None:
    """The embedding of the last token holds that token exactly; a coin is nowhere."""
    tokens = drawn(TASK, N, 128).tokens
    coin = torch.randint(2, (128,), generator=torch.Generator().manual_seed(1))
    last, none = (probe(majority(), tokens, labels, resamples=20).frame() for labels in (tokens[:, -1] - 1, coin))

    def at_embedding(frame: Any) -> float:
        chosen = frame[(frame["layer"] == -1) & (frame["mode"] == "refit") & (frame["control"] == "")]
        return float(chosen.set_index("quantity")["value"]["summary_decodability"])

    assert at_embedding(last) == 1.0
    assert at_embedding(none) < 0.8


def test_labels_of_other_shapes_or_beside_labels_are_refused() -> None:
    batch = drawn(TASK, N)
    for data, labels, task, sentence in [
        (
            batch.tokens,
            torch.zeros(3),
            None,
            r"labels are \[batch, pos\] or \[batch\], here \(16, 10\) or \(16,\), not \(3",
        ),
        (batch, "position", None, "is not an array of token labels; name the target of a probe by target=.position."),
        (batch, torch.zeros(16), None, "labels are for plain tokens without a task; leave them out"),
        (batch.tokens, torch.zeros(16), TASK, "labels are for plain tokens without a task"),
        (batch.tokens.float(), None, None, r"plain tokens are integers \[batch, pos\], not torch.float32"),
        ([batch.tokens], [], None, "1 batches of tokens were given with 0 batches of labels"),
    ]:
        with pytest.raises(MeasurementError, match=sentence):
            batches_of(data, labels, task, "matched")


def test_a_length_that_the_task_does_not_admit_is_refused_with_the_next_one() -> None:
    settings: dict[str, Any] = {"trained": N, "sequences": 4, "modes": ["zero"], "factors": [1]}
    with pytest.raises(TaskError, match="length 8"):
        ablation_statistics(majority(), TASK, lengths=[8], **settings)
    result = ablation_statistics(majority(), TASK, lengths=[9], **settings)
    assert {row["length"] for row in result.rows} == {9}


def test_a_result_is_a_table_in_markdown_and_latex() -> None:
    result = hardmax_statistics(majority(), drawn(TASK, N), trained=N)
    head, rule, *lines = result.to_markdown().splitlines()
    assert head.startswith("| ")
    assert "| quantity | value |" in head
    assert set(rule) <= set("| -")
    assert len(lines) == len(result.rows)
    assert "hardmax_distance" in lines[0]
    latex = result.to_latex()
    assert latex.startswith(r"\begin{tabular}{l")
    assert r"hardmax\_distance & " in latex
    assert latex.count(r" \\") == len(result.rows) + 1
    assert latex.endswith("\\bottomrule\n\\end{tabular}")


def test_run_takes_plain_tokens_as_well() -> None:
    from workbench.measure.registry import make_measurement

    found = run(make_measurement("circuits.hardmax"), majority(), drawn(TASK, N).tokens, task=TASK, trained=N)
    assert np.isfinite(found.value("tie_size", layer=0))


# ---- tokens as batches, branch by branch ---------------------------------------------------------------------------------
PLAIN = torch.tensor([[0, 1, 2], [0, 2, 1]])


@pytest.mark.parametrize(("tokens", "length"), [
    ([[0, 1, 2, 1], [0, 2, 2, 1]], 3), ([[1, 2, 1], [2, 2, 1]], 3),
])  # fmt: skip
def test_a_first_token_is_bos_where_all_strings_begin_so(tokens: list[list[int]], length: int) -> None:
    (found,) = batches_of(torch.tensor(tokens), None, TASK, "challenge")
    assert (found.length, found.bos, found.law) == (length, True, "challenge")
    assert found.tokens[:, 0].tolist() == [0, 0]
    assert found.tokens[:, 1:].tolist() == [row[-3:] for row in tokens]


@pytest.mark.parametrize(("labels", "targets", "asked", "real"), [
    (None, [[0, 0, 0], [0, 0, 0]], [True, True, True], False), ([1, 0], [[1, 1, 1], [0, 0, 0]], [False, False, True], False),
    ([[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]], [True, True, True], False), ([0.5, 2.0], [[0.5] * 3, [2.0] * 3], [False, False, True], True),
    ([[0.5, 1, 1], [2, 2, 2]], [[0.5, 1, 1], [2, 2, 2]], [True, True, True], True),
])  # fmt: skip
def test_labels_of_the_last_place_or_of_each(labels: Any, targets: Any, asked: list[bool], real: bool) -> None:
    (found,) = batches_of(PLAIN, None if labels is None else torch.tensor(labels), None, "matched")
    assert found.targets.tolist() == found.output_summary.tolist() == targets
    assert found.mask.tolist() == [asked] * 2
    assert found.targets.is_floating_point() == real
    assert (found.length, found.bos, found.update_summary, found.law) == (3, False, None, "matched")


@pytest.mark.parametrize("tokens", [torch.zeros(3), torch.zeros(2, 3), torch.zeros(0, 3, dtype=torch.long), torch.zeros(2, 0, dtype=torch.long),
                                    torch.zeros(2, 3, 4, dtype=torch.long), torch.zeros(3, dtype=torch.long)])  # fmt: skip
def test_tokens_that_are_none(tokens: torch.Tensor) -> None:
    with pytest.raises(MeasurementError, match="integers"):
        batches_of(tokens, None, None, "matched")


def test_several_batches_have_a_label_each() -> None:
    own = drawn(TASK, N)
    found = batches_of([PLAIN, PLAIN[:1]], [torch.tensor([1, 0]), torch.tensor([1])], None, "matched")
    assert [len(one) for one in found] == [2, 1]
    assert batches_of(own, None, TASK, "challenge") == [own]
    mixed = batches_of([own, PLAIN], None, None, "challenge")
    assert mixed[0] is own
    assert mixed[1].law == "challenge"
    for data, labels in ((own, torch.ones(16)), ([PLAIN, own], [torch.ones(2), torch.ones(16)])):
        with pytest.raises(MeasurementError, match="labels"):
            batches_of(data, labels, None, "matched")
