"""``lengthlens ablate`` and ``lengthlens attention``: their numbers are those of the functions and of known models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from circuits import ablate
from circuits.interventions.ablate_components import answers
from circuits.interventions.patch_activations import patch
from circuits.one_sequence import look
from tests.support.places import GALLERY
from workbench.cli.main import app
from workbench.measure.edits.edit import parse_edits
from workbench.measure.edits.edited_forward import edited_forward
from workbench.measure.edits.one_sequence import trained_of
from workbench.runs import Run

NAME = "flip_flop_rotary_s0"
RUN = str(GALLERY / NAME)


def done(*words: str) -> Any:
    return CliRunner().invoke(app, [*words])


def rows(*words: str) -> list[dict[str, Any]]:
    result = done(*words, "--json")
    assert result.exit_code == 0, f"{result.output} {result.exception!r}"
    (table,) = json.loads(result.stdout).values()
    return table


@pytest.mark.parametrize(
    ("words", "heads", "mlps", "named"),
    [(["L0H1"], [(0, 1)], [], "L0H1"), (["l0h1,L1.0", "MLP0"], [(0, 1), (1, 0)], [0], "L0H1, L1H0, MLP0")],
)
def test_accuracy_without_parts_is_that_of_the_function(
    words: list[str], heads: list[tuple[int, int]], mlps: list[int], named: str
) -> None:
    found = rows("ablate", RUN, *words, "--lengths", "16,48", "--sequences", "32", "--mode", "zero", "--seed", "3")
    run = Run.open(RUN)
    assert [row["length"] for row in found] == [16, 48]
    for row in found:
        batch = run.task.batch(32, row["length"], seed=3)
        whole = float((ablate(run.load(), batch, run.task).right > 0.5).mean())
        without = float((ablate(run.load(), batch, run.task, heads, mlps, "zero", 3).right > 0.5).mean())
        assert (row["part"], row["step"], row["n"]) == (named, 1200, 32)
        assert (row["accuracy"], row["without"], row["drop"]) == (whole, without, pytest.approx(whole - without))
        assert row["low"] <= row["drop"] <= row["high"]
        assert row["without_low"] <= without <= row["without_high"]


def test_the_head_that_reads_the_answer_is_needed_at_all_lengths() -> None:
    """As the stored rows say: without L0H1 the model guesses one of two bits."""
    for row in rows("ablate", RUN, "L0H1"):
        assert row["without_low"] < 0.5 < row["without_high"]
    assert [row["length"] for row in rows("ablate", RUN, "L0H1", "--sequences", "2")] == [32, 64, 128]


def test_lengths_are_those_that_the_task_has() -> None:
    found = rows("ablate", str(GALLERY / "majority_nope_s0"), "L0H0", "--sequences", "4")
    assert [row["length"] for row in found] == [31, 63, 125]


@pytest.mark.parametrize("names", ["P.int", "D.adaptive", "D.adaptive,P.int"])
def test_accuracy_under_interventions_is_that_of_the_edited_pass(names: str) -> None:
    run = Run.open(RUN)
    for row in rows("ablate", RUN, names, "--lengths", "64,96", "--sequences", "64", "--seed", "3"):
        batch = run.task.batch(64, row["length"], seed=3)
        edited = edited_forward(run.load(), batch, parse_edits(names), [], trained=trained_of(run, 1200, batch.bos))
        right = answers(run.task, edited["logits"], batch).right
        assert (row["without"], row["n"]) == (float(right.mean()), 64)
        assert (row["part"], row["mode"]) == (names.replace(",", ", "), "intervention")
        assert row["drop"] == pytest.approx(row["accuracy"] - row["without"])
        assert row["without"] > row["accuracy"] or "P.int" not in names


def test_rows_of_trained_sequences_are_where_an_intervention_with_statistics_moves_them() -> None:
    """At N, the statistics of the tested length are those at N. Without a block, no row is named."""
    (row,) = rows("ablate", RUN, "C.pool1,D.beta2", "--lengths", "32", "--sequences", "64")
    (other,) = rows("ablate", RUN, "D.beta2", "--lengths", "32", "--sequences", "64")
    assert (row["without"], row["accuracy"]) == (other["without"], other["accuracy"])


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["banana"], "write L0H1"),
        (["banana"], "D.adaptive"),
        (["C.pool7"], "C.pool1"),
        (["C.pool"], "C.pool0"),
        (["T.slow"], "no state"),
        (["P.int", "P.clip"], "both change"),
        (["D.logn", "L0H1"], "leave it out"),
        (["L7H1"], "from L0H0 to L1H1"),
        (["MLP2"], "from MLP0 to MLP1"),
        (["L0H1", "--mode", "median"], "mean, zero or resample"),
    ],
)
def test_an_unknown_part_or_mode_names_those_there_are(words: list[str], answer: str) -> None:
    result = done("ablate", RUN, *words)
    assert result.exit_code != 0
    assert answer in str(result.exception)


def test_attention_is_that_of_the_query() -> None:
    found = rows("attention", RUN, "--head", "L0H1", "--length", "48", "--seed", "5")
    seen = look(RUN, 1200, {"law": "matched", "length": 48, "seed": 5}, 0, 1)
    np.testing.assert_allclose([row["attention"] for row in found], seen.clean.row, atol=1e-7)
    assert [row["token"] for row in found] == seen.tokens
    assert [row["key"] for row in found] == list(range(49))
    assert sum(row["attention"] for row in found) == pytest.approx(1, abs=1e-5)


def test_a_given_sequence_is_read_and_the_last_write_attended_to() -> None:
    found = rows("attention", RUN, "--head", "L0H1", "--tokens", "w0 i1 w1 i0 i1 r", "--query", "5")
    assert {row["query"] for row in found} == {5}
    assert max(found, key=lambda row: row["attention"])["token"] == "w1"
    shown = done("attention", RUN, "--head", "L0H1", "--tokens", "w0 i1 w1 i0 i1 r").stdout
    assert "the given sequence, length 6" in shown
    assert "answer there is right" in shown


def test_a_pattern_is_written_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "pattern.svg"
    result = done("attention", RUN, "--head", "L0H1", "--length", "24", "-o", str(out))
    assert result.exit_code == 0, result.output
    assert f"L0H1 of {NAME} at step 1,200" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["-o", "x.svg"], "choose it with --head"),
        (["--head", "MLP0"], "one head, e.g. L0H1"),
        (["--head", "L5H0"], "from L0H0 to L1H1"),
        (["--test-set", "other"], "matched or challenge"),
        (["-o", "x.txt", "--head", "L0H1"], ".svg"),
    ],
)
def test_what_attention_cannot_show_is_refused(words: list[str], answer: str) -> None:
    result = done("attention", RUN, *words)
    assert result.exit_code != 0
    assert answer in str(result.exception)


def test_patched_answers_are_those_of_the_function() -> None:
    """After the last block, the last position is all that the output depends on: the answer is the donor's."""
    found = rows("patch", RUN, "--lengths", "32", "--sequences", "64", "--seed", "2")
    run = Run.open(RUN)
    batch, donor = (run.task.batch(64, 32, seed=2 + other) for other in (0, 1))
    differ = (batch.targets != donor.targets)[:, -1].numpy()
    for row in found:
        outputs = patch(run.load(), batch, donor, row["hook"], into=-1)
        own, other = (answers(run.task, outputs, one).right[differ] > 0.5 for one in (batch, donor))
        assert (row["own"], row["donor"], row["n"]) == (own.mean(), other.mean(), differ.sum())
        assert row["low"] <= row["donor"] <= row["high"]
    last = next(row for row in found if row["hook"] == "blocks.1.hook_resid_post")
    assert (last["own"], last["donor"]) == (last["donor_before"], last["own_before"]) == (0.0, 1.0)
