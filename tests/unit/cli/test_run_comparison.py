"""``lengthlens compare`` and ``lengthlens diagnose``: what they print is what the tables of the runs contain."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.places import GALLERY
from workbench.cli.declared_quantities import matching, measurement_rows, quantity_rows, term_rows
from workbench.cli.errors import UsageError
from workbench.cli.main import app
from workbench.cli.run_comparison import difference_rows, open_runs, prescription_sentence
from workbench.diagnosis.prescription import suggest_change
from workbench.figures.panels.restored_shares import restored_share_rows
from workbench.figures.rows.frame import Frame
from workbench.measure.known_measurements import BUILT_IN
from workbench.table import Table

A, B = (GALLERY / f"flip_flop_rotary_s{seed}" for seed in (0, 1))


def invoked(*words: object) -> Any:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(word) for word in words])


def test_differences_are_those_of_the_tables() -> None:
    rows = difference_rows(*open_runs([A, B]))
    values = []
    for folder in (A, B):
        table = Table.load(folder)
        step = table.frame(quantity="verdict")["step"].max()
        found = table.frame(measurement="behaviour", quantity="accuracy", step=step, mode="teacher_forced")
        values.append(found.set_index(["law", "length"])["value"].to_dict())
    assert len(rows) == len(values[0])
    for row in rows:
        place = row["test_set"], row["length"]
        assert row["length"] == row["length_b"]
        assert (row["accuracy_a"], row["accuracy_b"]) == (values[0][place], values[1][place])
        assert row["difference"] == pytest.approx(values[0][place] - values[1][place])
        apart = row["low"] > 0 or row["high"] < 0 if row["low"] == row["low"] else row["difference"] != 0
        assert row["significant"] == ("yes" if apart else "no")
    assert {row["significant"] for row in rows} == {"yes", "no"}


def test_settings_and_sentences_are_printed() -> None:
    text = invoked("compare", A, B).output
    assert "seeds.init: 0 -> 1" in text
    assert "A is higher by" in text
    assert "length-coupled" in text


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((A,), "two or more"),
        ((A, A), "twice"),
        ((A, GALLERY / "pretrained" / "smollm2_copy"), "smollm2_copy"),
        ((A, "nowhere"), "nowhere"),
        ((GALLERY, "--task", "parity"), "two or more"),
    ],
)
def test_what_cannot_be_compared_is_refused(words: tuple[object, ...], named: str) -> None:
    done = invoked("compare", *words)
    assert done.exit_code != 0
    assert named in str(done.exception)


def test_a_run_with_the_suggested_change_is_recognized(tmp_path: Path) -> None:
    """The rows of the child are those of the parent at another step: the change did nothing."""
    (parent,) = open_runs([A, B])[:1]
    entry = parent.diagnosis[(parent.diagnosis["quantity"] == "entry") & (parent.diagnosis["label"] != "")].iloc[0]
    change = suggest_change(entry["label"], "", parent.run.config)
    assert change.options == {"ids": "random_subset"} or change.options
    shutil.copytree(B, tmp_path / "child")
    same, child = open_runs([A, tmp_path / "child"])
    assert prescription_sentence(same, child) == ""
    from workbench.cli.options import TRAIN_OPTIONS, put

    for name, value in change.options.items():
        put(child.run.config, TRAIN_OPTIONS[name].settings[0].split("."), value)
    for path, value in change.settings.items():
        put(child.run.config, path.split("."), value)
    sentence = prescription_sentence(same, child)
    assert "child was trained with the change that the diagnosis of flip_flop_rotary_s0 suggests" in sentence
    assert f"accuracy at length {entry['length']:.0f}" in sentence


def test_a_diagnosis_is_shown_with_what_each_intervention_recovers() -> None:
    found = json.loads(invoked("diagnose", A, "--json").stdout)
    rows = Table.load(A).frame(measurement="diagnosis")
    step = int(rows["step"].max())
    assert found["diagnosis"]["step"] == step
    assert found["diagnosis"]["sentence"] in " ".join(invoked("diagnose", A).output.split())
    shares = restored_share_rows(Frame.of(rows[rows["step"] == step]), step=step).where(control="").rows()
    assert [(row["intervention"], row["recovered"]) for row in found["interventions"]] == [
        (row["target"], row["value"]) for row in shares
    ]
    assert f"lengthlens prescribe {A}" in invoked("diagnose", A).output


def test_what_cannot_be_diagnosed_is_refused() -> None:
    done = invoked("diagnose", GALLERY / "pretrained" / "smollm2_copy")
    assert "prompted with its task" in str(done.exception)


def test_lists_have_every_measurement_and_quantity_once() -> None:
    assert [row["measurement"] for row in measurement_rows()][: len(BUILT_IN)] == [*BUILT_IN]
    pairs = [(row["measurement"], row["quantity"]) for row in quantity_rows()]
    assert len(pairs) == len(set(pairs))
    assert invoked("measure", "--list").output == invoked("measurements").output


def test_a_word_finds_names_first_then_texts() -> None:
    rows = quantity_rows()
    assert {row["quantity"] for row in matching(rows, "Hardmax-Distance", ("quantity",), "quantities")} == {
        "hardmax_distance"
    }
    assert len(matching(rows, "hardmax", ("quantity",), "quantities")) > 1
    assert {row["kind"] for row in matching(term_rows(), "skill", ("term",), "glossary")} == {"word", "quantity"}
    with pytest.raises(UsageError, match="hardmax_distance"):
        matching(rows, "hardmax_distanse", ("quantity",), "quantities")
    with pytest.raises(UsageError, match="lengthlens glossary"):
        matching(term_rows(), "xyzzy", ("term",), "glossary")


def test_measure_without_a_folder_names_the_way_out() -> None:
    assert "lengthlens measure checkpoints" in str(invoked("measure").exception)
